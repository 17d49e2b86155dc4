"""Profiler steps as the GPU ran them: sets of nodes whose last end is the end of a step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I64, Bool
from synctax.graph.model import ROOT, EdgeKind, Graph, NodeKind
from synctax.trace.model import GPU_KINDS, RankTrace
from synctax.trace.steps import Steps, cpu_steps, gpu_steps


@dataclass(frozen=True, slots=True)
class StepEnds:
    """When steps end on the GPUs of one or more ranks.

    Parameters
    ----------
    number : (s,) int64
        Of the profiler step, rank by rank in order of time; before the first of each
        rank an entry of -1, for where it begins.
    first : (s + 1,) int64
        Nodes of entry i are `node[first[i]]` up to `node[first[i + 1]]`, at least one.
    node : (k,) int64
        Nodes; the last of them to end is the end of the entry.
    """

    number: I64
    first: I64
    node: I64

    @classmethod
    def none(cls) -> "StepEnds":
        """No step at all."""
        empty = np.empty(0, np.int64)
        return cls(empty, np.zeros(1, np.int64), empty)

    @classmethod
    def join(cls, parts: Sequence["StepEnds"], base: I64) -> "StepEnds":
        """Put those of all ranks together; nodes of the i-th begin at `base[i]`."""
        sizes = [np.diff(part.first) for part in parts]
        pairs = zip(parts, base[:-1].tolist(), strict=True)
        return cls(
            number=np.concatenate([part.number for part in parts]),
            first=np.cumsum(np.concatenate([[0], *sizes])),
            node=np.concatenate([part.node + at for part, at in pairs]),
        )

    def lengths_ns(self, end_ns: I64) -> tuple[I64, I64]:
        """Measure the steps.

        Parameters
        ----------
        end_ns : (n,) int64
            Ends of all nodes, recorded or replayed.

        Returns
        -------
        (t,) int64, (t,) int64
            Number and length of each step of each rank: what it ends later than all
            before it.
        """
        if not self.number.size:
            return self.number, self.number
        last = np.maximum.reduceat(end_ns[self.node], self.first[:-1])
        begin = np.flatnonzero(self.number == ABSENT)
        reached = [np.maximum.accumulate(part) for part in np.split(last, begin[1:])]
        step = self.number >= 0
        return self.number[step], np.diff(np.concatenate(reached), prepend=0)[step]


def step_ends(trace: RankTrace, graph: Graph) -> StepEnds:
    """Find what ends the steps of a rank.

    The host runs ahead of the GPU, so its marks only say what belongs to which step: the
    work that was launched within them. A step lasts until the end of its last collective,
    as for `measure`; without one, of its last work on the GPU, and so does the last step.
    The first begins when all is over that was launched before it, and where that is
    nothing with the first event of the window: a beginning that no change moves, so that
    a host with less to do before its first launch makes no step longer.

    Parameters
    ----------
    trace : RankTrace
    graph : Graph
        Of the trace.

    Returns
    -------
    StepEnds
        In order of time, without steps that launched nothing; none at all where no step
        is marked or has work on the GPU.
    """
    steps = cpu_steps(trace)
    if not len(steps):
        return StepEnds.none()
    kind = graph.nodes.kind
    node = np.flatnonzero((kind == NodeKind.GPU) | (kind == NodeKind.COLLECTIVE))
    # on CPU-only traces collectives are spans on threads
    node = node[np.isin(trace.events.kind[graph.nodes.event[node]], GPU_KINDS)]
    place = _place(trace, graph, steps, node)
    sets = list(_sets(node, place, kind[node] == NodeKind.COLLECTIVE, len(steps)))
    if not sets:
        return StepEnds.none()
    before = np.append(node[place < 0], ROOT)
    return StepEnds(
        number=np.array([ABSENT, *(steps.number[at] for at, _ in sets)], np.int64),
        first=np.cumsum([0, before.size, *(mine.size for _, mine in sets)]),
        node=np.concatenate([before, *(mine for _, mine in sets)]),
    )


def _sets(node: I64, place: I64, collective: Bool, steps: int) -> Iterator[tuple[int, I64]]:
    """Each step that has work on the GPU, and the nodes that may be the last of it."""
    inside = (place >= 0) & (place < steps)
    last = int(place[inside].max(initial=ABSENT))
    for at in np.unique(place[inside]).tolist():
        mine = place == at
        shared = mine & collective
        yield at, node[shared if shared.any() and at != last else mine]


def _place(trace: RankTrace, graph: Graph, steps: Steps, node: I64) -> I64:
    """Which of the steps launched each node: -1 before the first, s after the last."""
    nodes, events = graph.nodes, trace.events
    launch = graph.kind == EdgeKind.LAUNCH
    call = np.full(len(graph), ABSENT, np.int64)
    call[graph.child[launch]] = nodes.event[graph.parent[launch]]
    known = call[node] >= 0
    place = _at(steps, nodes.start_ns[node] - graph.skew_ns)
    ran = gpu_steps(trace)
    if len(ran):
        known_at = {number: at for at, number in enumerate(steps.number.tolist())}
        at = [known_at.get(number, len(steps)) for number in ran.number.tolist()]
        # of those after the last step on the GPU, and of those before the first
        place = np.array([*at, len(steps), ABSENT])[_at(ran, nodes.start_ns[node])]
    place[known] = _at(steps, events.start_ns[call[node[known]]])
    return place


def _at(steps: Steps, time_ns: I64) -> I64:
    """The last step to begin by each moment; s after the end of all."""
    slot = np.searchsorted(steps.start_ns, time_ns, side="right") - 1
    return np.where(time_ns < steps.end_ns.max(), slot, len(steps))
