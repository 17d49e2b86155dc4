"""Nested CPU events to exclusive slices: what each thread was in at each moment."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from synctax.arrays import ABSENT, I32, I64, Bool, distinct, ordered

_Index = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Slices:
    """Stretches of a thread's time, each in one event or in none.

    In order of lane, then time (start, then end); those of a lane are disjoint and leave
    nothing out between its first and its last moment.

    Parameters
    ----------
    event : (n,) int64
        The innermost event of that time, -1 for a gap between top-level events.
    lane : (n,) int32
        Lane number of the thread.
    start_ns, end_ns : (n,) int64
        Of the slice, in ns.
    ordinal : (n,) int32
        Which slice of its event this is, from 0; 0 for gaps.
    """

    event: I64
    lane: I32
    start_ns: I64
    end_ns: I64
    ordinal: I32

    def __len__(self) -> int:
        return int(self.start_ns.size)


@dataclass(frozen=True, slots=True)
class Nesting:
    """How the events of threads contain each other.

    Parameters
    ----------
    slices : Slices
        `event` indexes the rows that were given.
    parent : (r,) int64
        Row of the innermost event around each row, -1 at top level.
    clipped : int
        Events that reached beyond the event they started in and were cut there.
    """

    slices: Slices
    parent: I64
    clipped: int


@dataclass(frozen=True, slots=True)
class _Rows:
    """The events by lane and start, an event before what it contains.

    `row` (r,) is the number of each among the rows given; `lane` (k,) are the lanes, and
    `bounds` (k + 1) where each begins and, last, r. `end_ns` may be cut.
    """

    row: _Index
    lane: I32
    bounds: tuple[int, ...]
    start_ns: I64
    end_ns: I64


@dataclass(frozen=True, slots=True)
class _Nested:
    """Which events lie in which.

    Events number as in `_Rows`, starts and ends by their place in the sequence of all.
    In order of depth, then of start, those in one other stand together, a family; family
    0 are the events at top level.

    Parameters
    ----------
    opens : (r,) int64
        Start of each event.
    event, closes, family : (r,) int64
        The events in order of depth, the end of each, its family.
    begin : (f + 1,) int64
        Where each family begins and, last, r.
    parent : (f,) int64
        Event that a family lies in, -1 for number 0.
    """

    opens: I64
    event: I64
    closes: I64
    family: I64
    begin: I64
    parent: I64


def exclusive_slices(lane: I32, start_ns: I64, end_ns: I64) -> Nesting:
    """Split each event around the events in it, and name the gaps between events.

    An event lies in another of its lane if it starts before that one ends; of two with
    one start the longer is outside, of two with one start and end the earlier row.
    What starts at the very end of an event follows it and is not in it; so of two empty
    events at one instant neither is in the other. An event that ends after the one it
    started in is cut to its end, and what it contains with it.

    Every event has at least one slice: an empty event an empty one, and an event that is
    wholly covered by others an empty one at its start. Else no slice is empty.

    Parameters
    ----------
    lane : (r,) int32
        Lane number of each event.
    start_ns, end_ns : (r,) int64
        In ns. Rows in order of start are fastest; the order decides nothing but which of
        two events of equal times is outside.

    Returns
    -------
    Nesting

    Raises
    ------
    ValueError
        If the arrays differ in length, or an event ends before it starts.

    References
    ----------
    Synchronization-tax paper, section 4.1.

    Examples
    --------
    An operator with one call in it, and an operator after it:

    >>> found = exclusive_slices(
    ...     np.zeros(3, np.int32), np.array([0, 20, 90]), np.array([70, 50, 100])
    ... )
    >>> found.slices.event.tolist()
    [0, 1, 0, -1, 2]
    >>> found.slices.start_ns.tolist()
    [0, 20, 50, 70, 90]
    >>> found.parent.tolist()
    [-1, 0, -1]
    """
    if not lane.size == start_ns.size == end_ns.size:
        raise ValueError(
            f"{lane.size} lanes and {end_ns.size} ends for {start_ns.size} starts"
        )
    if (end_ns < start_ns).any():
        raise ValueError("an event ends before it starts")
    rows = _in_order(lane, start_ns, end_ns)
    opened, at_ns = _brackets(rows)
    nested = _nested(opened)
    around = nested.parent.take(nested.family)
    # Up to the first end that is out of turn, what was found around each event is right,
    # and some event open at that end outlasts what is around it.
    ends_ns = np.append(rows.end_ns, np.iinfo(np.int64).max)
    crossing = ends_ns.take(nested.event) > ends_ns.take(around)
    clipped = 0
    if crossing.any():
        rows, clipped = _clip(rows, distinct(lane[rows.row[nested.event[crossing]]]))
        opened, at_ns = _brackets(rows)
        nested = _nested(opened)
        around = nested.parent.take(nested.family)
    parent = np.empty(lane.size, np.int64)
    parent[rows.row.take(nested.event)] = np.append(rows.row, ABSENT).take(around)
    return Nesting(_slices(rows, at_ns, nested, around), parent, clipped)


def _in_order(lane: I32, start_ns: I64, end_ns: I64) -> _Rows:
    """Put outer events before inner ones, lane by lane."""
    order = ordered(start_ns)
    order = order.take(ordered(lane.take(order)))
    by_lane, start = lane.take(order), start_ns.take(order)
    same = by_lane[1:] == by_lane[:-1]
    tie = same & (start[1:] == start[:-1])
    tied = np.flatnonzero(np.append(tie, False) | np.append(False, tie))
    if tied.size:
        later = ~end_ns[order[tied]]  # falls where ends rise
        order[tied] = order[tied][np.lexsort((later, start[tied], by_lane[tied]))]
    begins = np.flatnonzero(~same) + 1
    bounds = (0, *begins.tolist(), lane.size) if lane.size else (0,)
    return _Rows(order, by_lane[list(bounds[:-1])], bounds, start, end_ns.take(order))


def _nested(opened: Bool) -> _Nested:
    """Find which events lie in which, from starts and ends as a sequence of brackets.

    At each depth an event ends before the next one starts: there the n-th end is that of
    the n-th event. And those in one other stand together, after one that starts as the
    first thing in it.
    """
    opens, closes = np.flatnonzero(opened), np.flatnonzero(~opened)
    number = np.arange(opens.size)
    depth = 2 * number - opens
    by_depth = ordered(depth)
    closes = closes.take(ordered(closes - 2 * number))
    deeper = np.zeros(depth.size, np.bool_)
    np.greater(depth[1:], depth[:-1], out=deeper[1:])
    leads = deeper.take(by_depth)
    first = np.flatnonzero(leads)
    return _Nested(
        opens=opens,
        event=by_depth,
        closes=closes,
        family=np.cumsum(leads),
        begin=np.concatenate([[0], first, [depth.size]]),
        parent=np.append(ABSENT, by_depth.take(first) - 1),
    )


def _brackets(rows: _Rows) -> tuple[Bool, I64]:
    """Merge starts and ends by time: which are starts, and when each is.

    At one instant events end before others start; an empty one ends when it has started.
    """
    size = 2 * rows.start_ns.size
    opened, at_ns = np.empty(size, np.bool_), np.empty(size, np.int64)
    for begin, stop in pairwise(rows.bounds):
        start, end = rows.start_ns[begin:stop], rows.end_ns[begin:stop]
        empty = end == start
        # in order but for nested ones, which a merge sort takes as they are
        late_ns = np.sort(end[~empty], kind="stable")
        opens = np.ones(2 * start.size, np.bool_)
        opens[: late_ns.size] = False
        # an empty event stands twice among the starts: start, end
        opens[late_ns.size + np.flatnonzero(empty) + np.cumsum(empty)[empty]] = False
        marks_ns = np.concatenate([late_ns, np.repeat(start, 1 + empty)])
        # stable, and two sorted runs: one merge
        order = np.argsort(marks_ns, kind="stable")
        opened[2 * begin : 2 * stop] = opens[order]
        at_ns[2 * begin : 2 * stop] = marks_ns[order]
    return opened, at_ns


def _clip(rows: _Rows, lanes: I32) -> tuple[_Rows, int]:
    """Cut events of `lanes` that end after the one they started in, and count them."""
    end_ns, clipped = rows.end_ns.copy(), 0
    for nth in np.flatnonzero(np.isin(rows.lane, lanes)).tolist():
        part = slice(rows.bounds[nth], rows.bounds[nth + 1])
        end_ns[part], count = _clip_lane(
            rows.start_ns[part].tolist(), rows.end_ns[part].tolist()
        )
        clipped += count
    return replace(rows, end_ns=end_ns), clipped


def _clip_lane(start_ns: list[int], end_ns: list[int]) -> tuple[list[int], int]:
    """Cut the events of one lane: their new ends, and how many were cut.

    One by one, since where an event ends decides what the next ones started in.
    """
    cut_ns: list[int] = []
    around: list[tuple[int, int]] = []  # ends of the open events, as cut and their own
    clipped = 0
    for start, own_end in zip(start_ns, end_ns, strict=True):
        while around and around[-1][0] <= start:
            around.pop()
        end = own_end
        if around:
            outer_end, outer_own_end = around[-1]
            end = min(end, outer_end)
            # what only shares the cut of the event around it is not counted again
            clipped += own_end > outer_own_end
        cut_ns.append(end)
        around.append((end, own_end))
    return cut_ns, clipped


def _slices(rows: _Rows, at_ns: I64, nested: _Nested, around: I64) -> Slices:
    """Find the slices: what lasts after a start or an end, up to the next one.

    What follows a start belongs to its event, what follows an end to the event around.
    """
    size, opens, closes = at_ns.size, nested.opens, nested.closes
    kept = np.zeros(size, np.bool_)
    np.greater(at_ns[1:], at_ns[:-1], out=kept[:-1])
    kept[2 * np.array(rows.bounds[1:], np.intp) - 1] = False  # the last end of a lane
    head, tail = kept.take(opens), kept.take(closes)
    before = np.zeros(tail.size + 1, np.int32)
    np.cumsum(tail, out=before[1:])
    until = before.take(nested.begin)
    # ends are counted from the first in the same event, after the slice at its start
    base = until[:-1] - head.take(nested.parent) if size else until[:-1]
    ordinal = before[:-1] - base.take(nested.family)
    ordinal[: nested.begin[1]] = 0
    within = np.zeros(head.size, np.int32)
    within[nested.parent[1:]] = np.diff(until)[1:]
    kept[opens.take(np.flatnonzero(~head & (within == 0)))] = True
    held = np.flatnonzero(kept)

    owner, nth = np.empty(size, np.int64), np.zeros(size, np.int32)
    owner[opens], owner[closes] = rows.row, np.append(rows.row, ABSENT).take(around)
    nth[closes] = ordinal
    of_lane = np.diff(np.searchsorted(held, 2 * np.array(rows.bounds, np.intp)))
    return Slices(
        event=owner.take(held),
        lane=np.repeat(rows.lane, of_lane),
        start_ns=at_ns.take(held),
        end_ns=at_ns[1:].take(held) if size else at_ns,
        ordinal=nth.take(held),
    )
