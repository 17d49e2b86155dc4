"""The host's part of the graph: what each thread did, moment by moment.

Every thread that runs operators or launches work is cut into pieces: exclusive slices of
operators and calls, gaps that the profiler did not log, and waits. Watchdog threads do
neither and are left out.
"""

from dataclasses import dataclass, replace

import numpy as np

from synctax.arrays import ABSENT, I8, I32, I64, Bool
from synctax.graph.lookup import settled
from synctax.graph.model import NodeKind
from synctax.graph.slices import exclusive_slices
from synctax.notes import Note
from synctax.trace.model import EventKind, RankTrace
from synctax.trace.names import by_name, is_dispatch, range_kind
from synctax.trace.steps import step_number


@dataclass(frozen=True, slots=True)
class Pieces:
    """What threads did, in order of lane, then time.

    Columns as in `Nodes`, on the host's own clock.
    """

    kind: I8
    lane: I32
    start_ns: I64
    end_ns: I64
    event: I64
    label: I64
    ordinal: I32

    def __len__(self) -> int:
        return int(self.kind.size)


def pieces(trace: RankTrace, spans: I64, launching: I64) -> tuple[Pieces, tuple[Note, ...]]:
    """Cut what threads did into exclusive pieces.

    Parameters
    ----------
    trace : RankTrace
    spans : (s,) int64
        Ranges that are collectives themselves (gloo): each is one piece, whatever it
        holds. Indices into events.
    launching : (l,) int64
        Events that launched GPU work.

    Returns
    -------
    Pieces, notes
        The self time of annotations that a program or a framework made (`## forward ##`)
        is time that nobody logged, so it is part of gaps. Profiler steps are marks, not
        work, and are no part of any piece.

    References
    ----------
    Synchronization-tax paper, section 4.1: "exclusive time slices per-thread".
    """
    rows, ignored = _rows(trace, spans, launching)
    events = trace.events
    start = events.start_ns.take(rows)
    end = start + events.duration_ns.take(rows)
    nested = exclusive_slices(events.lane.take(rows), start, end)
    cut = nested.slices
    owner = np.append(rows, ABSENT).take(cut.event)
    kind = np.append(_kinds(trace, rows, spans), np.int8(NodeKind.GAP)).take(cut.event)
    found = Pieces(kind, cut.lane, cut.start_ns, cut.end_ns, owner, owner, cut.ordinal)
    notes = []
    if nested.clipped:
        notes.append(
            Note(
                "event_clipped",
                nested.clipped,
                "operators or calls that reach beyond the one they started in",
            )
        )
    if ignored:
        notes.append(
            Note("thread_ignored", ignored, "threads without operators or launches")
        )
    return _merge_gaps(found), tuple(notes)


_DISPATCH, _STEP = 1, 2


def _rows(trace: RankTrace, spans: I64, launching: I64) -> tuple[I64, int]:
    """Events of threads that matter, and how many threads do not.

    They are in order of start; of one start calls come last: of an operator and a call
    with the same (whole) µs the call is inside.
    """
    events, kinds = trace.events, trace.events.kind
    host = kinds == EventKind.RUNTIME
    host |= (kinds == EventKind.CPU_OP) | (kinds == EventKind.ANNOTATION)
    rows = np.flatnonzero(host)
    kind, mark = kinds.take(rows), by_name(trace.strings, events.name[rows], _mark, np.int8)
    keep = (mark != _DISPATCH) & ((mark != _STEP) | (kind != EventKind.ANNOTATION))
    chosen = np.flatnonzero(keep)
    rows, calls = rows.take(chosen), kind.take(chosen) == EventKind.RUNTIME
    lane = events.lane.take(rows)
    # how many calls and others each lane has; lane -1 is the last one, as an index
    slots = trace.lanes.thread.size + 1
    count = np.bincount((lane % slots) * 2 + calls, minlength=2 * slots)
    busy = count[::2] > 0
    busy[events.lane[launching]] = True
    ignored = np.flatnonzero(~busy & (count[1::2] > 0))
    if ignored.size or spans.size:
        kept = np.flatnonzero(busy[lane] & ~_within(trace, spans)[rows])
        rows, calls = rows[kept], calls[kept]
    order = settled(events.start_ns.take(rows), calls)
    return rows if order is None else rows[order], ignored.size


def _mark(name: str) -> int:
    if is_dispatch(name):
        return _DISPATCH
    return 0 if step_number(name) is None else _STEP


def _within(trace: RankTrace, spans: I64) -> Bool:
    """Events inside a span, itself not included."""
    events = trace.events
    inside = np.zeros(len(events), np.bool_)
    for lane in np.unique(events.lane[spans]):
        mine = spans[events.lane[spans] == lane]
        start = events.start_ns[mine]
        end = np.maximum.accumulate(start + events.duration_ns[mine])
        rows = np.flatnonzero(events.lane == lane)
        at = np.searchsorted(start, events.start_ns[rows], side="right") - 1
        stop = events.start_ns[rows] + events.duration_ns[rows]
        inside[rows] = (at >= 0) & (stop <= end[at])
    inside[spans] = False
    return inside


def _kinds(trace: RankTrace, rows: I64, spans: I64) -> I8:
    """What the slices of each row are."""
    events = trace.events
    kind = np.full(rows.size, NodeKind.SLICE, np.int8)
    annotated = np.flatnonzero(events.kind.take(rows) == EventKind.ANNOTATION)
    own = by_name(trace.strings, events.name[rows[annotated]], _of_backend, np.bool_)
    kind[annotated[~own]] = NodeKind.GAP
    if spans.size:
        kind[np.isin(rows, spans)] = NodeKind.COLLECTIVE
    return kind


def _of_backend(name: str) -> bool:
    """Whether a range is made by a communication backend, in C++, not by the program."""
    return range_kind(name) is not None


def _merge_gaps(cut: Pieces) -> Pieces:
    """Join gaps that touch: an annotation's end does not end the program's own time.

    A joined gap is named by the piece that follows it, and lies in the annotation that
    holds most of it. A gap that nothing follows is dropped.
    """
    if not len(cut):
        return cut
    gap = cut.kind == NodeKind.GAP
    joins = gap[1:] & gap[:-1] & (cut.lane[1:] == cut.lane[:-1])
    first = np.flatnonzero(gap & np.append(True, ~joins))
    following = np.flatnonzero(gap & np.append(~joins, True)) + 1
    end_ns = cut.end_ns.take(following - 1)
    followed = np.append(cut.lane, ABSENT).take(following) == cut.lane.take(first)
    # a slice of an annotation's tail may stand last on its thread: nothing follows it
    keep = np.flatnonzero(followed & (end_ns > cut.start_ns.take(first)))
    first, following, end_ns = first.take(keep), following.take(keep), end_ns.take(keep)
    kept = ~gap
    kept[first] = True
    chosen = np.flatnonzero(kept)
    rows = np.searchsorted(chosen, first)
    merged = take_pieces(cut, chosen)
    merged = replace(merged, label=merged.event.copy())
    merged.end_ns[rows] = end_ns
    merged.event[rows] = _longest(cut, joins).take(first)
    merged.label[rows] = cut.event.take(following)
    merged.ordinal[rows] = cut.ordinal.take(following)
    return merged


def _longest(cut: Pieces, joins: Bool) -> I64:
    """Owner of each piece; for the first of pieces that join, of the longest of them."""
    owner = cut.event.copy()
    after, before = np.append(joins, False), np.append(False, joins)
    rows = np.flatnonzero(after | before)
    if rows.size:
        block = np.cumsum(~before[rows])
        order = np.lexsort((cut.end_ns[rows] - cut.start_ns[rows], block))
        last = np.flatnonzero(np.diff(block, append=block[-1] + 1))
        owner[rows[~before[rows]]] = cut.event[rows[order[last]]]
    return owner


def take_pieces(all_: Pieces, index: I64) -> Pieces:
    """Take pieces by number."""
    event = all_.event.take(index)
    return Pieces(
        kind=all_.kind.take(index),
        lane=all_.lane.take(index),
        start_ns=all_.start_ns.take(index),
        end_ns=all_.end_ns.take(index),
        event=event,
        label=event if all_.label is all_.event else all_.label.take(index),
        ordinal=all_.ordinal.take(index),
    )
