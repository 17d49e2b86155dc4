"""Number the collectives of one group that the trace itself names by `Comms Id` or `Seq`.

The name decides, and order and ends only among operations that share it (coalesced
ones), of which a rank may have lost some at the edge of its window.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from synctax.arrays import I64, NS_PER_US, Bool, median
from synctax.collectives.align import align_on_one_clock
from synctax.collectives.clock import ClockFit
from synctax.collectives.group_clock import lags_ns, spread_ns
from synctax.collectives.pool import Participations
from synctax.collectives.union import Union, union_by_order

USUAL_SPREADS = 5.0
"""Ends of coalesced operations further apart than so many usual spreads are looked into."""


def union_by_key(
    rows: I64,
    key: I64,
    table: Participations,
    *,
    tolerance_ns: float,
    clocks: dict[int, ClockFit],
) -> Union:
    """Number collectives that carry an identity.

    Parameters
    ----------
    rows : (n,) int64
        Participations of one group, of several ranks, in order of end on each rank.
    key : (n,) int64
        Their identity; the same on all ranks, shared by coalesced operations.
    table : Participations
        The table they are rows of.
    tolerance_ns : float
        As in `align`.
    clocks : dict
        Clock of each rank (by position) against the first, for operations that share an
        identity and of which some rank lost one.

    Returns
    -------
    Union
        Slots in order of key, then of time.
    """
    union = Union.empty(rows.size)
    rank, op = table.rank[rows].astype(np.int64), table.op[rows].astype(np.int64)
    bucket = _numbered(key, op)
    nth = _occurrence(bucket, rank)
    level = _corrected(rows, table, clocks)
    slot = _numbered(bucket, nth)
    spread = spread_ns(slot, level.end_ns, int(slot.max(initial=-1)) + 1)
    usual_ns = max(median(spread) if spread.size else 0.0, float(NS_PER_US))
    aligner = partial(align_on_one_clock, tolerance_ns=tolerance_ns, noise_ns=usual_ns)
    apart = spread > USUAL_SPREADS * usual_ns
    for which in np.flatnonzero(_doubtful(bucket, rank, nth, apart[slot])):
        inside = np.flatnonzero(bucket == which)
        part = union_by_order(inside, level, aligner)
        nth[inside], union.doubt[inside] = part.slot, part.doubt
    union.slot[:] = _numbered(bucket, nth)
    return union


def _doubtful(bucket: I64, rank: I64, nth: I64, apart: Bool) -> Bool:
    """Buckets of several operations of which some rank may have lost one.

    `apart` (n,) says of which rows the ends disagree with those of their occurrence.
    """
    buckets = int(bucket.max(initial=-1)) + 1
    crowded = np.zeros(buckets, np.bool_)
    crowded[bucket[nth > 0]] = True
    if not crowded.any():
        return crowded
    disagree = np.zeros(buckets, np.bool_)
    disagree[bucket[apart]] = True
    result: Bool = crowded & (disagree | _uneven(bucket, rank, buckets))
    return result


def _numbered(major: I64, minor: I64) -> I64:
    """Number the pairs of two columns in order, without gaps; `minor` is not negative."""
    _, code = np.unique(major, return_inverse=True)
    pair = code.reshape(-1).astype(np.int64) * (int(minor.max(initial=0)) + 1) + minor
    _, number = np.unique(pair, return_inverse=True)
    result: I64 = number.reshape(-1).astype(np.int64)
    return result


def _occurrence(bucket: I64, rank: I64) -> I64:
    """Which occurrence of its bucket on its rank each row is, from 0."""
    order = np.lexsort((rank, bucket))
    change = np.ones(order.size, np.bool_)
    change[1:] = (np.diff(bucket[order]) != 0) | (np.diff(rank[order]) != 0)
    start = np.maximum.accumulate(np.where(change, np.arange(order.size), 0))
    nth = np.empty(order.size, np.int64)
    nth[order] = np.arange(order.size) - start
    return nth


def _uneven(bucket: I64, rank: I64, buckets: int) -> Bool:
    """Whether ranks have different numbers of operations in a bucket (0 counts not)."""
    ranks = int(rank.max(initial=0)) + 1
    pairs, counts = np.unique(bucket * ranks + rank, return_counts=True)
    most = np.zeros(buckets, np.int64)
    least = np.full(buckets, np.iinfo(np.int64).max)
    np.maximum.at(most, pairs // ranks, counts)
    np.minimum.at(least, pairs // ranks, counts)
    result: Bool = most != least
    return result


def _corrected(
    rows: I64, table: Participations, clocks: dict[int, ClockFit]
) -> Participations:
    """The rows as a table of their own, on one clock."""
    start = table.start_ns[rows] - lags_ns(rows, table, clocks)
    taken: dict[str, object] = {
        name: getattr(table, name)[rows]
        for name in Participations.__slots__
        if name not in ("start_ns", "own_rank", "dtypes")
    }
    return replace(table, start_ns=start, **taken)  # type: ignore[arg-type]
