"""Profiler steps as the host marked them: moments within nodes, which a replay moves."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I32, I64
from synctax.attribution.network import Network, following
from synctax.attribution.replay import Replayed
from synctax.graph.model import Graph
from synctax.trace.model import EventKind, RankTrace
from synctax.trace.steps import step_number


@dataclass(frozen=True, slots=True)
class Marks:
    """Steps of one or more ranks.

    Parameters
    ----------
    number : (s,) int64
        Of the profiler step.
    begin_node, end_node : (s,) int64
        The last node on the step's thread to start before it begins, or ends; -1: none.
    begin_ns, end_ns : (s,) int64
        Of the step, on the clock of the rank's GPUs.
    """

    number: I64
    begin_node: I64
    end_node: I64
    begin_ns: I64
    end_ns: I64

    @classmethod
    def none(cls) -> "Marks":
        """No step at all."""
        return cls(*(np.empty(0, np.int64) for _ in range(5)))


def marks(trace: RankTrace, graph: Graph) -> Marks:
    """Find the marks of profiler steps on the threads of a rank.

    Parameters
    ----------
    trace : RankTrace
    graph : Graph
        Of the trace.

    Returns
    -------
    Marks
        In order of their number.
    """
    rows, number = _rows(trace)
    events, nodes = trace.events, graph.nodes
    begin = events.start_ns[rows] + graph.skew_ns
    end = begin + events.duration_ns[rows]
    # several threads may repeat a step: the first to begin it, and the last to end it
    earliest = _last_of(number, -begin)
    latest = _last_of(number, end)
    lane = events.lane[rows]
    order = np.argsort(nodes.lane, kind="stable")
    return Marks(
        number=number[earliest],
        begin_node=_at(nodes.lane[order], order, graph, lane[earliest], begin[earliest]),
        end_node=_at(nodes.lane[order], order, graph, lane[latest], end[latest]),
        begin_ns=begin[earliest],
        end_ns=end[latest],
    )


def _rows(trace: RankTrace) -> tuple[I64, I64]:
    events = trace.events
    rows = np.flatnonzero(events.kind == EventKind.ANNOTATION)
    numbers = [step_number(trace.strings[code]) for code in events.name[rows].tolist()]
    found = [ABSENT if one is None else one for one in numbers]
    number = np.array(found, np.int64)
    return rows[number >= 0], number[number >= 0]


def _last_of(number: I64, value: I64) -> I64:
    """Position of the largest value of each number, in order of number."""
    order = np.lexsort((value, number))
    last = np.append(number[order][1:] != number[order][:-1], np.True_)[: number.size]
    found: I64 = order[last]
    return found


def _at(lanes: np.ndarray, order: I64, graph: Graph, lane: I32, time_ns: I64) -> I64:
    """The last node of each lane to start by each moment, -1 for none."""
    found = np.full(lane.size, ABSENT, np.int64)
    for number, (one, moment) in enumerate(zip(lane, time_ns, strict=True)):
        low, high = np.searchsorted(lanes, [one, one + 1])
        mine = order[low:high]
        at = int(np.searchsorted(graph.nodes.start_ns[mine], moment, side="right")) - 1
        found[number] = mine[at] if at >= 0 else ABSENT
    return found


def when(network: Network, done: Replayed, node: I64, time_ns: I64) -> I64:
    """Tell when a moment comes in a replay.

    Parameters
    ----------
    network : Network
    done : Replayed
    node : (m,) int64
        Nodes that start by the moment, the last to do so on their thread; -1: none.
    time_ns : (m,) int64
        The moment as recorded.

    Returns
    -------
    (m,) int64
        Within a node a moment stays where it was in proportion; after one it keeps its
        distance, unless the next node begins before. Without a node it does not move.
    """
    after = following(network)
    moved = time_ns.copy()
    for number in np.flatnonzero(node >= 0).tolist():
        one = int(node[number])
        begin, begun = int(network.start_ns[one]), int(done.start_ns[one])
        length, lasts = int(network.duration_ns[one]), int(done.duration_ns[one])
        since = int(time_ns[number]) - begin
        if since < length:
            moved[number] = begun + since * lasts // length
            continue
        moved[number] = begun + lasts + since - length
        if after[one] >= 0 and since > length:
            moved[number] = min(moved[number], done.start_ns[after[one]])
    return moved
