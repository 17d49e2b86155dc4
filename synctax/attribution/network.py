"""The graphs of all ranks in one set of columns, with what may move and what may not.

A node starts when everything it waited for is complete, plus a lag. What the recorded start
tells of the edge that decided is its lag: launch latency, queueing. Of the others it tells
only an upper bound, so they get the lag that edges of their kind usually have.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I8, I32, I64, NS_PER_US
from synctax.graph.critical_path import deciding_edges
from synctax.graph.model import EdgeKind, Graph, NodeKind

TYPICAL_LAG_QUANTILE = 0.05
"""Of the lags of deciding edges: what an edge needs when nothing else holds its child."""

LONG_IDLE_NS = 50 * NS_PER_US
"""A stream that idles longer before a kernel waited for what no edge tells."""


@dataclass(frozen=True, slots=True)
class Network:
    """The graphs of all ranks, one after the other.

    Parameters
    ----------
    base : (r + 1,) int64
        Nodes of the rank at position i are `base[i]` up to `base[i + 1]`; the first of
        them is its root.
    kind : (n,) int8
        `NodeKind`.
    lane : (n,) int64
        Thread or stream, numbered over all ranks; a root has one of its own.
    start_ns, duration_ns : (n,) int64
        As recorded, each rank on the clock of its GPUs.
    parent, child : (e,) int64
        Edges, sorted by child.
    offset_ns : (e,) int64
        From the start of the parent to where the child could start: less than its
        duration where the two overlap, 0 for a wait.
    hidden_ns : (e,) int64
        How much later the parent could have completed without delaying the child.
    """

    base: I64
    kind: I8
    lane: I64
    start_ns: I64
    duration_ns: I64
    parent: I64
    child: I64
    offset_ns: I64
    hidden_ns: I64

    def __len__(self) -> int:
        return int(self.kind.size)

    @property
    def end_ns(self) -> I64:
        """Recorded ends, (n,) int64."""
        end: I64 = self.start_ns + self.duration_ns
        return end


@dataclass(frozen=True, slots=True)
class RankPart:
    """One graph's share of a network; arrays as there, numbers from 0.

    `idle_ns` (i,) int64 are the lags of more than `LONG_IDLE_NS` on the GPU: a replay keeps
    them as they are.
    """

    kind: I8
    lane: I32
    start_ns: I64
    duration_ns: I64
    parent: I32
    child: I32
    offset_ns: I64
    hidden_ns: I64
    idle_ns: I64


def rank_part(
    graph: Graph, *, typical_lag_quantile: float = TYPICAL_LAG_QUANTILE
) -> RankPart:
    """Take from a graph what a replay needs.

    Parameters
    ----------
    graph : Graph
    typical_lag_quantile : float
        From 0 to 1: which of the deciding lags of a kind of edge is the lag of edges of
        that kind that did not decide. Of a kind that never decides it is 0.

    Returns
    -------
    RankPart
    """
    if not 0 <= typical_lag_quantile <= 1:
        raise ValueError(f"a quantile lies from 0 to 1, not at {typical_lag_quantile}")
    nodes = graph.nodes
    complete = graph.complete_ns
    slack = nodes.start_ns[graph.child] - complete
    chosen = deciding_edges(graph, tolerance_us=0)
    chosen = chosen[chosen >= 0]
    typical = np.zeros(len(EdgeKind), np.int64)
    for kind in np.unique(graph.kind[chosen]).tolist():
        lags = slack[chosen[graph.kind[chosen] == kind]]
        typical[kind] = np.quantile(lags, typical_lag_quantile, method="lower")
    lag = np.minimum(slack, typical[graph.kind])
    lag[chosen] = slack[chosen]
    on_gpu = (nodes.kind == NodeKind.GPU) | (nodes.kind == NodeKind.COLLECTIVE)
    idle = lag[chosen[on_gpu[graph.child[chosen]] & (graph.kind[chosen] != EdgeKind.ROOT)]]
    return RankPart(
        kind=nodes.kind,
        lane=nodes.lane,
        start_ns=nodes.start_ns,
        duration_ns=nodes.end_ns - nodes.start_ns,
        parent=graph.parent,
        child=graph.child,
        offset_ns=complete - nodes.start_ns[graph.parent],
        hidden_ns=slack - lag,
        idle_ns=idle[idle > LONG_IDLE_NS],
    )


def join(parts: Sequence[RankPart]) -> Network:
    """Put the parts of all ranks together.

    Parameters
    ----------
    parts : sequence of RankPart
        By position of the rank; at least one.

    Returns
    -------
    Network
    """
    base = np.cumsum([0, *(part.kind.size for part in parts)])
    lanes = np.cumsum([0, *(int(part.lane.max(initial=0)) + 2 for part in parts)])

    def all_of(name: str) -> I64:
        return np.concatenate([getattr(part, name) for part in parts])

    def shifted(name: str, by: I64) -> I64:
        return np.concatenate(
            [getattr(part, name) + at for part, at in zip(parts, by[:-1], strict=True)]
        )

    return Network(
        base=base,
        kind=all_of("kind").astype(np.int8),
        lane=shifted("lane", lanes + 1),
        start_ns=all_of("start_ns"),
        duration_ns=all_of("duration_ns"),
        parent=shifted("parent", base),
        child=shifted("child", base),
        offset_ns=all_of("offset_ns"),
        hidden_ns=all_of("hidden_ns"),
    )


def following(network: Network) -> I64:
    """Find the next node on the same thread or stream, (n,) int64; -1 after the last."""
    order = np.argsort(network.lane, kind="stable")
    same = network.lane[order[1:]] == network.lane[order[:-1]]
    after = np.full(len(network), ABSENT, np.int64)
    after[order[:-1][same]] = order[1:][same]
    return after


def stretch_ns(network: Network, duration_ns: I64) -> I64:
    """Tell how much later each edge's parent is complete if nodes take so long.

    Measured from the parent's start. What a parent takes beyond the start of its child
    does not count, whether recorded so or cut; what it takes longer than recorded does.

    Parameters
    ----------
    network : Network
    duration_ns : (n,) int64
        New durations.

    Returns
    -------
    (e,) int64
        Negative for earlier; 0 where nothing changed.
    """
    change = (duration_ns - network.duration_ns)[network.parent]
    spare = duration_ns[network.parent] - network.offset_ns
    stretched = np.where(change > 0, change, np.minimum(spare, 0))
    return np.where(network.kind[network.parent] == NodeKind.WAIT, 0, stretched)
