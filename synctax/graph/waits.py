"""Where threads waited: pieces are cut at the moment in which a thread was released."""

from dataclasses import dataclass, replace

import numpy as np

from synctax.arrays import ABSENT, I8, I64, Bool, runs
from synctax.collectives.issued import Issued
from synctax.graph.blocking import Blocked
from synctax.graph.handover import releasers
from synctax.graph.host import Pieces, take_pieces
from synctax.graph.lookup import search
from synctax.graph.model import NodeKind, Provenance
from synctax.notes import Note
from synctax.trace.model import RankTrace


@dataclass(frozen=True, slots=True)
class Waits:
    """Pieces that follow a wait, and what released them.

    Parameters
    ----------
    piece : (w,) int64
        The piece after each wait.
    gpu : (w,) int64
        The GPU event that released it, position in `Launches.event`; -1 for a thread.
    releaser : (w,) int64
        The piece of another thread that released it; -1 for a GPU event.
    provenance : (w,) int8
    """

    piece: I64
    gpu: I64
    releaser: I64
    provenance: I8


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Threads of pieces: `lane` (t,) and where each begins, (t + 1,)."""

    lane: I64
    bounds: I64

    @classmethod
    def of(cls, host: Pieces) -> "_Bounds":
        bounds = runs(host.lane)
        return cls(host.lane[bounds[:-1]].astype(np.int64), bounds)

    def number(self, lane: I64) -> I64:
        """Number of each lane's thread, -1 if it has no piece."""
        if not self.lane.size:
            return np.full(lane.size, ABSENT, np.int64)
        at = np.minimum(np.searchsorted(self.lane, lane), self.lane.size - 1)
        return np.where(self.lane[at] == lane, at, ABSENT)


def cut_waits(
    trace: RankTrace, host: Pieces, sync: Blocked, made: Issued
) -> tuple[Pieces, Waits, tuple[Note, ...]]:
    """Cut pieces where a blocking call, or a thread in a gap, was released.

    Parameters
    ----------
    trace : RankTrace
    host : Pieces
        On the GPU's clock.
    sync : Blocked
    made : Issued

    Returns
    -------
    Pieces, Waits, notes
        Waits are pieces of their own. What a thread of a backend did between collectives
        that others issued is no piece: it waited for work, as a stream does.
    """
    threads = _Bounds.of(host)
    holder = _holders(trace, host, threads, sync)
    inside = holder >= 0
    span = _span_pieces(host, made)
    idle = _idle_before(host, span)
    gaps = np.flatnonzero((host.kind == NodeKind.GAP) & ~idle)
    first = threads.bounds[:-1]
    begin_ns = int(host.start_ns.min(initial=np.iinfo(np.int64).max))
    late = first[(host.start_ns[first] > begin_ns) & ~np.isin(first, span)]
    releaser = releasers(
        host,
        np.concatenate([host.lane[gaps], host.lane[late]]),
        np.concatenate([host.start_ns[gaps], np.full(late.size, begin_ns)]),
        np.concatenate([host.end_ns[gaps], host.start_ns[late]]),
    )
    by_thread = np.full(len(host), ABSENT, np.int64)
    by_thread[gaps] = releaser[: gaps.size]
    _released_by_spans(trace, host, threads, (made, span), by_thread)
    by_thread[holder[inside]] = ABSENT
    handed = np.flatnonzero(by_thread >= 0)
    started = releaser[gaps.size :] >= 0
    cut = _Cuts(
        piece=np.concatenate([holder[inside], handed]),
        time_ns=np.concatenate([sync.time_ns[inside], host.end_ns[by_thread[handed]]]),
        late=late[started],
        late_ns=host.end_ns[releaser[gaps.size :][started]],
        begin_ns=begin_ns,
    )
    split, number = _split(host, cut, idle)
    lost = int((~inside).sum()) + sync.unresolved
    absent = np.full(int(inside.sum()), ABSENT)
    sources = np.concatenate([by_thread[handed], releaser[gaps.size :][started]])
    waits = Waits(
        # before the first piece of a late thread stands the rest of its gap
        piece=np.concatenate([number[cut.piece], number[cut.late] - _shift(cut)]),
        gpu=np.concatenate([sync.gpu[inside], np.full(sources.size, ABSENT)]),
        releaser=np.concatenate([absent, number[sources]]),
        provenance=np.concatenate(
            [
                sync.provenance[inside],
                np.full(sources.size, Provenance.INFERRED, np.int8),
            ]
        ),
    )
    return split, waits, _notes(sources.size, lost, made.span.size)


@dataclass(frozen=True, slots=True)
class _Cuts:
    """Pieces to be cut, and when; threads that began late, by their first piece.

    These waited from `begin_ns` on, and were released at `late_ns`.
    """

    piece: I64
    time_ns: I64
    late: I64
    late_ns: I64
    begin_ns: int


def _shift(cut: _Cuts) -> I64:
    """How far before a late thread's first piece its gap stands: that may be cut too."""
    return 1 + np.isin(cut.late, cut.piece)


def _split(host: Pieces, cut: _Cuts, drop: Bool) -> tuple[Pieces, I64]:
    """Insert the waits; tell the new number of each piece (of the rest, where cut)."""
    count = np.ones(len(host), np.int64)
    count[cut.piece] = 2
    count[cut.late] += 2
    count[drop] = 0
    number = np.cumsum(count) - 1
    split = take_pieces(host, np.repeat(np.arange(len(host)), count))
    rest = number[cut.piece]
    split.kind[rest - 1] = NodeKind.WAIT
    split.end_ns[rest - 1] = cut.time_ns
    split.start_ns[rest] = cut.time_ns
    gap = number[cut.late] - _shift(cut)
    for place, kind, start, end in (
        (gap - 1, NodeKind.WAIT, np.full(gap.size, cut.begin_ns), cut.late_ns),
        (gap, NodeKind.GAP, cut.late_ns, host.start_ns[cut.late]),
    ):
        split.kind[place], split.event[place], split.ordinal[place] = kind, ABSENT, 0
        split.label[place] = host.event[cut.late]
        split.start_ns[place], split.end_ns[place] = start, end
    return split, number


def _holders(trace: RankTrace, host: Pieces, threads: _Bounds, sync: Blocked) -> I64:
    """The piece of each blocking call in which it was released, -1 if there is none."""
    events = trace.events
    group = threads.number(events.lane[sync.call].astype(np.int64))
    at = search(host.start_ns, threads.bounds, group, sync.time_ns, side="left") - 1
    fits = (group >= 0) & (at >= threads.bounds[group])
    fits &= (host.kind[at] == NodeKind.SLICE) & (host.end_ns[at] >= sync.time_ns)
    found = np.where(fits, at, ABSENT)
    # of a call and a call within it one waited: the piece is cut once
    order = np.argsort(-sync.time_ns, kind="stable")
    _, last = np.unique(found[order], return_index=True)
    single = np.zeros(found.size, np.bool_)
    single[order[last]] = True
    return np.where(single, found, ABSENT)


def _span_pieces(host: Pieces, made: Issued) -> I64:
    """The piece of each issued span."""
    rows = np.flatnonzero(host.kind == NodeKind.COLLECTIVE)
    order = rows[np.argsort(host.event[rows], kind="stable")]
    return order[np.searchsorted(host.event[order], made.span)]


def _idle_before(host: Pieces, span: I64) -> Bool:
    """Gaps that a backend's thread spent before a collective that another one issued."""
    idle = np.zeros(len(host), np.bool_)
    idle[span - 1] = (host.kind[span - 1] == NodeKind.GAP) & (
        host.lane[span - 1] == host.lane[span]
    )
    return idle


def _released_by_spans(
    trace: RankTrace,
    host: Pieces,
    threads: _Bounds,
    made: tuple[Issued, I64],
    by_thread: I64,
) -> None:
    """Let a span that ends in a gap of the thread that issued it release that thread.

    The same holds of an operator that waits (`_c10d_functional::wait_tensor`).
    """
    issue, span = made
    if not span.size:
        return
    lane = trace.events.lane[issue.operator].astype(np.int64)
    end = host.end_ns[span]
    group = threads.number(lane)
    at = search(host.start_ns, threads.bounds, group, end, side="left") - 1
    rows = np.flatnonzero((group >= 0) & (at >= threads.bounds[group]))
    rows = rows[_waits(trace, host)[at[rows]] & (host.end_ns[at[rows]] >= end[rows])]
    rows = rows[np.argsort(end[rows], kind="stable")]
    before = np.where(by_thread[at[rows]] >= 0, host.end_ns[by_thread[at[rows]]], end[rows])
    rows = rows[end[rows] >= before]
    by_thread[at[rows]] = span[rows]


def _waits(trace: RankTrace, host: Pieces) -> Bool:
    """Pieces in which a thread may wait for a collective that it issued."""
    name = {code for code, text in enumerate(trace.strings) if text.endswith("wait_tensor")}
    waits: Bool = host.kind == NodeKind.GAP
    slices = np.flatnonzero(host.kind == NodeKind.SLICE)
    codes = trace.events.name[host.event[slices]]
    waits[slices] = np.isin(codes, np.array(sorted(name), np.int64))
    return waits


def _notes(handed: int, unresolved: int, issued: int) -> tuple[Note, ...]:
    counted = (
        ("thread_handover", handed, "waits of threads for each other, inferred"),
        ("sync_call_unresolved", unresolved, "blocking calls of unknown cause"),
        (
            "span_issuer_inferred",
            issued,
            "collectives on CPU threads, paired in order with operators that issue them",
        ),
    )
    return tuple(Note(reason, count, detail) for reason, count, detail in counted if count)


def shifted(host: Pieces, skew_ns: int) -> Pieces:
    """Put pieces on the GPU's clock."""
    if not skew_ns:
        return host
    return replace(host, start_ns=host.start_ns + skew_ns, end_ns=host.end_ns + skew_ns)
