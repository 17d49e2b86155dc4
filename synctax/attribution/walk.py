"""One rank's share of attribution, in a worker: its graph, paths, and counterparts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from synctax.arrays import ABSENT, I64, numbered
from synctax.attribution.baselines import longest_and_last, no_kernels
from synctax.attribution.items import Palette
from synctax.attribution.keys import NO_KEY, Named, NodeNames, of_kin, wanted_rows
from synctax.attribution.model import (
    NO_FENCE,
    Answer,
    GroupPaths,
    GroupTask,
    Items,
    Query,
    RankPaths,
    nothing,
)
from synctax.attribution.placebo import random_sums
from synctax.attribution.usual import usual_host
from synctax.attribution.work import Work
from synctax.collectives.load import Cache
from synctax.graph.build import build_graph
from synctax.graph.critical_path import critical_paths, deciding_edges
from synctax.graph.model import ROOT, Graph, NodeKind
from synctax.trace.kineto import read_rank
from synctax.trace.model import RankTrace
from synctax.trace.standing import held

PRELUDE_ITEMS = 1_000
"""Of what led to a window, the last so many items are looked at."""

PRELUDE_NODES = 4_000
"""Back from a window, at most so many nodes of a rank are gone through."""

OnBytes = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a worker gets the columns of a file and chooses paths.

    `cache` keeps columns of files read before; `tolerance_us` is as for
    `deciding_edges`; with `heuristics` the kernels that they blame are looked for.
    """

    cache: Cache | None
    tolerance_us: float
    heuristics: bool = False

    def trace(self, path: str, on_bytes: OnBytes) -> RankTrace:
        """Read a rank, from the cache where it is there."""
        read = partial(read_rank, path, on_bytes=on_bytes)
        return read() if self.cache is None else self.cache.read(path, read)

    def built(self, path: str, on_bytes: OnBytes) -> "Built":
        """Build a rank's graph, once in a worker that stays."""

        def make() -> Built:
            trace = self.trace(path, on_bytes)
            graph = build_graph(trace)
            return Built(trace, graph, NodeNames.of(trace, graph))

        return held(path, make, Built.size_bytes)


@dataclass(frozen=True, slots=True)
class Built:
    """A rank, its graph, and what names its nodes."""

    trace: RankTrace
    graph: Graph
    names: NodeNames

    def size_bytes(self) -> int:
        """How much memory its columns take."""
        parts = (
            self.trace.events,
            self.trace.comms,
            self.graph.nodes,
            self.graph,
            self.names,
        )
        values = [getattr(part, one.name) for part in parts for one in fields(part)]
        return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


def walk_rank(
    path: str,
    on_bytes: OnBytes,
    *,
    tasks: Mapping[str, Sequence[GroupTask]],
    reading: Reading,
) -> RankPaths:
    """Build a rank's graph and walk to its collectives.

    Parameters
    ----------
    path : str
        File of the rank.
    on_bytes : callable
        Called with the bytes that were read.
    tasks : mapping of path to sequence of GroupTask
    reading : Reading
    """
    built = reading.built(path, on_bytes)
    trace, graph = built.trace, built.graph
    walker = _Walker.of(built, tasks[path], reading)
    groups = tuple(walker.walk(task) for task in tasks[path])
    return RankPaths(
        groups=groups,
        usual=usual_host(trace, graph),
        strings=trace.strings,
        lanes=lane_names(trace),
        nodes=len(graph),
        edges=int(graph.parent.size),
        skew_ns=graph.skew_ns,
        notes=graph.notes,
    )


def look_up_rank(
    path: str,
    on_bytes: OnBytes,
    *,
    queries: Mapping[str, Sequence[Query]],
    reading: Reading,
) -> tuple[Answer, ...]:
    """Find the counterparts of other ranks' items on this rank.

    Parameters are as for `walk_rank`.
    """
    names = reading.built(path, on_bytes).names
    return tuple(_answer(names, query) for query in queries[path])


def _answer(names: NodeNames, query: Query) -> Answer:
    trace, graph = names.trace, names.graph
    identity = (query.start_ns, query.duration_ns, query.stream)
    target = collective_nodes(trace, graph, *identity)
    here = target >= 0
    named = names.named(graph.nodes.event[target[here]], query.slot[here])
    nodes = graph.nodes
    order = wanted_rows(named.key, query.key)
    order = order[np.argsort(named.key[order], kind="stable")]
    order = np.append(order, ROOT)  # what has no counterpart looks at the root
    at = np.searchsorted(named.key[order[:-1]], query.key)
    found = (named.key[order[at]] == query.key) & (query.key != NO_KEY)
    node = np.where(found, order[at], ROOT)
    kin_count, kin_ns = of_kin(graph, named.kin, query.kin)
    return Answer(
        query.group,
        found,
        nodes.start_ns[node],
        nodes.end_ns[node],
        kin_count,
        kin_ns,
    )


def lane_names(trace: RankTrace) -> tuple[str, ...]:
    """Name threads and streams for people: the profiler's label, else the number."""
    lanes = trace.lanes
    pairs = zip(lanes.thread.tolist(), lanes.label, strict=True)
    return tuple(label or f"thread {thread}" for thread, label in pairs)


def collective_nodes(
    trace: RankTrace, graph: Graph, start_ns: I64, duration_ns: I64, stream: I64
) -> I64:
    """Find the nodes of collectives by what identifies them, -1 where there is none.

    Parameters
    ----------
    trace : RankTrace
    graph : Graph
        Of the trace.
    start_ns, duration_ns, stream : (c,) int64
        As in `RankCollectives`.

    Returns
    -------
    (c,) int64
    """
    events = trace.events
    rows = np.flatnonzero(graph.nodes.kind == NodeKind.COLLECTIVE)
    event = graph.nodes.event[rows]
    thread = trace.lanes.thread[events.lane[event]]
    line = np.where(events.device[event] >= 0, events.stream[event], thread)
    code = np.zeros(rows.size + start_ns.size, np.int64)
    for known, wanted in (
        (events.start_ns[event], start_ns),
        (events.duration_ns[event], duration_ns),
        (line, stream),
    ):
        number, count = numbered(np.concatenate([known, wanted]))
        code = numbered(code * count + number)[0]
    node = np.full(int(code.max(initial=-1)) + 1, ABSENT, np.int64)
    node[code[: rows.size]] = rows
    return node[code[rows.size :]]


def _nodes(trace: RankTrace, graph: Graph, task: GroupTask) -> I64:
    return collective_nodes(trace, graph, task.start_ns, task.duration_ns, task.stream)


@dataclass(frozen=True, slots=True)
class _Walker:
    trace: RankTrace
    graph: Graph
    deciding: I64
    slot_of: I64
    palette: Palette
    names: NodeNames
    work: Work
    heuristics: bool

    @classmethod
    def of(cls, built: Built, tasks: Sequence[GroupTask], reading: Reading) -> "_Walker":
        trace, graph = built.trace, built.graph
        slot_of = np.full(len(graph), ABSENT, np.int64)
        for task in tasks:
            node = _nodes(trace, graph, task)
            slot_of[node[node >= 0]] = task.slot[node >= 0]
        return cls(
            trace,
            graph,
            deciding_edges(graph, tolerance_us=reading.tolerance_us),
            slot_of,
            Palette.of(trace, graph),
            built.names,
            Work.of(trace, graph),
            reading.heuristics,
        )

    def walk(self, task: GroupTask) -> GroupPaths:
        graph = self.graph
        target = _nodes(self.trace, graph, task)
        divides = task.divides & (target >= 0)
        event = graph.nodes.event[target[divides]]
        named = self.names.named(event, task.slot[divides])
        wanted = np.flatnonzero(task.walked & (target >= 0))
        goal = target[wanted]
        begin = np.maximum(task.begin_ns[wanted], graph.origin_ns)
        paths = critical_paths(graph, goal, begin, deciding=self.deciding)
        before_first, before = self._preludes(goal, begin, task.reach_ns[wanted], named)
        kernels_only = longest_and_last if self.heuristics else no_kernels
        longest, last = kernels_only(graph, self.palette, paths, named)
        blocks = np.flatnonzero(divides)
        ends = np.where(divides, target, ABSENT)
        work, geometry, kernels = self.work.blocks(ends, blocks)
        return GroupPaths(
            group=task.group,
            slot=task.slot[wanted],
            begin_ns=np.where(task.begin_ns[wanted] == NO_FENCE, NO_FENCE, begin),
            end_ns=paths.end_ns,
            first=paths.first,
            items=self.palette.items(paths, named, self.slot_of),
            head_gap_ns=paths.head_gap_ns,
            head_edge=paths.head_edge,
            head_unknown=self.palette.head_unknown(paths),
            before_first=before_first,
            before=before,
            longest=longest,
            last=last,
            work=work,
            geometry=geometry,
            kernels=kernels,
            block_slot=task.slot[blocks],
            random_ns=random_sums(graph, goal, begin, task.sampled[wanted]),
            ancestor=self._ancestors(target, task.slot, wanted),
        )

    def _preludes(
        self, target: I64, begin_ns: I64, reach_ns: I64, named: Named
    ) -> tuple[I64, Items]:
        """What led to each window, from before it: items that began before it did."""
        asked = np.flatnonzero(reach_ns > 0)
        if not asked.size:
            return np.zeros(target.size + 1, np.int64), nothing()
        starts = self.graph.nodes.start_ns
        near = np.searchsorted(starts, begin_ns[asked]) - PRELUDE_NODES
        nearest = np.maximum(starts[np.maximum(near, 0)], self.graph.origin_ns)
        begin = np.maximum(begin_ns[asked] - reach_ns[asked], nearest)
        paths = critical_paths(self.graph, target[asked], begin, deciding=self.deciding)
        items = self.palette.items(paths, named, self.slot_of)
        path = np.repeat(np.arange(asked.size), np.diff(paths.first))
        early = np.flatnonzero(items.full_start_ns < begin_ns[asked][path])
        counts = np.bincount(path[early], minlength=asked.size)
        place = np.arange(early.size) - np.repeat(np.cumsum(counts) - counts, counts)
        early = early[place >= counts[path[early]] - PRELUDE_ITEMS]
        every = np.zeros(target.size, np.int64)
        every[asked] = np.minimum(counts, PRELUDE_ITEMS)
        before = items.take(early)
        # the first of them may have begun before the reach: it counts as a whole
        whole = replace(before, start_ns=before.full_start_ns)
        return np.concatenate([[0], np.cumsum(every)]), whole

    def _ancestors(self, target: I64, slot: I64, wanted: I64) -> I64:
        """Slot of the group's collective that each unclipped path meets first."""
        graph, deciding = self.graph, self.deciding
        parent = np.where(deciding >= 0, graph.parent[deciding], ROOT).astype(np.int64)
        stop = np.zeros(len(graph), np.bool_)
        stop[target[target >= 0]] = True
        stop[ROOT] = True
        jump = np.where(stop, np.arange(len(graph)), parent)
        while not stop[jump].all():
            jump = jump[jump]
        of_node = np.full(len(graph), ABSENT, np.int64)
        of_node[target[target >= 0]] = slot[target >= 0]
        found: I64 = of_node[jump[parent[target[wanted]]]]
        return found
