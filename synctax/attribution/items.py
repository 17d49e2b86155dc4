"""From the nodes of a path to items that mean something outside of its graph."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I8, I32, I64, Bool
from synctax.attribution.keys import Named, of_kin
from synctax.attribution.model import Items
from synctax.graph.critical_path import Paths
from synctax.graph.model import EdgeKind, Graph, NodeKind
from synctax.graph.streams import EXPLAINED_NS
from synctax.trace.model import RankTrace

_IDLE = (EdgeKind.STREAM, EdgeKind.CROSS, EdgeKind.ROOT)


@dataclass(frozen=True, slots=True)
class Palette:
    """What is known of each node of a graph; (n,) arrays.

    `source` int8 is the `EventKind` of its event, `name` and `context` int32 are codes of
    strings, `launched` bool says whether its launch is known (host pieces need none).
    """

    graph: Graph
    source: I8
    name: I32
    context: I32
    launched: Bool

    @classmethod
    def of(cls, trace: RankTrace, graph: Graph) -> "Palette":
        """Look up kinds and names."""
        nodes, events = graph.nodes, trace.events
        gap = nodes.kind == NodeKind.GAP
        own, label = nodes.event >= 0, nodes.label >= 0
        launched = (nodes.kind != NodeKind.GPU) & (nodes.kind != NodeKind.COLLECTIVE)
        launched[graph.child[graph.kind == EdgeKind.LAUNCH]] = True
        return cls(
            graph,
            np.where(own & ~gap, events.kind[nodes.event], ABSENT).astype(np.int8),
            np.where(label, events.name[nodes.label], ABSENT).astype(np.int32),
            np.where(own & gap, events.name[nodes.event], ABSENT).astype(np.int32),
            launched,
        )

    def items(self, paths: Paths, named: Named, slot_of: I64) -> Items:
        """Describe the items of paths.

        Parameters
        ----------
        paths : Paths
        named : Named
            Of all nodes.
        slot_of : (n,) int64
            The collective each node is, -1 for none.
        """
        return self.describe(
            paths.node,
            (paths.start_ns, paths.stop_ns, paths.gap_ns),
            (paths.edge, paths.provenance),
            named,
            slot_of,
            self._unknown(paths.edge, paths.gap_ns, _following(paths)),
        )

    def describe(
        self,
        node: I32 | I64,
        times: tuple[I64, I64, I64],
        edges: tuple[I8, I8],
        named: Named,
        slot_of: I64,
        unknown: Bool,
    ) -> Items:
        """Describe nodes as items; times are start, stop and gap after, in ns."""
        nodes = self.graph.nodes
        kin = named.kin[node]
        kin_count, kin_ns = of_kin(self.graph, named.kin, kin)
        return Items(
            kind=nodes.kind[node],
            source=self.source[node],
            name=self.name[node],
            context=self.context[node],
            lane=nodes.lane[node],
            start_ns=times[0],
            stop_ns=times[1],
            full_start_ns=nodes.start_ns[node],
            full_end_ns=nodes.end_ns[node],
            gap_ns=times[2],
            edge=edges[0],
            provenance=edges[1],
            key=named.key[node],
            kin=kin,
            kin_count=kin_count,
            kin_ns=kin_ns,
            slot=slot_of[node],
            unknown=unknown,
        )

    def unknown_ns(self, paths: Paths) -> I64:
        """Idle time after each item of which it is not known what it waited for, (i,)."""
        unknown = self._unknown(paths.edge, paths.gap_ns, _following(paths))
        return np.where(unknown, paths.gap_ns, 0)

    def head_unknown(self, paths: Paths) -> Bool:
        """Whether it is not known what the first item of each path waited for, (p,)."""
        head = paths.target.copy()
        filled = np.diff(paths.first) > 0
        head[filled] = paths.node[paths.first[:-1][filled]]
        unknown = self._unknown(paths.head_edge, paths.head_gap_ns, head)
        # a thread or stream that begins within the window: what came before is not there
        unknown |= (paths.head_edge == EdgeKind.ROOT) & (paths.head_gap_ns > 0)
        return unknown

    def _unknown(self, edge: I8, gap_ns: I64, following: I64 | I32) -> Bool:
        idle = np.isin(edge, _IDLE) & (gap_ns > EXPLAINED_NS)
        unknown: Bool = idle & ~self.launched[following]
        return unknown


def _following(paths: Paths) -> I64:
    """Node that each item leads to, (i,) int64: the next item's or the target."""
    following = np.append(paths.node, 0)[1:].astype(np.int64)
    filled = np.diff(paths.first) > 0
    following[paths.first[1:][filled] - 1] = paths.target[filled]
    return following
