"""What the traces say of streams that wait for each other is what the simulation does."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.synth import Delay, SynthJob, truth, write
from synctax.synth.program import build
from synctax.trace.kineto import read_rank
from synctax.trace.model import EventKind
from tests.laws import examples, some
from tests.synth import oracle
from tests.synth.jobs import delays

JOB = SynthJob(
    tp=2, fsdp=2, ep=2, layers=2, steps=3, seed=5, sync_records="full", layout="flat"
)
LATE = (
    Delay(1, 1, 4, 300.0, "gap"),
    Delay(2, 1, None, 4_000.0, "call", "tp:3"),
    Delay(0, 0, 9, 900.0, "op"),
)
SMALL = replace(JOB, layers=1, steps=2)
COMPUTE = 7
ON_THREADS = {"cpu_op", "user_annotation", "cuda_runtime", "python_function"}


def made(job, directory):
    known = write(job, directory)
    return [read_rank(directory / rank.file) for rank in known.ranks]


def names(trace):
    return np.array(trace.strings)[trace.events.name]


def calls(trace, name):
    """Row of each runtime call of that name, by correlation."""
    events = trace.events
    rows = np.flatnonzero((events.kind == EventKind.RUNTIME) & (names(trace) == name))
    return dict(zip(events.correlation[rows].tolist(), rows.tolist(), strict=True))


def launches(trace):
    """Start of the launching call, stream, start and end of every kernel."""
    events = trace.events
    launching = {}
    for name in ("cudaLaunchKernel", "cudaLaunchKernelExC", "cudaGraphLaunch"):
        launching |= calls(trace, name)
    for row in np.flatnonzero(events.kind == EventKind.KERNEL).tolist():
        start = int(events.start_ns[row])
        call = int(events.start_ns[launching[int(events.correlation[row])]])
        yield call, int(events.stream[row]), start, start + int(events.duration_ns[row])


def ends(events, row):
    return int(events.start_ns[row] + events.duration_ns[row])


def records(trace):
    """Kind, waiting call, recording call, and both streams of each resolved record."""
    syncs, events = trace.syncs, trace.events
    waits = calls(trace, "cudaStreamWaitEvent") | calls(trace, "cudaEventSynchronize")
    recorded = calls(trace, "cudaEventRecord")
    for place, row in enumerate(syncs.event.tolist()):
        wait = waits[int(events.correlation[row])]
        source = int(syncs.wait_correlation[place])
        yield (
            str(names(trace)[row]),
            wait,
            recorded[source] if source >= 0 else None,
            int(events.stream[row]),
            int(syncs.wait_stream[place]),
        )


@pytest.mark.parametrize(
    "changed",
    some(
        [
            {},
            {"delays": LATE},
            {"cuda_graphs": True, "run_ahead_steps": 0},
            {"coalesced": 2, "broadcast": True, "dp": 2, "stream_step": 2},
            {"tp_op": "all_reduce", "uneven": True, "run_ahead_steps": 2},
        ]
    ),
)
def test_what_a_record_waits_for_has_ended_before_what_waits_begins(tmp_path, changed):
    for trace in made(replace(JOB, **changed), tmp_path):
        events = trace.events
        kernels = sorted(launches(trace))
        seen = Counter()
        for kind, wait, record, stream, source in records(trace):
            if record is None:
                continue
            before = events.start_ns[record]
            due = max(
                (k[3] for k in kernels if k[1] == source and k[0] < before), default=0
            )
            if kind == "Event Sync":
                assert stream == -1
                assert ends(events, wait) > due > 0
            else:
                after = events.start_ns[wait]
                first = next(k for k in kernels if k[1] == stream and k[0] > after)
                assert first[2] >= due
            seen[kind, bool(due)] += 1
        assert seen["Stream Wait Event", True] > 50
        # Prefetching streams do nothing that could be waited for.
        assert seen["Stream Wait Event", False] > 10


def test_each_wait_of_the_simulation_is_a_call_between_the_launches_around_it(tmp_path):
    program = build(JOB)
    wanted, launched = [], 0
    for item in program.walk:
        if item.kind == "wait":
            wanted.append((launched, program.launches[item.first].comm.dimension))
        else:
            launched = max(launched, item.last, item.first + 1)
    streams = {dim.stream: number for number, dim in enumerate(program.dimensions)}
    for trace in made(JOB, tmp_path):
        events = trace.events
        starts = np.array(sorted(call for call, *_ in launches(trace)))
        found = sorted(
            (int(np.searchsorted(starts, events.start_ns[wait])), streams[source])
            for kind, wait, _, stream, source in records(trace)
            if kind == "Stream Wait Event" and stream == COMPUTE
        )
        n = len(program.launches)
        assert found == sorted(
            (step * n + position, dimension)
            for step in range(JOB.steps)
            for position, dimension in wanted
        )


def test_a_wait_is_on_the_thread_of_the_launch_after_it(tmp_path):
    lanes = defaultdict(list)
    trace = made(JOB, tmp_path)[0]
    events = trace.events
    for name in ("cudaStreamWaitEvent", "cudaLaunchKernel", "cudaLaunchKernelExC"):
        for row in calls(trace, name).values():
            lanes[name].append((int(events.start_ns[row]), int(events.lane[row])))
    launching = sorted(lanes["cudaLaunchKernel"] + lanes["cudaLaunchKernelExC"])
    for start, lane in lanes["cudaStreamWaitEvent"]:
        assert lane == next(other for at, other in launching if at > start)
    assert len({lane for _, lane in lanes["cudaStreamWaitEvent"]}) == 2


@pytest.mark.parametrize("run_ahead_steps", [0, 1, 2])
def test_the_end_of_a_step_waits_for_the_event_of_an_earlier_one(tmp_path, run_ahead_steps):
    for trace in made(replace(JOB, run_ahead_steps=run_ahead_steps), tmp_path):
        events = trace.events
        step_ns = events.start_ns[calls_in_order(trace, "cudaEventSynchronize")]
        found = [
            (int(np.searchsorted(step_ns, events.start_ns[wait])), record)
            for kind, wait, record, *_ in records(trace)
            if kind == "Event Sync"
        ]
        assert [step for step, _ in found] == list(range(JOB.steps))
        for step, record in found:
            if step < run_ahead_steps:
                assert record is None
            else:
                number = int(np.searchsorted(step_ns, events.start_ns[record]))
                assert number == step - run_ahead_steps


def calls_in_order(trace, name):
    return sorted(calls(trace, name).values(), key=lambda row: trace.events.start_ns[row])


def test_unresolved_records_tell_who_waits_but_not_for_what(tmp_path):
    full = made(JOB, tmp_path / "full")
    blind = made(replace(JOB, sync_records="unresolved"), tmp_path / "blind")
    for one, other in zip(full, blind, strict=True):
        assert (other.syncs.wait_stream == -1).all()
        assert (other.syncs.wait_correlation == -1).all()
        assert (other.syncs.wait_event_id == -1).all()
        assert one.syncs.event.tolist() == other.syncs.event.tolist()
        rows = one.syncs.event
        assert (one.events.stream[rows] == other.events.stream[rows]).all()
        assert (one.events.correlation[rows] == other.events.correlation[rows]).all()
        assert (one.syncs.wait_event_id > 0).all()


@settings(max_examples=examples(8))
@given(
    st.sampled_from(["full", "unresolved"]),
    st.booleans(),
    st.lists(delays(SMALL), max_size=2).map(tuple),
)
def test_records_are_all_that_the_option_adds(tmp_path_factory, kind, whole_us, late):
    directory = tmp_path_factory.mktemp("made")
    plain = replace(SMALL, sync_records="none", whole_us=whole_us, delays=late)
    write(plain, directory / "plain")
    known = write(replace(plain, sync_records=kind), directory / "more")
    for rank in known.ranks:
        without = oracle.read(directory / "plain" / rank.file)["traceEvents"]
        having = oracle.read(directory / "more" / rank.file)["traceEvents"]
        assert [one for one in having if one.get("cat") != "cuda_sync"] == without
        assert len(having) > len(without)
    assert list(known.collectives()) == list(truth(plain).collectives())


@settings(max_examples=examples(12))
@given(
    st.integers(0, 5),
    st.integers(0, 2),
    st.booleans(),
    st.booleans(),
    st.lists(delays(SMALL), max_size=2).map(tuple),
)
def test_ranges_of_a_thread_lie_inside_each_other_or_apart(
    tmp_path_factory, operators, functions, graphs, broadcast, late
):
    job = replace(
        SMALL,
        cpu_ops_per_kernel=operators,
        python_functions=functions,
        cuda_graphs=graphs,
        broadcast=broadcast,
        delays=late,
        write_ranks=(1,),
    )
    directory = tmp_path_factory.mktemp("made")
    (rank,) = write(job, directory).ranks
    threads = defaultdict(list)
    for event in oracle.read(directory / rank.file)["traceEvents"]:
        if event.get("cat") in ON_THREADS:
            start, lasts = oracle.ns(event["ts"]), oracle.ns(event["dur"])
            threads[event["tid"]].append((start, -start - lasts, event["name"]))
    assert len(threads) == 2
    for ranges in threads.values():
        stack = []
        for start, end, name in sorted(ranges):
            while stack and -stack[-1][1] <= start:
                stack.pop()
            assert not stack or -end <= -stack[-1][1], (name, stack[-1])
            # A call is a leaf: nothing happens inside it.
            assert not stack or not stack[-1][2].startswith("cuda")
            stack.append((start, end, name))
