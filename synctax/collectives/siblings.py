"""Which ranks of an unlabelled stream are a group: those that leave together."""

import numpy as np

from synctax.arrays import F64, NS_PER_US
from synctax.collectives.align import align
from synctax.collectives.sequence import OpSequence
from synctax.collectives.union import MIN_AGREEMENT

MIN_SHARED = 3
"""Fewer shared ends than this tell nothing of who leaves together."""

SMALLEST_NOISE_NS = 20.0
"""Ends written in ns are not believed to agree better than this."""

SIBLING_RATIO = 5.0
"""Unlabelled ranks are two groups where ends across are this much further apart."""


def sibling_sets(parts: list[OpSequence], *, tolerance_ns: float) -> list[list[int]]:
    """Split unlabelled ranks that run alike into the groups whose members leave together.

    Sibling groups (two TP groups, say) run the same operations at about the same time;
    only the ends tell who belongs to whom. A split is believed only if all sets have one
    size and ends across sets are much further apart than within.

    Parameters
    ----------
    parts : list of OpSequence
        One a rank.
    tolerance_ns : float
        As in `align`.

    Returns
    -------
    list of lists of int
        Positions in `parts`; a single set where no split is believed.
    """
    for quantile in (1.0, 0.9):  # one odd end must not hide a split
        sets = _sets(parts, quantile, tolerance_ns)
        if sets is not None:
            return sets
    return [list(range(len(parts)))]


def _sets(
    parts: list[OpSequence], quantile: float, tolerance_ns: float
) -> list[list[int]] | None:
    """Sets of one size that each leader tells from all other ranks, else None."""
    everyone = list(range(len(parts)))
    whole_us = all((part.end_ns % NS_PER_US == 0).all() for part in parts)
    resolution_ns = NS_PER_US if whole_us else SMALLEST_NOISE_NS
    left, sets = everyone, list[list[int]]()
    while left:
        spread = _apart(parts, left[0], quantile, tolerance_ns)
        near = sorted(_near(spread, resolution_ns))
        if near == everyone or not set(near) <= set(left):
            return None
        if sets and len(near) != len(sets[0]):
            return None
        sets.append(near)
        left = [rank for rank in left if rank not in set(near)]
    return sets if len(sets[0]) > 1 else None


def _apart(parts: list[OpSequence], one: int, quantile: float, tolerance_ns: float) -> F64:
    """How far each rank's ends are from those of `one`, in ns, beyond their clocks."""
    spread = np.zeros(len(parts))
    for other, part in enumerate(parts):
        if other == one:
            continue
        found = align(
            parts[one], part, tolerance_ns=tolerance_ns, offset_scale_ns=tolerance_ns
        )
        spread[other] = np.inf
        rows = np.flatnonzero(found.place >= 0)
        if found.anchors >= MIN_SHARED and found.agreement >= MIN_AGREEMENT:
            own = part.end_ns[rows]
            lead = (own - parts[one].end_ns[found.place[rows]]).astype(np.float64)
            left_over = lead - found.clock.lag_ns(own.astype(np.float64))
            spread[other] = float(np.quantile(np.abs(left_over), quantile))
    return spread


def _near(spread: F64, resolution_ns: float) -> list[int]:
    """Positions below the first wide relative gap, all where there is none."""
    order = np.argsort(spread, kind="stable")
    height = np.minimum(spread[order], 1e18) + resolution_ns
    wide = np.flatnonzero(height[2:] >= SIBLING_RATIO * height[1:-1])
    cut = int(wide[0]) + 2 if wide.size else order.size
    return [int(i) for i in order[:cut]]
