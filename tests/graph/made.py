"""Build a `RankTrace` from dict events like Kineto's, sync records included, and look at
the graph made of it by the names of events."""

from dataclasses import replace

import numpy as np

from synctax.graph.build import build_graph
from synctax.graph.critical_path import critical_paths
from synctax.graph.model import EdgeKind, NodeKind, Provenance
from synctax.trace.model import EventKind, KernelArgs, SyncArgs
from tests.collectives.build import KINDS, ns, rank_trace
from tests.trace.builders import event, kernel, runtime

SYNC = "cuda_sync"


def launch(
    what, call, runs, *, stream=7, corr, tid=1, device=0, by="cudaLaunchKernel", **args
):
    """A call and its kernel, each from when to when: `launch("gemm", (0, 3), (8, 20))`."""
    start, stop = runs
    made = kernel(
        what, start, stop - start, stream=stream, corr=corr, device=device, args=args
    )
    return [runtime(by, call[0], call[1] - call[0], tid=tid, corr=corr), made]


def copy(what, start, stop, *, stream=7, corr=0, device=0):
    made = kernel(what, start, stop - start, stream=stream, corr=corr, device=device)
    return {**made, "cat": "gpu_memcpy"}


def sync(kind, ts, dur, *, corr, stream=-1, device=0, on=-1, record=-1):
    """A `cuda_sync` record of any kind."""
    return event(
        SYNC, kind, ts, dur, device, stream,
        stream=stream, device=device, correlation=corr, wait_on_stream=on,
        wait_on_cuda_event_record_corr_id=record, wait_on_cuda_event_id=-1,
    )  # fmt: skip


def flat(events):
    """Events of nested lists."""
    for item in events:
        if isinstance(item, list):
            yield from flat(item)
        else:
            yield item


def made(*events):
    """A rank's trace of these events, in any order; times in µs."""
    rows = sorted(flat(events), key=lambda e: e["ts"])
    # the shared builder knows no sync records: they pass as kernels
    plain = [{**e, "cat": "kernel"} if e["cat"] == SYNC else e for e in rows]
    trace = rank_trace(plain)
    assert len(trace.events) == len([e for e in rows if e["cat"] in (*KINDS, SYNC)])
    kind = trace.events.kind.copy()
    waits = [i for i, e in enumerate(rows) if e["cat"] == SYNC]
    kind[waits] = EventKind.SYNC
    graphs = [i for i, e in enumerate(rows) if "graph node id" in e["args"]]

    def column(rows_, key):
        return np.array([rows[i]["args"].get(key, -1) for i in rows_], np.int64)

    return replace(
        trace,
        events=replace(trace.events, kind=kind),
        kernels=KernelArgs(
            np.array(graphs, np.int64),
            np.full(len(graphs), -1, np.int32),
            column(graphs, "graph node id"),
        ),
        syncs=SyncArgs(
            np.array(waits, np.int64),
            column(waits, "wait_on_stream"),
            column(waits, "wait_on_cuda_event_record_corr_id"),
            column(waits, "wait_on_cuda_event_id"),
        ),
    )


class Told:
    """The graph of a story, asked by the names of its events."""

    def __init__(self, *events):
        self.trace = made(*events)
        self.graph = build_graph(self.trace)
        self.nodes = self.graph.nodes

    def name(self, node):
        """`root`, `gemm`, `gap before x`, `wait in x`."""
        kind, label = NodeKind(self.nodes.kind[node]), self.nodes.label[node]
        text = self.trace.strings[self.trace.events.name[label]] if label >= 0 else "root"
        before = {NodeKind.GAP: "gap before ", NodeKind.WAIT: "wait in "}
        return before.get(kind, "") + text

    def node(self, name):
        """The last node of that name."""
        return max(i for i in range(len(self.graph)) if self.name(i) == name)

    def into(self, name):
        """Edges into a node: (name of parent, kind, provenance)."""
        low, high = self.graph.first[self.node(name) :][:2]
        return {
            (
                self.name(self.graph.parent[e]),
                EdgeKind(self.graph.kind[e]).name.lower(),
                Provenance(self.graph.provenance[e]).name.lower(),
            )
            for e in range(low, high)
        }

    def reasons(self):
        return {note.reason: note.count for note in self.graph.notes}

    def thread(self, tid):
        """Pieces of a thread: (name, start, end), in µs."""
        lane = self.trace.lanes.thread.tolist().index(tid)
        return [
            (self.name(i), self.nodes.start_ns[i] / 1000, self.nodes.end_ns[i] / 1000)
            for i in np.flatnonzero(self.nodes.lane == lane)
        ]

    def path(self, name, begin=None):
        """Items of the critical path: (name, duration in µs)."""
        begin_ns = self.graph.origin_ns if begin is None else ns(begin)
        target = np.array([self.node(name)])
        paths = critical_paths(self.graph, target, np.array([begin_ns]))
        items = zip(paths.node.tolist(), paths.duration_ns.tolist(), strict=True)
        return [(self.name(node), took / 1000) for node, took in items]
