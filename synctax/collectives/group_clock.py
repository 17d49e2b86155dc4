"""Clocks of the ranks of one group, where they are needed to compare times."""

from itertools import pairwise

import numpy as np

from synctax.arrays import F64, I32, I64, median, runs
from synctax.collectives.clock import ClockFit, fit_clock
from synctax.collectives.model import IS_SYMMETRIC
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
        Participations of one group, by rank, and the collective of each.
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
    shared = np.flatnonzero(IS_SYMMETRIC[table.op[rows]])
    chosen, slots = rows[shared], slot[shared]
    rank, end = table.rank[chosen], table.start_ns[chosen] + table.duration_ns[chosen]
    count = int(slots.max(initial=-1)) + 1
    together = np.bincount(slots, minlength=count) > 1
    if not together.any():
        return {}, True
    usual_ns = median(spread_ns(slots, end, count)[together])
    if usual_ns <= tolerance_ns and one_host:
        return {}, True
    own = _by_rank(rank)
    reference = max(own, key=lambda one: own[one].stop - own[one].start)
    base = np.zeros(count, np.int64)
    has = np.zeros(count, np.bool_)
    base[slots[own[reference]]], has[slots[own[reference]]] = end[own[reference]], True
    clocks: dict[int, ClockFit] = {}
    for position, mine in own.items():
        use = has[slots[mine]]
        if position == reference or not use.any():
            continue
        end_ns = end[mine][use]
        lead_ns = (end_ns - base[slots[mine][use]]).astype(np.float64)
        clocks[position] = fit_clock(end_ns.astype(np.float64), lead_ns)
    enough = all(clock.points >= MIN_SHARED_ENDS for clock in clocks.values())
    if not enough and usual_ns <= tolerance_ns:
        return {}, True
    return clocks, enough


def lags_ns(rows: I64, table: Participations, clocks: dict[int, ClockFit]) -> I64:
    """What to subtract from each row's times to have them on the reference's clock.

    `rows` (n,) int64 by rank; the result (n,) int64 in ns.
    """
    lag = np.zeros(rows.size, np.int64)
    if not clocks:
        return lag
    for position, mine in _by_rank(table.rank[rows]).items():
        if position in clocks:
            time_ns = table.start_ns[rows[mine]].astype(np.float64)
            lag[mine] = clocks[position].lag_ns(time_ns).astype(np.int64)
    return lag


def _by_rank(rank: I32) -> dict[int, slice]:
    """Where each rank's rows lie, ranks ascending, of rows that are in order of rank."""
    begins = runs(rank)
    pairs = pairwise(begins.tolist())
    names = rank[begins[:-1]].tolist()
    return {name: slice(*pair) for name, pair in zip(names, pairs, strict=True)}


def spread_ns(slot: I64, time: I64, count: int) -> F64:
    """Largest minus smallest time of each slot, in ns."""
    high = np.full(count, np.iinfo(np.int64).min)
    low = np.full(count, np.iinfo(np.int64).max)
    np.maximum.at(high, slot, time)
    np.minimum.at(low, slot, time)
    return (high - low).astype(np.float64) if count else np.empty(0)
