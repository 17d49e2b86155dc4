"""Walks that mean nothing: what random paths to a collective would explain."""

import random

import numpy as np

from synctax.arrays import ABSENT, I64, Bool
from synctax.graph.model import ROOT, Graph

RANDOM_WALKS = 20
"""Random walks to a collective."""


def random_sums(graph: Graph, target: I64, begin_ns: I64, sampled: Bool) -> I64:
    """Walk back from collectives by edges drawn at random, and add up the items.

    Parameters
    ----------
    graph : Graph
    target, begin_ns : (p,) int64
        Nodes, and where their windows begin.
    sampled : (p,) bool
        To which of them to walk.

    Returns
    -------
    (RANDOM_WALKS, p) int64
        Sum of each walk's items within the window, in ns; -1 where none was taken. The
        draws are the same for the same graph.
    """
    sums = np.full((RANDOM_WALKS, target.size), ABSENT, np.int64)
    if not sampled.any():
        return sums
    nodes = graph.nodes
    # memoryviews give plain ints one by one: only what is walked is converted
    walker = _Walker(
        graph.first.data, graph.parent.data, graph.ready_ns.data, nodes.start_ns.data
    )
    # two ranks must not draw alike: walks over equal graphs would go through equal items
    own = int((nodes.end_ns - nodes.start_ns).sum())
    for seed in range(RANDOM_WALKS):
        draw = random.Random(seed * _PRIME + own)  # noqa: S311 - no secret
        for number in np.flatnonzero(sampled).tolist():
            node, begin = int(target[number]), int(begin_ns[number])
            sums[seed, number] = walker.sum(node, begin, draw)
    return sums


_PRIME = 2**61 - 1


class _Walker:
    __slots__ = ("first", "parent", "ready", "start")

    def __init__(
        self, first: memoryview, parent: memoryview, ready: memoryview, start: memoryview
    ) -> None:
        self.first, self.parent, self.ready, self.start = first, parent, ready, start

    def sum(self, node: int, begin: int, draw: random.Random) -> int:
        total = 0
        while node != ROOT and self.start[node] > begin:
            low, high = self.first[node], self.first[node + 1]
            parent = self.parent[low + int(draw.random() * (high - low))]
            stop = min(self.ready[parent], self.start[node])
            if parent == ROOT or self.ready[parent] <= begin:
                break
            total += max(stop - max(self.start[parent], begin), 0)
            node = parent
        return total
