"""Number the collectives of one group: which participations of its ranks are one.

Where the trace names each operation (`Comms Id`, `Seq`) the name decides, and order only
among operations that share it (coalesced ones). Elsewhere the sequences of the ranks are
aligned one after another onto their union, which grows by what only some ranks recorded.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from synctax.arrays import F64, I8, I64, NS_PER_US, Bool
from synctax.collectives.align import FLOOR_NS, OpSequence, align
from synctax.collectives.clock import NO_LAG, ClockFit
from synctax.collectives.pool import Participations

MIN_AGREEMENT = 0.5
"""A rank of whose ends fewer than half agree with the others' is not aligned."""

MIN_SHARED = 3
"""Fewer shared ends than this tell nothing of who leaves together."""

SMALLEST_NOISE_NS = 20.0
"""Ends written in ns are not believed to agree better than this."""

SIBLING_RATIO = 5.0
"""Unlabelled ranks are two groups where ends across are this much further apart."""


@dataclass(slots=True)
class Union:
    """The collectives of several ranks in one order.

    `slot` (n,) int64 is the number of each row's collective, `doubts` says, by position
    of a rank, why its rows must not be trusted.
    """

    slot: I64
    doubts: dict[int, str] = field(default_factory=dict)


def sequence(rows: I64, table: Participations) -> OpSequence:
    """What alignment needs of some participations."""
    return OpSequence(
        table.op[rows],
        table.dtype[rows],
        table.payload_bytes[rows],
        table.named[rows],
        table.start_ns[rows] + table.duration_ns[rows],
    )


def union_by_order(
    rows: I64, table: Participations, *, tolerance_ns: float, offset_scale_ns: float
) -> Union:
    """Number collectives by order, operation, size and the agreement of ends.

    Parameters
    ----------
    rows : (n,) int64
        Participations of one group, of several ranks, in order of end on each rank.
    table : Participations
        The table they are rows of.
    tolerance_ns, offset_scale_ns : float
        As in `align`.

    Returns
    -------
    Union
        Slots are numbered without gaps, in order of time on the longest rank's clock.
    """
    parts = _by_rank(rows, table)
    if not parts:
        return Union(np.empty(0, np.int64))
    first = max(parts, key=lambda part: part.size)
    whole = _Growing(sequence(rows[first], table))
    union = Union(np.full(rows.size, -1, np.int64))
    union.slot[first] = whole.ids
    for part in parts:
        if part is first:
            continue
        own = sequence(rows[part], table)
        found = align(
            whole.sequence, own, tolerance_ns=tolerance_ns, offset_scale_ns=offset_scale_ns
        )
        rank, place = int(table.rank[rows[part[0]]]), found.place
        strange = found.anchors > 0 and found.agreement < MIN_AGREEMENT
        if strange and not found.complete:
            union.doubts[rank] = "its ends agree with no other rank's"
            place = np.full_like(place, -1)
        elif found.ambiguous:
            union.doubts[rank] = "two alignments fit it equally well"
        union.slot[part] = whole.take_in(own, place, found.clock)
    union.slot[:] = np.argsort(whole.ids, kind="stable")[union.slot]
    return union


def _by_rank(rows: I64, table: Participations) -> list[I64]:
    """Positions in `rows` of each rank's participations, ranks ascending."""
    rank = table.rank[rows]
    order = np.argsort(rank, kind="stable")
    cuts = np.flatnonzero(np.diff(rank[order])) + 1
    return [part for part in np.split(order, cuts) if part.size]


class _Growing:
    """The union so far: `sequence` in order of time, `ids` in order of arrival."""

    def __init__(self, first: OpSequence) -> None:
        self.sequence = first
        self.ids: I64 = np.arange(len(first), dtype=np.int64)

    def take_in(self, own: OpSequence, place: I64, clock: ClockFit) -> I64:
        """Add what is new of a rank; return the ids of all its collectives."""
        known = place >= 0
        self._learn(own.take(np.flatnonzero(known)), place[known])
        ids = np.full(len(own), -1, np.int64)
        ids[known] = self.ids[place[known]]
        fresh = np.flatnonzero(~known)
        if fresh.size:
            ids[fresh] = self.ids.size + np.arange(fresh.size)
            self._insert(own.take(fresh), ids[fresh], clock)
        return ids

    def _learn(self, own: OpSequence, place: I64) -> None:
        """Fill what earlier ranks did not know of an operation."""
        now = self.sequence
        unsized = now.payload_bytes[place] < 0
        untyped = now.dtype[place] < 0
        unnamed = own.named & ~now.named[place]
        payload, dtype = now.payload_bytes.copy(), now.dtype.copy()
        op, named = now.op.copy(), now.named.copy()
        payload[place[unsized]] = own.payload_bytes[unsized]
        dtype[place[untyped]] = own.dtype[untyped]
        op[place[unnamed]], named[place[unnamed]] = own.op[unnamed], True
        self.sequence = OpSequence(op, dtype, payload, named, now.end_ns)

    def _insert(self, new: OpSequence, ids: I64, clock: ClockFit) -> None:
        lag = clock.lag_ns(new.end_ns.astype(np.float64)).astype(np.int64)
        now = self.sequence
        end = np.concatenate([now.end_ns, new.end_ns - lag])
        # Collectives on two streams may end out of order; those known keep theirs.
        key = np.concatenate([np.maximum.accumulate(now.end_ns), new.end_ns - lag])
        order = np.argsort(key, kind="stable")
        self.ids = np.concatenate([self.ids, ids])[order]
        self.sequence = OpSequence(
            np.concatenate([now.op, new.op])[order],
            np.concatenate([now.dtype, new.dtype])[order],
            np.concatenate([now.payload_bytes, new.payload_bytes])[order],
            np.concatenate([now.named, new.named])[order],
            end[order],
        )


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
    rank, op = table.rank[rows].astype(np.int64), table.op[rows].astype(np.int64)
    bucket = _numbered(key, op)
    nth = _occurrence(bucket, rank)
    buckets = int(bucket.max(initial=-1)) + 1
    crowded = np.zeros(buckets, np.bool_)
    crowded[bucket[nth > 0]] = True
    uneven = crowded & _uneven(bucket, rank, buckets)
    for which in np.flatnonzero(uneven):
        inside = np.flatnonzero(bucket == which)
        level = _corrected(rows[inside], table, clocks)
        part = union_by_order(
            np.arange(inside.size),
            level,
            tolerance_ns=tolerance_ns,
            offset_scale_ns=FLOOR_NS,
        )
        nth[inside] = part.slot
    return Union(_numbered(bucket, nth))


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
    start = table.start_ns[rows].copy()
    for position in np.unique(table.rank[rows]):
        mine = table.rank[rows] == position
        clock = clocks.get(int(position), NO_LAG)
        start[mine] -= clock.lag_ns(start[mine].astype(np.float64)).astype(np.int64)
    taken: dict[str, object] = {
        name: getattr(table, name)[rows]
        for name in Participations.__slots__
        if name not in ("start_ns", "own_rank", "dtypes")
    }
    return replace(table, start_ns=start, **taken)  # type: ignore[arg-type]


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


def majority_op(op: I8, named: Bool) -> int:
    """The operation most named participations say, else most of all."""
    votes = op[named] if named.any() else op
    return int(np.bincount(votes.astype(np.int64)).argmax())
