"""Nested CPU events to exclusive slices: what each thread was in at each moment."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from synctax.arrays import ABSENT, I32, I64, Bool

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
class _Spans:
    """The time between each start or end of an event and the next on its lane.

    There are 2r, two an event, in order of lane and time; what follows the last end of a
    lane is none and only fills its place.

    Parameters
    ----------
    start_ns : (2r,) int64
        Of each span, which lasts until the next.
    owner : (2r,) int64
        Row of the innermost event, -1 in none.
    ordinal : (2r,) int32
        Which slice of its owner the span is, 0 for gaps; -1 if it is no slice.
    parent : (r,) int64
        Owner of what each event began in, by row.
    """

    start_ns: I64
    owner: I64
    ordinal: I32
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
    spans = _spans(rows)
    # Up to the first end that is out of turn, what was found around each event is right,
    # and some event open at that end outlasts what is around it.
    crossing = (spans.parent >= 0) & (end_ns > end_ns[spans.parent])
    clipped = 0
    if crossing.any():
        rows, clipped = _clip(rows, np.unique(lane[crossing]))
        spans = _spans(rows)
    return Nesting(_slices(rows, spans), spans.parent, clipped)


def _in_order(lane: I32, start_ns: I64, end_ns: I64) -> _Rows:
    """Put outer events before inner ones, lane by lane."""
    order = np.argsort(start_ns, kind="stable")
    order = order[_stable_order(lane[order])]
    by_lane, start = lane[order], start_ns[order]
    same = by_lane[1:] == by_lane[:-1]
    tie = same & (start[1:] == start[:-1])
    tied = np.flatnonzero(np.append(tie, False) | np.append(False, tie))
    if tied.size:
        later = ~end_ns[order[tied]]  # falls where ends rise
        order[tied] = order[tied][np.lexsort((later, start[tied], by_lane[tied]))]
    begins = np.flatnonzero(~same) + 1
    bounds = (0, *begins.tolist(), lane.size) if lane.size else (0,)
    return _Rows(order, by_lane[list(bounds[:-1])], bounds, start, end_ns[order])


def _stable_order(numbers: I32) -> _Index:
    # numpy sorts 16-bit numbers by radix, several times as fast
    small = (numbers >= 0).all() and (numbers < 1 << 16).all()
    order: _Index = np.argsort(
        numbers.astype(np.uint16) if small else numbers, kind="stable"
    )
    return order


def _spans(rows: _Rows) -> _Spans:
    """Cut each lane at every start and end, and find the innermost event of each part.

    Starts and ends are a sequence of brackets. After each, the innermost open event is the
    last opened at that depth: in order of depth it is the last opened at all.
    """
    opened, at_ns = _brackets(rows)
    begun: I32 = np.cumsum(opened, dtype=np.int32)
    by_depth = _stable_order(_depth(begun))
    opens = opened[by_depth]
    first = np.flatnonzero(opens)
    event = begun[by_depth[first]] - np.int32(1)
    # spans of one owner stand together now: group 0 has the gaps, each other one event
    group: I64 = np.cumsum(opens)
    bounds = np.concatenate([[0], first, [opens.size]])

    owner, ordinal = np.empty(at_ns.size, np.int64), np.empty(at_ns.size, np.int32)
    owner[by_depth] = np.append(ABSENT, rows.row[event])[group]
    ordinal[by_depth] = _ordinals(_lasting(at_ns, rows)[by_depth], group, bounds)
    parent = np.empty(event.size, np.int64)
    # the last span of all is in no event, nor is what the first event began in
    parent[rows.row] = owner[np.flatnonzero(opened) - 1]
    return _Spans(at_ns, owner, ordinal, parent)


def _depth(begun: I32) -> I32:
    """Count the open events after each bracket from those begun until then."""
    depth: I32 = begun + begun
    depth -= np.arange(1, begun.size + 1, dtype=np.int32)
    return depth


def _lasting(at_ns: I64, rows: _Rows) -> Bool:
    """Find the spans that are not empty."""
    lasting = np.zeros(at_ns.size, np.bool_)
    lasting[:-1] = at_ns[1:] > at_ns[:-1]
    lasting[2 * np.array(rows.bounds[1:], np.intp) - 1] = False
    return lasting


def _ordinals(lasting: Bool, group: I64, bounds: I64) -> I32:
    """Number the slices of each group, -1 for what is none.

    Spans that last are slices, and the first one of an event that has no such.
    """
    before = np.zeros(lasting.size + 1, np.int32)
    np.cumsum(lasting, out=before[1:])
    until = before[bounds]
    kept = lasting.copy()
    kept[bounds[1:-1][until[2:] == until[1:-1]]] = True
    ordinal = before[:-1] - until[group]
    ordinal[: bounds[1]] = 0
    return np.where(kept, ordinal, np.int32(-1))


def _brackets(rows: _Rows) -> tuple[Bool, I64]:
    """Merge starts and ends by time: which are starts, and when each is.

    At one instant events end before others start; an empty one ends when it has started.
    """
    size = 2 * rows.start_ns.size
    opened, at_ns = np.empty(size, np.bool_), np.empty(size, np.int64)
    for begin, stop in pairwise(rows.bounds):
        start, end = rows.start_ns[begin:stop], rows.end_ns[begin:stop]
        empty = end == start
        late_ns = np.sort(end[~empty])
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


def _slices(rows: _Rows, spans: _Spans) -> Slices:
    """Keep the spans that are slices."""
    held = np.flatnonzero(spans.ordinal >= 0)
    of_lane = np.diff(np.searchsorted(held, 2 * np.array(rows.bounds, np.intp)))
    return Slices(
        event=spans.owner[held],
        lane=np.repeat(rows.lane, of_lane),
        start_ns=spans.start_ns[held],
        end_ns=spans.start_ns[1:][held],
        ordinal=spans.ordinal[held],
    )
