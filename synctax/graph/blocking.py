"""What on the GPU a blocking call waited for: the call is cut where that completed."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I8, I64, NS_PER_US
from synctax.graph.launches import Launches
from synctax.graph.model import Provenance
from synctax.trace import names
from synctax.trace.model import EventKind, RankTrace
from synctax.trace.names import by_name

RETURN_TOLERANCE_NS = 2 * NS_PER_US
"""A GPU event may seem to end this much after the call that waited for it."""

_KINDS: dict[str | None, int] = {
    "stream_sync": 1,
    "event_sync": 2,
    "device_sync": 3,
    "copy": 4,
}


@dataclass(frozen=True, slots=True)
class Blocked:
    """Blocking calls that waited, and for what.

    Parameters
    ----------
    call : (b,) int64
        The call, index into events.
    gpu : (b,) int64
        The GPU event whose completion ended the wait, index into events.
    time_ns : (b,) int64
        When it completed, on the GPU's clock, at most the end of the call.
    provenance : (b,) int8
        `RECORDED` where a sync record or a correlation names it, `CALLS` where the call
        waits for everything, else `INFERRED`: the last to end before the call returned.
    unresolved : int
        Calls that may have waited for something that cannot be found.
    """

    call: I64
    gpu: I64
    time_ns: I64
    provenance: I8
    unresolved: int


def blocked(trace: RankTrace, launch: Launches, *, least_ns: int) -> Blocked:
    """Find what each blocking call waited for.

    A call waits for work that was launched before it and ends while it runs; of several
    the last to end is what released it.

    Parameters
    ----------
    trace : RankTrace
    launch : Launches
    least_ns : int
        A longer call of which nothing is found counts as unresolved.

    References
    ----------
    Synchronization-tax paper, section 4.1, synchronization edges.
    """
    events = trace.events
    calls = np.flatnonzero(events.kind == EventKind.RUNTIME)
    code = by_name(trace.strings, events.name[calls], _code, np.int8)
    calls, code = calls[code > 0], code[code > 0]
    search = _Search.of(trace, launch)
    rows: list[tuple[int, int, int, int]] = []
    unresolved = 0
    for call, kind in zip(calls.tolist(), code.tolist(), strict=True):
        found, provenance = search.released_by(call, kind)
        if found >= 0:
            end = int(search.end_ns[found])
            stop = int(events.start_ns[call] + events.duration_ns[call]) + launch.skew_ns
            rows.append((call, int(launch.event[found]), min(end, stop), provenance))
        elif kind != _KINDS["copy"] and events.duration_ns[call] > least_ns:
            unresolved += 1
    table = np.array(rows, np.int64).reshape(-1, 4)
    return Blocked(
        table[:, 0], table[:, 1], table[:, 2], table[:, 3].astype(np.int8), unresolved
    )


def _code(name: str) -> int:
    return _KINDS.get(names.call(name), 0)


@dataclass(frozen=True, slots=True)
class _Search:
    """GPU events in order of end, to be searched backwards from a call's return."""

    trace: RankTrace
    launch: Launches
    launched_ns: I64
    end_ns: I64
    by_end: I64
    sorted_end_ns: I64
    of_correlation: dict[int, int]
    sync_of: dict[int, int]
    record_call: dict[int, int]

    @classmethod
    def of(cls, trace: RankTrace, launch: Launches) -> "_Search":
        events = trace.events
        end = events.start_ns[launch.event] + events.duration_ns[launch.event]
        by_end = np.argsort(end, kind="stable")
        copies = np.flatnonzero(events.kind[launch.event] != EventKind.KERNEL)
        correlation = events.correlation[launch.event[copies]]
        syncs = trace.syncs
        runtime = (
            np.flatnonzero(events.kind == EventKind.RUNTIME) if len(syncs.event) else []
        )
        record = {int(events.correlation[row]): int(row) for row in runtime}
        return cls(
            trace,
            launch,
            launch.call_start_ns(events),
            end,
            by_end,
            end[by_end],
            dict(zip(correlation.tolist(), copies.tolist(), strict=True)),
            {
                int(events.correlation[event]): row
                for row, event in enumerate(syncs.event.tolist())
                if events.correlation[event] > 0
            },
            record,
        )

    def released_by(self, call: int, kind: int) -> tuple[int, int]:
        """Number of the GPU event that released a call, -1 if it did not wait."""
        events = self.trace.events
        start = int(events.start_ns[call]) + self.launch.skew_ns
        stop = start + int(events.duration_ns[call]) + RETURN_TOLERANCE_NS
        correlation = int(events.correlation[call])
        if kind == _KINDS["copy"]:
            own = self.of_correlation.get(correlation, ABSENT)
            ended = own >= 0 and start < self.end_ns[own] <= stop
            return (own, Provenance.RECORDED) if ended else (ABSENT, 0)
        recorded = self._recorded(correlation, kind, start)
        if recorded is not None:
            inside = recorded >= 0 and start < self.end_ns[recorded] <= stop
            return (recorded, Provenance.RECORDED) if inside else (ABSENT, 0)
        exact = kind == _KINDS["device_sync"]
        found = self._last_before(start, stop)
        return found, Provenance.CALLS if exact else Provenance.INFERRED

    def _recorded(self, correlation: int, kind: int, start: int) -> int | None:
        """What the call's sync record names; None where there is none that tells."""
        row = self.sync_of.get(correlation)
        if row is None:
            return None
        syncs, events = self.trace.syncs, self.trace.events
        stream = int(events.stream[syncs.event[row]])
        if kind == _KINDS["stream_sync"] and stream >= 0:
            return self._last_launched(stream, start)
        recorded = self.record_call.get(int(syncs.wait_correlation[row]))
        if kind == _KINDS["event_sync"] and recorded is not None:
            before = int(events.start_ns[recorded]) + self.launch.skew_ns
            return self._last_launched(int(syncs.wait_stream[row]), before)
        return None

    def _last_launched(self, stream: int, before_ns: int) -> int:
        """Last event of a stream that was launched before a moment, -1 if none."""
        mine = self.trace.events.stream[self.launch.event] == stream
        known = self.launched_ns > np.iinfo(np.int64).min
        rows = np.flatnonzero(mine & known & (self.launched_ns < before_ns))
        return int(rows[self.launched_ns[rows].argmax()]) if rows.size else ABSENT

    def _last_before(self, start: int, stop: int) -> int:
        """Last of what was launched before `start` to end within the call, -1 if none."""
        low, high = np.searchsorted(self.sorted_end_ns, [start, stop], side="right")
        rows = self.by_end[low:high][::-1]
        fits = rows[self.launched_ns[rows] < start]
        return int(fits[0]) if fits.size else ABSENT
