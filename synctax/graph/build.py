"""From the columns of a rank to its dependency graph."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from synctax.arrays import ABSENT, I8, I32, I64, runs
from synctax.collectives.catalog import catalog
from synctax.collectives.issued import Issued, issued
from synctax.errors import SynctaxError
from synctax.graph.blocking import Passed, blocked
from synctax.graph.host import Pieces, pieces
from synctax.graph.launches import Launches, launches
from synctax.graph.lines import Gpu, Lines
from synctax.graph.lookup import search
from synctax.graph.model import ROOT, EdgeKind, Graph, NodeKind, Nodes, Provenance
from synctax.graph.records import StreamWaits
from synctax.graph.streams import CrossEdges, cross_edges
from synctax.graph.waits import Waits, cut_waits, shifted
from synctax.notes import Note
from synctax.trace.model import RankTrace

_T = TypeVar("_T", bound=np.generic)


def build_graph(trace: RankTrace) -> Graph:
    """Build the dependency graph of one rank and window.

    Nodes are events on the GPU and exclusive pieces of host threads: slices of operators
    and calls, gaps of unlogged time, and waits. Edges say what had to complete first:
    order on a stream, an event on another stream, the launching call, the GPU event that
    released a blocking call, order on a thread, the thread that handed over.

    Where no kernel communicates, the collectives of backends that run on CPU threads are
    nodes like kernels: launched by the operator that issued them, and what that thread
    then waits for.

    Parameters
    ----------
    trace : RankTrace

    Returns
    -------
    Graph
        What was inferred, dropped or left out is in its notes. A graph of n events takes
        O(n log n) time, about 90 bytes an event and, while it is built, 230.

    Raises
    ------
    SynctaxError
        If the trace holds no event.

    References
    ----------
    Synchronization-tax paper, section 4.1.
    """
    found = catalog(trace)
    spans = np.sort(found.spans) if not found.kernels.size else found.spans[:0]
    launch = launches(trace.events)
    used = launch.call[(launch.call >= 0) & ~launch.inverted]
    host, host_notes = pieces(trace, spans, used)
    if not launch.event.size and not len(host):
        raise SynctaxError(
            f"{trace.path}: no event on a GPU and none on a thread with operators: "
            "there is nothing to build a graph from"
        )
    gpu = Gpu.of(trace, launch)
    lines = Lines.of(gpu)
    threads = np.zeros(trace.lanes.thread.size + 1, np.bool_)
    threads[host.lane.take(runs(host.lane)[:-1])] = True
    told = StreamWaits.of(trace, launch, gpu, lines)
    sync = blocked(trace, launch, gpu, (lines, told), threads)
    made = issued(trace, found, spans)
    host, waits, wait_notes = cut_waits(trace, shifted(host, launch.skew_ns), sync, made)
    crossing = cross_edges(trace, launch, gpu, lines, told)
    builder = _Builder.of(trace, launch, gpu, host, found.kernels)
    builder.launch_edges(launch)
    builder.issue_edges(made)
    builder.cross_edges(crossing)
    builder.wait_edges(waits)
    builder.passed_edges(sync.passed)
    return builder.finish((*host_notes, *launch.notes, *crossing.notes, *wait_notes))


@dataclass(frozen=True, slots=True)
class _Builder:
    """Numbers the nodes by time and collects edges, which must go forward.

    `of_gpu` and `of_host` are the numbers of GPU events and of pieces, `last_piece` the
    last piece of each event, -1 where it has none; `parts` are the edges other than those
    of order: parent, child, kind, provenance.
    """

    trace: RankTrace
    skew_ns: int
    gpu: Gpu
    host: Pieces
    nodes: Nodes
    of_gpu: I64
    of_host: I64
    last_piece: I64
    parts: list[tuple[I64, I64, int, I8]]

    @classmethod
    def of(
        cls, trace: RankTrace, launch: Launches, gpu: Gpu, host: Pieces, collectives: I64
    ) -> "_Builder":
        n_host, size = len(host), len(host) + gpu.start_ns.size
        # of equal start a launch comes before its kernel; within a lane order is kept
        start = np.concatenate([host.start_ns, gpu.start_ns])
        order = np.argsort(start, kind="stable")
        number = np.empty(size, np.int64)
        number[order] = np.arange(1, size + 1)

        def column(
            of_root: int, on_host: npt.NDArray[_T], on_gpu: npt.NDArray[_T] | int
        ) -> npt.NDArray[_T]:
            values = np.empty(size + 1, on_host.dtype)
            values[ROOT] = of_root
            both = np.empty(size, on_host.dtype)
            both[:n_host], both[n_host:] = on_host, on_gpu
            both.take(order, out=values[1:], mode="clip")  # the one mode without a copy
            return values

        communicates = np.zeros(len(trace.events) + 1, np.bool_)
        communicates[collectives] = True
        gpu_kind = np.full(gpu.start_ns.size, NodeKind.GPU, np.int8)
        gpu_kind[communicates.take(launch.event)] = NodeKind.COLLECTIVE
        origin = int(start[order[0]])
        nodes = Nodes(
            kind=column(NodeKind.ROOT, host.kind, gpu_kind),
            lane=column(ABSENT, host.lane, gpu.lane),
            start_ns=column(origin, host.start_ns, gpu.start_ns),
            end_ns=column(origin, host.end_ns, gpu.end_ns),
            event=column(ABSENT, host.event, launch.event),
            label=column(ABSENT, host.label, launch.event),
            ordinal=column(0, host.ordinal, 0),
        )
        of_host, of_gpu = number[:n_host], number[n_host:]
        last = np.full(len(trace.events) + 1, ABSENT, np.int64)
        last[host.event] = np.arange(n_host)
        last[ABSENT] = ABSENT
        return cls(trace, launch.skew_ns, gpu, host, nodes, of_gpu, of_host, last, [])

    def add(self, parent: I64, child: I64, kind: int, provenance: int | I8) -> None:
        """Collect edges."""
        source = np.broadcast_to(np.asarray(provenance, np.int8), parent.shape)
        self.parts.append((parent, child, kind, source))

    def launch_edges(self, launch: Launches) -> None:
        """From the slice of the call in which the launch was complete."""
        rows = np.flatnonzero((launch.call >= 0) & ~launch.inverted)
        call = launch.call[rows]
        piece = self._piece_at(call, self.gpu.start_ns[rows])
        hit = piece >= 0
        self.add(
            self.of_host[piece[hit]],
            self.of_gpu[rows[hit]],
            EdgeKind.LAUNCH,
            launch.provenance[rows[hit]],
        )

    def issue_edges(self, made: Issued) -> None:
        """From what the issuing operator did last when its collective began.

        That may be an operator inside it (the copy of a buffer), and need not have ended.
        """
        if made.span.size:
            events, host = self.trace.events, self.host
            own = self.last_piece
            begun = events.start_ns[made.span]
            returned = events.start_ns[made.operator] + events.duration_ns[made.operator]
            until = np.minimum(begun, returned - 1) + self.skew_ns
            bounds = runs(host.lane)
            lane = events.lane[made.operator]
            group = np.searchsorted(host.lane[bounds[:-1]], lane)
            piece = search(host.start_ns, bounds, group, until, side="right") - 1
            span = own[made.span]
            hit = (own[made.operator] >= 0) & (span >= 0)
            parent, child = self.of_host[piece[hit]], self.of_host[span[hit]]
            self.add(parent, child, EdgeKind.LAUNCH, Provenance.INFERRED)

    def _piece_at(self, event: I64, time_ns: I64) -> I64:
        """The last piece of each event that begins by a moment; else its first, or -1."""
        host = self.host
        piece = self.last_piece.take(event)
        late = np.flatnonzero((piece >= 0) & (host.start_ns.take(piece) > time_ns))
        if late.size:
            rows = np.flatnonzero(np.isin(host.event, event[late]))
            rows = rows[np.argsort(host.event[rows], kind="stable")]
            bounds = np.flatnonzero(np.diff(host.event[rows], prepend=ABSENT - 1))
            group = np.searchsorted(host.event[rows[bounds]], event[late])
            begin = np.append(bounds, rows.size)
            at = search(host.start_ns[rows], begin, group, time_ns[late], side="right") - 1
            piece[late] = rows[np.maximum(at, begin[group])]
        return piece

    def cross_edges(self, crossing: CrossEdges) -> None:
        """From events on other streams."""
        source, target = self.of_gpu[crossing.source], self.of_gpu[crossing.target]
        self.add(source, target, EdgeKind.CROSS, crossing.provenance)

    def wait_edges(self, waits: Waits) -> None:
        """From what released a thread to the piece after the wait."""
        sync, hand = waits.gpu >= 0, waits.releaser >= 0
        self.add(
            self.of_gpu[waits.gpu[sync]],
            self.of_host[waits.piece[sync]],
            EdgeKind.SYNC,
            waits.provenance[sync],
        )
        self.add(
            self.of_host[waits.releaser[hand]],
            self.of_host[waits.piece[hand]],
            EdgeKind.HANDOVER,
            waits.provenance[hand],
        )

    def passed_edges(self, passed: Passed) -> None:
        """From what calls would have waited for, had it completed later, to these calls.

        They decide nothing: the piece before a call ends when the call starts.
        """
        start = self.trace.events.start_ns[passed.call] + self.skew_ns
        piece = self._piece_at(passed.call, start)
        lane = self.host.lane
        hit = (piece > 0) & (lane[piece - 1] == lane[piece])
        self.add(
            self.of_gpu[passed.gpu[hit]],
            self.of_host[piece[hit]],
            EdgeKind.SYNC,
            passed.provenance[hit],
        )

    def _order(self) -> tuple[I32, I8]:
        """The node before each (from 1 on) on its thread or stream, and the edge's kind."""
        parent = np.empty(len(self.nodes), np.int32)
        kind = np.full(len(self.nodes), EdgeKind.CHAIN, np.int8)
        kind[self.of_gpu] = EdgeKind.STREAM
        # every node comes after the one before it in its lane, but for the first of each
        lanes = self.gpu.lane.take(self.gpu.by_lane)
        for node, lane in (
            (self.of_host, self.host.lane),
            (self.of_gpu.take(self.gpu.by_lane), lanes),
        ):
            first = node.take(runs(lane)[:-1])
            parent[node[1:]] = node[:-1]
            parent[first], kind[first] = ROOT, EdgeKind.ROOT
        return parent[1:], kind[1:]

    def finish(self, notes: tuple[Note, ...]) -> Graph:
        """Sort the edges by the node they lead to; drop and count what goes backwards.

        Every node but the root has one edge of order; it stands before the others.
        """
        parent = np.concatenate([part[0] for part in self.parts])
        child = np.concatenate([part[1] for part in self.parts])
        kind = np.repeat(
            np.array([part[2] for part in self.parts], np.int8),
            [part[0].size for part in self.parts],
        )
        provenance = np.concatenate([part[3] for part in self.parts])
        keep = np.flatnonzero(parent < child)
        dropped = parent.size - keep.size
        if dropped:
            detail = "edges that would go back in time"
            notes = (*notes, Note("edge_dropped", dropped, detail))
        notes = (*notes, *_guessed(kind[keep], provenance[keep]))
        keep = keep[np.argsort(child[keep], kind="stable")]
        child = child.take(keep)
        n = len(self.nodes)
        # the edge of order into node i stands after those into the nodes before it
        extra = np.arange(keep.size) + child
        is_order = np.ones(n - 1 + keep.size, np.bool_)
        is_order[extra] = False
        first = np.empty(n + 1, np.int64)
        first[0] = 0
        first[1:-1] = np.flatnonzero(is_order)
        first[-1] = is_order.size
        order_parent, order_kind = self._order()

        def column(
            of_order: npt.NDArray[_T] | None, of_extra: npt.NDArray[_T]
        ) -> npt.NDArray[_T]:
            values = np.zeros(n - 1 + keep.size, of_extra.dtype)
            if of_order is not None:
                values[first[1:-1]] = of_order
            values[extra] = of_extra.take(keep)
            return values

        return Graph(
            nodes=self.nodes,
            first=first,
            parent=column(order_parent, parent.astype(np.int32)),
            kind=column(order_kind, kind),
            provenance=column(None, provenance),  # those of order are recorded: 0
            skew_ns=self.skew_ns,
            origin_ns=int(self.nodes.start_ns[0]),
            notes=notes,
        )


def _guessed(kind: I8, provenance: I8) -> tuple[Note, ...]:
    """Count the edges that the trace does not tell, by kind and by how they are known."""
    counted = (
        (
            EdgeKind.CROSS,
            Provenance.CALLS,
            "waits between streams, told by calls",
        ),
        (EdgeKind.CROSS, Provenance.INFERRED, "waits between streams, told by times"),
        (
            EdgeKind.SYNC,
            Provenance.INFERRED,
            "waits of blocking calls, told by times",
        ),
    )
    notes = []
    for edge, known, detail in counted:
        count = int(((kind == edge) & (provenance == known)).sum())
        if count:
            reason = f"edges_{edge.name.lower()}_{known.name.lower()}"
            notes.append(Note(reason, count, detail))
    return tuple(notes)
