"""What had to happen before what on one rank: nodes in order of time, edges with a source.

The graph is plain arrays. Nodes are in order of start, and every edge goes from a lower to
a higher number: it is acyclic by construction.
"""

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import I8, I32, I64
from synctax.notes import Note

if TYPE_CHECKING:
    import networkx as nx

ROOT = 0
"""Number of the root: the node before the first event of every thread and stream."""


class NodeKind(IntEnum):
    """What a node is."""

    ROOT = 0
    GPU = 1
    """A kernel, copy or memset that is no collective."""
    COLLECTIVE = 2
    """A communication kernel; on CPU-only traces, the span of a collective."""
    SLICE = 3
    """An exclusive slice of an operator or call on a CPU thread."""
    GAP = 4
    """Host time between logged events: Python, page faults, a descheduled process."""
    WAIT = 5
    """The part of a blocking call, or of a gap, in which the thread waited for others."""


class EdgeKind(IntEnum):
    """Why a node could not start before another had completed."""

    ROOT = 0
    """First of its thread or stream."""
    STREAM = 1
    """After the event before it on its stream."""
    CROSS = 2
    """After an event on another stream."""
    LAUNCH = 3
    """After the call that launched it."""
    SYNC = 4
    """A blocking call returned after an event on the GPU."""
    CHAIN = 5
    """After the slice before it on its thread."""
    HANDOVER = 6
    """After the last slice of the thread that released this one."""


class Provenance(IntEnum):
    """How an edge is known."""

    RECORDED = 0
    """The trace says so: order on a stream or thread, a correlation id, a sync record."""
    CALLS = 1
    """From the calls that record and wait for events."""
    INFERRED = 2
    """From times alone."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of a rank, in order of start.

    Parameters
    ----------
    kind : (n,) int8
        `NodeKind`.
    lane : (n,) int32
        Thread or stream, index into `RankTrace.lanes`; -1 for the root.
    start_ns, end_ns : (n,) int64
        On the clock of the rank's GPUs: host times are shifted by `Graph.skew_ns`.
    event : (n,) int64
        The event of `RankTrace.events` it is (a part of); for gaps the annotation around
        it, for waits within gaps too; -1 where there is none.
    label : (n,) int64
        The event whose name a person should read: for a gap the event that follows it,
        else `event`; -1 where there is none.
    ordinal : (n,) int32
        Which slice of its event it is, from 0; of a gap, which slice of the event that
        follows it comes next.
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


@dataclass(frozen=True, repr=False, eq=False)
class Graph:
    """The dependency graph of one rank and window.

    Edges are sorted by the node they lead to; those into node `i` are `first[i]` up to
    `first[i + 1]`.

    Parameters
    ----------
    nodes : Nodes
    first : (n + 1,) int64
        See above.
    parent : (e,) int32
        The node that had to complete.
    kind, provenance : (e,) int8
        `EdgeKind`, `Provenance`.
    skew_ns : int
        What was added to host times so that no kernel starts before its launch.
    origin_ns : int
        Start of the root.
    notes : tuple of Note
        What was inferred, dropped or left out.

    References
    ----------
    Synchronization-tax paper, section 4.1.
    """

    nodes: Nodes
    first: I64
    parent: I32
    kind: I8
    provenance: I8
    skew_ns: int
    origin_ns: int
    notes: tuple[Note, ...]

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"<Graph: {len(self):,} nodes, {self.parent.size:,} edges>"

    @cached_property
    def child(self) -> I32:
        """The node each edge leads to, (e,) int32."""
        counts = np.diff(self.first)
        return np.repeat(np.arange(counts.size, dtype=np.int32), counts)

    @cached_property
    def complete_ns(self) -> I64:
        """When what each edge waits for was complete, (e,) int64.

        A launch is complete when the call ends or, if that is earlier, when its kernel
        starts; the same holds of kernels that overlap on one stream.
        """
        return np.minimum(self.ready_ns[self.parent], self.nodes.start_ns[self.child])

    @cached_property
    def ready_ns(self) -> I64:
        """When each node was complete, for what waits for it, (n,) int64.

        A thread that waited was itself ready when it began to wait.
        """
        nodes = self.nodes
        return np.where(nodes.kind == NodeKind.WAIT, nodes.start_ns, nodes.end_ns)

    def node_of(self, event: I64) -> I64:
        """Find the GPU or collective node of each event, -1 where there is none.

        Parameters
        ----------
        event : (m,) int64
            Indices into `RankTrace.events`.

        Returns
        -------
        (m,) int64
        """
        numbers, events = self._by_event
        if not numbers.size:
            return np.full(event.size, -1, np.int64)
        slot = np.minimum(np.searchsorted(events, event), numbers.size - 1)
        return np.where(events[slot] == event, numbers[slot], -1)

    @cached_property
    def _by_event(self) -> tuple[I64, I64]:
        """GPU and collective nodes in order of their events, and these."""
        kind, event = self.nodes.kind, self.nodes.event
        rows = np.flatnonzero((kind == NodeKind.GPU) | (kind == NodeKind.COLLECTIVE))
        rows = rows[np.argsort(event[rows], kind="stable")]
        return rows, event[rows]

    def to_networkx(self) -> "nx.DiGraph[int]":
        """Copy the graph into a networkx `DiGraph`.

        Nodes are numbers with `kind`, `lane`, `start_ns`, `end_ns`, `event`; edges have
        `kind`, `provenance` and `complete_ns`. Of two edges between the same nodes the
        first is kept.
        """
        import networkx as nx

        graph: nx.DiGraph[int] = nx.DiGraph()
        nodes = self.nodes
        columns = (nodes.kind, nodes.lane, nodes.start_ns, nodes.end_ns, nodes.event)
        for number, (kind, lane, start, end, event) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        ):
            graph.add_node(
                number,
                kind=NodeKind(kind).name.lower(),
                lane=lane,
                start_ns=start,
                end_ns=end,
                event=event,
            )
        edges = (self.parent, self.child, self.kind, self.provenance, self.complete_ns)
        for parent, child, kind, source, complete in zip(
            *(column.tolist() for column in edges), strict=True
        ):
            if not graph.has_edge(parent, child):
                graph.add_edge(
                    parent,
                    child,
                    kind=EdgeKind(kind).name.lower(),
                    provenance=Provenance(source).name.lower(),
                    complete_ns=complete,
                )
        return graph
