"""Graphs of made-up ranks that launch kernels, wait for them, and meet in collectives."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from synctax.attribution.network import join, rank_part
from synctax.attribution.replay import Barriers
from synctax.graph.model import EdgeKind, Graph, NodeKind, Nodes

LATENCY_NS, GAP_NS, TRANSFER_NS = 5, 2, 30
HOST, STREAM, COMM = 0, 1, 2


@dataclass
class Rank:
    """A rank as it runs: nodes (kind, lane, start, end) and edges (parent, child, kind)."""

    clock_ns: int
    nodes: list
    edges: list

    def add(self, kind, lane, start, end):
        number = len(self.nodes)
        before = [i for i, node in enumerate(self.nodes) if node[1] == lane]
        self.nodes.append((kind, lane, start, end))
        if lane != -1:
            edge = EdgeKind.CHAIN if lane == HOST else EdgeKind.STREAM
            parent, kind_of = (before[-1], edge) if before else (0, EdgeKind.ROOT)
            self.edges.append((parent, number, kind_of))
        return number

    def end(self, lane):
        return max((node[3] for node in self.nodes if node[1] == lane), default=0)

    def host(self, duration):
        at = self.end(HOST)
        return self.add(NodeKind.SLICE, HOST, at, at + duration)

    def launch(self, lane, kind, call_ns, early_ns):
        """Call, and return the call's number and when its kernel may start."""
        call = self.host(call_ns)
        done = self.nodes[call][3] - min(early_ns, call_ns)
        return call, max(done + LATENCY_NS, self.end(lane) + GAP_NS)

    def kernel(self, duration, call_ns, early_ns):
        call, start = self.launch(STREAM, NodeKind.GPU, call_ns, early_ns)
        number = self.add(NodeKind.GPU, STREAM, start, start + duration)
        self.edges.append((call, number, EdgeKind.LAUNCH))
        return number

    def synchronize(self):
        last = [i for i, node in enumerate(self.nodes) if node[1] in (STREAM, COMM)]
        at = self.end(HOST)
        ended = [i for i in last if self.nodes[i][3] > at]
        if ended:
            latest = max(ended, key=lambda i: self.nodes[i][3])
            release = self.nodes[latest][3]
            self.add(NodeKind.WAIT, HOST, at, release)
            rest = self.add(NodeKind.SLICE, HOST, release, release + 3)
            self.edges.append((latest, rest, EdgeKind.SYNC))

    def graph(self):
        start = np.array([node[2] for node in self.nodes])
        kind = np.array([node[0] for node in self.nodes], np.int8)
        on_gpu = np.isin(kind, [NodeKind.GPU, NodeKind.COLLECTIVE])
        made = np.arange(start.size)
        order = np.lexsort((made, on_gpu, start, made > 0))
        number = np.empty(order.size, np.int64)
        number[order] = made
        edges = sorted(
            (int(number[child]), int(number[parent]), kind)
            for parent, child, kind in self.edges
        )
        assert all(parent < child for child, parent, _ in edges)
        columns = np.array(edges, np.int64).reshape(-1, 3)
        absent = np.full(order.size, -1, np.int64)
        nodes = Nodes(
            kind[order],
            np.array([node[1] for node in self.nodes], np.int32)[order],
            start[order] + self.clock_ns,
            np.array([node[3] for node in self.nodes])[order] + self.clock_ns,
            absent,
            absent,
            np.zeros(order.size, np.int32),
        )
        graph = Graph(
            nodes,
            np.searchsorted(columns[:, 0], np.arange(order.size + 1)),
            columns[:, 1].astype(np.int32),
            columns[:, 2].astype(np.int8),
            np.zeros(len(edges), np.int8),
            0,
            self.clock_ns,
            (),
        )
        return graph, number


@dataclass
class Made:
    """Graphs of all ranks, and node of each rank in each collective."""

    graphs: list
    collectives: list

    def network(self):
        return join([rank_part(graph) for graph in self.graphs])

    def barriers(self, base):
        node, slot = [], []
        for number, nodes in enumerate(self.collectives):
            node += [int(base[rank]) + one for rank, one in enumerate(nodes)]
            slot += [number] * len(nodes)
        return Barriers(np.array(node, np.int64), np.array(slot, np.int64))

    def permuted(self, order):
        return Made(
            [self.graphs[rank] for rank in order],
            [[nodes[rank] for rank in order] for nodes in self.collectives],
        )


@st.composite
def made(draw, most_ranks=3, rounds=3):
    ranks = [
        Rank(draw(st.sampled_from([0, 10**15, 77])), [(NodeKind.ROOT, -1, 0, 0)], [])
        for _ in range(draw(st.integers(1, most_ranks)))
    ]
    short = st.integers(0, 40)
    raw = []
    for _ in range(draw(st.integers(1, rounds))):
        arrivals = []
        for rank in ranks:
            rank.host(draw(short))
            for _ in range(draw(st.integers(0, 2))):
                rank.kernel(draw(st.integers(1, 60)), draw(short), draw(st.integers(0, 9)))
            before = rank.end(STREAM)
            last = [i for i, node in enumerate(rank.nodes) if node[1] == STREAM][-1:]
            call, start = rank.launch(COMM, NodeKind.COLLECTIVE, draw(short), 0)
            arrivals.append((max(start, before + GAP_NS), call, last))
        end = max(arrival[0] for arrival in arrivals) + TRANSFER_NS
        numbers = []
        for rank, (start, call, last) in zip(ranks, arrivals, strict=True):
            number = rank.add(NodeKind.COLLECTIVE, COMM, start, end)
            rank.edges.append((call, number, EdgeKind.LAUNCH))
            rank.edges += [(one, number, EdgeKind.CROSS) for one in last]
            numbers.append(number)
        for rank, number in zip(ranks, numbers, strict=True):
            if draw(st.booleans()):
                rank.synchronize()
            if draw(st.booleans()):  # a kernel that needs the result
                call, start = rank.launch(STREAM, NodeKind.GPU, draw(short), 0)
                start = max(start, end + GAP_NS)
                kernel = rank.add(NodeKind.GPU, STREAM, start, start + 11)
                rank.edges.append((call, kernel, EdgeKind.LAUNCH))
                rank.edges.append((number, kernel, EdgeKind.CROSS))
        raw.append(numbers)
    built = [rank.graph() for rank in ranks]
    collectives = [
        [int(built[rank][1][one]) for rank, one in enumerate(numbers)] for numbers in raw
    ]
    return Made([graph for graph, _ in built], collectives)
