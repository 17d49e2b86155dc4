"""One clock for all ranks of a job, told by ends of the collectives they shared.

Ranks of a group leave a collective together, so its ends tell how far their clocks are
apart. Groups that share a rank join their clocks; the best links are taken first.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synctax.arrays import I64
from synctax.collectives.clock import fit_clock
from synctax.collectives.matches import Matches, Status
from synctax.collectives.model import IS_SYMMETRIC

SAME_HOST_RESIDUALS = 3
"""On one host, an offset within so many residuals of 0 is none."""

SAME_HOST_LEAST_NS = 1_000
"""On one host, an offset below this is none: it is what rounding to µs leaves."""

REFERENCE = "reference"
NO_LINK = "none"
SAME_RANK = "same rank"
SAME_HOST = "same host"


@dataclass(frozen=True, slots=True)
class RankClock:
    """A rank's clock against that of the job: job = own - lag(own).

    Parameters
    ----------
    offset_ns : int
        How far it is ahead at `origin_ns` of its own time.
    drift : float
        By how much it runs faster, as a ratio.
    origin_ns : int
        On its own clock.
    residual_ns : float
        Robust standard deviation of what the links to the reference leave.
    collectives : int
        Collectives whose ends tell it.
    linked : str
        How: `reference`, `rank 3 by tp`, `same host`, `same rank`, or `none`.
    root : int
        Position of the rank whose clock it is led back to. Where all have the same, all
        are on one clock.
    """

    offset_ns: int
    drift: float
    origin_ns: int
    residual_ns: float
    collectives: int
    linked: str
    root: int = 0

    def lag_ns(self, time_ns: int) -> int:
        """How far the clock is ahead at a time of its own, in ns."""
        return self.offset_ns + round(self.drift * (time_ns - self.origin_ns))

    def over(self, other: "RankClock") -> "RankClock":
        """Put a clock that is against another rank's against what that one is against."""
        there = self.origin_ns - self.offset_ns
        return RankClock(
            offset_ns=self.offset_ns + other.lag_ns(there),
            drift=self.drift + other.drift * (1 - self.drift),
            origin_ns=self.origin_ns,
            residual_ns=float(np.hypot(self.residual_ns, other.residual_ns)),
            collectives=self.collectives,
            linked=self.linked,
            root=other.root,
        )


@dataclass(slots=True)
class _Ends:
    """Ends of the shared collectives of one group: slots by member, ascending."""

    role: str
    slot: dict[int, I64]
    end_ns: dict[int, I64]
    used: bool = False


def job_clocks(matches: Matches) -> tuple[RankClock, ...]:
    """Estimate how far the clock of every rank is from that of the job.

    The reference is the rank that shares most collectives. Each other rank is linked to
    it, over other ranks if need be, so that as little as possible is left unexplained.
    Ranks of one host have one clock unless their ends say otherwise.

    Parameters
    ----------
    matches : Matches

    Returns
    -------
    tuple of RankClock
        By position. A rank that nothing links keeps its own clock (`linked` is `none`),
        as does the first of several ranks that are linked among themselves only.
    """
    reach, shares = _Reach(matches), np.zeros(len(matches.ranks), np.int64)
    for group in _shared(matches):
        reach.add(group)
        for position, slots in group.slot.items():
            shares[position] += slots.size
    for root in np.argsort(-shares, kind="stable").tolist():
        if root not in reach.known:
            reach.spread(root)
    return tuple(reach.known[position] for position in range(len(matches.ranks)))


def lags_ns(clocks: Sequence[RankClock], position: I64, time_ns: I64) -> I64:
    """How far clocks are ahead at times of their own, as `RankClock.lag_ns` tells it.

    Parameters
    ----------
    clocks : sequence of RankClock
        By position.
    position, time_ns : (n,) int64
        Whose time each is, and the time.

    Returns
    -------
    (n,) int64
        In ns.
    """
    offset_ns = np.array([clock.offset_ns for clock in clocks], np.int64)
    origin_ns = np.array([clock.origin_ns for clock in clocks], np.int64)
    drift = np.array([clock.drift for clock in clocks])
    drifted_ns = np.rint(drift[position] * (time_ns - origin_ns[position]))
    lags: I64 = drifted_ns.astype(np.int64) + offset_ns[position]
    return lags


class _Reach:
    """Ranks whose clocks are known, and groups over which these lead to others."""

    def __init__(self, matches: Matches) -> None:
        self.known: dict[int, RankClock] = {}
        self._matches = matches
        self._groups: dict[int, list[_Ends]] = {}
        self._of_rank: dict[int, RankClock] = {}
        self._of_host: dict[str, RankClock] = {}

    def add(self, group: _Ends) -> None:
        """Take a group whose ranks leave collectives together."""
        for position in group.slot:
            self._groups.setdefault(position, []).append(group)

    def spread(self, root: int) -> None:
        """Reach all ranks that collectives link to one, the best links first."""
        queue = [(0.0, 0, root, self._beside(root))]
        count = 0
        while queue:
            _, _, position, clock = heapq.heappop(queue)
            if position in self.known:
                continue
            self._know(position, clock)
            for group in self._groups.pop(position, ()):
                if group.used:
                    continue
                group.used = True
                for other in group.slot:
                    if other in self.known:
                        continue
                    link = _link(self._matches, group, position, other)
                    if link is not None:
                        count += 1
                        joined = link.over(clock)
                        heapq.heappush(queue, (joined.residual_ns, count, other, joined))

    def _know(self, position: int, clock: RankClock) -> None:
        self.known[position] = clock
        one = self._matches.ranks[position]
        self._of_rank.setdefault(one.rank, clock)
        self._of_host.setdefault(one.host, clock)

    def _beside(self, position: int) -> RankClock:
        """Take the clock of the same rank in another window, or of its host, if known."""
        one = self._matches.ranks[position]
        alike = (
            (SAME_RANK, self._of_rank.get(one.rank) if one.rank >= 0 else None),
            (SAME_HOST, self._of_host.get(one.host) if one.host else None),
        )
        for linked, clock in alike:
            if clock is not None:
                return replace(clock, collectives=0, linked=linked)
        linked = NO_LINK if self.known else REFERENCE
        return RankClock(0, 0.0, one.window_start_ns, 0.0, 0, linked, position)


def _link(
    matches: Matches, group: _Ends, reference: int, position: int
) -> RankClock | None:
    """Fit the clock of one rank of a group to that of another."""
    shared, mine, theirs = np.intersect1d(
        group.slot[position], group.slot[reference], return_indices=True
    )
    if not shared.size:
        return None
    end = group.end_ns[position][mine]
    lead = end - group.end_ns[reference][theirs]
    # in integers as far as they are large: a float of a time since 1970 has 256 ns steps
    origin, middle = int(np.sort(end)[end.size // 2]), int(np.sort(lead)[lead.size // 2])
    fit = fit_clock((end - origin).astype(np.float64), (lead - middle).astype(np.float64))
    offset = middle + round(fit.lag_ns(np.zeros(1))[0])
    drift, one, other = fit.drift, matches.ranks[position], matches.ranks[reference]
    if one.host and one.host == other.host:
        close = max(SAME_HOST_RESIDUALS * fit.residual_ns, SAME_HOST_LEAST_NS)
        if abs(offset) <= close:
            offset, drift = 0, 0.0
    linked = f"rank {other.rank} by {group.role}"
    return RankClock(offset, drift, origin, fit.residual_ns, int(shared.size), linked)


def _shared(matches: Matches) -> Iterator[_Ends]:
    """Go through the groups whose ranks leave collectives together."""
    table, count = matches.table, np.diff(matches.first)
    good = IS_SYMMETRIC[matches.op]
    good &= (matches.own_status == Status.OK) & (count > 1)
    slot = np.repeat(np.arange(len(matches)), count)
    rows = np.flatnonzero(good[slot])
    if not rows.size:
        return
    slot, rank = slot[rows], table.rank[matches.row[rows]]
    end_ns = table.end_ns[matches.row[rows]]
    # by group, in it by rank, of a rank in order of slots
    order = np.lexsort((rank, matches.group[slot]))
    slot, rank, end_ns = slot[order], rank[order], end_ns[order]
    group = matches.group[slot]
    new = (np.diff(group, prepend=-1) != 0) | (np.diff(rank, prepend=-1) != 0)
    starts = np.flatnonzero(new)
    ends: dict[int, _Ends] = {}
    for start, stop in zip(starts, np.append(starts[1:], slot.size), strict=True):
        number, member = int(group[start]), int(rank[start])
        one = ends.setdefault(number, _Ends(matches.groups[number].role, {}, {}))
        one.slot[member], one.end_ns[member] = slot[start:stop], end_ns[start:stop]
    yield from ends.values()
