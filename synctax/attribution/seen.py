"""One rank's share of a replay, in a worker: its graph, what its nodes are, its steps."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I32, I64, U64, Bool
from synctax.attribution.keys import NO_KEY, NodeNames, combine, text_hash
from synctax.attribution.moments import Marks, marks
from synctax.attribution.network import RankPart, rank_part
from synctax.attribution.step_ends import StepEnds, step_ends
from synctax.attribution.walk import OnBytes, Reading, collective_nodes
from synctax.collectives.model import RankCollectives
from synctax.graph.build import build_graph
from synctax.graph.model import EdgeKind, Graph, NodeKind
from synctax.notes import Note
from synctax.trace.model import EventKind, RankTrace

Task = tuple[RankCollectives, I64, I64]
"""A rank; rows of its collectives that divide its trace, and their numbers."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What stays of one rank when its trace is gone.

    Columns of nodes are as in `World`, `name` codes of its own `strings`; `node` (p,) are
    the nodes of its participations, -1 where there is none.
    """

    part: RankPart
    name: I32
    launches: Bool
    memory: Bool
    key: U64
    strings: tuple[str, ...]
    node: I64
    marks: Marks
    ends: StepEnds
    notes: tuple[Note, ...]


def read_and_see(
    path: str, on_bytes: OnBytes, *, todo: Mapping[str, Task], reading: Reading
) -> Seen:
    """Build the graph of a rank and keep what a replay needs of it.

    Parameters
    ----------
    path : str
        File of the rank.
    on_bytes : callable
        Called with the bytes that were read.
    todo : mapping of path to Task
    reading : Reading
        How to get the columns.
    """
    rank, rows, number = todo[path]
    trace = reading.trace(path, on_bytes)
    graph = build_graph(trace)
    nodes = graph.nodes
    node = _participations(rank, trace, graph)
    there = node[rows] >= 0
    dividing = nodes.event[node[rows][there]]
    key = NodeNames.of(trace, graph).keys(dividing, number[there])
    names = np.where(nodes.label >= 0, trace.events.name[nodes.label], ABSENT)
    ends = step_ends(trace, graph)
    used, code = np.unique(names, return_inverse=True)
    known = int(used.size > 0 and used[0] < 0)
    return Seen(
        part=rank_part(graph),
        name=(code - known).astype(np.int32),
        launches=_launching(graph, trace),
        memory=(nodes.kind == NodeKind.GPU)
        & (trace.events.kind[nodes.event] != EventKind.KERNEL),
        key=_in_window(key, rank.window),
        strings=tuple(trace.strings[one] for one in used[known:].tolist()),
        node=node,
        marks=Marks.none() if ends.number.size else marks(trace, graph),
        ends=ends,
        notes=graph.notes,
    )


def _launching(graph: Graph, trace: RankTrace) -> Bool:
    """All slices of calls from which a launch edge leads."""
    nodes = graph.nodes
    call = np.zeros(len(trace.events) + 1, np.bool_)
    call[nodes.event[graph.parent[graph.kind == EdgeKind.LAUNCH]]] = True
    call[:-1] &= trace.events.kind == EventKind.RUNTIME
    call[-1] = False
    launches: Bool = call[nodes.event] & (nodes.kind == NodeKind.SLICE)
    return launches


def _in_window(key: U64, window: str) -> U64:
    """Tell counterparts in one profiler window from those in another.

    Collectives are counted anew in every window, and what comes before the first of them
    is named after none.
    """
    named = combine(key, np.array([text_hash(window)], np.uint64))
    return np.where(key == NO_KEY, NO_KEY, np.maximum(named, np.uint64(1)))


def _participations(rank: RankCollectives, trace: RankTrace, graph: Graph) -> I64:
    """Node of each participation of a rank, -1 where none is the whole of it."""
    nodes = graph.nodes
    node = collective_nodes(trace, graph, rank.start_ns, rank.duration_ns, rank.stream)
    whole = nodes.end_ns[node] - nodes.start_ns[node] == rank.duration_ns
    return np.where((node >= 0) & whole, node, ABSENT)
