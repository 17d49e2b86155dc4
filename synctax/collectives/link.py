"""Which range of the CPU launched a kernel: from kernel to call to enclosing range."""

from dataclasses import dataclass, replace

import numpy as np

from synctax.arrays import ABSENT, I32, I64, NS_PER_US, Bool, take
from synctax.trace.model import EventKind, Events


@dataclass(frozen=True, slots=True)
class Anchors:
    """Where on the CPU GPU events were launched.

    Parameters
    ----------
    lane : (n,) int32
        Lane of the thread, -1 where neither a call nor an operator is known.
    time_ns : (n,) int64
        Start of the call; of the operator where the call is missing.
    """

    lane: I32
    time_ns: I64

    @property
    def known(self) -> Bool:
        """Which events have an anchor."""
        known: Bool = self.lane >= 0
        return known


def anchor(events: Events, rows: I64) -> Anchors:
    """Find where GPU events were launched.

    The call with the event's correlation id decides. Where it is missing, the operator
    with the event's `External id` stands in, unless the trace writes the correlation id
    there, as older ones do.

    Parameters
    ----------
    events : Events
    rows : (n,) int64
        GPU events, as indices into `events`.
    """
    call = launching(events, rows)
    known = call >= 0
    lane = np.where(known, events.lane[call], ABSENT).astype(np.int32)
    return Anchors(lane, np.where(known, events.start_ns[call], ABSENT))


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of a trace, and those of each correlation id.

    Parameters
    ----------
    event : (c,) int64
        Index into `Events`.
    ids : Ids
        These indices by correlation id.
    """

    event: I64
    ids: "Ids"

    @classmethod
    def of(cls, events: Events) -> "Calls":
        """Find the calls."""
        rows = np.flatnonzero(events.kind == EventKind.RUNTIME)
        ids = Ids.of(events.correlation[rows])
        return cls(rows, replace(ids, first=take(rows, ids.first)))

    def find(self, correlation: I64) -> I64:
        """Find the call with each correlation id, (q,) indices into `Events`, or -1."""
        return self.ids.find(correlation)


def launching(events: Events, rows: I64, calls: "Calls | None" = None) -> I64:
    """Find the call that launched each GPU event; the operator where that is missing.

    Parameters
    ----------
    events : Events
    rows : (n,) int64
        GPU events, as indices into `events`.
    calls : Calls, optional
        Those of `events`, where they are found already.

    Returns
    -------
    (n,) int64
        Indices into `events`, -1 where neither is known.
    """
    if not rows.size:  # calls, which are many, need not be looked at
        return np.zeros(0, np.int64)
    launched = (calls or Calls.of(events)).find(events.correlation[rows])

    external = events.external_id[rows]
    lost = (launched < 0) & (external > 0) & (external != events.correlation[rows])
    if lost.any():
        operators = np.flatnonzero(
            (events.kind == EventKind.CPU_OP) | (events.kind == EventKind.ANNOTATION)
        )
        found = by_id(events.external_id[operators], np.where(lost, external, ABSENT))
        launched = np.where(lost, take(operators, found), launched)
    return launched


def by_id(ids: I64, wanted: I64) -> I64:
    """Find the first of `ids` (n,) that equals each wanted id, -1 if none or not above 0.

    Returns
    -------
    (q,) int64
        Index into `ids`.

    Examples
    --------
    >>> by_id(np.array([7, 5, 7, 0]), np.array([7, 6, 0]))
    array([ 0, -1, -1])
    """
    return Ids.of(ids).find(wanted)


SPARSE = 2
"""Ids are looked up in a table while it has at most so many places for each."""


@dataclass(frozen=True, slots=True)
class Ids:
    """Where each id stands first, to look up many.

    A profiler hands out ids one by one, so a table of all from the least to the largest
    answers without a search. Where they lie far apart, `key` holds them in order instead.

    Parameters
    ----------
    first : (m + 1,) int64
        Of each id from `low` on, or of each `key`, the first index; last, -1.
    low : int
        The least id.
    key : (m,) int64 or None
        The ids, in order; None where `first` has a place for each.
    """

    first: I64
    low: int
    key: I64 | None

    @classmethod
    def of(cls, ids: I64) -> "Ids":
        """Prepare for looking up in `ids` (n,), of which those above 0 count."""
        rows = np.flatnonzero(ids > 0)
        known = ids[rows]
        low, high = (int(known.min()), int(known.max())) if rows.size else (1, 0)
        if high - low < SPARSE * ids.size:
            first = np.full(high - low + 2, ABSENT, np.int64)
            first[(known - low)[::-1]] = rows[::-1]  # the last write wins
            return cls(first, low, None)
        order = np.argsort(known, kind="stable")
        return cls(np.append(rows[order], ABSENT), low, known[order])

    def find(self, wanted: I64) -> I64:
        """Find the first index of each wanted id, -1 if there is none; (q,) int64."""
        nowhere = self.first.size - 1
        if self.key is None:
            # what is below the least id is above all others without a sign
            at = (wanted - self.low).view(np.uint64)
            return self.first[np.minimum(at, np.uint64(nowhere)).view(np.int64)]
        place = np.searchsorted(self.key, wanted, side="left")
        hit = self.key[np.minimum(place, nowhere - 1)] == wanted
        return self.first[np.where(hit, place, nowhere)]


@dataclass(frozen=True, slots=True)
class Ranges:
    """CPU ranges of one kind, in order of lane and start.

    Parameters
    ----------
    event : (r,) int64
        Index into `Events`.
    lane : (r,) int32
    start_ns, end_ns : (r,) int64
    """

    event: I64
    lane: I32
    start_ns: I64
    end_ns: I64

    @classmethod
    def of(cls, events: Events, rows: I64) -> "Ranges":
        """Order events of `rows` by lane and start."""
        rows = rows[np.lexsort((rows, events.lane[rows]))]
        start = events.start_ns[rows]
        return cls(rows, events.lane[rows], start, start + events.duration_ns[rows])

    def innermost(self, anchors: Anchors) -> I64:
        """Find the innermost range around each anchor.

        Where all times are whole µs a call can seem to start up to 1 µs after its range
        ended, since starts and durations were cut off apart.

        Returns
        -------
        (n,) int64
            Indices into these ranges, -1 where none.
        """
        found = self._around(anchors, 0)
        if not (self.start_ns % NS_PER_US).any():
            late = self._around(anchors, NS_PER_US)
            found = np.where(found < 0, late, found)
        return found

    def before(self, anchors: Anchors) -> I64:
        """Find the last range that starts no later, by lane and time.

        Returns
        -------
        (n,) int64
            Indices into these ranges, of the anchor's lane or, where that has none, of a
            lower lane; -1 where no range comes before.
        """
        n = self.event.size
        lane = np.concatenate([self.lane, anchors.lane])
        time_ns = np.concatenate([self.start_ns, anchors.time_ns])
        is_anchor = np.repeat(np.array([0, 1], np.int8), [n, anchors.lane.size])
        order = np.lexsort((is_anchor, time_ns, lane))
        rank = np.cumsum(is_anchor[order] == 0) - 1
        before = np.empty(order.size, np.int64)
        before[order] = rank
        return before[n:]

    def _around(self, anchors: Anchors, slack_ns: int) -> I64:
        found = np.full(anchors.lane.size, ABSENT, np.int64)
        if not self.event.size:
            return found
        at = self.before(anchors)
        latest = _latest_end_so_far(self.lane, self.end_ns)
        active = np.flatnonzero(anchors.known & (at >= 0))
        while active.size:
            here, time_ns = at[active], anchors.time_ns[active] - slack_ns
            open_ = (self.lane[here] == anchors.lane[active]) & (latest[here] >= time_ns)
            inside = open_ & (self.end_ns[here] >= time_ns)
            found[active[inside]] = here[inside]
            # An earlier range of the lane is still open: look at the one before.
            active = active[open_ & ~inside]
            at[active] -= 1
            active = active[at[active] >= 0]
        return found


def _latest_end_so_far(lane: I32, end_ns: I64) -> I64:
    """Running maximum of the ends within each lane."""
    latest = end_ns.copy()
    first = np.flatnonzero(np.diff(lane, prepend=lane[:1] - 1))
    for begin, stop in zip(first, [*first[1:], lane.size], strict=True):
        np.maximum.accumulate(latest[begin:stop], out=latest[begin:stop])
    return latest
