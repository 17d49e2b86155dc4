"""One rank's share of a replay, in a worker: its graph, what its nodes are, its steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from synctax.arrays import ABSENT, I32, I64, U64, Bool
from synctax.attribution.keys import NodeNames
from synctax.attribution.moments import Marks, marks
from synctax.attribution.network import RankPart, rank_part
from synctax.attribution.rounds import OnBytes
from synctax.collectives.load import Cache
from synctax.collectives.model import RankCollectives
from synctax.graph.build import build_graph
from synctax.graph.model import EdgeKind, Graph, NodeKind
from synctax.trace.kineto import read_rank
from synctax.trace.model import EventKind, Note, RankTrace

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
    notes: tuple[Note, ...]


def read_and_see(
    path: str, on_bytes: OnBytes, *, todo: Mapping[str, Task], cache: Cache | None
) -> Seen:
    """Do as `see` does, in a worker.

    Parameters
    ----------
    path : str
        File of the rank.
    on_bytes : callable
        Called with the bytes that were read.
    todo : mapping of path to Task
    cache : Cache or None
    """
    read = partial(read_rank, path, on_bytes=on_bytes)
    return see(read() if cache is None else cache.read(path, read), todo[path])


def see(trace: RankTrace, task: Task) -> Seen:
    """Build the graph of a rank and keep what a replay needs of it.

    Parameters
    ----------
    trace : RankTrace
    task : Task
    """
    rank, rows, number = task
    graph = build_graph(trace)
    nodes = graph.nodes
    node = participations(rank, trace, graph)
    there = node[rows] >= 0
    dividing = nodes.event[node[rows][there]]
    key = NodeNames.of(trace, graph).keys(dividing, number[there])
    names = np.where(nodes.label >= 0, trace.events.name[nodes.label], ABSENT)
    used, code = np.unique(names, return_inverse=True)
    known = int(used.size > 0 and used[0] < 0)
    return Seen(
        part=rank_part(graph),
        name=(code - known).astype(np.int32),
        launches=_launching(graph, trace),
        memory=(nodes.kind == NodeKind.GPU)
        & (trace.events.kind[nodes.event] != EventKind.KERNEL),
        key=key,
        strings=tuple(trace.strings[one] for one in used[known:].tolist()),
        node=node,
        marks=marks(trace, graph),
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


def participations(rank: RankCollectives, trace: RankTrace, graph: Graph) -> I64:
    """Find the node of each participation of a rank.

    Parameters
    ----------
    rank : RankCollectives
        As extracted from the trace.
    trace : RankTrace
    graph : Graph
        Of the trace.

    Returns
    -------
    (n,) int64
        -1 where the graph has no node that is the whole of it.
    """
    nodes, events = graph.nodes, trace.events
    rows = np.flatnonzero(nodes.kind == NodeKind.COLLECTIVE)
    event = nodes.event[rows]
    whole = nodes.end_ns[rows] - nodes.start_ns[rows] == events.duration_ns[event]
    rows, event = rows[whole], event[whole]
    thread = np.append(trace.lanes.thread, ABSENT)[events.lane[event]]
    stream = np.where(events.stream[event] >= 0, events.stream[event], thread)
    columns = (events.start_ns[event], events.duration_ns[event], stream)
    found = dict(
        zip(
            zip(*(one.tolist() for one in columns), strict=True), rows.tolist(), strict=True
        )
    )
    wanted = (rank.start_ns, rank.duration_ns, rank.stream)
    return np.array(
        [
            found.get(one, ABSENT)
            for one in zip(*(column.tolist() for column in wanted), strict=True)
        ],
        np.int64,
    )
