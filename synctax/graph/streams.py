"""What a GPU event waited for on other streams, and how that is known."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I8, I32, I64, NS_PER_US, Bool
from synctax.graph.launches import Launches
from synctax.graph.model import Provenance
from synctax.trace import names
from synctax.trace.model import EventKind, Note, RankTrace
from synctax.trace.names import by_name

EXPLAINED_NS = 15 * NS_PER_US
"""A kernel that starts this soon after its launch and its stream were ready needs no other
reason; beside calls that wait for events, only a longer delay is taken for one."""


@dataclass(frozen=True, slots=True)
class CrossEdges:
    """Edges between streams, in any order.

    Parameters
    ----------
    source, target : (e,) int64
        Positions in `Launches.event`.
    provenance : (e,) int8
    unresolved : int
        Recorded waits of which the trace does not say what they waited for.
    notes : tuple of Note
    """

    source: I64
    target: I64
    provenance: I8
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Gpu:
    """GPU events as the search needs them; (g,) arrays, in order of start.

    `previous` is the position of the event before on the same stream, -1 if none;
    `launched_ns` and `ready_ns` are the start of the launching call (least int64 if
    unknown) and when launch and stream were both ready; `graph` marks CUDA graphs.
    """

    start_ns: I64
    end_ns: I64
    lane: I32
    stream: I32
    call: I64
    previous: I64
    launched_ns: I64
    ready_ns: I64
    graph: Bool

    @classmethod
    def of(cls, trace: RankTrace, launch: Launches) -> "Gpu":
        """Collect the columns."""
        events = trace.events
        rows = launch.event
        start = events.start_ns[rows]
        end = start + events.duration_ns[rows]
        lane = events.lane[rows]
        previous = _previous(lane)
        freed = np.where(previous >= 0, end[previous], np.iinfo(np.int64).min)
        call_end = events.start_ns[launch.call] + events.duration_ns[launch.call]
        known = (launch.call >= 0) & ~launch.inverted
        launched = np.where(known, call_end + launch.skew_ns, np.iinfo(np.int64).min)
        nodes = np.zeros(len(events), np.bool_)
        nodes[trace.kernels.event[trace.kernels.graph_node >= 0]] = True
        return cls(
            start,
            end,
            lane,
            events.stream[rows],
            launch.call,
            previous,
            launch.call_start_ns(events),
            np.minimum(np.maximum(freed, launched), start),
            nodes[rows],
        )


def _previous(lane: I32) -> I64:
    """Position of the event before on the same lane, -1 if none."""
    order = np.argsort(lane, kind="stable")
    previous = np.full(lane.size, ABSENT, np.int64)
    same = lane[order[1:]] == lane[order[:-1]]
    previous[order[1:][same]] = order[:-1][same]
    return previous


def cross_edges(trace: RankTrace, launch: Launches, gpu: Gpu) -> CrossEdges:
    """Find what GPU events waited for on other streams.

    Sync records with resolved sources are exact, and where a trace has such, nothing is
    inferred but for waits that it leaves unresolved. Without records, a kernel before
    whose launch its thread called `cudaStreamWaitEvent` waited for the event that ended
    last, of those launched before that call; kernels without such a call waited only if
    neither their launch nor their stream explains their start. Without such calls either,
    every kernel may have waited for the last event to end.

    Parameters
    ----------
    trace : RankTrace
    launch : Launches
    gpu : Gpu

    References
    ----------
    Synchronization-tax paper, section 4.1, cross-stream edges.
    """
    source, target, pending = _recorded(trace, launch, gpu)
    notes = []
    resolved = source.size > 0
    limit = gpu.launched_ns.copy()
    wanted = gpu.graph | pending
    kind = np.full(gpu.start_ns.size, Provenance.INFERRED, np.int8)
    if not resolved:
        called_ns = _wait_calls(trace, launch)
        waits = called_ns > np.iinfo(np.int64).min
        limit[waits] = called_ns[waits]
        kind[waits] = Provenance.CALLS
        late = gpu.start_ns - gpu.ready_ns > EXPLAINED_NS
        wanted |= waits | (late if waits.any() else True)
    else:
        notes.append(Note("sync_recorded", source.size, "waits between streams, recorded"))
    if pending.any():
        notes.append(
            Note(
                "sync_unresolved",
                int(pending.sum()),
                "recorded waits that do not say for what (CUDA 12.9 and later): inferred",
            )
        )
    guess = _latest_elsewhere(gpu, np.flatnonzero(wanted), limit)
    parts = [(source, target, np.full(source.size, Provenance.RECORDED, np.int8))]
    parts.append((*guess, kind[guess[1]]))
    if not resolved:
        busy = _shared_gpu(gpu, *guess)
        parts.append((*busy, np.full(busy[0].size, Provenance.INFERRED, np.int8)))
    return CrossEdges(
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        np.concatenate([part[2] for part in parts]),
        tuple(notes),
    )


def _shared_gpu(gpu: Gpu, source: I64, target: I64) -> tuple[I64, I64]:
    """Edges to kernels that still start late: the GPU may have been busy with others.

    A kernel that was ready can wait for room on the GPU that an event of another stream
    holds, whenever that was launched.
    """
    ready = gpu.ready_ns.copy()
    np.maximum.at(ready, target, gpu.end_ns[source])
    late = np.flatnonzero(~gpu.graph & (gpu.start_ns - ready > EXPLAINED_NS))
    any_time = np.full(gpu.start_ns.size, np.iinfo(np.int64).max)
    found, of = _latest_elsewhere(gpu, late, any_time)
    later = gpu.end_ns[found] > ready[of]
    return found[later], of[later]


def _latest_elsewhere(gpu: Gpu, target: I64, limit_ns: I64) -> tuple[I64, I64]:
    """For each target the event on another stream that ended last before it started.

    It was launched no later than the target's limit; inside a CUDA graph it is of the same
    launch.
    """
    order = np.argsort(gpu.end_ns, kind="stable")
    # before[p]: last position below p in this order that lies on another stream than p
    before = _previous_other(gpu.lane[order])
    at = np.searchsorted(gpu.end_ns[order], gpu.start_ns[target], side="right") - 1
    found = np.full(target.size, ABSENT, np.int64)
    active = np.flatnonzero(at >= 0)
    steps = 0
    while active.size and steps < _SEARCH_STEPS:
        here = order[at[active]]
        own = gpu.lane[here] == gpu.lane[target[active]]
        graph = gpu.graph[target[active]] & (gpu.call[here] != gpu.call[target[active]])
        late = gpu.launched_ns[here] > limit_ns[target[active]]
        # of equal start: no order between them can be told
        order_lost = here >= target[active]
        good = ~(own | graph | late | order_lost)
        found[active[good]] = here[good]
        at[active] = np.where(own, before[at[active]], at[active] - 1)
        active = active[~good & (at[active] >= 0)]
        steps += 1
    hit = found >= 0
    return found[hit], target[hit]


_SEARCH_STEPS = 64
"""An event that ended this many events ago is no reason to start now."""


def _previous_other(lane: I32) -> I64:
    """Last position before each with another lane, -1 if none."""
    position = np.arange(lane.size, dtype=np.int64)
    change = np.ones(lane.size, np.bool_)
    change[1:] = lane[1:] != lane[:-1]
    start_of_run = np.maximum.accumulate(np.where(change, position, 0))
    return start_of_run - 1


def _wait_calls(trace: RankTrace, launch: Launches) -> I64:
    """Find the last wait call of a thread between each launch and the launch before.

    Its start is on the GPU's clock, (g,) int64; least int64 where there is none.
    """
    events = trace.events
    runtime = np.flatnonzero(events.kind == EventKind.RUNTIME)
    is_wait = by_name(trace.strings, events.name[runtime], _is_wait, np.bool_)
    waits = runtime[is_wait]
    called = np.full(launch.event.size, np.iinfo(np.int64).min)
    known = np.flatnonzero((launch.call >= 0) & ~launch.inverted)
    for lane in np.unique(events.lane[waits]):
        mine = known[events.lane[launch.call[known]] == lane]
        call = events.start_ns[launch.call[mine]]
        times = events.start_ns[waits[events.lane[waits] == lane]]
        distinct = np.unique(call)
        last = np.searchsorted(times, call, side="left") - 1
        earlier = np.searchsorted(distinct, call, side="left") - 1
        floor = np.where(earlier >= 0, distinct[earlier], np.iinfo(np.int64).min)
        hit = (last >= 0) & (times[last] > floor) if times.size else last >= 0
        called[mine[hit]] = times[last[hit]] + launch.skew_ns
    return called


def _is_wait(name: str) -> bool:
    return names.call(name) == "wait"


def _recorded(trace: RankTrace, launch: Launches, gpu: Gpu) -> tuple[I64, I64, Bool]:
    """Edges that sync records tell, and targets of waits that they leave open."""
    pending = np.zeros(gpu.start_ns.size, np.bool_)
    pairs: list[tuple[int, int]] = []
    if trace.syncs.event.size:
        lines = _Lines.of(gpu)
        for stream, called_ns, wait_stream, recorded_ns in _wait_records(trace, launch):
            target = lines.next(stream, called_ns)
            if target < 0:
                continue
            source = (
                lines.last(wait_stream, recorded_ns) if recorded_ns is not None else None
            )
            if source is None:
                pending[target] = True
            elif 0 <= source < target and gpu.lane[source] != gpu.lane[target]:
                pairs.append((source, target))
    table = np.array(pairs, np.int64).reshape(-1, 2)
    pending[table[:, 1]] = False
    return table[:, 0], table[:, 1], pending


def _wait_records(
    trace: RankTrace, launch: Launches
) -> Iterator[tuple[int, int, int, int | None]]:
    """Stream, time of the call, stream waited for, time of the recording call if known."""
    events, syncs = trace.events, trace.syncs
    runtime = np.flatnonzero(events.kind == EventKind.RUNTIME)
    times = dict(
        zip(
            events.correlation[runtime].tolist(),
            (events.start_ns[runtime] + launch.skew_ns).tolist(),
            strict=True,
        )
    )
    for row, event in enumerate(syncs.event.tolist()):
        if trace.strings[events.name[event]] != "Stream Wait Event":
            continue
        own = int(events.start_ns[event])
        called = times.get(int(events.correlation[event]), own)
        recorded = times.get(int(syncs.wait_correlation[row]))
        if syncs.wait_stream[row] < 0:
            recorded = None
        yield int(events.stream[event]), called, int(syncs.wait_stream[row]), recorded


@dataclass(frozen=True, slots=True)
class _Lines:
    """Events of each stream in order of launch."""

    launched_ns: dict[int, I64]
    position: dict[int, I64]

    @classmethod
    def of(cls, gpu: Gpu) -> "_Lines":
        known = np.flatnonzero(gpu.launched_ns > np.iinfo(np.int64).min)
        order = known[np.lexsort((gpu.launched_ns[known], gpu.stream[known]))]
        streams, first = np.unique(gpu.stream[order], return_index=True)
        parts = np.split(order, first[1:])
        return cls(
            {int(s): gpu.launched_ns[part] for s, part in zip(streams, parts, strict=True)},
            {int(s): part for s, part in zip(streams, parts, strict=True)},
        )

    def next(self, stream: int, time_ns: int) -> int:
        """First event of a stream launched after a moment, -1 if none."""
        times = self.launched_ns.get(stream)
        if times is None:
            return ABSENT
        at = int(np.searchsorted(times, time_ns, side="right"))
        return int(self.position[stream][at]) if at < times.size else ABSENT

    def last(self, stream: int, time_ns: int) -> int:
        """Last event of a stream launched before a moment, -1 if none."""
        times = self.launched_ns.get(stream)
        if times is None:
            return ABSENT
        at = int(np.searchsorted(times, time_ns, side="left")) - 1
        return int(self.position[stream][at]) if at >= 0 else ABSENT
