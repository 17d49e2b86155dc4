"""Where the window of each collective begins, and whose paths are wanted."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I32, I64, U64, Bool, members
from synctax.attribution.model import NO_FENCE, GroupTask, Query
from synctax.collectives.matches import Matches, Status
from synctax.collectives.tax import Tax

OVERLAPPING = 8
"""So many collectives before the last that ended are looked at for one that ended later."""

_NEVER_NS = 2**63 - 1

SAMPLE = 200
"""Random walks are taken to so many collectives of a group, evenly spread."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a job's collectives; (m,) arrays over the slots of `Matches`.

    Parameters
    ----------
    slow, fast : int64
        Participation (row of `Matches.row`) of the last and of the first rank to arrive;
        of several the one of the lowest rank.
    fence : int64
        Slot of the fence: the latest earlier collective of the group that all its ranks
        leave together and have left before any of them arrives. -1 where there is none.
    usable : bool
        Its tax may be believed: all ranks took part and leave it together.
    start_ns, end_ns : (p,) int64
        Of every participation, on its rank's clock.
    rank : (p,) int32
        Position of its rank.
    stream : (p,) int64
        Stream or thread it ran on.
    """

    slow: I64
    fast: I64
    fence: I64
    usable: Bool
    start_ns: I64
    end_ns: I64
    rank: I32
    stream: I64


def windows(tax: Tax) -> Windows:
    """Find straggler, fastest rank and fence of every collective.

    References
    ----------
    Synchronization-tax paper, section 4.2. The fence stands for the common ancestor:
    where paths run through the host they never meet an earlier collective, but the moment
    at which all ranks left one is common to all of them.
    """
    found = tax.matches
    start = found.table.start_ns[found.row]
    end = found.table.end_ns[found.row]
    rank = found.table.rank[found.row]
    slot = np.repeat(np.arange(len(found)), np.diff(found.first))
    order = np.lexsort((rank, end - start, slot))
    slow = order[found.first[:-1]]
    # the fastest of the lowest rank: durations descending
    order = np.lexsort((rank, start - end, slot))
    fast = order[found.first[:-1]]
    usable = found.own_status == Status.OK
    return Windows(
        slow,
        fast,
        _fences(found, usable, start, end, rank),
        usable,
        start,
        end,
        rank,
        _streams(found),
    )


def _streams(found: Matches) -> I64:
    """Stream of each participation: `Matches.table` holds all ranks, one after another."""
    parts = [rank.stream for rank in found.ranks]
    return np.concatenate([np.empty(0, np.int64), *parts])[found.row]


def _fences(found: Matches, usable: Bool, start_ns: I64, end_ns: I64, rank: I32) -> I64:
    """The latest to end of the usable collectives before each, -1 where there is none.

    Collectives of a group that overlap, on several streams, are few: once one is found,
    only some before it can have ended later. To find the first, those of the same ranks
    are gone through, and only where the one that ended first has ended in time.
    """
    first, group = found.first, found.group
    kin, previous, asked = _chains(found, usable, start_ns, end_ns, rank)
    fence = np.full(len(found), ABSENT, np.int64)
    earlier = previous[asked]
    open_ = np.arange(asked.size)
    while open_.size:
        late = ~_ended(earlier[open_], asked[open_], first, (end_ns, start_ns))
        open_ = open_[late]
        earlier[open_] = previous[earlier[open_]]
        open_ = open_[earlier[open_] >= 0]
    slot, earlier = asked[earlier >= 0], earlier[earlier >= 0]
    best, near = earlier.copy(), np.ones(slot.size, np.bool_)
    for back in range(1, OVERLAPPING):
        other = earlier - back
        near &= (other >= 0) & (group[np.maximum(other, 0)] == group[slot])
        rows = np.flatnonzero(near)
        rows = rows[kin[other[rows]] == kin[slot[rows]]]
        rows = rows[end_ns[first[other[rows]]] > end_ns[first[best[rows]]]]
        rows = rows[_ended(other[rows], slot[rows], first, (end_ns, start_ns))]
        best[rows] = other[rows]
    fence[slot] = best
    return fence


def _chains(
    found: Matches, usable: Bool, start_ns: I64, end_ns: I64, rank: I32
) -> tuple[I64, I64, I64]:
    """Usable collectives of equal group and ranks, in order.

    Returns
    -------
    kin, previous : (m,) int64
        A number that those of equal group and ranks share, and the slot of the one before;
        -1 for what is not usable, and where there is none.
    asked : (k,) int64
        Slots before which one had ended on the first rank when the first rank arrived.
    """
    slots = np.flatnonzero(usable)
    kin, previous = (np.full(len(found), ABSENT, np.int64) for _ in range(2))
    if not slots.size:
        return kin, previous, slots
    first = found.first.tolist()
    ends = np.minimum.reduceat(end_ns, found.first[:-1]).tolist()
    starts = np.minimum.reduceat(start_ns, found.first[:-1]).tolist()
    # of each: its number, the last slot, and the least end of all until then
    known: dict[tuple[int, bytes], tuple[int, int, int]] = {}
    asked = []
    for slot, group in zip(slots.tolist(), found.group[slots].tolist(), strict=True):
        key = group, rank[first[slot] : first[slot + 1]].tobytes()
        number, earlier, least_ns = known.get(key, (len(known), ABSENT, _NEVER_NS))
        kin[slot], previous[slot] = number, earlier
        known[key] = number, slot, min(least_ns, ends[slot])
        if earlier >= 0 and least_ns <= starts[slot]:
            asked.append(slot)
    return kin, previous, np.array(asked, np.int64)


def _ended(one: I64, other: I64, first: I64, times: tuple[I64, I64]) -> Bool:
    """Whether each rank has left a collective when it begins another one of equal ranks.

    Parameters
    ----------
    one, other : (k,) int64
        Slots.
    first : (m + 1,) int64
    times : end_ns, start_ns of (p,) int64
        Of participations.
    """
    if not one.size:
        return np.empty(0, np.bool_)
    left, _ = members(first, one)
    begun, _ = members(first, other)
    late = times[0][left] > times[1][begun]
    size = first[one + 1] - first[one]
    pair = np.repeat(np.arange(one.size), size)
    ended: Bool = np.bincount(pair[late], minlength=one.size) == 0
    return ended


def begins_ns(found: Matches, seen: Windows, fence: I64) -> I64:
    """When the window of each participation begins on its rank's clock.

    Parameters
    ----------
    found : Matches
    seen : Windows
    fence : (m,) int64
        Slot that begins the window of each collective, -1 for none; it has the same ranks.

    Returns
    -------
    (p,) int64
        `NO_FENCE` for none.
    """
    slot = np.repeat(np.arange(len(found)), np.diff(found.first))
    offset = np.arange(slot.size) - found.first[slot]
    row = np.where(fence[slot] >= 0, found.first[fence[slot]] + offset, 0)
    return np.where(fence[slot] >= 0, seen.end_ns[row], NO_FENCE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which paths are wanted: (p,) arrays over participations, as in `GroupTask`.

    With `everyone`, ranks without a wanted path are asked too: what their host usually
    takes, and which kernels they launch.
    """

    begin_ns: I64
    walked: Bool
    reach_ns: I64
    sampled: Bool
    everyone: bool = False


@dataclass(frozen=True, slots=True)
class Roster:
    """Participations by rank and group, in order of start.

    `order` (p,) int64 are participations; those of the k-th pair of `rank` and `group`
    (k,) int64 are `order[first[k]]` up to `order[first[k + 1]]`. `slot` (p,) int64 is the
    collective of each participation.
    """

    order: I64
    rank: I64
    group: I64
    first: I64
    slot: I64

    @classmethod
    def of(cls, found: Matches, seen: Windows) -> "Roster":
        """Sort the participations once."""
        slot = np.repeat(np.arange(len(found)), np.diff(found.first))
        group = found.group[slot].astype(np.int64)
        order = np.lexsort((seen.start_ns, group, seen.rank))
        rank, group = seen.rank[order].astype(np.int64), group[order]
        begins = np.ones(order.size, np.bool_)
        begins[1:] = (np.diff(rank) != 0) | (np.diff(group) != 0)
        first = np.flatnonzero(begins)
        return cls(order, rank[first], group[first], np.append(first, order.size), slot)

    def rows(self, rank: int, group: int) -> I64:
        """Participations of a rank (by position) in a group."""
        at = np.flatnonzero((self.rank == rank) & (self.group == group))
        return self.part(int(at[0])) if at.size else self.order[:0]

    def part(self, number: int) -> I64:
        """Participations of one pair."""
        return self.order[self.first[number] : self.first[number + 1]]


def tasks(roster: Roster, seen: Windows, wanted: Wanted) -> dict[int, list[GroupTask]]:
    """Tell each rank (by position) which collectives to walk to, by group.

    Ranks without a wanted path are left out, unless everyone is asked.
    """
    by_rank: dict[int, list[GroupTask]] = {}
    pairs = zip(roster.rank.tolist(), roster.group.tolist(), strict=True)
    for number, (rank, group) in enumerate(pairs):
        part = roster.part(number)
        task = GroupTask(
            group=group,
            slot=roster.slot[part],
            start_ns=seen.start_ns[part],
            duration_ns=seen.end_ns[part] - seen.start_ns[part],
            stream=seen.stream[part],
            begin_ns=wanted.begin_ns[part],
            divides=seen.usable[roster.slot[part]],
            walked=wanted.walked[part],
            reach_ns=wanted.reach_ns[part],
            sampled=wanted.sampled[part],
        )
        by_rank.setdefault(rank, []).append(task)
    return {
        rank: of_rank
        for rank, of_rank in by_rank.items()
        if wanted.everyone or any(task.walked.any() for task in of_rank)
    }


def query(roster: Roster, seen: Windows, who: tuple[int, int], key: U64, kin: U64) -> Query:
    """Ask a rank (by position) for the counterparts of keys of a group.

    Parameters
    ----------
    roster : Roster
    seen : Windows
    who : (int, int)
        Rank and group.
    key, kin : (i,) uint64
        In any order.
    """
    rows = roster.rows(*who)
    rows = rows[seen.usable[roster.slot[rows]]]
    distinct, at = np.unique(key, return_index=True)
    return Query(
        group=who[1],
        slot=roster.slot[rows],
        start_ns=seen.start_ns[rows],
        duration_ns=seen.end_ns[rows] - seen.start_ns[rows],
        stream=seen.stream[rows],
        key=distinct,
        kin=kin[at],
    )


def sampled_slots(found: Matches, usable: Bool) -> Bool:
    """Choose at most `SAMPLE` collectives of each group, evenly spread, (m,) bool."""
    chosen = np.zeros(len(found), np.bool_)
    for group in np.unique(found.group):
        slots = np.flatnonzero((found.group == group) & usable)
        count = min(slots.size, SAMPLE)
        chosen[slots[np.linspace(0, slots.size - 1, count).astype(np.int64)]] = True
    return chosen
