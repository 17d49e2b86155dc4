import pickle
from dataclasses import replace

import numpy as np
import pytest

from synctax.notes import Note
from synctax.trace.facts import facts
from synctax.trace.model import (
    CommArgs,
    Device,
    EventKind,
    Events,
    KernelArgs,
    Lanes,
    RankTrace,
    SyncArgs,
    TraceMeta,
)

STRINGS = (
    "ProfilerStep#7",
    "ProfilerStep#9",
    "gemm",
    "cudaLaunchKernel",
    "cudaEventRecord",
    "op",
)
STEP_7, STEP_9, GEMM, LAUNCH, RECORD, OP = range(6)
CPU = {"lane": 0, "device": -1, "stream": -1}


def event(kind, name, start_us, duration_us, *, lane=1, device=0, stream=7, correlation=-1):
    return (
        kind,
        name,
        start_us * 1000,
        duration_us * 1000,
        lane,
        device,
        stream,
        correlation,
    )


STORY = (
    event(EventKind.ANNOTATION, STEP_7, 0, 50, **CPU),
    event(EventKind.ANNOTATION, STEP_9, 50, 50, **CPU),
    event(EventKind.RUNTIME, LAUNCH, 1, 2, **CPU, correlation=5),
    event(EventKind.RUNTIME, RECORD, 4, 1, **CPU, correlation=6),
    event(EventKind.CPU_OP, OP, 5, 1, lane=2, device=-1, stream=-1),
    event(EventKind.KERNEL, GEMM, 10, 20, correlation=5),
    event(EventKind.KERNEL, GEMM, 30, 20, correlation=77),
    event(EventKind.KERNEL, GEMM, 60, 90, device=3, stream=0, correlation=-1),
    event(EventKind.SYNC, OP, 70, 1),
)


def empty(kind, **columns):
    given = {name: np.empty(0, np.int64) for name in kind.__slots__}
    return kind(**(given | columns))


def rank_trace(story=STORY, **changes):
    columns = [np.array(column, np.int64) for column in zip(*story, strict=True)]
    columns = columns or [np.empty(0, np.int64)] * 8
    kind, name, start, duration, lane, device, stream, correlation = columns
    trace = RankTrace(
        path="rank0.json",
        meta=TraceMeta(devices=(Device(0, "NVIDIA H100"), Device(1, "NVIDIA H100"))),
        events=Events(
            kind.astype(np.int8),
            name.astype(np.int32),
            start,
            duration,
            lane.astype(np.int32),
            device.astype(np.int32),
            stream.astype(np.int32),
            correlation,
            np.full(kind.size, -1),
        ),
        lanes=Lanes(np.array([100, 0, 200]), np.array([1, 7, 2]), ("", "", "")),
        kernels=empty(KernelArgs),
        syncs=empty(SyncArgs),
        comms=empty(CommArgs),
        strings=STRINGS,
        notes=(Note("x", 2),),
        truncated=True,
        bytes_read=999,
    )
    return replace(trace, **changes)


def test_facts_count_what_the_trace_holds():
    found = facts(rank_trace())
    assert (found.start_ns, found.end_ns) == (0, 150_000)
    assert found.count(EventKind.KERNEL) == 3
    assert found.count(EventKind.MEMCPY) == 0
    assert found.events == len(STORY)
    assert found.steps == (7, 9)
    assert found.streams == ((7, 2), (0, 1))
    assert found.processes == (100, 200)
    assert found.sync_records == 1
    assert found.sync_calls == 1
    assert found.launches == 1
    assert (found.truncated, found.bytes_read, found.notes) == (True, 999, (Note("x", 2),))


def test_devices_are_those_kernels_ran_on_named_as_far_as_known():
    assert facts(rank_trace()).devices == (Device(0, "NVIDIA H100"), Device(3, ""))


def test_only_kernels_count_as_rows_with_metadata():
    comms = empty(CommArgs, event=np.array([4, 5, 6]))
    assert facts(rank_trace(comms=comms)).comm_rows == 2


@pytest.mark.parametrize(("shift_ns", "whole"), [(0, True), (1, False), (1000, True)])
def test_whole_microseconds_are_those_the_file_wrote(shift_ns, whole):
    trace = rank_trace()
    events = replace(trace.events, start_ns=trace.events.start_ns + shift_ns)
    assert facts(replace(trace, events=events)).whole_us is whole
    based = replace(trace, events=events, meta=TraceMeta(base_time_ns=shift_ns))
    assert facts(based).whole_us


def test_a_trace_without_events_has_no_times():
    found = facts(rank_trace(()))
    assert (found.start_ns, found.end_ns, found.events) == (None, None, 0)
    assert not found.whole_us


def test_facts_travel_between_processes():
    found = facts(rank_trace())
    assert pickle.loads(pickle.dumps(found)) == found
    assert len(pickle.dumps(found)) < 4_000
