"""From the columns of a rank to its dependency graph."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I8, I64, NS_PER_US
from synctax.collectives.catalog import catalog
from synctax.errors import SynctaxError
from synctax.graph.blocking import Blocked, blocked
from synctax.graph.handover import releasers
from synctax.graph.host import Cut, Pieces, cut_waits, pieces, take_pieces
from synctax.graph.launches import Launches, launches
from synctax.graph.model import EdgeKind, Graph, NodeKind, Nodes, Provenance
from synctax.graph.streams import Gpu, cross_edges
from synctax.trace.model import Note, RankTrace

UNRESOLVED_NS = 20 * NS_PER_US
"""A blocking call that lasts longer waited for something."""


def build_graph(trace: RankTrace) -> Graph:
    """Build the dependency graph of one rank and window.

    Nodes are events on the GPU and exclusive pieces of host threads: slices of operators
    and calls, gaps of unlogged time, and waits. Edges say what had to complete first:
    order on a stream, an event on another stream, the launching call, the GPU event that
    released a blocking call, order on a thread, the thread that handed over.

    Parameters
    ----------
    trace : RankTrace

    Returns
    -------
    Graph
        What was inferred, dropped or left out is in its notes.

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
    host, host_notes = pieces(trace, spans, np.unique(used))
    if not launch.event.size and not len(host):
        raise SynctaxError(
            f"{trace.path}: no event on a GPU and none on a thread with operators: "
            "there is nothing to build a graph from"
        )
    host, waits = _with_waits(trace, host, launch)
    builder = _Builder.of(trace, launch, host, found.kernels)
    builder.order_edges()
    builder.launch_edges()
    gpu = Gpu.of(trace, launch)
    crossing = cross_edges(trace, launch, gpu)
    builder.cross_edges(crossing.source, crossing.target, crossing.provenance)
    builder.wait_edges(waits)
    notes = (*host_notes, *launch.notes, *crossing.notes, *waits.notes)
    return builder.finish(notes)


@dataclass(frozen=True, slots=True)
class _Waits:
    """Pieces that follow a wait, and what released them."""

    piece: I64
    gpu: I64
    releaser: I64
    provenance: I8
    notes: tuple[Note, ...]


def _with_waits(trace: RankTrace, host: Pieces, launch: Launches) -> tuple[Pieces, _Waits]:
    """Cut pieces where a blocking call, or a thread in a gap, was released."""
    host = _shifted(host, launch.skew_ns)
    sync = blocked(trace, launch, least_ns=UNRESOLVED_NS)
    host, leading = _with_leading_gaps(host)
    gap, releaser = releasers(host)
    holder = _pieces_at(host, sync)
    inside = holder >= 0
    cut = Cut(
        piece=np.concatenate([holder[inside], gap]),
        time_ns=np.concatenate([sync.time_ns[inside], host.end_ns[releaser]]),
        gpu=np.concatenate([sync.gpu[inside], np.full(gap.size, ABSENT)]),
        releaser=np.concatenate([np.full(int(inside.sum()), ABSENT), releaser]),
        provenance=np.concatenate(
            [sync.provenance[inside], np.full(gap.size, Provenance.INFERRED, np.int8)]
        ),
    )
    split, number = cut_waits(host, cut)
    unreleased = number[np.setdiff1d(leading, gap)]
    keep = np.ones(len(split), np.bool_)
    keep[unreleased] = False
    kept = np.cumsum(keep) - 1
    notes = []
    if gap.size:
        notes.append(
            Note("thread_handover", gap.size, "waits of threads for each other, inferred")
        )
    if sync.unresolved:
        notes.append(
            Note("sync_call_unresolved", sync.unresolved, "blocking calls of unknown cause")
        )
    waits = _Waits(
        piece=kept[number[cut.piece]],
        gpu=cut.gpu,
        releaser=np.where(cut.releaser >= 0, kept[number[cut.releaser]], ABSENT),
        provenance=cut.provenance,
        notes=tuple(notes),
    )
    return take_pieces(split, np.flatnonzero(keep)), waits


def _shifted(host: Pieces, skew_ns: int) -> Pieces:
    columns = {name: getattr(host, name) for name in Pieces.__slots__}
    columns["start_ns"] = host.start_ns + skew_ns
    columns["end_ns"] = host.end_ns + skew_ns
    return Pieces(**columns)


def _with_leading_gaps(host: Pieces) -> tuple[Pieces, I64]:
    """Begin every thread at the first event of all: it may have waited to be started."""
    if not len(host):
        return host, np.empty(0, np.int64)
    change = np.ones(len(host), np.bool_)
    change[1:] = host.lane[1:] != host.lane[:-1]
    begin = host.start_ns.min()
    first = np.flatnonzero(change & (host.start_ns > begin))
    count = np.ones(len(host), np.int64)
    count[first] = 2
    longer = take_pieces(host, np.repeat(np.arange(len(host)), count))
    leading = (np.cumsum(count) - 1)[first] - 1
    longer.kind[leading] = NodeKind.GAP
    longer.start_ns[leading] = begin
    longer.end_ns[leading] = host.start_ns[first]
    longer.label[leading] = host.event[first]
    longer.event[leading] = ABSENT
    longer.ordinal[leading] = 0
    return longer, leading


def _pieces_at(host: Pieces, sync: Blocked) -> I64:
    """The piece of each blocking call in which it was released, -1 if there is none."""
    order = np.lexsort((host.start_ns, host.event))
    order = order[host.kind[order] == NodeKind.SLICE]
    key_event, key_time = host.event[order], host.start_ns[order]
    found = np.full(sync.call.size, ABSENT, np.int64)
    for number, (call, time_ns) in enumerate(
        zip(sync.call.tolist(), sync.time_ns.tolist(), strict=True)
    ):
        low, high = np.searchsorted(key_event, [call, call + 1])
        at = int(np.searchsorted(key_time[low:high], time_ns, side="right")) - 1
        if at >= 0:
            piece = int(order[low + at])
            found[number] = piece if time_ns <= host.end_ns[piece] else ABSENT
    # of several calls in one piece the first keeps it
    _, first = np.unique(found, return_index=True)
    single = np.zeros(found.size, np.bool_)
    single[first] = True
    return np.where(single, found, ABSENT)


@dataclass(slots=True)
class _Builder:
    """Numbers the nodes by time and collects edges, which must go forward."""

    launch: Launches
    trace: RankTrace
    nodes: Nodes
    of_gpu: I64
    of_host: I64
    host_event: I64
    parts: list[tuple[I64, I64, int | I8, int | I8]]

    @classmethod
    def of(
        cls, trace: RankTrace, launch: Launches, host: Pieces, collectives: I64
    ) -> "_Builder":
        events, gpu = trace.events, launch.event
        n_gpu, n_host = gpu.size, len(host)
        communicates = np.zeros(len(events) + 1, np.bool_)
        communicates[collectives] = True
        gpu_kind = np.where(communicates[gpu], NodeKind.COLLECTIVE, NodeKind.GPU)
        start = np.concatenate([events.start_ns[gpu], host.start_ns])
        is_host = np.repeat(np.array([1, 0], np.int8), [n_gpu, n_host])
        # of equal start a launch comes before its kernel; within a lane order is kept
        order = np.lexsort((is_host, start))
        number = np.empty(order.size, np.int64)
        number[order] = np.arange(1, order.size + 1)

        def column(of_root: int, of_gpu: np.ndarray, of_host: np.ndarray) -> np.ndarray:
            both = np.concatenate([of_gpu, of_host])
            return np.concatenate([[of_root], both[order]]).astype(of_host.dtype)

        origin = int(start.min())
        gpu_end = events.start_ns[gpu] + events.duration_ns[gpu]
        nodes = Nodes(
            kind=column(NodeKind.ROOT, gpu_kind, host.kind),
            lane=column(ABSENT, events.lane[gpu], host.lane),
            start_ns=column(origin, events.start_ns[gpu], host.start_ns),
            end_ns=column(origin, gpu_end, host.end_ns),
            event=column(ABSENT, gpu, host.event),
            label=column(ABSENT, gpu, host.label),
            ordinal=column(0, np.zeros(n_gpu, np.int32), host.ordinal),
        )
        return cls(launch, trace, nodes, number[:n_gpu], number[n_gpu:], host.event, [])

    def add(self, parent: I64, child: I64, kind: int | I8, provenance: int | I8) -> None:
        self.parts.append((parent, child, kind, provenance))

    def order_edges(self) -> None:
        """After the node before on the same thread or stream; the root before the first."""
        lane = self.nodes.lane
        order = np.argsort(lane, kind="stable")[1:]  # without the root
        first = np.ones(order.size, np.bool_)
        first[1:] = lane[order[1:]] != lane[order[:-1]]
        parent = np.concatenate([[0], order[:-1]])
        on_gpu = np.isin(order, self.of_gpu)
        kind = np.where(on_gpu, EdgeKind.STREAM, EdgeKind.CHAIN)
        kind[first] = EdgeKind.ROOT
        parent[first] = 0
        self.add(parent, order, kind.astype(np.int8), Provenance.RECORDED)

    def launch_edges(self) -> None:
        """From the slice of the call in which the launch was complete."""
        launch, events = self.launch, self.trace.events
        usable = np.flatnonzero((launch.call >= 0) & ~launch.inverted)
        call, start = launch.call[usable], events.start_ns[launch.event[usable]]
        # slices of one call are numbered in order of time
        host_nodes = self.of_host[np.argsort(self.host_event, kind="stable")]
        owners = np.sort(self.host_event)
        low = np.searchsorted(owners, call, side="left")
        high = np.searchsorted(owners, call, side="right")
        found = high > low
        at = np.where(found, high - 1, 0)
        begin = self.nodes.start_ns
        for _ in range(_MOST_SLICES):
            late = found & (begin[host_nodes[at]] > start) & (at > low)
            if not late.any():
                break
            at[late] -= 1
        self.add(
            host_nodes[at[found]],
            self.of_gpu[usable[found]],
            EdgeKind.LAUNCH,
            launch.provenance[usable[found]],
        )

    def cross_edges(self, source: I64, target: I64, provenance: I8) -> None:
        self.add(self.of_gpu[source], self.of_gpu[target], EdgeKind.CROSS, provenance)

    def wait_edges(self, waits: _Waits) -> None:
        """From what released a thread to the piece after the wait."""
        number = np.full(len(self.trace.events) + 1, ABSENT, np.int64)
        number[self.launch.event] = self.of_gpu
        sync, hand = waits.gpu >= 0, waits.releaser >= 0
        self.add(
            number[waits.gpu[sync]],
            self.of_host[waits.piece[sync]],
            EdgeKind.SYNC,
            waits.provenance[sync],
        )
        self.add(
            self.of_host[waits.releaser[hand]],
            self.of_host[waits.piece[hand]],
            EdgeKind.HANDOVER,
            Provenance.INFERRED,
        )

    def finish(self, notes: tuple[Note, ...]) -> Graph:
        """Sort the edges by the node they lead to; drop and count what goes backwards."""
        parent = np.concatenate([part[0] for part in self.parts])
        child = np.concatenate([part[1] for part in self.parts])
        kind, provenance = (
            np.concatenate(
                [np.broadcast_to(np.int8(part[i]), part[0].shape) for part in self.parts]
            )
            for i in (2, 3)
        )
        forward = parent < child
        dropped = int((~forward).sum())
        if dropped:
            detail = "edges that would go back in time"
            notes = (*notes, Note("edge_dropped", dropped, detail))
        keep = np.flatnonzero(forward)
        keep = keep[np.argsort(child[keep], kind="stable")]
        first = np.searchsorted(child[keep], np.arange(len(self.nodes) + 1))
        return Graph(
            nodes=self.nodes,
            first=first,
            parent=parent[keep].astype(np.int32),
            kind=kind[keep],
            provenance=provenance[keep],
            skew_ns=self.launch.skew_ns,
            origin_ns=int(self.nodes.start_ns[0]),
            notes=notes,
        )


_MOST_SLICES = 1_000
"""Slices of one launching call that are looked at: calls hold few ranges, if any."""
