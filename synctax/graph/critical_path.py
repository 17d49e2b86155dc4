"""The chain of events that decided when a node could start: the critical path."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import I8, I32, I64, NS_PER_US
from synctax.graph.model import ROOT, EdgeKind, Graph, Provenance

MAX_TOLERANCE_US = 1e12
"""A longer tolerance is no different: no trace lasts eleven days."""

DEFAULT_TOLERANCE_US = 3.0
"""The parent on the same stream is preferred if it completes this close to the last."""


def deciding_edges(graph: Graph, *, tolerance_us: float = DEFAULT_TOLERANCE_US) -> I64:
    """Choose for each node the edge that decided when it could start.

    It is the one that completed last. Where the edge along the node's own stream or
    thread completed within the tolerance of it, that one: execution on a stream is
    sequential anyhow. Else, where what completed last is not recorded in the trace but
    something that is completed within the tolerance, the recorded one: a guess does not
    win by a hair.

    Parameters
    ----------
    graph : Graph
    tolerance_us : float
        See above, in µs.

    Returns
    -------
    (n,) int64
        Index into the edges; -1 for the root.

    References
    ----------
    Synchronization-tax paper, section 4.2, traversal.
    """
    if not 0 <= tolerance_us < float("inf"):
        raise ValueError(f"tolerance_us must be 0 or more, not {tolerance_us}")
    counts = np.diff(graph.first)
    chosen = np.where(counts > 0, graph.first[:-1], -1)
    # where there is a choice, which most nodes have not
    several = np.flatnonzero(counts > 1)
    if not several.size:
        return chosen
    counts = counts[several]
    begin = np.cumsum(counts) - counts
    edge = np.arange(counts.sum()) + np.repeat(graph.first[several] - begin, counts)
    child = np.repeat(several, counts)
    complete = graph.complete_ns[edge]
    latest = np.repeat(np.maximum.reduceat(complete, begin), counts)
    same = graph.nodes.lane[graph.parent[edge]] == graph.nodes.lane[child]
    tolerance_ns = round(min(tolerance_us, MAX_TOLERANCE_US) * NS_PER_US)
    near = complete >= latest - tolerance_ns
    recorded = np.flatnonzero(near & (graph.provenance[edge] == Provenance.RECORDED))
    recorded = recorded[np.argsort(complete[recorded], kind="stable")]
    last = np.flatnonzero(complete == latest)[::-1]
    # last write wins
    for rows in (last, recorded, np.flatnonzero(near & same)):
        chosen[child[rows]] = edge[rows]
    return chosen


FEW = 64
"""A step of fewer paths together takes longer than theirs one by one."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Critical paths of one rank, clipped to their windows.

    Path `i` has the items `first[i]` up to `first[i + 1]`, in order of time. Between them
    lie gaps: item and the gap after it follow each other without a hole, from
    `begin_ns[i]` (after an initial gap) to the start of the target.

    Parameters
    ----------
    target : (p,) int64
        The node that each path leads to; no item of it.
    begin_ns, end_ns : (p,) int64
        Window: from the fence (or the start of the root) to the start of the target.
    first : (p + 1,) int64
    node : (i,) int32
        Node of each item.
    start_ns, stop_ns : (i,) int64
        When it decided: from its start to its completion, within the window.
    gap_ns : (i,) int64
        Time after the item until the next one (or the target) started.
    edge : (i,) int8
        `EdgeKind` by which the item led to the next one (or the target).
    provenance : (i,) int8
        Of that edge.
    head_gap_ns : (p,) int64
        Time from the beginning of the window to the first item.
    head_edge : (p,) int8
        `EdgeKind` that this gap belongs to; `ROOT` if the path begins with the root.
    """

    target: I64
    begin_ns: I64
    end_ns: I64
    first: I64
    node: I32
    start_ns: I64
    stop_ns: I64
    gap_ns: I64
    edge: I8
    provenance: I8
    head_gap_ns: I64
    head_edge: I8

    def __len__(self) -> int:
        return int(self.target.size)

    @property
    def duration_ns(self) -> I64:
        """Time each item decided, (i,) int64."""
        duration: I64 = self.stop_ns - self.start_ns
        return duration


def critical_paths(
    graph: Graph,
    target: I64,
    begin_ns: I64,
    *,
    tolerance_us: float = DEFAULT_TOLERANCE_US,
    deciding: I64 | None = None,
) -> Paths:
    """Walk from each target back to the beginning of its window.

    Parameters
    ----------
    graph : Graph
    target : (p,) int64
        Nodes.
    begin_ns : (p,) int64
        Where each window begins: what completed before is no part of the path.
    tolerance_us : float
        As for `deciding_edges`.
    deciding : (n,) int64, optional
        The edge to follow from each node; default: `deciding_edges`.

    Returns
    -------
    Paths
        For each path items and gaps add up to its window, in ns. Time and memory are
        O(n) for the graph and O(1) for each item: windows that do not overlap have at
        most n items together, those that all begin with the trace up to n each.

    Raises
    ------
    ValueError
        If `target` and `begin_ns` differ in length.

    References
    ----------
    Synchronization-tax paper, section 4.2.
    """
    if target.size != begin_ns.size:
        raise ValueError(f"{target.size} targets, {begin_ns.size} windows")
    if deciding is None:
        deciding = deciding_edges(graph, tolerance_us=tolerance_us)
    parent = np.where(deciding >= 0, graph.parent[deciding], ROOT)
    # a window that begins before this goes on from a node to its parent
    due_ns = np.minimum(graph.nodes.start_ns, graph.ready_ns[parent])
    due_ns[parent == ROOT] = np.iinfo(np.int64).min
    counts, node, head = _walked(parent, due_ns, target, begin_ns, graph)
    return _paths(graph, (target, begin_ns), deciding, (node, counts, head))


def _walked(
    parent: I64, due_ns: I64, target: I64, begin_ns: I64, graph: Graph
) -> tuple[I64, I64, I64]:
    """Walk all paths back: items of each, items of all in order of time, and heads.

    All go a step at a time together, until so few are left that a step of numpy costs
    more than those of each in turn: paths of a trace differ much in length.
    """
    begin_ns = np.minimum(begin_ns, graph.nodes.start_ns[target])
    counts, head = np.zeros(target.size, np.int64), target.astype(np.int64)
    steps: list[tuple[I64, I64]] = []
    left = np.arange(target.size)
    while True:
        left = left[due_ns[head[left]] > begin_ns[left]]
        if left.size < FEW:
            break
        head[left] = parent[head[left]]
        steps.append((left, head[left]))
    counts += np.bincount(
        np.concatenate([left[:0], *(path for path, _ in steps)]), minlength=target.size
    )
    ends: list[list[int]] = []
    for number in left.tolist():
        # a memoryview gives plain ints one by one: only what is walked is converted
        at, begin = int(head[number]), int(begin_ns[number])
        ends.append(_walk(parent.data, due_ns.data, at, begin))
        head[number] = ends[-1][-1]
        counts[number] += len(ends[-1])
    last = np.cumsum(counts) - 1
    node = np.empty(int(counts.sum()), np.int64)
    for step, (path, reached) in enumerate(steps):
        node[last[path] - step] = reached
    for number, end in zip(left.tolist(), ends, strict=True):
        stop = int(last[number]) + 1 - len(steps)
        node[stop - len(end) : stop] = end[::-1]
    return counts, node, head


def _walk(parent_of: memoryview, due_ns: memoryview, node: int, begin: int) -> list[int]:
    """Nodes from one's parent back to the window's first."""
    path = []
    while due_ns[node] > begin:
        node = parent_of[node]
        path.append(node)
    return path


def _paths(
    graph: Graph,
    windows: tuple[I64, I64],
    deciding: I64,
    walked: tuple[I64, I64, I64],
) -> Paths:
    target, begin = windows
    node, counts, head = walked
    starts = graph.nodes.start_ns
    first = np.concatenate([[0], np.cumsum(counts)])
    path = np.repeat(np.arange(target.size), counts)
    following = np.empty(node.size, np.int64)
    following[:-1] = node[1:]
    last = first[1:][counts > 0] - 1
    following[last] = target[counts > 0]
    edge = deciding[following]
    end = starts[target]
    begin = np.minimum(begin, end)
    root = graph.parent[deciding[head]] == ROOT
    lower = begin[path]
    start = np.maximum(starts[node], lower)
    stop = np.maximum(graph.complete_ns[edge], start)
    following_start = np.maximum(starts[following], lower)
    head_start = np.where(counts > 0, np.maximum(starts[head], begin), end)
    return Paths(
        target=target,
        begin_ns=begin,
        end_ns=end,
        first=first,
        node=node.astype(np.int32),
        start_ns=start,
        stop_ns=stop,
        gap_ns=following_start - stop,
        edge=graph.kind[edge],
        provenance=graph.provenance[edge],
        head_gap_ns=head_start - begin,
        head_edge=np.where(root, EdgeKind.ROOT, graph.kind[deciding[head]]).astype(np.int8),
    )
