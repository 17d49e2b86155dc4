"""The host's part of the graph: what each thread did, moment by moment.

Every thread that runs operators or launches work is cut into pieces: exclusive slices of
operators and calls, gaps that the profiler did not log, and waits. Watchdog threads do
neither and are left out.
"""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I8, I32, I64, Bool
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
    end = events.start_ns[rows] + events.duration_ns[rows]
    nested = exclusive_slices(events.lane[rows], events.start_ns[rows], end)
    cut = nested.slices
    owner = np.where(cut.event >= 0, rows[cut.event], ABSENT)
    kind = _kinds(trace, owner, spans)
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


def _rows(trace: RankTrace, spans: I64, launching: I64) -> tuple[I64, int]:
    """Events of threads that matter, and how many threads do not."""
    events = trace.events
    host = np.zeros(len(events), np.bool_)
    for kind in (EventKind.CPU_OP, EventKind.ANNOTATION, EventKind.RUNTIME):
        host |= events.kind == kind
    is_step = by_name(trace.strings, events.name, _is_step, np.bool_)
    host &= ~(is_step & (events.kind == EventKind.ANNOTATION))
    host &= ~by_name(trace.strings, events.name, is_dispatch, np.bool_)
    busy = np.zeros(trace.lanes.thread.size + 1, np.bool_)
    busy[events.lane[host & (events.kind != EventKind.RUNTIME)]] = True
    busy[events.lane[launching]] = True
    present = np.zeros(busy.size, np.bool_)
    present[events.lane[host]] = True
    ignored = np.count_nonzero(present & ~busy)
    host &= busy[events.lane]
    host &= ~_within(trace, spans)
    # of an operator and a call with the same (whole) µs the call is inside
    calls = host & (events.kind == EventKind.RUNTIME)
    rows = np.concatenate([np.flatnonzero(host & ~calls), np.flatnonzero(calls)])
    return rows, int(ignored)


def _is_step(name: str) -> bool:
    return step_number(name) is not None


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


def _kinds(trace: RankTrace, owner: I64, spans: I64) -> I8:
    events = trace.events
    kind = np.full(owner.size, NodeKind.SLICE, np.int8)
    kind[owner < 0] = NodeKind.GAP
    named = owner >= 0
    annotated = np.flatnonzero(named)[events.kind[owner[named]] == EventKind.ANNOTATION]
    own = by_name(trace.strings, events.name[owner[annotated]], _of_backend, np.bool_)
    kind[annotated[~own]] = NodeKind.GAP
    kind[np.isin(owner, spans) & named] = NodeKind.COLLECTIVE
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
    end_ns = cut.end_ns[following - 1]
    followed = np.append(cut.lane, ABSENT)[following] == cut.lane[first]
    # a slice of an annotation's tail may stand last on its thread: nothing follows it
    keep = followed & (end_ns > cut.start_ns[first])
    first, following, end_ns = first[keep], following[keep], end_ns[keep]
    kept = ~gap
    kept[first] = True
    merged = take_pieces(cut, np.flatnonzero(kept))
    rows = np.flatnonzero(gap[kept])
    merged.end_ns[rows] = end_ns
    merged.event[rows] = _longest(cut, joins)[first]
    merged.label[rows] = cut.event[following]
    merged.ordinal[rows] = cut.ordinal[following]
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
    return Pieces(*(getattr(all_, name)[index] for name in Pieces.__slots__))
