"""Events that a trace holds twice: no kernel runs twice at one time on one stream."""

from collections.abc import Sequence

import numpy as np

from synctax.collectives.model import RankCollectives
from synctax.notes import Note


def without_repeats(
    ranks: Sequence[RankCollectives],
) -> tuple[tuple[RankCollectives, ...], tuple[Note, ...]]:
    """Drop participations that stand in a trace more than once.

    Parameters
    ----------
    ranks : sequence of RankCollectives

    Returns
    -------
    ranks, notes
        The ranks, the first of each participation kept; a note if there were repeats.
    """
    result, count = [], 0
    for rank in ranks:
        begins = np.sort(rank.start_ns)
        if not (begins[1:] == begins[:-1]).any():  # repeats begin together
            result.append(rank)
            continue
        keys = (rank.start_ns, rank.duration_ns, rank.stream, rank.kernel, rank.group)
        order = np.lexsort(keys)
        same = np.ones(max(len(rank) - 1, 0), np.bool_)
        for key in keys:
            same &= key[order[1:]] == key[order[:-1]]
        if same.any():
            keep = np.ones(len(rank), np.bool_)
            keep[order[1:][same]] = False
            count += int((~keep).sum())
            rank = rank.take(keep)  # noqa: PLW2901 - the rank without its repeats
        result.append(rank)
    note = Note("event_repeated", count, "communication events that stand twice in a trace")
    return tuple(result), (note,) if count else ()
