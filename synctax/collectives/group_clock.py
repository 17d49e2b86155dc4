"""Clocks of the ranks of one group, where they are needed to compare times."""

import numpy as np

from synctax.arrays import F64, I64, median
from synctax.collectives.clock import ClockFit, fit_clock
from synctax.collectives.model import SYMMETRIC
from synctax.collectives.pool import Participations

MIN_SHARED_ENDS = 3
"""Fewer shared ends than this cannot check clocks that must first be fitted."""


def group_clocks(
    rows: I64, slot: I64, table: Participations, *, tolerance_ns: float, one_host: bool
) -> tuple[dict[int, ClockFit], bool]:
    """Fit each rank's clock to the group's reference, unless they agree as they are.

    Parameters
    ----------
    rows, slot : (n,) int64
        Participations of one group, and the collective of each.
    table : Participations
        The table they are rows of.
    tolerance_ns : float
        Ends of ranks of one host that lie closer than this are on one clock.
    one_host : bool
        All ranks are known to be on one host.

    Returns
    -------
    dict, bool
        Clock by position of the rank (none for the reference, or where the clocks agree
        as they are); and whether times of different ranks may be compared at all.
    """
    shared = np.isin(table.op[rows], [int(op) for op in SYMMETRIC])
    rank, end = table.rank[rows][shared], (table.start_ns + table.duration_ns)[rows][shared]
    slots = slot[shared]
    count = int(slots.max(initial=-1)) + 1
    spread = spread_ns(slots, end, count)
    together = np.bincount(slots, minlength=count) > 1
    if not together.any():
        return {}, True
    if median(spread[together]) <= tolerance_ns and one_host:
        return {}, True
    present, counts = np.unique(rank, return_counts=True)
    reference = int(present[int(np.argmax(counts))])
    base = np.zeros(count, np.int64)
    has = np.zeros(count, np.bool_)
    mine = rank == reference
    base[slots[mine]], has[slots[mine]] = end[mine], True
    clocks: dict[int, ClockFit] = {}
    for position in present:
        use = (rank == position) & has[slots]
        if position == reference or not use.any():
            continue
        lead = (end[use] - base[slots[use]]).astype(np.float64)
        clocks[int(position)] = fit_clock(end[use].astype(np.float64), lead)
    enough = all(clock.points >= MIN_SHARED_ENDS for clock in clocks.values())
    if not enough and median(spread[together]) <= tolerance_ns:
        return {}, True
    return clocks, enough


def lags_ns(rows: I64, table: Participations, clocks: dict[int, ClockFit]) -> I64:
    """What to subtract from each row's times to have them on the reference's clock."""
    lag = np.zeros(rows.size, np.int64)
    for position, clock in clocks.items():
        mine = table.rank[rows] == position
        lag[mine] = clock.lag_ns(table.start_ns[rows[mine]].astype(np.float64)).astype(
            np.int64
        )
    return lag


def spread_ns(slot: I64, time: I64, count: int) -> F64:
    """Largest minus smallest time of each slot, in ns."""
    high = np.full(count, np.iinfo(np.int64).min)
    low = np.full(count, np.iinfo(np.int64).max)
    np.maximum.at(high, slot, time)
    np.minimum.at(low, slot, time)
    return (high - low).astype(np.float64) if count else np.empty(0)
