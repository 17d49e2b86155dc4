"""Whether two sides are runs of one setup: what differs, in words."""

from collections.abc import Callable, Iterable
from enum import StrEnum

import numpy as np

from synctax.attribution.block_names import gpu_model
from synctax.collectives.tax import Tax
from synctax.comparison.rows import Row, rows_of
from synctax.comparison.units import Side
from synctax.notes import Note
from synctax.texts import counted, number, size_bytes

SAME_WORK = 0.01
"""Kernels a step may differ by this share, such as at the edges of windows."""

_NAMED = 4


class Unlike(StrEnum):
    """Reasons of notes that say what of two sides is not the same."""

    RANKS = "ranks_differ"
    GPUS = "gpus_differ"
    GROUPS = "groups_differ"
    ROWS = "rows_only_in_one"
    PAYLOAD = "payload_differs"
    WORK = "work_differs"
    CULPRITS = "culprits_differ"
    RANKS_OF_ONE = "ranks_only_in_one"


def unlike(a: Side, b: Side) -> tuple[Note, ...]:
    """Say what of two sides is not the same, so that their taxes are not like with like.

    Parameters
    ----------
    a, b : Side

    Returns
    -------
    tuple of Note
        Empty where they look like runs of one setup.
    """
    return (*_jobs(a, b), *_rows(a, b), *_kernels(a, b))


def _jobs(a: Side, b: Side) -> Iterable[Note]:
    questions: tuple[tuple[Unlike, str, Callable[[Tax], Iterable[object]]], ...] = (
        (Unlike.RANKS, "ranks", lambda tax: [len({r.rank for r in tax.matches.ranks})]),
        (Unlike.GPUS, "GPUs", lambda tax: {gpu_model(r.gpu) for r in tax.matches.ranks}),
        (Unlike.GROUPS, "groups", _groups),
    )
    for reason, what, ask in questions:
        one, two = (_all(ask, side) for side in (a, b))
        if one != two:
            text = (
                f"other {what}: {_some(one - two, one)} in A, {_some(two - one, two)} in B"
            )
            yield Note(reason, max(len(one ^ two), 1), text)


def _groups(tax: Tax) -> Iterable[object]:
    """Number of groups of each role and how many ranks they have."""
    seen: dict[tuple[str, int], set[tuple[int, ...]]] = {}
    for group in tax.matches.groups:
        seen.setdefault((group.role, group.size), set()).add(group.ranks)
    return [
        f"{counted(len(ranks), 'group')} of {size} ({role})"
        for (role, size), ranks in seen.items()
    ]


def _all(ask: Callable[[Tax], Iterable[object]], side: Side) -> set[str]:
    return {str(one) for run in side.runs for one in ask(run.tax)} - {""}


def _some(own: set[str], every: set[str]) -> str:
    names = sorted(own or every)
    if not names:
        return "none named"
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _rows(a: Side, b: Side) -> Iterable[Note]:
    ours, theirs = rows_of(a), rows_of(b)
    for one, two, name in ((ours, theirs, "A"), (theirs, ours, "B")):
        only = [f"{role} {op}" for role, op in one if (role, op) not in two]
        if only:
            text = f"only in {name}: {_some(set(only), set())}"
            yield Note(Unlike.ROWS, len(only), text)
    for key in ours:
        if key not in theirs:
            continue
        before, after = _payloads(ours[key]), _payloads(theirs[key])
        if before and after and before != after:
            text = (
                f"{' '.join(key)} moves {_sizes(before)} in A and {_sizes(after)} in B: "
                "its transfers, and what hides waits, differ for that alone"
            )
            yield Note(Unlike.PAYLOAD, len(before ^ after), text)


def _payloads(row: Row) -> set[int]:
    found = np.unique(row.payloads())
    return set(found[found >= 0].tolist())


def _sizes(payloads: set[int]) -> str:
    low, high = min(payloads), max(payloads)
    if low == high:
        return size_bytes(low)
    return f"{size_bytes(low)} to {size_bytes(high)}"


def _kernels(a: Side, b: Side) -> Iterable[Note]:
    stepped = all(run.stepped for run in (*a.runs, *b.runs))
    one, two = _kernels_a_unit(a, stepped), _kernels_a_unit(b, stepped)
    most = max(one, two)
    if most and abs(one - two) > SAME_WORK * most:
        what = "step" if stepped else "collective"
        text = (
            f"a rank computes {number(one)} kernels a {what} in A and {number(two)} in B: "
            "the work between collectives is not the same"
        )
        yield Note(Unlike.WORK, 1, text)


def _kernels_a_unit(side: Side, stepped: bool) -> float:
    """Compute kernels of a rank, in a step or in a collective: alike for both sides."""
    kernels = whole = 0.0
    for run in side.runs:
        ranks = run.tax.matches.ranks
        kernels += sum(rank.compute_kernels for rank in ranks)
        if stepped:
            whole += sum(rank.step_number.size for rank in ranks)
        else:
            whole += sum(len(rank) for rank in ranks)
    return kernels / whole if whole else 0.0
