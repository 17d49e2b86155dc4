"""The few facts of a trace that telling files apart needs; small enough to travel."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from synctax.arrays import NS_PER_US, Bool, distinct, parts
from synctax.notes import Note
from synctax.trace.model import (
    GPU_KINDS,
    CommArgs,
    Device,
    EventKind,
    Events,
    RankTrace,
    TraceMeta,
)
from synctax.trace.steps import step_number

_ON_CPU = (EventKind.CPU_OP, EventKind.ANNOTATION, EventKind.RUNTIME)
_RECORD_CALLS = (
    "cudaEventRecord",
    "cudaStreamWaitEvent",
    "hipEventRecord",
    "hipStreamWaitEvent",
)


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What one file holds, in numbers.

    Parameters
    ----------
    meta : TraceMeta
        What the trace says of itself.
    start_ns, end_ns : int or None
        First start and last end of any event; None without events.
    kinds : tuple of (str, int)
        Events by kind (`kernel`, `cpu_op`, ...), of those kept.
    devices : tuple of Device
        GPUs that GPU events ran on; the name is empty where the trace has none.
    streams : tuple of (int, int)
        Streams and the kernels on each, busiest first.
    steps : tuple of int
        Numbers of the profiler steps, ascending.
    processes : tuple of int
        Process ids of CPU events, most frequent first.
    comm_rows : int
        Kernels with collective metadata.
    sync_records : int
        `cuda_sync` records; `sync_calls` counts runtime calls that record or await events.
    launches : int
        GPU events whose launching call is in the trace.
    whole_us : bool
        Every time is a whole µs.
    """

    path: str
    meta: TraceMeta
    start_ns: int | None
    end_ns: int | None
    kinds: tuple[tuple[str, int], ...]
    devices: tuple[Device, ...]
    streams: tuple[tuple[int, int], ...]
    steps: tuple[int, ...]
    processes: tuple[int, ...]
    comm_rows: int
    sync_records: int
    sync_calls: int
    launches: int
    whole_us: bool
    truncated: bool
    notes: tuple[Note, ...]
    bytes_read: int

    @property
    def events(self) -> int:
        """Number of events kept."""
        return sum(count for _, count in self.kinds)

    def count(self, kind: EventKind) -> int:
        """Count the events of a kind."""
        return dict(self.kinds).get(kind.name.lower(), 0)


def facts(trace: RankTrace) -> FileFacts:
    """Reduce a trace to what inspecting it and placing its rank needs.

    Parameters
    ----------
    trace : RankTrace

    Returns
    -------
    FileFacts
        A few hundred bytes, whatever the size of the trace.
    """
    events = trace.events
    first, last = span_ns(events) or (None, None)
    counts = np.bincount(events.kind, minlength=len(EventKind))
    gpu = np.isin(events.kind, GPU_KINDS)
    calls = events.kind == EventKind.RUNTIME
    return FileFacts(
        path=trace.path,
        meta=trace.meta,
        start_ns=first,
        end_ns=last,
        kinds=tuple(
            (EventKind(kind).name.lower(), count)
            for kind, count in enumerate(counts.tolist())
            if count
        ),
        devices=_devices(trace, gpu),
        streams=_streams(events),
        steps=_steps(trace),
        processes=_processes(trace),
        comm_rows=_comm_rows(events, trace.comms),
        sync_records=int((events.kind == EventKind.SYNC).sum()),
        sync_calls=_sync_calls(trace, calls),
        launches=_launches(events, gpu, calls),
        whole_us=bool(len(events)) and _whole_us(events, trace.meta.base_time_ns),
        truncated=trace.truncated,
        notes=trace.notes,
        bytes_read=trace.bytes_read,
    )


def span_ns(events: Events) -> tuple[int, int] | None:
    """First start and last end of any event; None without events."""
    if not len(events):
        return None
    start, duration = events.start_ns, events.duration_ns
    ends = [int((start[part] + duration[part]).max()) for part in parts(start.size)]
    return int(start.min()), max(ends)


def _devices(trace: RankTrace, gpu: Bool) -> tuple[Device, ...]:
    names = {device.id: device.name for device in trace.meta.devices}
    used = distinct(trace.events.device[gpu])
    return tuple(Device(int(i), names.get(int(i), "")) for i in used if i >= 0)


def _streams(events: Events) -> tuple[tuple[int, int], ...]:
    on = events.stream[events.kind == EventKind.KERNEL]
    streams, counts = np.unique(on[on >= 0], return_counts=True)
    pairs = [(int(s), int(c)) for s, c in zip(streams, counts, strict=True)]
    return tuple(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))


def _steps(trace: RankTrace) -> tuple[int, ...]:
    ranges = np.isin(trace.events.kind, (EventKind.ANNOTATION, EventKind.GPU_ANNOTATION))
    found = {
        step_number(trace.strings[code]) for code in distinct(trace.events.name[ranges])
    }
    return tuple(sorted(number for number in found if number is not None))


def _processes(trace: RankTrace) -> tuple[int, ...]:
    events = trace.events
    counts = np.zeros(trace.lanes.process.size, np.int64)
    for part in parts(len(events)):
        cpu = np.isin(events.kind[part], _ON_CPU) & (events.lane[part] >= 0)
        counts += np.bincount(events.lane[part][cpu], minlength=counts.size)
    total: Counter[int] = Counter()
    for process, count in zip(trace.lanes.process.tolist(), counts.tolist(), strict=True):
        if count:
            total[process] += count
    return tuple(sorted(total, key=lambda pid: (-total[pid], pid)))


def _comm_rows(events: Events, comms: CommArgs) -> int:
    return int((events.kind[comms.event] == EventKind.KERNEL).sum())


def _sync_calls(trace: RankTrace, calls: Bool) -> int:
    codes = [i for i, name in enumerate(trace.strings) if name.startswith(_RECORD_CALLS)]
    return sum(
        int(np.isin(trace.events.name[part][calls[part]], codes).sum())
        for part in parts(calls.size)
    )


def _launches(events: Events, gpu: Bool, calls: Bool) -> int:
    known = events.correlation[calls]
    known.sort()
    linked = 0
    for part in parts(len(events)):
        wanted = events.correlation[part][gpu[part]]
        behind = np.searchsorted(known, wanted, side="right")
        found = (behind > np.searchsorted(known, wanted)) & (wanted >= 0)
        linked += int(found.sum())
    return linked


def _whole_us(events: Events, base_time_ns: int) -> bool:
    return not any(
        ((events.start_ns[part] - base_time_ns) % NS_PER_US).any()
        or (events.duration_ns[part] % NS_PER_US).any()
        for part in parts(len(events))
    )
