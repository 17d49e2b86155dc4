"""What a GPU event waited for on other streams, and how that is known."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I8, I32, I64, NS_PER_US
from synctax.graph.launches import Launches
from synctax.graph.lines import Gpu, Lines
from synctax.graph.model import Provenance
from synctax.graph.records import Recorded, StreamWaits, recorded_waits
from synctax.notes import Note
from synctax.trace import names
from synctax.trace.model import EventKind, RankTrace
from synctax.trace.names import by_name

EXPLAINED_NS = 15 * NS_PER_US
"""A kernel that starts this soon after its launch and its stream were ready needs no other
reason; beside calls that wait for events, only a longer delay is taken for one."""

SEARCH_STEPS = 64
"""An event that ended this many events ago is no reason to start now."""


@dataclass(frozen=True, slots=True)
class CrossEdges:
    """Edges between streams, in any order.

    Parameters
    ----------
    source, target : (e,) int64
        Positions in `Launches.event`.
    provenance : (e,) int8
    notes : tuple of Note
    """

    source: I64
    target: I64
    provenance: I8
    notes: tuple[Note, ...]


def cross_edges(
    trace: RankTrace, launch: Launches, gpu: Gpu, lines: Lines, told: StreamWaits
) -> CrossEdges:
    """Find what GPU events waited for on other streams.

    Sync records that say what was waited for are exact, and where a trace has such,
    nothing is inferred but for waits that it leaves open. Without records, a kernel before
    whose launch its thread called `cudaStreamWaitEvent` waited for the event that ended
    last, of those launched before that call; kernels without such a call waited only if
    neither their launch nor their stream explains their start. Without such calls either,
    every kernel may have waited for the last event to end.

    Within a CUDA graph, all events but the first wait only for events of the same launch,
    always inferred.

    Parameters
    ----------
    trace : RankTrace
    launch : Launches
    gpu : Gpu
    lines : Lines
    told : StreamWaits

    References
    ----------
    Synchronization-tax paper, section 4.1, cross-stream edges.

    Notes
    -----
    The legacy default stream, with which blocking streams of its device synchronise
    implicitly, gets no edges of its own: PyTorch's streams do not block. Where a program's
    do, the inferred edges cover it, those from records cannot.
    """
    known = recorded_waits(told, gpu, lines)
    limit = gpu.launched.copy()
    wanted = gpu.inside | known.pending
    kind = np.full(gpu.start_ns.size, Provenance.INFERRED, np.int8)
    if not known.told:
        called = _wait_calls(trace, launch)
        waits = called >= 0
        limit[waits] = called[waits]
        kind[waits & ~gpu.inside] = Provenance.CALLS
        late = gpu.start_ns - gpu.ready_ns > EXPLAINED_NS
        wanted |= waits | (late if waits.any() else True)
    guess = _latest_elsewhere(gpu, np.flatnonzero(wanted), limit)
    recorded = np.full(known.source.size, Provenance.RECORDED, np.int8)
    parts = [(known.source, known.target, recorded), (*guess, kind[guess[1]])]
    if not known.told:
        busy = _shared_gpu(gpu, *guess)
        parts.append((*busy, np.full(busy[0].size, Provenance.INFERRED, np.int8)))
    return CrossEdges(
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        np.concatenate([part[2] for part in parts]),
        _notes(known),
    )


def _shared_gpu(gpu: Gpu, source: I64, target: I64) -> tuple[I64, I64]:
    """Edges to kernels that still start late: the GPU may have been busy with others.

    A kernel that was ready can wait for room on the GPU that an event of another stream
    holds, whenever that was launched.
    """
    ready = gpu.ready_ns.copy()
    np.maximum.at(ready, target, gpu.end_ns[source])
    late = np.flatnonzero(~gpu.inside & (gpu.start_ns - ready > EXPLAINED_NS))
    any_time = np.full(gpu.start_ns.size, np.iinfo(np.int64).max)
    found, of = _latest_elsewhere(gpu, late, any_time)
    later = (gpu.end_ns[found] > ready[of]) & (gpu.device[found] == gpu.device[of])
    return found[later], of[later]


def _latest_elsewhere(gpu: Gpu, target: I64, limit: I64) -> tuple[I64, I64]:
    """For each target the event on another stream that ended last before it started.

    Its launch comes no later than the target's limit in the order of calls; inside a CUDA
    graph it is of the same launch.
    """
    order = np.argsort(gpu.end_ns, kind="stable")
    # before[p]: last position below p in this order that lies on another stream than p
    before = _previous_other(gpu.lane[order])
    at = np.searchsorted(gpu.end_ns[order], gpu.start_ns[target], side="right") - 1
    found = np.full(target.size, ABSENT, np.int64)
    active = np.flatnonzero(at >= 0)
    steps = 0
    while active.size and steps < SEARCH_STEPS:
        here = order[at[active]]
        own = gpu.lane[here] == gpu.lane[target[active]]
        graph = gpu.inside[target[active]] & (gpu.call[here] != gpu.call[target[active]])
        late = gpu.launched[here] > limit[target[active]]
        # of equal start: no order between them can be told
        order_lost = here >= target[active]
        good = ~(own | graph | late | order_lost)
        found[active[good]] = here[good]
        at[active] = np.where(own, before[at[active]], at[active] - 1)
        active = active[~good & (at[active] >= 0)]
        steps += 1
    hit = found >= 0
    return found[hit], target[hit]


def _previous_other(lane: I32) -> I64:
    """Last position before each with another lane, -1 if none."""
    position = np.arange(lane.size, dtype=np.int64)
    change = np.ones(lane.size, np.bool_)
    change[1:] = lane[1:] != lane[:-1]
    start_of_run = np.maximum.accumulate(np.where(change, position, 0))
    return start_of_run - 1


def _wait_calls(trace: RankTrace, launch: Launches) -> I64:
    """Find the last wait call of a thread between each launch and the launch before.

    Returns its place in the order of calls, (g,) int64; -1 where there is none.
    """
    events = trace.events
    runtime = np.flatnonzero(events.kind == EventKind.RUNTIME)
    is_wait = by_name(trace.strings, events.name[runtime], _is_wait, np.bool_)
    waits = runtime[is_wait]
    called = np.full(launch.event.size, ABSENT, np.int64)
    known = np.flatnonzero((launch.call >= 0) & ~launch.inverted)
    lane = events.lane[launch.call[known]]
    for number in np.unique(events.lane[waits]).tolist():
        mine = known[lane == number]
        call = launch.turn[launch.call[mine]]
        turns = np.sort(launch.turn[waits[events.lane[waits] == number]])
        distinct = np.unique(call)
        last = np.searchsorted(turns, call, side="left") - 1
        earlier = np.searchsorted(distinct, call, side="left") - 1
        floor = np.where(earlier >= 0, distinct[earlier], ABSENT)
        hit = (last >= 0) & (turns[last] > floor)
        called[mine[hit]] = turns[last[hit]]
    return called


def _is_wait(name: str) -> bool:
    return names.call(name) == "wait"


def _notes(known: Recorded) -> tuple[Note, ...]:
    counted = (
        ("sync_recorded", known.source.size, "waits between streams, recorded"),
        (
            "sync_unresolved",
            int(known.pending.sum()),
            "recorded waits that do not say for what (CUDA 12.9 and later): inferred",
        ),
        (
            "sync_contradicted",
            known.contradicted,
            "recorded waits for what ended after the waiting kernel had started",
        ),
    )
    return tuple(Note(reason, count, detail) for reason, count, detail in counted if count)
