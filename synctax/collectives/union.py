"""Number the collectives of one group by order: which participations of its ranks are one.

The sequences of the ranks are aligned one after another onto their union, which grows by
what only some ranks recorded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from synctax.arrays import I8, I32, I64, apart, ordered
from synctax.collectives.align import Alignment
from synctax.collectives.clock import ClockFit
from synctax.collectives.pool import Participations
from synctax.collectives.sequence import OpSequence

MIN_AGREEMENT = 0.5
"""A rank of whose ends fewer than half agree with the others' is not aligned."""


class Doubt(IntEnum):
    """Why the place of a participation must not be trusted."""

    NONE = 0
    STRANGER = 1
    AMBIGUOUS = 2
    NEAR_LOSS = 3
    FAR = 4


REASONS = {
    Doubt.STRANGER: "its ends agree with no other rank's",
    Doubt.AMBIGUOUS: "it can be aligned in more than one way",
    Doubt.NEAR_LOSS: "a rank lost a collective beside it, and either place fits",
    Doubt.FAR: "it ends much further from the others than is usual",
}


@dataclass(frozen=True, slots=True)
class Union:
    """The collectives of several ranks in one order.

    `slot` (n,) int64 is the number of each row's collective, `doubt` (n,) int8 a `Doubt`.
    """

    slot: I64
    doubt: I8

    @classmethod
    def empty(cls, size: int) -> "Union":
        """Rows that are in no slot yet, without a doubt."""
        return cls(np.full(size, -1, np.int64), np.zeros(size, np.int8))


def sequence(rows: I64, table: Participations) -> OpSequence:
    """What alignment needs of some participations."""
    return OpSequence(
        table.op[rows],
        table.dtype[rows],
        table.payload_bytes[rows],
        table.named[rows],
        table.start_ns[rows] + table.duration_ns[rows],
    )


Aligner = Callable[[OpSequence, OpSequence], Alignment]


def union_by_order(rank: I32, whole: OpSequence, aligner: Aligner) -> Union:
    """Number collectives by order, operation, size and the agreement of ends.

    Parameters
    ----------
    rank : (n,) int32
        Whose each participation of a group is.
    whole : OpSequence
        The same n participations, in order of end on each rank.
    aligner : callable
        Places the second of two sequences in the first: `align` or `align_on_one_clock`.

    Returns
    -------
    Union
        Slots are numbered without gaps, in order of time on the longest rank's clock.
    """
    parts = [part for _, part in apart(rank)]
    union = Union.empty(rank.size)
    if not parts:
        return union
    first = max(parts, key=lambda part: part.size)
    known = _Growing(whole.take(first))
    union.slot[first] = known.ids
    for part in parts:
        if part is first:
            continue
        own = whole.take(part)
        found = aligner(known.sequence, own)
        place = found.place
        union.doubt[part[found.far]] = Doubt.FAR
        union.doubt[part[found.unsure]] = Doubt.NEAR_LOSS
        if found.ambiguous:
            union.doubt[part] = Doubt.AMBIGUOUS
        if found.anchors and found.agreement < MIN_AGREEMENT and not found.whole:
            union.doubt[part] = Doubt.STRANGER
            place = np.full_like(place, -1)
        union.slot[part] = known.take_in(own, place, found.clock)
    union.slot[:] = ordered(known.ids)[union.slot]
    return union


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
