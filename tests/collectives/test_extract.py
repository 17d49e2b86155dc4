"""From a rank's events to its participations: operation, size, step, peer, busy time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from synctax.collectives.extract import extract
from synctax.notes import Note
from synctax.trace.model import Device, TraceMeta
from tests.collectives.build import (
    call,
    copy,
    described,
    dtypes,
    kernel,
    launched,
    op,
    ops,
    rank_trace,
    reasons,
)
from tests.laws import examples

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
OLD_ALL_REDUCE = (
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"
)
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
GENERIC = "ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)"
GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn"


def test_both_eras_of_names_and_the_compute_between_them_are_told_apart():
    found = extract(
        rank_trace([
            kernel(OLD_ALL_REDUCE, 0, 10),
            kernel(GEMM, 20, 10, stream=7),
            kernel(ALL_REDUCE, 40, 10),
            kernel("void at::native::reduce_kernel<512, ncclAllReduce>(int)", 60, 10),
        ])
    )  # fmt: skip
    assert ops(found) == ["all_reduce", "all_reduce"]
    assert dtypes(found) == ["float32", "bfloat16"]
    assert [found.strings[code] for code in found.kernel] == [OLD_ALL_REDUCE, ALL_REDUCE]
    assert (found.comm_kernels, found.compute_kernels) == (2, 2)


def test_a_kernel_with_metadata_says_everything_itself():
    args = described("_allgather_base", **{"Out msg nelems": 2048, "Seq": 7})
    found = extract(rank_trace([kernel("ncclDevKernel_AllGather_RING_LL", 5, 10, **args)]))
    assert ops(found) == ["all_gather"]
    assert found.payload_bytes[0] == 2048 * 2
    assert dtypes(found) == ["bfloat16"]
    assert found.seq[0] == 7
    assert found.named.all()
    assert (found.start_ns[0], found.duration_ns[0]) == (5000, 10_000)
    assert found.notes == ()


def test_a_comms_id_beyond_int64_survives():
    args = described("allreduce", **{"Comms Id": 17293822569102704640})
    found = extract(rank_trace([kernel(ALL_REDUCE, 0, 1, **args)]))
    assert int(found.comms_id[0]) == 17293822569102704640


def test_an_empty_trace_has_no_participations():
    found = extract(rank_trace([]))
    assert len(found) == 0
    assert (found.rank, found.host) == (-1, "")
    assert (found.window_start_ns, found.window_end_ns) == (0, 0)
    assert found.groups == found.notes == ()


def test_the_trace_names_its_rank_and_its_host():
    meta = TraceMeta(rank=3, host="node1", devices=(Device(0, "H100"), Device(1, "H100")))
    found = extract(rank_trace([kernel(ALL_REDUCE, 2, 1, device=1)], meta))
    assert (found.rank, found.host) == (3, "node1")
    assert (found.window_start_ns, found.window_end_ns) == (2000, 3000)


# --- splits and peers


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"In split size": "[]", "Out split size": "[]"}, False),
        ({"In split size": "[512, 512]", "Out split size": "[512, 512]"}, False),
        ({"In split size": "[500, 524]", "Out split size": "[512, 512]"}, True),
        ({"In split size": "[512, 512]", "Out split size": "[500, 524, ...]"}, True),
        ({"Out msg nelems": 999}, True),
    ],
)
def test_an_all_to_all_is_uneven_where_its_splits_are_known_to_differ(more, expected):
    args = described("all_to_allv", **more)
    found = extract(rank_trace([kernel(SEND_RECV, 0, 1, **args)]))
    assert found.uneven[0] == expected


def test_an_all_gather_is_not_uneven_though_its_output_is_larger():
    args = described("_allgather_base", **{"Out msg nelems": 2048})
    found = extract(rank_trace([kernel("ncclDevKernel_AllGather_RING_LL", 0, 1, **args)]))
    assert not found.uneven[0]


def test_a_send_knows_where_it_goes_and_a_receive_where_it_comes_from():
    found = extract(
        rank_trace([
            kernel(SEND_RECV, 0, 1, **described("send", **{"Dst Rank": 5, "Rank": 1})),
            kernel(SEND_RECV, 5, 1, **described("recv", **{"Src Rank": 2, "Rank": 0})),
            kernel(ALL_REDUCE, 9, 1, **described("allreduce", **{"Dst Rank": 3})),
        ])
    )  # fmt: skip
    assert_array_equal(found.peer, [5, 2, -1])


def test_an_annotation_counts_its_peer_within_the_group():
    args = {"Process Group Name": "4", "Process Group Ranks": "[2, 6]", "Group size": 2}
    events = launched(SEND_RECV, "nccl:send 0->1")
    events[0]["args"] = args
    assert_array_equal(extract(rank_trace(events)).peer, [6])

    del events[0]["args"]["Process Group Ranks"]
    assert_array_equal(extract(rank_trace(events)).peer, [-1])


# --- steps


def steps_on_cpu_and_gpu():
    gpu = {**op("ProfilerStep#2", 150, 100), "cat": "gpu_user_annotation"}
    return [op("ProfilerStep#1", 0, 100), op("ProfilerStep#2", 100, 100), gpu]


def test_the_launch_decides_the_step_of_work_that_runs_late():
    late = [call(90, 5), kernel(ALL_REDUCE, 130, 10, correlation=5)]
    found = extract(rank_trace([*steps_on_cpu_and_gpu(), *late]))
    assert_array_equal(found.step, [1])
    assert_array_equal(found.step_number, [1, 2])
    assert_array_equal(found.step_end_ns, [100_000, 200_000])


def test_of_a_call_and_the_driver_call_within_it_the_outer_launches():
    outer, inner = call(99, 5), call(101, 5, name="cuLaunchKernelEx")
    events = [outer, inner, kernel(ALL_REDUCE, 130, 10, correlation=5)]
    assert_array_equal(extract(rank_trace([*steps_on_cpu_and_gpu(), *events])).step, [1])


def test_a_kernel_without_a_launch_lies_in_the_step_that_the_gpu_is_in():
    found = extract(rank_trace([*steps_on_cpu_and_gpu(), kernel(ALL_REDUCE, 210, 10)]))
    assert_array_equal(found.step, [2])


def test_a_launch_outside_of_every_step_belongs_to_none():
    events = [call(300, 5), kernel(ALL_REDUCE, 310, 10, correlation=5)]
    assert_array_equal(extract(rank_trace([*steps_on_cpu_and_gpu(), *events])).step, [-1])


def test_without_steps_no_participation_has_one():
    found = extract(rank_trace([kernel(ALL_REDUCE, 310, 10)]))
    assert_array_equal(found.step, [-1])
    assert found.step_number.size == 0


# --- compute beside communication


def test_compute_counts_as_busy_only_while_the_rank_communicates():
    found = extract(
        rank_trace([
            kernel(ALL_REDUCE, 100, 50),
            kernel(ALL_REDUCE, 140, 30, stream=24),
            kernel(GEMM, 90, 20, stream=7),
            kernel(GEMM, 105, 20, stream=8),
            kernel(GEMM, 160, 90, stream=7),
            kernel(GEMM, 130, 0, stream=7),
            copy("Memcpy DtoD (Device -> Device)", 135, 5, stream=7),
        ])
    )  # fmt: skip
    assert_array_equal(found.busy_start_ns, [100_000, 160_000])
    assert_array_equal(found.busy_end_ns, [125_000, 170_000])


spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 15)), max_size=12)


@settings(max_examples=examples(50))
@given(spans, spans)
def test_busy_time_is_the_time_at_which_both_kinds_of_kernels_run(communication, compute):
    found = extract(
        rank_trace([
            *(kernel(ALL_REDUCE, ts, dur) for ts, dur in communication),
            *(kernel(GEMM, ts, dur, stream=7) for ts, dur in compute),
        ])
    )  # fmt: skip

    def moments(intervals):
        return {t for ts, dur in intervals for t in range(ts, ts + dur)}

    start, end = found.busy_start_ns // 1000, found.busy_end_ns // 1000
    assert (start < end).all()
    assert (end[:-1] <= start[1:]).all()
    both = moments(communication) & moments(compute)
    assert moments(zip(start.tolist(), (end - start).tolist(), strict=True)) == both


# --- what leaves no kernel


def copied(*, tid=1):
    return [
        op("c10d::_allgather_base_", 0, 20, tid=tid),
        op("record_param_comms", 1, 18, tid=tid),
        call(5, 8, tid=tid, name="cudaMemcpyAsync"),
        call(7, 9, tid=tid, name="cudaMemcpyAsync"),
        copy("Memcpy PtoP (Device -> Device)", 30, 5, correlation=8),
        copy("Memcpy PtoP (Device -> Device)", 36, 5, correlation=9),
    ]


def test_a_collective_of_copy_engines_is_counted_and_not_measured():
    found = extract(rank_trace([*copied(), kernel(ALL_REDUCE, 50, 5)]))
    assert ops(found) == ["all_reduce"]
    assert reasons(found)["copy_engine_collective"] == 1


def test_a_collective_of_copy_engines_alone_is_counted_too():
    found = extract(rank_trace(copied()))
    assert len(found) == 0
    assert reasons(found) == {"copy_engine_collective": 1}


def test_a_copy_beside_the_kernel_of_a_call_is_no_collective_of_its_own():
    events = [*copied(), call(9, 10), kernel(GENERIC, 50, 5, correlation=10)]
    assert "copy_engine_collective" not in reasons(extract(rank_trace(events)))


def test_a_copy_outside_of_collectives_is_none():
    events = [call(5, 8), copy("Memcpy PtoP (Device -> Device)", 30, 5, correlation=8)]
    assert extract(rank_trace(events)).notes == ()


def test_a_call_whose_kernel_lies_outside_the_window_is_counted():
    events = [*launched(ALL_REDUCE, "nccl:all_reduce"), op("nccl:all_reduce", 500, 10)]
    assert reasons(extract(rank_trace(events)))["call_without_kernel"] == 1


def test_a_trace_without_gpu_activity_says_so():
    found = extract(rank_trace([op("nccl:all_reduce", 500, 10)]))
    assert len(found) == 0
    assert reasons(found) == {"gpu_not_recorded": 1}


def test_notes_of_reading_come_first():
    trace = rank_trace([kernel(GENERIC, 0, 1)])
    read = Note("unescaped_quote", 2)
    with_note = type(trace)(
        **{name: getattr(trace, name) for name in trace.__slots__ if name != "notes"},
        notes=(read,),
    )
    assert extract(with_note).notes[0] == read


# --- laws


@settings(max_examples=examples(25))
@given(st.integers(-(10**6), 10**6), st.permutations(range(7)))
def test_neither_clock_nor_order_of_the_file_changes_what_was_found(shift, order):
    events = [
        *launched(SEND_RECV, "nccl:all_to_all"),
        op("ProfilerStep#1", 0, 15),
        kernel(GEMM, 22, 4, stream=7),
        kernel(ALL_REDUCE, 60, 10, **described("allreduce")),
    ]
    moved = [{**events[i], "ts": events[i]["ts"] + shift} for i in order]
    one, other = extract(rank_trace(events)), extract(rank_trace(moved))
    assert_array_equal(one.start_ns + shift * 1000, other.start_ns)
    assert_array_equal(one.busy_end_ns + shift * 1000, other.busy_end_ns)
    for name in ("duration_ns", "op", "payload_bytes", "step", "group", "peer", "named"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.groups == other.groups
    assert one.notes == other.notes
    assert np.all(np.diff(one.start_ns) >= 0)
