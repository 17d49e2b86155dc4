"""What sync records say that streams waited for on other streams."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from synctax.arrays import ABSENT, I64, NS_PER_US, Bool, distinct, ordered, runs
from synctax.graph.launches import Launches
from synctax.graph.lines import Gpu, Lines
from synctax.trace.model import RankTrace
from synctax.trace.names import by_name

RESOLUTION_NS = 2 * NS_PER_US
"""What a record says a kernel waited for may seem to end this much after its start: whole
µs cut start and duration apart."""

MOST_INHERITED = 16
"""Streams in a row that only pass on what they were told to wait for."""


@dataclass(frozen=True, slots=True)
class StreamWaits:
    """Records of streams that wait for events, in order of both streams and time.

    Parameters
    ----------
    own, other : (w,) int64
        Number (in `Lines`) of the waiting stream and of the one waited for, -1 where
        unknown.
    called, recorded : (w,) int64
        Places in the order of calls: the wait, and the record of what it waits for.
    told : (w,) bool
        The record says what was waited for.
    source : (w,) int64
        The last event on the other stream then, position in `Gpu`; -1 if none.
    newest : (w,) int64
        Where in the order of calls that was launched, -1 if unknown.
    """

    own: I64
    other: I64
    called: I64
    recorded: I64
    told: Bool
    source: I64
    newest: I64

    @classmethod
    def of(
        cls, trace: RankTrace, launch: Launches, gpu: Gpu, lines: Lines
    ) -> "StreamWaits":
        """Read the `Stream Wait Event` records of a rank."""
        events, syncs = trace.events, trace.syncs
        named = events.name[syncs.event]
        rows = np.flatnonzero(by_name(trace.strings, named, _is_stream_wait, np.bool_))
        if not rows.size:
            none = np.empty(0, np.int64)
            return cls(none, none, none, none, np.empty(0, np.bool_), none, none)
        event = syncs.event[rows]
        wait = launch.calls.find(events.correlation[event])
        record = launch.calls.find(syncs.wait_correlation[rows])
        recorded = np.append(launch.turn, ABSENT)[record]
        called, lost = launch.turn[wait], np.flatnonzero(wait < 0)
        called[lost] = _turn_of(trace, launch, event[lost])
        device = events.device[event].astype(np.int64)
        own = lines.number(device, events.stream[event].astype(np.int64))
        told = (syncs.wait_stream[rows] >= 0) & (record >= 0)
        other = lines.number(device, np.where(told, syncs.wait_stream[rows], ABSENT))
        source = lines.last_launched_before(other, recorded)
        newest = np.append(gpu.launched, ABSENT)[source]
        order = np.argsort(called, kind="stable")
        order = order[ordered((own * (len(lines) + 1) + other)[order])]
        return cls(
            own=own[order],
            other=other[order],
            called=called[order],
            recorded=recorded[order],
            told=told[order],
            source=source[order],
            newest=newest[order],
        )

    def __len__(self) -> int:
        return int(self.own.size)

    def behind(self, line: I64, newest: I64, before: I64) -> tuple[I64, I64]:
        """Find the waits that a stream has still to end at a call, its event done.

        A stream waits in order: what it was told to wait for, and then gave to no event,
        holds back what is recorded on it, or waits for it, as its last event does.

        Parameters
        ----------
        line : (q,) int64
            Number of the stream, -1 for none.
        newest : (q,) int64
            Where in the order of calls its last event was launched.
        before : (q,) int64
            Place of the call.

        Returns
        -------
        query, wait : (k,) int64
        """
        pairs = []
        query, wait = self._pending(line, newest, before)
        for _ in range(MOST_INHERITED):
            if not wait.size:
                break
            pairs.append((query, wait))
            at, further = self._pending(
                self.other[wait], self.newest[wait], self.recorded[wait]
            )
            query, wait = _distinct(query[at], further, len(self))
        none = np.empty(0, np.int64)
        return (
            np.concatenate([none, *(pair[0] for pair in pairs)]),
            np.concatenate([none, *(pair[1] for pair in pairs)]),
        )

    def _pending(self, line: I64, newest: I64, before: I64) -> tuple[I64, I64]:
        """Waits called between two calls; of those for one stream only the newest."""
        queries, waits = [], []
        streams = self.other.max(initial=ABSENT) + 2
        for low, high in pairwise(runs(self.own * streams + self.other).tolist()):
            mine = np.flatnonzero((line == self.own[low]) & (line >= 0))
            if not mine.size:
                continue
            recorded = np.maximum.accumulate(self.recorded[low:high])
            best = np.arange(high - low)
            best[self.recorded[low:high] < recorded] = 0
            best = low + np.maximum.accumulate(best)
            count = np.searchsorted(self.called[low:high], before[mine], side="left")
            wait = best[np.maximum(count - 1, 0)]
            hit = (count > 0) & (self.called[wait] > newest[mine])
            queries.append(mine[hit])
            waits.append(wait[hit])
        none = np.empty(0, np.int64)
        return np.concatenate([none, *queries]), np.concatenate([none, *waits])


def _turn_of(trace: RankTrace, launch: Launches, sync: I64) -> I64:
    """Place records whose call is missing in the order of calls: after calls till then."""
    start = trace.events.start_ns
    return np.searchsorted(start, start[sync] - launch.skew_ns, side="right") - 1


def _distinct(first: I64, second: I64, size: int) -> tuple[I64, I64]:
    """Pairs of numbers, of which the second is below a size, each once."""
    key = distinct(first * size + second)
    return key // max(size, 1), key % max(size, 1)


def _is_stream_wait(name: str) -> bool:
    return name == "Stream Wait Event"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What sync records say that GPU events waited for.

    `source` and `target` (e,) are edges; `pending` (g,) are targets of waits that the
    records leave open; `told` is whether any record says what was waited for;
    `contradicted` counts waits for what ended after the waiting event had started.
    """

    source: I64
    target: I64
    pending: Bool
    told: bool
    contradicted: int


def recorded_waits(waits: StreamWaits, gpu: Gpu, lines: Lines) -> Recorded:
    """Find what sync records say that GPU events waited for.

    A stream that waits for an event waits for all that stood in the other stream when the
    event was recorded: its last kernel, and, if no kernel followed them, what that stream
    had itself been told to wait for.

    Parameters
    ----------
    waits : StreamWaits
    gpu : Gpu
    lines : Lines
    """
    target = lines.first_launched_after(waits.own, waits.called)
    direct = np.flatnonzero(target >= 0)
    query, inherited = waits.behind(
        waits.other[direct], waits.newest[direct], waits.recorded[direct]
    )
    wait = np.concatenate([direct, inherited])
    of = target[np.concatenate([direct, direct[query]])]
    pending = np.zeros(gpu.start_ns.size, np.bool_)
    pending[of[~waits.told[wait]]] = True
    edges = np.stack([waits.source[wait], of])[:, waits.source[wait] >= 0]
    edges = edges[:, gpu.lane[edges[0]] != gpu.lane[edges[1]]]
    pending[edges[1]] = False
    late = gpu.end_ns[edges[0]] > gpu.start_ns[edges[1]] + RESOLUTION_NS
    source, of = _distinct(edges[0][~late], edges[1][~late], gpu.start_ns.size)
    told = bool(waits.told.any())
    return Recorded(source, of, pending, told, int(late.sum()))
