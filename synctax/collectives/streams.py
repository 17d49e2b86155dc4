"""Which streams without metadata of different ranks are one: by what runs on them.

A rank numbers its unlabelled communication streams for itself. Where one rank lacks a
stream (it lost all of its collectives, say), numbers alone would pair unlike streams.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from synctax.collectives.model import RankCollectives

SAME_NUMBER = 1e-6
"""What decides between streams that are alike: their number."""


def stream_numbers(ranks: Sequence[RankCollectives]) -> list[dict[int, int]]:
    """Number the unlabelled streams of all ranks alike, window by window.

    Parameters
    ----------
    ranks : sequence of RankCollectives

    Returns
    -------
    list of dict
        For each rank, the job's number of each of its own stream numbers.
    """
    contents = [_contents(rank) for rank in ranks]
    models: dict[str, dict[int, Counter[tuple[int, str]]]] = {}
    for rank, own in zip(ranks, contents, strict=True):
        if len(own) > len(models.get(rank.window, {})):
            models[rank.window] = own
    return [
        _assign(own, models.get(rank.window, {}))
        for rank, own in zip(ranks, contents, strict=True)
    ]


def _contents(rank: RankCollectives) -> dict[int, Counter[tuple[int, str]]]:
    """What runs on each unlabelled stream: operations and types, counted."""
    result = {}
    for index, group in enumerate(rank.groups):
        if group.name or group.ranks is not None:
            continue
        mine = rank.group == index
        dtypes = [rank.strings[c] if c >= 0 else "" for c in rank.dtype[mine]]
        result[group.stream] = Counter(zip(rank.op[mine].tolist(), dtypes, strict=True))
    return result


def _assign(
    own: dict[int, Counter[tuple[int, str]]], model: dict[int, Counter[tuple[int, str]]]
) -> dict[int, int]:
    """Pair a rank's streams with the model's so that they are most alike."""
    if own.keys() == model.keys() and all(_likeness(own[n], model[n]) > 0.5 for n in own):
        return {number: number for number in own}
    from scipy.optimize import linear_sum_assignment

    mine, theirs = sorted(own), sorted(model)
    if not mine:
        return {}
    alike = np.array([[_likeness(own[a], model[b]) for b in theirs] for a in mine])
    same = np.array([[a == b for b in theirs] for a in mine])
    rows, columns = linear_sum_assignment(alike + SAME_NUMBER * same, maximize=True)
    pairs = zip(rows, columns, strict=True)
    found = {mine[r]: theirs[c] for r, c in pairs if alike[r, c] > 0}
    spare = max([*theirs, *mine], default=-1) + 1
    for number in mine:
        if number not in found:
            found[number], spare = spare, spare + 1
    return found


def _likeness(a: Counter[tuple[int, str]], b: Counter[tuple[int, str]]) -> float:
    """Share of the larger stream's collectives that the other has too."""
    return (a & b).total() / max(a.total(), b.total(), 1)
