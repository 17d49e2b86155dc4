"""What sync records say that GPU events waited for on other streams."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I64, NS_PER_US, Bool
from synctax.graph.launches import Launches
from synctax.graph.lines import Gpu, Lines
from synctax.graph.lookup import by_id
from synctax.trace.model import EventKind, RankTrace
from synctax.trace.names import by_name

RESOLUTION_NS = 2 * NS_PER_US
"""What a record says a kernel waited for may seem to end this much after its start: whole
µs cut start and duration apart."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What sync records say.

    `source` and `target` (e,) are edges; `pending` (g,) are targets of waits that the
    records leave open; `told` is whether any record says what was waited for;
    `contradicted` counts waits for what ended after the waiting event had started.
    """

    source: I64
    target: I64
    pending: Bool
    told: bool
    contradicted: int


@dataclass(frozen=True, slots=True)
class _Waits:
    """Records of streams that wait for events, in order of the waiting stream and time.

    Parameters
    ----------
    own, other : (w,) int64
        Number of the waiting stream and of the one waited for, -1 where unknown.
    called_ns, recorded_ns : (w,) int64
        When the wait was called, and when what it waits for was recorded.
    told : (w,) bool
        The record says what was waited for.
    """

    own: I64
    other: I64
    called_ns: I64
    recorded_ns: I64
    told: Bool

    @classmethod
    def of(cls, trace: RankTrace, launch: Launches, lines: Lines) -> "_Waits":
        events, syncs = trace.events, trace.syncs
        named = events.name[syncs.event]
        rows = np.flatnonzero(by_name(trace.strings, named, _is_stream_wait, np.bool_))
        calls = np.flatnonzero(events.kind == EventKind.RUNTIME)
        event = syncs.event[rows]
        ids = events.correlation[calls]
        wait = by_id(ids, events.correlation[event])
        record = by_id(ids, syncs.wait_correlation[rows])
        start = np.append(events.start_ns[calls] + launch.skew_ns, 0)
        called = np.where(wait >= 0, start[wait], events.start_ns[event])
        device = events.device[event].astype(np.int64)
        own = lines.number(device, events.stream[event].astype(np.int64))
        told = (syncs.wait_stream[rows] >= 0) & (record >= 0)
        other = lines.number(device, np.where(told, syncs.wait_stream[rows], ABSENT))
        order = np.lexsort((called, own))
        return cls(
            own[order], other[order], called[order], start[record][order], told[order]
        )

    def __len__(self) -> int:
        return int(self.own.size)

    def between(self, line: I64, low_ns: I64, high_ns: I64) -> tuple[I64, I64]:
        """Find the waits that a stream was told after one moment and before another.

        Returns
        -------
        (q,) int64, (q,) int64
            Numbers of the first, and of the one after the last.
        """
        lines, bounds = np.unique(self.own, return_index=True)
        bounds = np.append(bounds, len(self))
        at = np.minimum(np.searchsorted(lines, line), max(lines.size - 1, 0))
        begin = np.zeros(line.size, np.int64)
        end = np.zeros(line.size, np.int64)
        known = np.flatnonzero((line >= 0) & (lines[at] == line)) if lines.size else at[:0]
        for number in np.unique(at[known]).tolist():
            mine = known[at[known] == number]
            part = self.called_ns[bounds[number] : bounds[number + 1]]
            low = np.searchsorted(part, low_ns[mine], side="right")
            high = np.searchsorted(part, high_ns[mine], side="left")
            begin[mine], end[mine] = bounds[number] + low, bounds[number] + high
        return begin, np.maximum(begin, end)


def _is_stream_wait(name: str) -> bool:
    return name == "Stream Wait Event"


def recorded_waits(trace: RankTrace, launch: Launches, gpu: Gpu, lines: Lines) -> Recorded:
    """Find what sync records say that GPU events waited for.

    A stream that waits for an event waits for all that stood in the other stream when the
    event was recorded: its last kernel, and, if no kernel followed them, what that stream
    had itself been told to wait for.

    Parameters
    ----------
    trace : RankTrace
    launch : Launches
    gpu : Gpu
    lines : Lines
    """
    waits = _Waits.of(trace, launch, lines)
    pending = np.zeros(gpu.start_ns.size, np.bool_)
    if not len(waits):
        none = np.empty(0, np.int64)
        return Recorded(none, none, pending, told=False, contradicted=0)
    target = lines.first_launched_after(waits.own, waits.called_ns)
    source = lines.last_launched_before(waits.other, waits.recorded_ns)
    wait, of = _inherited(waits, source, target, gpu)
    pending[of[~waits.told[wait]]] = True
    pair = (source[wait] >= 0) & (waits.own[wait] != waits.other[wait])
    edges = np.stack([source[wait][pair], of[pair]])
    edges = edges[:, gpu.lane[edges[0]] != gpu.lane[edges[1]]]
    pending[edges[1]] = False
    late = gpu.end_ns[edges[0]] > gpu.start_ns[edges[1]] + RESOLUTION_NS
    edges, contradicted = np.unique(edges[:, ~late], axis=1), int(late.sum())
    told = bool(waits.told.any())
    return Recorded(edges[0], edges[1], pending, told, contradicted)


def _inherited(waits: _Waits, source: I64, target: I64, gpu: Gpu) -> tuple[I64, I64]:
    """Pairs of a wait and an event that it holds back, its own and inherited ones."""
    newest = np.where(source >= 0, gpu.launched_ns[source], np.iinfo(np.int64).min)
    low, high = waits.between(waits.other, newest, waits.recorded_ns)
    wait = np.flatnonzero(target >= 0)
    of = target[wait]
    pairs = [(wait, of)]
    while wait.size:
        count = high[wait] - low[wait]
        begin = np.repeat(low[wait] - (np.cumsum(count) - count), count)
        following = begin + np.arange(int(count.sum()))
        both = np.unique(np.stack([following, np.repeat(of, count)]), axis=1)
        # a wait is inherited only by what was recorded after it: this ends
        wait, of = both[0], both[1]
        pairs.append((wait, of))
    return (
        np.concatenate([pair[0] for pair in pairs]),
        np.concatenate([pair[1] for pair in pairs]),
    )
