"""One rank's block times, in a worker: what its paths to collectives add up to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synctax.arrays import ABSENT, I8, I32, I64, NS_PER_US, U64, Bool
from synctax.attribution.items import Palette
from synctax.attribution.model import GroupTask
from synctax.attribution.walk import Reading, collective_nodes
from synctax.attribution.work import Work
from synctax.collectives.link import Anchors, Ranges, anchor
from synctax.graph.build import build_graph
from synctax.graph.critical_path import Paths, critical_paths, deciding_edges
from synctax.graph.model import Graph, NodeKind
from synctax.notes import Note
from synctax.trace.model import EventKind, RankTrace
from synctax.trace.names import by_name, is_gemm_operator, kernel

FORWARD, BACKWARD = 0, 1

AUTOGRAD_RANGE = "autograd::engine::evaluate_function"
"""Operators of this name are the backward pass; torch runs every node of it in one."""

AUTOGRAD_THREAD = "pt_autograd"
"""Threads with labels that begin so run the backward pass."""


@dataclass(frozen=True, slots=True)
class PathSums:
    """What the paths of one rank add up to, of all groups; (p,) arrays.

    Parameters
    ----------
    slot : int64
        The collective each path leads to.
    compute_ns : int64
        Time in compute kernels on the path, within the window; without a GPU, what the
        host did on it.
    host_ns : int64
        Time on the host, where it is not that which computes.
    unknown_ns : int64
        Idle time of unknown cause (`Items.unknown`).
    collective : bool
        It runs through another collective, of any group.
    cut : bool
        It begins within a kernel that started before the window did.
    gemm : int32
        Name of the GEMM that takes most of it, code into `RankSums.texts`; -1: none.
    phase : int8
        `FORWARD` or `BACKWARD`, by what launched most of the time in GEMMs; -1 where the
        trace does not tell.
    kernels : int64
    work, geometry : uint64
        Of the block, as in `GroupPaths`.
    """

    slot: I64
    compute_ns: I64
    host_ns: I64
    unknown_ns: I64
    collective: Bool
    cut: Bool
    gemm: I32
    phase: I8
    kernels: I64
    work: U64
    geometry: U64

    def __len__(self) -> int:
        return int(self.slot.size)

    @classmethod
    def none(cls) -> "PathSums":
        """Sums of no path."""
        ns, key = np.empty(0, np.int64), np.empty(0, np.uint64)
        code, byte, flag = (
            np.empty(0, np.int32),
            np.empty(0, np.int8),
            np.empty(0, np.bool_),
        )
        return cls(ns, ns, ns, ns, flag, flag, code, byte, ns, key, key)

    @classmethod
    def join(cls, parts: "Sequence[PathSums]") -> "PathSums":
        """Put sums one after the other."""
        columns = {
            name: np.concatenate([getattr(part, name) for part in (cls.none(), *parts)])
            for name in cls.__slots__
        }
        return cls(**columns)


@dataclass(frozen=True, slots=True)
class RankSums:
    """Sums of one rank's paths, the names of GEMMs, and what is said of its graph.

    `whole_us` says that all kernels last whole µs.
    """

    sums: PathSums
    texts: tuple[str, ...]
    whole_us: bool
    skew_ns: int
    notes: tuple[Note, ...]


def sum_rank(
    path: str,
    on_bytes: Callable[[int], None],
    *,
    tasks: Mapping[str, Sequence[GroupTask]],
    reading: Reading,
) -> RankSums:
    """Build a rank's graph, walk to its collectives, and add up what lies on the paths.

    Parameters are as for `walk.walk_rank`. The paths are the same; of their items only
    sums travel, some 70 bytes a path.
    """
    trace = reading.trace(path, on_bytes)
    graph = build_graph(trace)
    summing = _Summing.of(trace, graph, reading)
    sums = PathSums.join([summing.sum(task) for task in tasks[path]])
    kernels = trace.events.kind == EventKind.KERNEL
    whole_us = not (trace.events.duration_ns[kernels] % NS_PER_US).any()
    codes, gemm = np.unique(sums.gemm[sums.gemm >= 0], return_inverse=True)
    sums.gemm[sums.gemm >= 0] = gemm.reshape(-1)
    texts = tuple(trace.strings[code] for code in codes.tolist())
    return RankSums(
        sums, texts, bool(kernels.any()) and whole_us, graph.skew_ns, graph.notes
    )


@dataclass(frozen=True, slots=True)
class _Summing:
    trace: RankTrace
    graph: Graph
    deciding: I64
    on_gpu: bool
    palette: Palette
    work: Work
    compute: Bool
    gemm: Bool
    phase: I8

    @classmethod
    def of(cls, trace: RankTrace, graph: Graph, reading: Reading) -> "_Summing":
        palette = Palette.of(trace, graph)
        kind = graph.nodes.kind
        on_gpu = bool((trace.events.device >= 0).any())
        if on_gpu:
            compute = (kind == NodeKind.GPU) & (palette.source == EventKind.KERNEL)
            work, is_gemm = Work.of(trace, graph), _is_gemm
        else:
            compute = np.isin(kind, (NodeKind.SLICE, NodeKind.GAP))
            work, is_gemm = Work.of_operators(trace, graph), is_gemm_operator
        names = np.where(compute, palette.name, ABSENT).astype(np.int32)
        gemm = by_name(trace.strings, names, is_gemm, np.bool_)
        deciding = deciding_edges(graph, tolerance_us=reading.tolerance_us)
        phase = _phases(trace, graph, gemm, on_gpu=on_gpu)
        return cls(trace, graph, deciding, on_gpu, palette, work, compute, gemm, phase)

    def sum(self, task: GroupTask) -> PathSums:
        graph = self.graph
        target = collective_nodes(
            self.trace, graph, task.start_ns, task.duration_ns, task.stream
        )
        ends = np.where(task.divides, target, ABSENT)
        wanted = np.flatnonzero(task.walked & (ends >= 0))
        begin = np.maximum(task.begin_ns[wanted], graph.origin_ns)
        if not self.on_gpu:
            begin = np.minimum(begin, self._left_ns(ends)[wanted])
        paths = critical_paths(graph, target[wanted], begin, deciding=self.deciding)
        work, geometry, kernels = self.work.blocks(ends, wanted)
        return PathSums(
            slot=task.slot[wanted],
            kernels=kernels,
            work=work,
            geometry=geometry,
            **self._sums(paths),
        )

    def _left_ns(self, target: I64) -> I64:
        """When this rank left the collective before each one; the largest int for none.

        On CPUs ranks leave one when their threads are scheduled again: a rank that did so
        early has begun its block before the window begins.
        """
        there = target >= 0
        end_ns = np.where(there, self.graph.nodes.end_ns[target], ABSENT)
        latest = np.concatenate([[ABSENT], np.maximum.accumulate(end_ns)[:-1]])
        return np.where(latest >= 0, latest, np.iinfo(np.int64).max)[: target.size]

    def _sums(self, paths: Paths) -> dict[str, Any]:
        """What each path's items add up to, by name of the column in `PathSums`."""
        nodes, node = self.graph.nodes, paths.node
        path = np.repeat(np.arange(len(paths)), np.diff(paths.first))
        took, kind = paths.duration_ns, nodes.kind[node]
        compute = self.compute[node]
        host = ~compute & np.isin(kind, (NodeKind.SLICE, NodeKind.GAP, NodeKind.WAIT))
        early = (kind == NodeKind.GPU) & (nodes.start_ns[node] < paths.begin_ns[path])

        def over(values: I64 | Bool) -> I64:
            total = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
            sums: I64 = total[paths.first[1:]] - total[paths.first[:-1]]
            return sums

        gemm = np.flatnonzero(self.gemm[node] & (took > 0))
        phase = self.phase[node]
        forward_ns = over(np.where(phase == FORWARD, took, 0))
        backward_ns = over(np.where(phase == BACKWARD, took, 0))
        majority = np.where(backward_ns > forward_ns, BACKWARD, FORWARD)
        told = forward_ns + backward_ns > 0
        return {
            "compute_ns": over(np.where(compute, took, 0)),
            "host_ns": over(np.where(host, took, 0)),
            "unknown_ns": over(self.palette.unknown_ns(paths))
            + np.where(self.palette.head_unknown(paths), paths.head_gap_ns, 0),
            "collective": over((kind == NodeKind.COLLECTIVE) & (took > 0)) > 0,
            "cut": over(early & (took > 0)) > 0,
            "gemm": self._longest_names(path[gemm], node[gemm], took[gemm], len(paths)),
            "phase": np.where(told, majority, ABSENT).astype(np.int8),
        }

    def _longest_names(self, path: I64, node: I32, took: I64, count: int) -> I32:
        """Name on which each path spends most time, the first by code of equals, (p,)."""
        width = len(self.trace.strings)
        both, at = np.unique(path * width + self.palette.name[node], return_inverse=True)
        total = np.zeros(both.size, np.int64)
        np.add.at(total, at.reshape(-1), took)
        longest = np.full(count, ABSENT, np.int32)
        order = np.lexsort((-both, total))
        longest[both[order] // width] = both[order] % width
        return longest


def _is_gemm(name: str) -> bool:
    return kernel(name).kind == "gemm"


def _phases(trace: RankTrace, graph: Graph, gemm: Bool, *, on_gpu: bool) -> I8:
    """Pass in which each GEMM was launched, (n,) int8; -1 for all where none is marked."""
    phase = np.full(len(graph), ABSENT, np.int8)
    events, strings = trace.events, trace.strings
    autograd = np.array([text.startswith(AUTOGRAD_RANGE) for text in strings] + [False])
    ranges = Ranges.of(
        events, np.flatnonzero(autograd[events.name] & (events.kind == EventKind.CPU_OP))
    )
    threads = [text.startswith(AUTOGRAD_THREAD) for text in trace.lanes.label]
    on_thread = np.array([*threads, False])
    if not (ranges.event.size or on_thread.any()):
        return phase
    node = np.flatnonzero(gemm)
    event = graph.nodes.event[node]
    launched = (
        anchor(events, event)
        if on_gpu
        else Anchors(events.lane[event], events.start_ns[event])
    )
    backward = on_thread[launched.lane] | (ranges.innermost(launched) >= 0)
    phase[node] = np.where(launched.known, np.where(backward, BACKWARD, FORWARD), ABSENT)
    return phase
