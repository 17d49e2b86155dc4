"""What of a Kineto file becomes which column."""

import json

import numpy as np
import pytest

from synctax.errors import BadInputError
from synctax.trace.kineto import read_rank
from synctax.trace.model import Device, EventKind, GroupConfig
from synctax.trace.sniff import NotATraceError
from tests.trace.builders import (
    annotation,
    collective,
    cpu_op,
    distributed,
    event,
    flow,
    group_config,
    gz,
    kernel,
    mark,
    runtime,
    step,
    stream_wait,
    thread_name,
    trace,
)
from tests.trace.reading import difference, listed, read, reasons

LAUNCH = (
    cpu_op("aten::mm", 10, 8, args={"External id": 5}),
    runtime("cudaLaunchKernel", 11, 2, corr=3),
    kernel("gemm", 15, 20.125, corr=3, args={"External id": 5}),
)


def texts(trace_, codes):
    return [None if code < 0 else trace_.strings[code] for code in codes]


def kinds(trace_):
    return [EventKind(kind).name for kind in trace_.events.kind]


def test_an_operator_its_launch_and_its_kernel_become_three_rows(tmp_path):
    assert listed(read(tmp_path, trace(*LAUNCH))) == [
        (EventKind.CPU_OP, "aten::mm", 10_000, 8_000, -1, -1, -1, 5, 100, 1),
        (EventKind.RUNTIME, "cudaLaunchKernel", 11_000, 2_000, -1, -1, 3, -1, 100, 1),
        (EventKind.KERNEL, "gemm", 15_000, 20_125, 0, 7, 3, 5, 0, 7),
    ]


def test_events_are_in_order_of_start_and_ties_in_order_of_the_file(tmp_path):
    data = trace(
        cpu_op("c", 3, 1), cpu_op("a1", 1, 9), cpu_op("b", 2, 1), cpu_op("a2", 1, 1)
    )
    assert [row[1] for row in listed(read(tmp_path, data))] == ["a1", "a2", "b", "c"]


@pytest.mark.parametrize(
    ("cat", "kind"),
    [
        ("cpu_op", "CPU_OP"),
        ("Operator", "CPU_OP"),
        ("user_annotation", "ANNOTATION"),
        ("gpu_user_annotation", "GPU_ANNOTATION"),
        ("kernel", "KERNEL"),
        ("Kernel", "KERNEL"),
        ("gpu_memcpy", "MEMCPY"),
        ("Memcpy", "MEMCPY"),
        ("gpu_memset", "MEMSET"),
        ("Memset", "MEMSET"),
        ("cuda_runtime", "RUNTIME"),
        ("cuda_driver", "RUNTIME"),
        ("hip_runtime", "RUNTIME"),
        ("xpu_runtime", "RUNTIME"),
        ("Runtime", "RUNTIME"),
        ("cuda_sync", "SYNC"),
        ("cuda_event", "CUDA_EVENT"),
    ],
)
def test_a_category_of_any_era_has_its_kind(tmp_path, cat, kind):
    assert kinds(read(tmp_path, trace(event(cat, "x", 1, 2)))) == [kind]


def test_a_step_is_an_annotation_whatever_its_category(tmp_path):
    data = trace(
        step(1, 0, 9), event("Operator", "ProfilerStep#2", 10, 9), cpu_op("x", 11, 1)
    )
    assert kinds(read(tmp_path, data)) == ["ANNOTATION", "ANNOTATION", "CPU_OP"]


def test_what_is_not_needed_is_counted_by_category(tmp_path):
    data = trace(
        *LAUNCH,
        flow(11, ident=3),
        flow(15, ident=3, end=True),
        event("python_function", "forward", 1, 9),
        event("mtia_runtime", "launch", 1, 9),
        event("mtia_runtime", "launch", 2, 9),
        {"ph": "C", "name": "GPU 0 memory", "ts": 1, "args": {"bytes": 1}},
        {"ph": "i", "name": "[memory]", "cat": "cpu_instant_event", "ts": 1, "s": "t"},
        {"ph": "?", "name": "what"},
        {"name": "nothing"},
        {"ph": "X", "name": "uncategorised", "ts": 1, "dur": 1},
    )
    result = read(tmp_path, data)
    assert len(result.events) == 3
    assert {(n.reason, n.detail): n.count for n in result.notes} == {
        ("skipped_category", "ac2g"): 2,
        ("skipped_category", "python_function"): 1,
        ("skipped_category", "counter"): 1,
        ("skipped_category", "cpu_instant_event"): 1,
        ("unknown_category", "mtia_runtime"): 2,
        ("unknown_category", "ph '?'"): 1,
        ("unknown_category", "no ph"): 1,
        ("unknown_category", "no category"): 1,
    }


def test_collective_metadata_of_a_kernel_is_one_row(tmp_path):
    args = {
        "Collective name": "all_to_allv", "In msg nelems": 8, "Out msg nelems": 16,
        "Group size": 4, "dtype": "Float8_e4m3fn", "In split size": "[2, 6]",
        "Out split size": [4, 12], "Process Group Name": "7",
        "Process Group Description": "mesh_ep", "Process Group Ranks": [0, 8],
        "Src Rank": 1, "Dst Rank": 0, "Seq": 12, "Comms Id": 17293822569102704640,
    }  # fmt: skip
    result = read(tmp_path, trace(cpu_op("x", 0, 1), kernel("nccl", 5, 9, args=args)))
    comms = result.comms
    row = [texts(result, getattr(comms, key))[0] for key in (
        "collective", "dtype", "group_name", "group_description", "group_ranks", "in_split",
        "out_split", "input_dims", "input_type",
    )]  # fmt: skip
    assert row == [
        "all_to_allv", "Float8_e4m3fn", "7", "mesh_ep", "[0, 8]", "[2, 6]", "[4, 12]", None,
        None,
    ]  # fmt: skip
    assert comms.event.tolist() == [1]
    numbers = (
        comms.in_elements, comms.out_elements, comms.group_size, comms.seq, comms.src,
        comms.dst, comms.rank_start, comms.rank_stride,
    )  # fmt: skip
    assert [int(n[0]) for n in numbers] == [8, 16, 4, 12, 1, 0, -1, -1]
    assert comms.comms_id.tolist() == [17293822569102704640]
    assert comms.comms_id.dtype == np.uint64


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**64 - 1, 2**64 - 1), (-1, 2**64 - 1), ("0xff", 255), ("7", 7), (2**70, 0),
        ("x", 0), (None, 0),
    ],
)  # fmt: skip
def test_a_comms_id_of_any_size_does_not_cost_the_event(tmp_path, value, expected):
    data = trace(kernel("nccl", 5, 9, args={"Collective name": "x", "Comms Id": value}))
    result = read(tmp_path, data)
    assert result.comms.comms_id.tolist() == [expected]
    assert ("integer_out_of_range" in reasons(result)) == (value == 2**70)


def test_communication_of_the_host_is_a_row_with_its_shapes(tmp_path):
    shapes = {"Input Dims": [[4, 2], []], "Input type": ["float", "Int"]}
    names = (
        "record_param_comms", "c10d::allreduce_", "nccl:all_reduce", "gloo:broadcast",
        "mpi:x", "ucc:x", "xccl:x", "nccl::all_gather",
    )  # fmt: skip
    events = [cpu_op(name, i, 1, args=shapes) for i, name in enumerate(names)]
    other = cpu_op("aten::nccl:x", 20, 1, args=shapes)
    result = read(tmp_path, trace(*events, other, indent=None))
    assert result.comms.event.tolist() == list(range(len(names)))
    assert set(texts(result, result.comms.input_dims)) == {"[[4,2],[]]"}
    assert set(texts(result, result.comms.input_type)) == {'["float","Int"]'}


def test_rank_start_and_stride_of_the_host_side_are_kept(tmp_path):
    args = {"Global rank start": 0, "Global rank stride": 8, "Rank": 3}
    result = read(tmp_path, trace(cpu_op("record_param_comms", 1, 1, args=args)))
    assert (result.comms.rank_start[0], result.comms.rank_stride[0]) == (0, 8)


def test_a_kernel_without_metadata_has_no_row(tmp_path):
    assert read(tmp_path, trace(kernel("ncclDevKernel_x", 1, 2))).comms.event.size == 0


def test_rows_follow_their_events_when_those_are_sorted(tmp_path):
    data = trace(collective(50, 5, seq=2), collective(10, 5, seq=1), kernel("k", 1, 2))
    comms = read(tmp_path, data).comms
    assert (comms.event.tolist(), comms.seq.tolist()) == ([1, 2], [1, 2])


def test_rows_of_events_that_were_left_out_go_with_them(tmp_path):
    data = trace(collective(0, 0, seq=1), collective(10, 5, seq=2), kernel("k", 11, 2))
    comms = read(tmp_path, data).comms
    assert (comms.event.tolist(), comms.seq.tolist()) == ([0], [2])


def test_launch_geometry_is_text_and_graph_nodes_are_numbers(tmp_path):
    shape = {"grid": [24, 1, 1], "block": [544, 1, 1]}
    data = trace(
        kernel("a", 1, 1, args=shape),
        kernel("b", 2, 1, args={**shape, "graph node id": 9}),
        kernel("c", 3, 1, args={"graph node id": 10}),
        kernel("d", 4, 1, args={"grid": "dim3", "block": 32}),
        kernel("e", 5, 1),
    )
    result = read(tmp_path, data)
    kernels = result.kernels
    assert kernels.event.tolist() == [0, 1, 2, 3]
    assert texts(result, kernels.geometry) == [
        "24x1x1/544x1x1", "24x1x1/544x1x1", None, "dim3/32",
    ]  # fmt: skip
    assert kernels.graph_node.tolist() == [-1, 9, 10, -1]


def test_a_geometry_that_is_no_text_is_kept_as_far_as_it_can_be_read(tmp_path):
    data = trace(kernel("a", 1, 1, args={"grid": "GRID"})).replace(b'"GRID"', b'"\xff"')
    result = read(tmp_path, data)
    assert texts(result, result.kernels.geometry) == ['"\ufffd"/']


def test_a_wait_keeps_what_it_waited_for(tmp_path):
    data = trace(stream_wait(5, 1, stream=20, on_stream=7, on_corr=4, corr=9))
    result = read(tmp_path, data)
    assert result.syncs.wait_stream.tolist() == [7]
    assert result.syncs.wait_correlation.tolist() == [4]
    assert result.syncs.wait_event_id.tolist() == [-1]
    assert result.events.stream.tolist() == [20]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (0, 0), (7, 7), ("7", 7), ("0x7", 7), (4294967295, -1), (-1, -1), (7.0, 7),
        ("0x7f12345678", 2**30), (2**40, 2**30), ("stream a", 2**30), ([], -1),
    ],
)  # fmt: skip
def test_a_stream_written_in_any_way_is_a_number(tmp_path, stream, expected):
    result = read(tmp_path, trace(kernel("k", 1, 2, stream=stream) | {"tid": 1}))
    assert result.events.stream.tolist() == [expected]


def test_two_streams_that_are_pointers_stay_two(tmp_path):
    names = ("0x7f12345678", "0x7f99999999", "0x7f12345678")
    data = trace(*(kernel("k", i, 2, stream=s) | {"tid": 1} for i, s in enumerate(names)))
    assert read(tmp_path, data).events.stream.tolist() == [2**30, 2**30 + 1, 2**30]


def test_without_args_device_and_stream_are_pid_and_tid(tmp_path):
    bare = {"ph": "X", "cat": "kernel", "name": "k", "pid": 3, "tid": 7, "ts": 1, "dur": 2}
    result = read(tmp_path, trace(bare, {**bare, "args": None}))
    assert result.events.device.tolist() == [3, 3]
    assert result.events.stream.tolist() == [7, 7]


def test_numbers_written_as_text_are_numbers(tmp_path):
    args = {"correlation": "12", "External id": "0x10"}
    events = read(tmp_path, trace(event("cuda_runtime", "r", 1, 2, **args))).events
    assert (events.correlation[0], events.external_id[0]) == (12, 16)


def test_the_old_spelling_of_the_external_id_is_known(tmp_path):
    data = trace(cpu_op("a", 1, 1, args={"external id": 4}), cpu_op("b", 2, 1))
    assert read(tmp_path, data).events.external_id.tolist() == [4, -1]


@pytest.mark.parametrize("value", [2**64, -(2**70), "9" * 30])
def test_a_correlation_too_large_is_absent_and_noted(tmp_path, value):
    result = read(tmp_path, trace(event("cuda_runtime", "r", 1, 2, correlation=value)))
    assert result.events.correlation.tolist() == [-1]
    assert reasons(result) == {"integer_out_of_range": 1}


@pytest.mark.parametrize("value", ["x", "0xz", {}, [1], None, "1" * 99, "inf"])
def test_a_correlation_that_is_no_number_is_absent(tmp_path, value):
    result = read(tmp_path, trace(event("cuda_runtime", "r", 1, 2, correlation=value)))
    assert result.events.correlation.tolist() == [-1]


def test_lanes_are_the_threads_and_streams_of_the_events(tmp_path):
    data = trace(
        cpu_op("a", 1, 1, tid=2**33),
        cpu_op("b", 2, 1, tid="main"),
        event("user_annotation", "c", 3, 1, pid="Spans", tid="42"),
        cpu_op("d", 4, 1, tid="main"),
        thread_name(100, "main", "thread 77 (pt_autograd_0)"),
        thread_name("Spans", "42", "PyTorch Profiler"),
        thread_name(1, 1, "of no event"),
        {"name": "process_name", "ph": "M", "pid": 100, "args": {"name": "python"}},
        {"name": "thread_name", "ph": "M", "pid": 100, "tid": 2**33, "args": {"name": 5}},
    )
    result = read(tmp_path, data)
    assert result.events.lane.tolist() == [0, 1, 2, 1]
    assert result.lanes.process.tolist() == [100, 100, -3]
    assert result.lanes.thread.tolist() == [2**33, -2, 42]
    assert result.lanes.label == ("", "pt_autograd_0", "PyTorch Profiler")


def test_the_profilers_own_marks_are_not_events(tmp_path):
    data = trace(
        *LAUNCH,
        mark("Iteration Start: PyTorch Profiler", 8.5),
        mark("Record Window End", 99.25),
        mark("Record Window End", 0),
        baseTimeNanoseconds=1_000_000,
    )
    result = read(tmp_path, data)
    assert result.meta.profiler_start_ns == 1_008_500
    assert result.meta.profiler_end_ns == 1_099_250
    assert result.events.start_ns[0] == 1_010_000
    assert not result.notes


def test_metadata_before_the_events_is_read(tmp_path):
    data = trace(
        *LAUNCH,
        distributedInfo=distributed(3, 8, groups=[group_config("0", [0, 1, 2, 3])]),
        deviceProperties=[{"id": 0, "name": "H200", "numSms": 132}, {"name": "lost"}],
        host_name="node7",
        PT_PROFILER_JOB_NAME="llama",
        cuda_runtime_version=12080,
        cupti_version=26,
        pytorch_version="2.9.0",
        baseTimeNanoseconds=1712195000000000000,
    )
    meta = read(tmp_path, data).meta
    assert (meta.rank, meta.world_size, meta.backend, meta.nccl_version) == (
        3, 8, "nccl", "2.21.5",
    )  # fmt: skip
    assert meta.groups == (GroupConfig("0", "default_pg", "cuda:nccl", 4, (0, 1, 2, 3)),)
    assert meta.devices == (Device(0, "H200"),)
    assert (meta.host, meta.job) == ("node7", "llama")
    assert meta.versions == {"cuda_runtime": "12.8", "cupti": "26", "pytorch": "2.9.0"}
    assert meta.base_time_ns == 1712195000000000000


def test_metadata_after_the_events_counts_as_well(tmp_path):
    after = {"distributedInfo": distributed(1), "baseTimeNanoseconds": 5_000}
    result = read(tmp_path, trace(*LAUNCH, rank=None, after=after))
    assert (result.meta.rank, result.meta.world_size) == (1, 2)
    assert result.events.start_ns[0] == 15_000


def test_the_quoted_rank_lists_of_on_demand_traces_are_read_where_complete(tmp_path):
    groups = [
        group_config("0", "[0, 1, 2]"),
        group_config("1", "[0, 8, 16, (27 more), ...]"),
        group_config("2", "[]"),
        group_config("3", [0, "x"]),
    ]
    info = distributed(1, groups=groups) | {"nccl_version": "unknown"}
    meta = read(tmp_path, trace(*LAUNCH, rank=None, after={"distributedInfo": info})).meta
    assert [group.ranks for group in meta.groups] == [(0, 1, 2), None, None, None]
    assert meta.nccl_version is None


def test_distributed_info_as_a_quoted_object_is_read(tmp_path):
    data = trace(*LAUNCH, distributedInfo=json.dumps(distributed(5)))
    assert read(tmp_path, data).meta.rank == 5


@pytest.mark.parametrize("value", ["none", -1, 3.5, None, True, [], "broken {"])
def test_a_rank_that_is_none_is_not_guessed(tmp_path, value):
    meta = read(tmp_path, trace(*LAUNCH, distributedInfo={"rank": value})).meta
    assert meta.rank is (3 if value == 3.5 else None)


def test_a_compact_file_without_spaces_is_read_alike(tmp_path):
    events = (*LAUNCH, collective(40, 5, seq=1))
    wide, narrow = (read(tmp_path, trace(*events, rank=1, indent=i)) for i in (4, None))
    assert narrow.meta.rank == 1
    assert listed(wide) == listed(narrow)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: b"\n \t" + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        gz,
    ],
    ids=["bom", "white space", "crlf", "gzip"],
)
def test_the_wrapping_of_a_file_changes_no_event(tmp_path, change):
    data = trace(*LAUNCH, collective(40, 5, seq=1))
    expected = read(tmp_path, data)
    result = read(tmp_path, change(data))
    assert listed(result) == listed(expected)
    assert (result.meta, result.notes) == (expected.meta, ())


def test_a_bare_list_is_a_trace_without_metadata(tmp_path):
    result = read(tmp_path, json.dumps(list(LAUNCH)).encode())
    assert listed(result) == listed(read(tmp_path, trace(*LAUNCH)))
    assert (result.meta.rank, result.notes, result.truncated) == (None, (), False)


def test_keys_in_any_order_and_twice_mean_the_same(tmp_path):
    shuffled = (
        b'{"traceEvents":[{"args":{"correlation":1,"stream":7,"device":0,"correlation":3},'
    )
    shuffled += (
        b'"dur":9,"dur":2,"tid":7,"ts":1,"pid":0,"name":"\xc3\xa9\\u00e9","cat":"kernel",'
    )
    shuffled += b'"ph":"X"}]}'
    assert listed(read(tmp_path, shuffled)) == [
        (EventKind.KERNEL, "éé", 1_000, 2_000, 0, 7, 3, -1, 0, 7)
    ]


def test_nested_lists_of_objects_in_args_are_no_events(tmp_path):
    inner = [{"name": "x", "ph": "X"}, {"name": "y", "ts": 1}]
    data = trace(*(cpu_op("outer", i, 1, args={"list": inner}) for i in range(9)))
    for chunk_bytes in (1, 50, 10_000):
        result = read(tmp_path, data, chunk_bytes=chunk_bytes)
        assert [row[1] for row in listed(result)] == ["outer"] * 9
        assert not result.notes


def test_times_as_text_are_times(tmp_path):
    data = trace(cpu_op("x", "1712195495505582.988", "1.5"))
    events = read(tmp_path, data).events
    assert (events.start_ns[0], events.duration_ns[0]) == (1712195495505582988, 1500)


def test_a_base_time_is_not_added_to_times_since_1970(tmp_path):
    data = trace(cpu_op("x", 1712195495505582, 1), baseTimeNanoseconds=1712195000000000000)
    result = read(tmp_path, data)
    assert result.events.start_ns.tolist() == [1712195495505582000]
    assert result.meta.base_time_ns == 0
    assert reasons(result) == {"base_time_ignored": 1}


def test_files_with_base_times_three_months_apart_have_their_own(tmp_path):
    quarter = 90 * 86_400 * 10**9
    starts = [
        read(tmp_path, trace(*LAUNCH, baseTimeNanoseconds=base)).events.start_ns[0]
        for base in (10**18, 10**18 + quarter)
    ]
    assert starts[1] - starts[0] == quarter


def test_a_base_time_that_is_none_is_noted(tmp_path):
    result = read(tmp_path, trace(*LAUNCH, baseTimeNanoseconds="soon"))
    assert reasons(result) == {"base_time_unreadable": 1}


def test_no_event_ends_after_time_does(tmp_path):
    """Start and duration and base time are each such that two of them have room."""
    late = cpu_op("late", "4600000000000000", "4600000000000000")
    data = trace(*LAUNCH, late, baseTimeNanoseconds=4 * 10**18)
    result = read(tmp_path, data)
    events = result.events
    assert len(events) == len(LAUNCH)
    assert (events.start_ns + events.duration_ns > events.start_ns).all()
    assert reasons(result) == {"duration_beyond_window": 1}


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ({"dur": -1}, "duration_unfinished"),
        ({"dur": -0.5}, "duration_negative"),
        ({"dur": 7.4e15}, "duration_beyond_window"),
        ({"dur": 7.4e12}, "duration_beyond_window"),
        ({"dur": None}, "duration_missing"),
        ({"dur": "nan"}, "duration_nonfinite"),
        ({"dur": "long"}, "duration_unreadable"),
        ({"ts": None}, "start_missing"),
        ({"ts": "inf"}, "start_nonfinite"),
        ({"ts": "now"}, "start_unreadable"),
        ({"ts": 1e30}, "start_outside_window"),
        ({"ts": 0, "dur": 0}, "start_zero"),
    ],
)
def test_a_kernel_with_such_a_time_is_left_out_and_counted(tmp_path, odd, reason):
    result = read(tmp_path, trace(kernel("bad", 12, 3) | odd, *LAUNCH, kernel("k", 50, 1)))
    assert [row[1] for row in listed(result)] == [
        "aten::mm",
        "cudaLaunchKernel",
        "gemm",
        "k",
    ]
    assert reasons(result) == {reason: 1}
    assert "bad" in result.notes[0].where
    assert result.events.start_ns.min() == 10_000


def test_overlapping_kernels_on_a_stream_are_kept(tmp_path):
    data = trace(kernel("a", 10, 5), kernel("b", 12, 5), kernel("c", 16.8, 5))
    result = read(tmp_path, data)
    assert len(result.events) == 3
    assert not result.notes


def test_a_kernel_that_starts_before_its_launch_is_kept(tmp_path):
    data = trace(runtime("cudaLaunchKernel", 100, 5, corr=1), kernel("a", 97, 5, corr=1))
    assert listed(read(tmp_path, data))[0][1] == "a"


def test_children_beyond_their_parents_and_zero_durations_are_kept_to_the_nanosecond(
    tmp_path,
):
    data = trace(cpu_op("p", 0, 10), cpu_op("c", 9.9, 0.401), runtime("r", 10, 0))
    rows = [row[1:4] for row in listed(read(tmp_path, data))]
    assert rows == [("p", 0, 10_000), ("c", 9_900, 401), ("r", 10_000, 0)]


@pytest.mark.parametrize(
    "data",
    [
        trace(thread_name(1, 1, "thread 1 (python)")),
        trace(),
        b"[]",
        b'{"schemaVersion": 1, "traceEvents": null}',
        b'{"traceEvents": []}',
    ],
)
def test_a_trace_without_events_is_empty_and_says_so(tmp_path, data):
    result = read(tmp_path, data)
    assert len(result.events) == 0
    assert reasons(result) == {"no_events": 1}
    assert not result.truncated


def test_json_without_a_list_of_events_is_no_trace(tmp_path):
    with pytest.raises(NotATraceError, match="no list of traceEvents exists in 33 bytes"):
        read(tmp_path, b'{"schemaVersion": 1, "other": []}')


@pytest.mark.parametrize("more", [
    b', "traceEvents": [{"ph": "X"}]}', b'} {"traceEvents": []}', b'}\n{"traceEvents":[{',
])  # fmt: skip
def test_a_second_list_of_events_is_not_left_out_in_silence(tmp_path, more):
    whole = trace(*LAUNCH, indent=None).rstrip()
    result = read(tmp_path, whole.removesuffix(b"}") + more)
    assert len(result.events) == len(LAUNCH)
    assert reasons(result)["second_list"] == 1
    assert "second_list" not in reasons(read(tmp_path, whole))


def test_text_without_end_is_given_up_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("synctax.trace.chunks.MAX_OUTSIDE_BYTES", 1_000)
    data = b'{"schemaVersion": 1, "text": "' + b"x" * 10_000
    with pytest.raises(NotATraceError, match=r"begins in [0-9,]+ bytes"):
        read(tmp_path, data, chunk_bytes=500)


def test_categories_beyond_a_hundred_are_counted_together(tmp_path):
    result = read(tmp_path, trace(*(event(f"odd {i:03}", "x", i, 1) for i in range(130))))
    assert reasons(result) == {"unknown_category": 130, "no_events": 1}
    assert {n.detail: n.count for n in result.notes}["other categories"] == 30
    assert len(result.notes) == 102


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b'{"schema":"1.1.1","nodes":[]}', "execution trace"),
        (b"\n\x8b\x01\x08\x01\x12\x05\x00abc\x00\x00\x18", "Perfetto"),
        (b"a;b;c 12\n", "stacks"),
        (b"", "empty"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path, data, what):
    with pytest.raises(NotATraceError, match=what):
        read(tmp_path, data)


def test_a_missing_file_is_bad_input(tmp_path):
    with pytest.raises(BadInputError, match=r"none\.json"):
        read_rank(tmp_path / "none.json")


def test_the_bytes_of_the_file_are_reported_as_they_are_read(tmp_path):
    seen = []
    data = gz(trace(*LAUNCH))
    result = read(tmp_path, data, on_bytes=seen.append)
    assert sum(seen) == len(data)
    assert result.bytes_read == len(trace(*LAUNCH))


def test_a_url_is_read_like_a_file(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    data = trace(*LAUNCH)
    with fsspec.open("memory://rank0.json", "wb") as file:
        file.write(data)
    assert listed(read_rank("memory://rank0.json")) == listed(read(tmp_path, data))


def test_reading_twice_gives_the_same(tmp_path):
    data = trace(*LAUNCH, annotation("nccl:all_reduce", 3, 4))
    assert difference(read(tmp_path, data), read(tmp_path, data)) == ""
