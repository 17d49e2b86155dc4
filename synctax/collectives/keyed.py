"""Number the collectives of one group that the trace itself names by `Comms Id` or `Seq`.

The name decides, and order and ends only among operations that share it (coalesced
ones), of which a rank may have lost some at the edge of its window.
"""

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from synctax.arrays import I32, I64, NS_PER_US, Bool, apart, median, numbered, ordered, runs
from synctax.collectives.align import align_on_one_clock
from synctax.collectives.group_clock import group_clocks, lags_ns, spread_ns
from synctax.collectives.model import Op
from synctax.collectives.pool import Participations
from synctax.collectives.sequence import OpSequence
from synctax.collectives.union import Union, sequence, union_by_order

USUAL_SPREADS = 5.0
"""Ends of coalesced operations further apart than so many usual spreads are looked into."""


def union_by_key(
    rows: I64, key: I64, table: Participations, *, tolerance_ns: float
) -> Union:
    """Number collectives that carry an identity.

    Parameters
    ----------
    rows : (n,) int64
        Participations of one group, by rank, then by end.
    key : (n,) int64
        Their identity; the same on all ranks, shared by coalesced operations.
    table : Participations
        The table they are rows of.
    tolerance_ns : float
        As in `align`.

    Returns
    -------
    Union
        Slots in order of key, then of time.
    """
    rank = table.rank[rows]
    bucket = _pairs(numbered(key)[0], table.op[rows], len(Op))
    nth = _occurrence(bucket, rank)
    if not nth.any():  # no rank names two alike: nothing is left to tell apart
        return Union(bucket, np.zeros(rows.size, np.int8))
    whole = sequence(rows, table)
    named = _Named(rank, bucket, nth, whole)
    slot = _told_apart(named, tolerance_ns).slot
    clocks, _ = group_clocks(rows, slot, table, tolerance_ns=tolerance_ns, one_host=False)
    # now that the clocks are known
    end_ns = whole.end_ns - lags_ns(rows, table, clocks)
    return _told_apart(replace(named, whole=replace(whole, end_ns=end_ns)), tolerance_ns)


@dataclass(frozen=True, slots=True)
class _Named:
    """Whose participations are, what they are named, which of that name, and what else."""

    rank: I32
    bucket: I64
    nth: I64
    whole: OpSequence


def _told_apart(named: _Named, tolerance_ns: float) -> Union:
    """Number operations of one name by order and ends where a rank may have lost one."""
    bucket, nth, rank, whole = named.bucket, named.nth.copy(), named.rank, named.whole
    union = Union.empty(rank.size)
    slot = _pairs(bucket, nth, int(nth.max()) + 1)
    spread = spread_ns(slot, whole.end_ns, int(slot.max()) + 1)
    usual_ns = max(median(spread), float(NS_PER_US))
    aligner = partial(align_on_one_clock, tolerance_ns=tolerance_ns, noise_ns=usual_ns)
    distant = spread > USUAL_SPREADS * usual_ns
    doubtful = _doubtful(bucket, slot, nth, distant[slot])
    of_doubt = np.flatnonzero(doubtful[bucket])
    for _, some in apart(bucket[of_doubt]):
        inside = of_doubt[some]
        part = union_by_order(rank[inside], whole.take(inside), aligner)
        nth[inside], union.doubt[inside] = part.slot, part.doubt
    union.slot[:] = _pairs(bucket, nth, int(nth.max()) + 1)
    return union


def _doubtful(bucket: I64, slot: I64, nth: I64, distant: Bool) -> Bool:
    """Buckets of several operations of which some rank may have lost one.

    `distant` (n,) says of which rows the ends disagree with those of their occurrence.
    """
    buckets = int(bucket.max(initial=-1)) + 1
    crowded = np.zeros(buckets, np.bool_)
    crowded[bucket[nth > 0]] = True
    disagree = np.zeros(buckets, np.bool_)
    disagree[bucket[distant]] = True
    result: Bool = crowded & (disagree | _uneven(bucket, slot, buckets))
    return result


def _pairs(major: I64, minor: npt.NDArray[np.integer[Any]], kinds: int) -> I64:
    """Number the pairs of two columns in order, without gaps; `minor` is below `kinds`."""
    return numbered(major * kinds + minor)[0]


def _occurrence(bucket: I64, rank: I32) -> I64:
    """Which occurrence of its bucket on its rank each row is, from 0; rows are by rank."""
    nth = np.zeros(bucket.size, np.int64)
    begins = runs(rank)
    latest = np.full(int(bucket.max(initial=-1)) + 1, -1, np.int64)
    for low, high in pairwise(begins.tolist()):
        mine, own = bucket[low:high], np.arange(low, high)
        latest[mine] = own
        if np.array_equal(latest[mine], own):
            continue  # none twice
        order = ordered(mine)
        first = runs(mine[order])
        nth[low + order] = np.arange(mine.size) - np.repeat(first[:-1], np.diff(first))
    return nth


def _uneven(bucket: I64, slot: I64, buckets: int) -> Bool:
    """Whether ranks have different numbers of operations in a bucket (0 counts not).

    All ranks that have a first of its operations have the others too, or they are uneven.
    """
    took_part = np.bincount(slot)
    bucket_of = np.empty(took_part.size, np.int64)
    bucket_of[slot] = bucket
    most = np.zeros(buckets, np.int64)
    least = np.full(buckets, np.iinfo(np.int64).max)
    np.maximum.at(most, bucket_of, took_part)
    np.minimum.at(least, bucket_of, took_part)
    result: Bool = most != least
    return result
