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

    `row` (r,) is the number of each among the rows given, `bounds` where each lane begins
    and, last, r. `end_ns` may be cut.
    """

    row: _Index
    bounds: tuple[int, ...]
    start_ns: I64
    end_ns: I64


@dataclass(frozen=True, slots=True)
class _Spans:
    """The time between each start or end of an event and the next on its lane.

    There are 2r, two an event, in order of lane and time; what follows the last end of a
    lane is none and only fills its place. Those an event owns, where no event in it is
    open, make a group.

    Parameters
    ----------
    start_ns : (2r,) int64
        Of each span, which lasts until the next.
    place : (r,) intp
        Number of the span that begins with each event.
    by_group : (2r,) intp
        Numbers of the spans, group after group, in order of time within each.
    group : (2r,) intp
        Their groups; 0 owns the gaps, the others have one event each.
    event : (r,) intp
        Events of the groups from 1 on.
    bounds : (r + 2,) intp
        Where in `by_group` each group begins and, last, 2r.
    """

    start_ns: I64
    place: _Index
    by_group: _Index
    group: _Index
    event: _Index
    bounds: _Index


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
    crossing = _crossing(rows, spans)
    clipped = 0
    if crossing.size:
        rows, clipped = _clip(rows, crossing)
        spans = _spans(rows)
    return _nesting(lane, rows, spans, clipped)


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
    return _Rows(order, bounds, start, end_ns[order])


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
    depth: I32 = begun + begun
    depth -= np.arange(1, opened.size + 1, dtype=np.int32)
    by_group = _stable_order(depth)
    begins = opened[by_group]
    first = np.flatnonzero(begins)
    return _Spans(
        start_ns=at_ns,
        place=np.flatnonzero(opened),
        by_group=by_group,
        group=np.cumsum(begins),
        event=begun[by_group[first]].astype(np.intp) - 1,
        bounds=np.concatenate([[0], first, [begins.size]]),
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


def _crossing(rows: _Rows, spans: _Spans) -> _Index:
    """Find events whose bracket does not close at their own end.

    Brackets never cross: a lane has such events if and only if some of its events cross.
    """
    closed_ns = spans.start_ns[1:][spans.by_group[spans.bounds[2:] - 1]]
    crossing: _Index = spans.event[closed_ns != rows.end_ns[spans.event]]
    return crossing


def _clip(rows: _Rows, crossing: _Index) -> tuple[_Rows, int]:
    """Cut events that end after the one they started in, and count them."""
    end_ns, clipped = rows.end_ns.copy(), 0
    lanes = np.unique(np.searchsorted(rows.bounds, crossing, side="right") - 1)
    for lane in lanes.tolist():
        part = slice(rows.bounds[lane], rows.bounds[lane + 1])
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


def _nesting(lane: I32, rows: _Rows, spans: _Spans, clipped: int) -> Nesting:
    """Name the owner of each span, and keep those that are slices."""
    size = spans.start_ns.size
    keep = np.zeros(size, np.bool_)
    keep[:-1] = spans.start_ns[1:] > spans.start_ns[:-1]
    keep[2 * np.array(rows.bounds[1:], np.intp) - 1] = False
    kept = keep[spans.by_group]
    # kept before each span, from the first group on, and of all
    count = np.zeros(size + 1, np.int32)
    np.cumsum(kept, out=count[1:])
    until = count[spans.bounds]
    kept[spans.bounds[1:-1][until[2:] == until[1:-1]]] = True
    nth = count[:-1] - until[spans.group]
    nth[: spans.bounds[1]] = 0

    owner, ordinal = np.empty(size, np.int64), np.empty(size, np.int32)
    owner[spans.by_group] = np.append(ABSENT, rows.row[spans.event])[spans.group]
    ordinal[spans.by_group] = nth
    keep[spans.by_group] = kept
    parent = np.empty(rows.row.size, np.int64)
    # the last span of all is in no event, nor is what the first event began in
    parent[rows.row] = owner[spans.place - 1]

    held = np.flatnonzero(keep)
    first_rows = rows.row[list(rows.bounds[:-1])]
    lanes = np.repeat(lane[first_rows], 2 * np.diff(rows.bounds))
    slices = Slices(
        event=owner[held],
        lane=lanes[held],
        start_ns=spans.start_ns[held],
        end_ns=spans.start_ns[1:][held],
        ordinal=ordinal[held],
    )
    return Nesting(slices, parent, clipped)
