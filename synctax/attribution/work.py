"""Whether ranks run the same work between two collectives of a group."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I64, U64
from synctax.attribution.keys import combine, host_time_ns, name_hashes, text_hash
from synctax.collectives.catalog import catalog
from synctax.collectives.issued import issued
from synctax.graph.model import Graph, NodeKind
from synctax.trace.model import EventKind, RankTrace


@dataclass(frozen=True, slots=True)
class Work:
    """The compute kernels of a rank in order of launch; without a GPU, its operators.

    `launched_ns` (k,) int64 is when the host launched each; `name` and `geometry` (k,)
    uint64 are hashes, the second of name and launch geometry. `issued_ns` (e,) int64 is,
    of each event that a thread of a backend ran, when another thread issued it, else -1;
    without such threads it is empty.
    """

    trace: RankTrace
    graph: Graph
    launched_ns: I64
    name: U64
    geometry: U64
    issued_ns: I64

    @classmethod
    def of(cls, trace: RankTrace, graph: Graph) -> "Work":
        """Order the kernels of a rank."""
        events, nodes = trace.events, graph.nodes
        event = np.sort(nodes.event[nodes.kind == NodeKind.GPU])
        event = event[events.kind[event] == EventKind.KERNEL]
        launched = host_time_ns(trace, graph, event)
        order = np.argsort(launched, kind="stable")
        name = name_hashes(trace)[events.name[event]]
        shape = np.full(len(events), -1, np.int32)
        shape[trace.kernels.event] = trace.kernels.geometry
        shapes = np.zeros(len(trace.strings) + 1, np.uint64)
        for code in np.unique(shape[shape >= 0]).tolist():
            shapes[code] = text_hash(trace.strings[code])
        geometry = combine(name, shapes[shape[event]])
        none = np.empty(0, np.int64)
        return cls(trace, graph, launched[order], name[order], geometry[order], none)

    @classmethod
    def of_operators(cls, trace: RankTrace, graph: Graph) -> "Work":
        """Order the operators of the threads that issue collectives."""
        events, found = trace.events, catalog(trace)
        pairs = issued(trace, found, np.sort(found.spans))
        issued_ns = np.full(len(events), ABSENT, np.int64)
        issued_ns[pairs.span] = events.start_ns[pairs.operator]
        threads = np.unique(events.lane[pairs.operator])
        here = np.isin(events.lane, threads) & (events.kind == EventKind.CPU_OP)
        event = np.flatnonzero(here)
        name = name_hashes(trace)[events.name[event]]
        return cls(trace, graph, events.start_ns[event], name, name, issued_ns)

    def blocks(self, target: I64, wanted: I64) -> tuple[U64, U64, I64]:
        """Hash what was launched between each collective and the group's one before.

        Parameters
        ----------
        target : (c,) int64
            Nodes of the group's collectives in order of start, -1 where there is none.
        wanted : (p,) int64
            Positions in `target`, of collectives that are there.

        Returns
        -------
        (p,) uint64, (p,) uint64, (p,) int64
            Hash of the names, hash of names and geometry, number of kernels. Equal on
            two ranks if kernel for kernel is equal.
        """
        there = np.flatnonzero(target >= 0)
        at = np.full(target.size, -1, np.int64)
        at[there] = np.searchsorted(self.launched_ns, self._issued_ns(target[there]))
        before = np.concatenate([[0], np.maximum.accumulate(at)[:-1]])[: target.size]
        low = np.maximum(before[wanted], 0)
        high = np.maximum(at[wanted], low)
        return _hash(self.name, low, high), _hash(self.geometry, low, high), high - low

    def _issued_ns(self, node: I64) -> I64:
        """When the host launched, or issued to another thread, what each node is."""
        event = self.graph.nodes.event[node]
        time_ns = host_time_ns(self.trace, self.graph, event)
        if not self.issued_ns.size:
            return time_ns
        issued_ns = self.issued_ns[event]
        return np.where(issued_ns >= 0, issued_ns, time_ns)


def _hash(values: U64, low: I64, high: I64) -> U64:
    """Hash stretches of values by value and place within the stretch."""
    count = high - low
    begin = np.cumsum(count) - count
    place = np.arange(int(count.sum())) - np.repeat(begin, count)
    rows = np.repeat(low, count) + place
    mixed = combine(values[rows], (place + 1).astype(np.uint64))
    # sums of 64-bit hashes wrap around, and so do their differences
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    hashes: U64 = total[begin + count] - total[begin]
    return hashes
