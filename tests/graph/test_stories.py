"""Small traces that tell what waited for what, and the edges and paths made of them."""

import numpy as np
import pytest

from synctax.errors import SynctaxError
from synctax.graph.build import build_graph
from synctax.graph.critical_path import critical_paths, deciding_edges
from synctax.graph.model import EdgeKind, NodeKind
from synctax.trace.kineto import read_rank
from tests.graph.made import Told, copy, launch, made, sync
from tests.trace import builders
from tests.trace.builders import annotation, cpu_op, kernel, runtime, step, stream_wait

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


def record_and_wait(record=4, wait=5, at=15.0):
    """The two calls that let one stream wait for another."""
    return [
        runtime("cudaEventRecord", at, 0.5, corr=record),
        runtime("cudaStreamWaitEvent", at + 1, 0.5, corr=wait),
    ]


# ------------------------------------------------------------------ kinds of edges


def test_a_kernel_waits_for_its_launch_its_stream_and_a_recorded_event():
    story = Told(
        launch("gemm", (0, 5), (10, 50), corr=1),
        launch("add", (6, 12), (51, 60), corr=2),
        record_and_wait(),
        stream_wait(16.1, 0.3, stream=20, on_stream=7, on_corr=4, corr=5),
        launch("early", (12, 14), (18, 20), stream=20, corr=3, by="launch early"),
        launch(NCCL, (17, 22), (61, 90), stream=20, corr=6, by="launch nccl"),
    )
    assert story.into("add") == {
        ("gemm", "stream", "recorded"),
        ("cudaLaunchKernel", "launch", "recorded"),
    }
    assert story.into(NCCL) == {
        ("early", "stream", "recorded"),
        ("launch nccl", "launch", "recorded"),
        ("add", "cross", "recorded"),
    }
    assert story.into("gemm") == {
        ("root", "root", "recorded"),
        ("cudaLaunchKernel", "launch", "recorded"),
    }
    assert story.path(NCCL) == [("cudaLaunchKernel", 5), ("gemm", 40), ("add", 9)]
    assert story.nodes.kind[story.node(NCCL)] == NodeKind.COLLECTIVE
    assert story.reasons() == {"sync_recorded": 1}


def test_a_launch_is_complete_when_its_kernel_starts():
    story = Told(launch("gemm", (0, 30), (12, 20), corr=1))
    assert story.path("gemm") == [("cudaLaunchKernel", 12)]


def test_of_several_recorded_waits_the_last_to_complete_decides():
    story = Told(
        launch("left", (0, 2), (10, 70), stream=7, corr=1),
        launch("right", (3, 5), (10, 80), stream=8, corr=2),
        runtime("cudaEventRecord", 6, 1, corr=11),
        runtime("cudaEventRecord", 8, 1, corr=12),
        runtime("cudaStreamWaitEvent", 10, 1, corr=13),
        runtime("cudaStreamWaitEvent", 12, 1, corr=14),
        stream_wait(10, 1, stream=20, on_stream=8, on_corr=12, corr=13),
        stream_wait(12, 1, stream=20, on_stream=7, on_corr=11, corr=14),
        stream_wait(12.5, 1, stream=20, on_stream=7, on_corr=11, corr=14),
        launch(NCCL, (14, 16), (81, 99), stream=20, corr=3),
    )
    crossing = {edge for edge in story.into(NCCL) if edge[1] == "cross"}
    assert crossing == {("left", "cross", "recorded"), ("right", "cross", "recorded")}
    assert np.sum(story.graph.child == story.node(NCCL)) == 4  # root, launch, two waits
    assert story.path(NCCL)[-1] == ("right", 70)


def test_recorded_waits_win_over_what_times_suggest():
    story = Told(
        launch("gemm", (0, 2), (10, 50), corr=1),
        launch("unrelated", (3, 5), (10, 60), stream=9, corr=2),
        record_and_wait(at=6),
        stream_wait(7, 0.3, stream=20, on_stream=7, on_corr=4, corr=5),
        launch(NCCL, (8, 9), (61, 90), stream=20, corr=6),
        launch("free", (10, 12), (95, 99), stream=21, corr=7),
    )
    assert ("gemm", "cross", "recorded") in story.into(NCCL)
    assert not any(edge[0] == "unrelated" for edge in story.into(NCCL))
    assert story.into("free") == {
        ("root", "root", "recorded"),
        ("cudaLaunchKernel", "launch", "recorded"),
    }


def test_a_record_of_nothing_still_says_that_nothing_else_was_waited_for():
    story = Told(
        launch("gemm", (0, 2), (10, 50), corr=1),
        record_and_wait(at=6),
        stream_wait(7, 0.3, stream=20, on_stream=99, on_corr=4, corr=5),
        launch(NCCL, (8, 9), (61, 90), stream=20, corr=6),
    )
    assert {edge[1] for edge in story.into(NCCL)} == {"root", "launch"}


def test_an_unresolved_wait_is_inferred_and_not_a_late_launch():
    story = Told(
        launch("gemm_A", (970, 975), (985, 1785), corr=12),
        runtime("cudaEventRecord", 978, 1, corr=13),
        runtime("cudaStreamWaitEvent", 981, 1, corr=14),
        stream_wait(981, 1, stream=20, corr=14),
        launch(NCCL, (984, 990), (1786, 1900), stream=20, corr=15),
    )
    assert ("gemm_A", "cross", "calls") in story.into(NCCL)
    assert story.path(NCCL) == [("cudaLaunchKernel", 5), ("gemm_A", 800)]
    assert story.reasons() == {"sync_unresolved": 1, "edges_cross_calls": 1}


def test_an_unresolved_wait_without_its_call_is_inferred():
    story = Told(
        launch("gemm_A", (970, 975), (985, 1785), corr=12),
        stream_wait(981, 1, stream=20, corr=14),
        launch(NCCL, (984, 990), (1786, 1900), stream=20, corr=15),
    )
    assert ("gemm_A", "cross", "inferred") in story.into(NCCL)


def test_calls_alone_tell_that_a_kernel_waited():
    story = Told(
        launch("gemm", (0, 2), (10, 50), corr=1),
        record_and_wait(at=4),
        launch(NCCL, (6, 8), (51, 90), stream=20, corr=6),
        launch("prompt", (81, 83), (92, 95), stream=21, corr=7),
        launch("late", (84, 85), (130, 140), stream=22, corr=8),
    )
    assert ("gemm", "cross", "calls") in story.into(NCCL)
    # its launch explains its start
    assert {edge[1] for edge in story.into("prompt")} == {"root", "launch"}
    # nothing explains this one, but that it ran after the others
    assert ("prompt", "cross", "inferred") in story.into("late")


def test_what_was_launched_after_the_wait_was_not_waited_for():
    story = Told(
        launch("gemm", (0, 2), (10, 50), corr=1),
        record_and_wait(at=4),
        launch("after", (6, 8), (12, 55), stream=9, corr=2, tid=2),
        launch(NCCL, (7, 9), (56, 90), stream=20, corr=6),
    )
    assert ("gemm", "cross", "calls") in story.into(NCCL)
    assert ("after", "cross", "calls") not in story.into(NCCL)


def test_without_any_sign_of_waits_the_last_event_to_end_may_have_been_waited_for():
    story = Told(
        launch("first", (0, 2), (10, 40), corr=1),
        launch("second", (3, 5), (10, 50), stream=8, corr=2),
        launch(NCCL, (6, 8), (51, 90), stream=20, corr=3),
    )
    assert ("second", "cross", "inferred") in story.into(NCCL)
    assert not any(edge[0] == "first" for edge in story.into(NCCL))


def test_a_ready_kernel_waits_for_room_on_the_gpu():
    """`big` was launched after `small`, and yet `small` started when `big` had ended."""
    story = Told(
        record_and_wait(at=0),
        launch("small", (2, 3), (60, 65), stream=8, corr=2),
        launch("big", (4, 6), (10, 59), corr=1),
    )
    assert ("big", "cross", "inferred") in story.into("small")


def test_a_stream_passes_on_what_it_was_told_to_wait_for():
    """Stream 8 runs nothing after its wait: its event, and a sync with it, wait too."""
    story = Told(
        launch("gemm", (0, 2), (10, 50), corr=1),
        launch("short", (3, 5), (6, 9), stream=8, corr=2),
        record_and_wait(record=4, wait=5, at=6),
        stream_wait(7, 0.3, stream=8, on_stream=7, on_corr=4, corr=5),
        record_and_wait(record=14, wait=15, at=9),
        stream_wait(10, 0.3, stream=20, on_stream=8, on_corr=14, corr=15),
        launch(NCCL, (11, 12), (51, 90), stream=20, corr=6),
        runtime("cudaStreamSynchronize", 20, 34, corr=7),
        sync("Stream Sync", 20, 34, corr=7, stream=8),
    )
    crossing = {edge for edge in story.into(NCCL) if edge[1] == "cross"}
    assert crossing == {("gemm", "cross", "recorded"), ("short", "cross", "recorded")}
    assert ("gemm", "sync", "recorded") in story.into("cudaStreamSynchronize")


def test_a_record_that_times_contradict_is_left_out_and_counted():
    story = Told(
        launch("gemm", (0, 2), (10, 50), corr=1),
        record_and_wait(at=4),
        stream_wait(5, 0.3, stream=20, on_stream=7, on_corr=4, corr=5),
        launch(NCCL, (6, 8), (30, 90), stream=20, corr=6),
    )
    assert {edge[1] for edge in story.into(NCCL)} == {"root", "launch"}
    assert story.reasons() == {"sync_contradicted": 1}


def test_an_event_recorded_again_after_the_wait_makes_no_cycle():
    story = Told(
        launch("a", (0, 2), (10, 20), corr=1),
        runtime("cudaStreamWaitEvent", 4, 1, corr=5),
        stream_wait(4, 1, stream=20, on_stream=7, on_corr=9, corr=5),
        launch(NCCL, (6, 8), (30, 40), stream=20, corr=6),
        launch("b", (9, 11), (45, 50), corr=7),
        runtime("cudaEventRecord", 12, 1, corr=9),
    )
    assert (story.graph.parent < story.graph.child).all()
    assert {edge[1] for edge in story.into(NCCL)} == {"root", "launch"}


# ----------------------------------------------------------------- graphs, overlaps


def graph_launch(call, corr, *kernels):
    """One call, several kernels: (name, start, stop, stream, node)."""
    return [
        runtime("cudaGraphLaunch", call[0], call[1] - call[0], corr=corr),
        *(
            kernel(
                name, start, stop - start, stream=stream, corr=corr,
                args={"graph node id": node} if node else {},
            )
            for name, start, stop, stream, node in kernels
        ),
    ]  # fmt: skip


@pytest.mark.parametrize("numbered", [True, False])
def test_one_launch_owns_all_kernels_of_a_graph(numbered):
    nodes = iter((11, 12, 13, 14)) if numbered else iter((0, 0, 0, 0))
    story = Told(
        launch("before", (0, 2), (10, 50), stream=9, corr=1),
        graph_launch(
            (3, 8), 2,
            ("q", 20, 30, 7, next(nodes)), ("k", 31, 45, 7, next(nodes)),
            ("v", 31, 40, 8, next(nodes)), ("o", 46, 52, 8, next(nodes)),
        ),
    )  # fmt: skip
    for name in "qkvo":
        assert ("cudaGraphLaunch", "launch", "recorded") in story.into(name)
    assert ("q", "cross", "inferred") in story.into("v")
    # `before` ended later than `k`, but is of another launch
    assert ("k", "cross", "inferred") in story.into("o")
    assert story.path("o") == [
        ("cudaLaunchKernel", 2), ("gap before cudaGraphLaunch", 1), ("cudaGraphLaunch", 5),
        ("q", 10), ("k", 14),
    ]  # fmt: skip


def test_two_replays_of_one_graph_do_not_wait_for_each_other_inside():
    story = Told(
        graph_launch((0, 4), 1, ("a1", 10, 20, 7, 11), ("b1", 21, 60, 8, 12)),
        graph_launch((5, 9), 2, ("a2", 22, 30, 7, 11), ("c2", 62, 70, 9, 13)),
    )
    assert ("a2", "cross", "inferred") in story.into("c2")
    assert ("b1", "cross", "inferred") not in story.into("c2")


def test_a_kernel_that_starts_early_on_its_stream_has_no_negative_gap():
    """Programmatic dependent launch: the next kernel begins before this one ends."""
    story = Told(
        launch("gemm", (0, 2), (10, 50), corr=1),
        launch("gemm2", (3, 5), (45, 80), corr=2),
        launch(NCCL, (6, 8), (81, 90), corr=3),
    )
    assert story.path(NCCL) == [("cudaLaunchKernel", 2), ("gemm", 35), ("gemm2", 35)]


def test_streams_of_two_devices_are_told_apart():
    story = Told(
        launch("here", (0, 2), (10, 50), corr=1),
        launch("there", (3, 4), (10, 90), device=1, corr=2),
        record_and_wait(at=5),
        stream_wait(6, 0.3, stream=20, on_stream=7, on_corr=4, corr=5),
        launch(NCCL, (8, 9), (51, 60), stream=20, corr=6),
        launch("next", (10, 11), (91, 99), device=1, corr=7),
        runtime("cudaStreamSynchronize", 12, 50, corr=8),
        sync("Stream Sync", 12, 50, corr=8, stream=20),
        runtime("cudaStreamSynchronize", 63, 30, corr=9),
        sync("Stream Sync", 63, 30, corr=9, stream=7, device=1),
    )
    assert ("here", "cross", "recorded") in story.into(NCCL)
    assert {e[0] for e in story.into("next") if e[1] == "stream"} == {"there"}
    waits = [piece for piece in story.thread(1) if piece[0].startswith("wait")]
    assert waits == [("wait in cudaStreamSynchronize", 12, 60)]


def test_a_device_sync_among_devices_waits_for_its_own():
    events = [
        launch("here", (0, 2), (10, 50), corr=1),
        launch("there", (3, 4), (10, 55), device=1, corr=2),
        runtime("cudaDeviceSynchronize", 5, 52, corr=3),
    ]
    record = sync("Context Sync", 5, 52, corr=3, device=0)
    told, guessed = Told(events, record), Told(events)
    assert ("here", "sync", "calls") in told.into("cudaDeviceSynchronize")
    assert ("there", "sync", "inferred") in guessed.into("cudaDeviceSynchronize")


def test_lanes_follow_device_and_stream_not_the_row_in_the_viewer():
    moved = {**kernel("b", 30, 10, stream=7, corr=2), "tid": 99}
    story = Told(
        launch("a", (0, 2), (10, 20), corr=1),
        runtime("cudaLaunchKernel", 3, 2, corr=2), moved,
    )  # fmt: skip
    assert ("a", "stream", "recorded") in story.into("b")


# ------------------------------------------------------------------ clocks of a rank


def test_kernels_that_start_before_their_launch_show_the_skew_of_the_clocks():
    kernels = [
        launch(f"k{i}", (100 * i, 100 * i + 5), (100 * i - 40 + i, 100 * i + 20), corr=i)
        for i in range(1, 9)
    ]
    story = Told(kernels)
    assert story.graph.skew_ns == -39_000
    assert story.reasons() == {"host_clock_skew": 1}
    assert ("cudaLaunchKernel", "launch", "recorded") in story.into("k8")
    assert story.thread(1)[0] == ("cudaLaunchKernel", 61, 66)


@pytest.mark.parametrize(("delay", "noted"), [(150_000, False), (250_000, True)])
def test_a_host_clock_that_may_be_behind_is_noted_and_left(delay, noted):
    story = Told(
        launch("gemm", (0, 5), (delay, delay + 10), corr=1),
        launch("add", (6, 9), (delay + 20, delay + 30), corr=2),
    )
    assert story.graph.skew_ns == 0
    assert story.reasons() == ({"host_clock_early": 1} if noted else {})


@pytest.mark.parametrize("count", [1, 2, 30])
def test_a_damaged_launch_is_no_skew(count):
    sane = [launch(f"k{i}", (50 * i, 50 * i + 5), (50 * i + 8, 50 * i + 20), corr=i + 1)
            for i in range(count)]  # fmt: skip
    damaged = launch("odd", (9_000, 9_005), (4_000, 4_001), stream=8, corr=999)
    story = Told(sane, damaged)
    assert story.graph.skew_ns == 0
    assert story.reasons()["launch_inverted"] == 1
    assert not any(edge[1] == "launch" for edge in story.into("odd"))


def test_a_damaged_launch_does_not_hide_what_was_launched_when():
    story = Told(
        launch("a", (0, 2), (10, 20), corr=1),
        launch("odd", (9_000, 9_005), (21, 22), corr=2),
        launch("b", (4, 6), (30, 60), corr=3),
        runtime("cudaStreamSynchronize", 8, 54, corr=4),
        sync("Stream Sync", 8, 54, corr=4, stream=7),
    )
    assert ("b", "sync", "recorded") in story.into("cudaStreamSynchronize")


# -------------------------------------------------------------------------- ROCm


def test_stream_0_and_hip_names_are_like_any_other():
    """Durations on ROCm overlap: the last to end of what ends in time released the call."""
    story = Told(
        launch("Cijk_gemm", (0, 5), (10, 60), stream=0, corr=1, by="hipLaunchKernel"),
        launch("add", (6, 9), (59, 80), stream=0, corr=2, by="hipExtModuleLaunchKernel"),
        runtime("hipStreamSynchronize", 10, 72, corr=3),
        runtime("hipMemcpyWithStream", 90, 30, corr=4),
        copy("CopyDeviceToHost", 95, 118, stream=0, corr=4),
    )
    assert ("Cijk_gemm", "stream", "recorded") in story.into("add")
    assert ("add", "sync", "inferred") in story.into("hipStreamSynchronize")
    assert ("CopyDeviceToHost", "sync", "recorded") in story.into("hipMemcpyWithStream")
    assert story.thread(1)[-2:] == [
        ("wait in hipMemcpyWithStream", 90, 118), ("hipMemcpyWithStream", 118, 120),
    ]  # fmt: skip


# ------------------------------------------------------------------ blocking calls


@pytest.mark.parametrize(
    ("name", "provenance"),
    [
        ("cudaStreamSynchronize", "inferred"),
        ("cudaEventSynchronize", "inferred"),
        ("cudaDeviceSynchronize", "calls"),
        ("hipDeviceSynchronize", "calls"),
        ("hipEventSynchronize", "inferred"),
    ],
)
def test_a_blocking_call_is_cut_where_what_it_waited_for_completed(name, provenance):
    story = Told(
        launch("gemm", (0, 5), (10, 80), corr=1),
        runtime(name, 6, 79, corr=2),
        launch("next", (90, 95), (99, 120), corr=3),
    )
    assert story.thread(1)[1:4] == [
        ("gap before " + name, 5, 6), ("wait in " + name, 6, 80), (name, 80, 85),
    ]  # fmt: skip
    assert story.into(name) == {
        ("wait in " + name, "chain", "recorded"),
        ("gemm", "sync", provenance),
    }
    assert story.path("next") == [
        ("cudaLaunchKernel", 5), ("gemm", 70), (name, 5),
        ("gap before cudaLaunchKernel", 5), ("cudaLaunchKernel", 5),
    ]  # fmt: skip


def test_a_sync_looks_at_the_stream_or_event_that_its_record_names():
    story = Told(
        launch("gemm", (0, 2), (10, 50), corr=1),
        runtime("cudaEventRecord", 3, 1, corr=2),
        launch("later", (5, 7), (51, 58), corr=3),
        launch("other", (8, 9), (12, 60), stream=9, corr=4),
        runtime("cudaEventSynchronize", 10, 52, corr=5),
        sync("Event Sync", 10, 52, corr=5, on=7, record=2),
        runtime("cudaStreamSynchronize", 63, 1, corr=6),
        sync("Stream Sync", 63, 1, corr=6, stream=9),
    )
    assert ("gemm", "sync", "recorded") in story.into("cudaEventSynchronize")
    # what its stream held was complete before the call, which is not cut
    assert ("other", "sync", "recorded") in story.into("cudaStreamSynchronize")
    assert ("cudaStreamSynchronize", 63, 64) in story.thread(1)
    assert story.path("cudaStreamSynchronize")[-1][0].startswith("gap before")
    assert story.reasons() == {}


def test_a_sync_whose_record_says_nothing_is_inferred():
    story = Told(
        launch("gemm", (0, 2), (10, 50), corr=1),
        runtime("cudaEventSynchronize", 10, 42, corr=5),
        sync("Event Sync", 10, 42, corr=5),
    )
    assert ("gemm", "sync", "inferred") in story.into("cudaEventSynchronize")


@pytest.mark.parametrize("took", [4, 400])
def test_a_sync_with_nothing_to_wait_for_is_not_cut(took):
    story = Told(
        launch("gemm", (0, 2), (10, 50), corr=1),
        runtime("cudaStreamSynchronize", 60, took, corr=2),
    )
    assert story.thread(1)[-1] == ("cudaStreamSynchronize", 60, 60 + took)
    assert story.reasons() == ({"sync_call_unresolved": 1} if took == 400 else {})


def test_what_another_thread_launches_meanwhile_is_not_waited_for():
    story = Told(
        launch("gemm", (0, 2), (10, 50), corr=1),
        runtime("cudaDeviceSynchronize", 5, 60, corr=2),
        launch("other", (20, 22), (51, 63), stream=8, corr=3, tid=2),
    )
    assert ("gemm", "sync", "calls") in story.into("cudaDeviceSynchronize")


@pytest.mark.parametrize(
    ("call", "what", "stop", "waits"),
    [
        ("cudaMemcpy", "Memcpy DtoH (Device -> Pinned)", 58, True),
        ("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)", 58, True),
        ("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pinned)", 58, False),
        ("cudaMemcpyAsync", "Memcpy DtoD (Device -> Device)", 58, False),
        ("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)", 90, False),
        ("hipMemcpyAsync", "CopyDeviceToHost", 90, False),
    ],
)
def test_only_copies_that_block_are_cut(call, what, stop, waits):
    story = Told(
        launch("gemm", (0, 2), (10, 50), corr=1),
        runtime(call, 5, 55, corr=2),
        copy(what, 51, stop, corr=2),
    )
    assert ((what, "sync", "recorded") in story.into(call)) == waits
    assert story.reasons() == {}
    if waits:  # the call both launches the copy and waits for it
        assert ("wait in " + call, "launch", "recorded") in story.into(what)
        assert story.path(call) == [("cudaLaunchKernel", 2), ("gemm", 40), (what, 7)]


def test_a_call_within_a_call_is_cut_once():
    story = Told(
        launch("gemm", (0, 2), (10, 50), corr=1),
        runtime("cudaDeviceSynchronize", 5, 50, corr=2),
        runtime("cuCtxSynchronize", 6, 47, corr=3, cat="cuda_driver"),
    )
    assert [p for p in story.thread(1) if p[0].startswith("wait")] == [
        ("wait in cuCtxSynchronize", 6, 50)
    ]
    assert ("gemm", "sync", "calls") in story.into("cuCtxSynchronize")


def test_an_event_seems_to_end_just_after_the_call_that_waited_for_it():
    story = Told(
        launch("gemm", (0, 2), (10, 51), corr=1),
        runtime("cudaStreamSynchronize", 5, 45, corr=2),
    )
    assert story.thread(1)[-2:] == [
        ("wait in cudaStreamSynchronize", 5, 50), ("cudaStreamSynchronize", 50, 50),
    ]  # fmt: skip


# ------------------------------------------------------------------------ threads


def test_forward_and_backward_threads_hand_over_both_ways():
    story = Told(
        cpu_op("forward", 0, 40),
        cpu_op("backward", 45, 100, tid=2),
        cpu_op("optimizer", 150, 20),
        cpu_op("backward again", 175, 30, tid=2),
    )
    assert story.thread(1) == [
        ("forward", 0, 40), ("wait in optimizer", 40, 145),
        ("gap before optimizer", 145, 150), ("optimizer", 150, 170),
    ]  # fmt: skip
    # the second thread begins late: it may have waited to be started
    assert story.thread(2)[:2] == [
        ("wait in backward", 0, 40), ("gap before backward", 40, 45)
    ]  # fmt: skip
    assert ("backward", "handover", "inferred") in story.into("gap before optimizer")
    assert story.path("backward again") == [
        ("forward", 40), ("gap before backward", 5), ("backward", 100),
        ("gap before optimizer", 5), ("optimizer", 20), ("gap before backward again", 5),
    ]  # fmt: skip
    assert story.reasons() == {"thread_handover": 3}


def test_a_busy_thread_releases_nobody():
    story = Told(
        cpu_op("loop", 0, 50), cpu_op("after", 90, 1),
        cpu_op("worker", 55, 20, tid=2), cpu_op("worker on", 75, 16, tid=2),
    )  # fmt: skip
    assert story.thread(1)[1] == ("gap before after", 50, 90)


def steps_of_main(stall_us, work_us=20):
    """Eight steps of a main thread, which stalls once: events, where the stall begins."""
    events, now, stall = [], 0.0, 0.0
    for number in range(8):
        events += [cpu_op("forward", now + 25 * i, work_us) for i in range(8)]
        now += 200
        if number == 4:
            events.append(cpu_op("last", now, 1))
            stall = now + 1
            now = stall + stall_us
            events.append(cpu_op("after", now, 10))
            now += 15
    return events, stall


def every(period_us, took_us, until_us, begin=15.0):
    """Work of a thread that has nothing to do with others."""
    times = np.arange(begin, until_us, period_us)
    return [cpu_op("aten::pin_memory", at, took_us, tid=2) for at in times.tolist()]


@pytest.mark.parametrize("begin", range(5, 305, 50))
@pytest.mark.parametrize(("period", "took"), [(300, 30), (300, 250), (60, 20), (2_500, 40)])
def test_a_stall_beside_an_unrelated_thread_stays_whole(period, took, begin):
    events, stall = steps_of_main(1_000)
    story = Told(events, every(period, took, 2_600, begin))
    assert ("gap before after", stall, stall + 1_000) in story.thread(1)


def test_two_unrelated_busy_threads_hand_over_nothing():
    events, _ = steps_of_main(300, work_us=24)
    story = Told(events, every(7, 5, 1_900))
    assert "thread_handover" not in story.reasons()


@pytest.mark.parametrize(("took", "waits"), [(100, False), (900, True)])
def test_a_thread_that_works_once_releases_only_a_gap_that_its_work_fills(took, waits):
    """A thread that works this rarely meets no other, whether it knows of it or not."""
    events, stall = steps_of_main(1_000)
    parts = [cpu_op("save", stall + 20, took / 2, tid=2),
             cpu_op("save", stall + 960 - took / 2, took / 2, tid=2)]  # fmt: skip
    story = Told(events, parts)
    assert (("wait in after", stall, stall + 960) in story.thread(1)) == waits


def test_a_thread_that_stalls_while_another_waits_for_it_still_releases_that():
    """800 µs pass in the backward pass: they are found there, not in the main thread."""
    forward, backward = [], []
    for begin, stall in ((0, 0), (200, 800), (1_200, 0), (1_400, 0)):
        forward += [cpu_op("forward", begin + 10 * i, 8) for i in range(9)]
        backward += [
            cpu_op("backward", begin + 95 + 10 * i + stall * (i > 4), 8, tid=2)
            for i in range(10)
        ]
    story = Told(forward, backward)
    waits = [p for p in story.thread(1) if p[0] == "wait in forward"]
    assert waits == [
        ("wait in forward", 88, 193), ("wait in forward", 288, 1_193),
        ("wait in forward", 1_288, 1_393),
    ]  # fmt: skip
    assert ("gap before backward", 343, 1_145) in story.thread(2)


def test_a_thread_that_begins_late_with_nobody_to_start_it_has_no_gap():
    story = Told(cpu_op("a", 0, 50), cpu_op("b", 20, 10, tid=2))
    assert story.thread(2) == [("b", 20, 30)]


def test_a_late_thread_that_begins_with_a_wait_is_cut_twice():
    story = Told(
        launch("gemm", (0, 5), (10, 80), corr=1, tid=3),
        cpu_op("main", 0, 20),
        runtime("cudaDeviceSynchronize", 30, 60, corr=2, tid=2),
        cpu_op("then", 90, 5, tid=2),
    )
    assert story.thread(2) == [
        ("wait in cudaDeviceSynchronize", 0, 20),
        ("gap before cudaDeviceSynchronize", 20, 30),
        ("wait in cudaDeviceSynchronize", 30, 80),
        ("cudaDeviceSynchronize", 80, 90),
        ("then", 90, 95),
    ]


def test_a_watchdog_is_no_part_of_the_graph():
    story = Told(
        launch("gemm", (0, 5), (10, 80), corr=1),
        [runtime("cudaEventQuery", 10 * i, 2, tid=9, corr=100 + i) for i in range(8)],
        runtime("cudaEventSynchronize", 81, 50, tid=9, corr=200),
    )
    assert story.reasons() == {"thread_ignored": 1}
    assert story.thread(9) == []


def test_profiler_steps_and_annotations_are_no_work():
    story = Told(
        step(1, 0, 100),
        annotation("## forward ##", 5, 60),
        cpu_op("aten::mm", 10, 20),
        cpu_op("aten::add", 50, 5),
        annotation("nccl:all_reduce", 70, 5),
    )
    assert story.thread(1) == [
        ("gap before aten::mm", 5, 10), ("aten::mm", 10, 30),
        ("gap before aten::add", 30, 50), ("aten::add", 50, 55),
        ("gap before nccl:all_reduce", 55, 70), ("nccl:all_reduce", 70, 75),
    ]  # fmt: skip


def test_a_gap_lies_in_the_annotation_that_holds_most_of_it():
    story = Told(
        annotation("## a ##", 0, 30), annotation("## b ##", 30, 100),
        cpu_op("mm", 20, 5), cpu_op("add", 60, 5),
    )  # fmt: skip
    gap = story.node("gap before add")
    held = story.trace.strings[story.trace.events.name[story.nodes.event[gap]]]
    assert held == "## b ##"


def test_operators_that_reach_beyond_their_parent_are_counted():
    story = Told(cpu_op("outer", 0, 10), cpu_op("inner", 5, 10))
    assert story.reasons() == {"event_clipped": 1}


# ----------------------------------------------------------- launches, odd traces


def test_an_operator_stands_in_for_a_missing_call():
    story = Told(
        cpu_op("aten::mm", 0, 10, args={"External id": 77}),
        kernel("gemm", 20, 30, corr=5, args={"External id": 77}),
        kernel("orphan", 60, 5, corr=6),
    )
    assert ("aten::mm", "launch", "inferred") in story.into("gemm")
    assert {edge[1] for edge in story.into("orphan")} == {"stream"}
    assert story.reasons() == {"launch_missing": 1, "launch_by_operator": 1}


def test_a_kernel_belongs_to_the_slice_of_its_operator_that_launched_it():
    story = Told(
        cpu_op("outer", 0, 100, args={"External id": 77}),
        cpu_op("inner", 20, 50),
        kernel("gemm", 15, 30, corr=5, args={"External id": 77}),
        kernel("tail", 150, 30, corr=6, args={"External id": 77}),
    )
    slices = [i for i in range(len(story.graph)) if story.name(i) == "outer"]
    parents = {
        name: story.graph.parent[e]
        for name in ("gemm", "tail")
        for e in np.flatnonzero(story.graph.child == story.node(name))
        if story.graph.kind[e] == EdgeKind.LAUNCH
    }
    assert parents == {"gemm": slices[0], "tail": slices[1]}


@pytest.mark.parametrize("order", [1, -1])
def test_a_call_with_the_very_times_of_its_operator_is_inside(order):
    operator = cpu_op("aten::mm", 0, 5)
    story = Told([operator, *launch("gemm", (0, 5), (5, 30), corr=1)][::order])
    assert story.path("gemm") == [("cudaLaunchKernel", 5)]
    assert story.thread(1) == [("aten::mm", 0, 0), ("cudaLaunchKernel", 0, 5)]


def test_events_of_unknown_categories_do_not_disturb(tmp_path):
    events = [
        *launch("gemm", (0, 5), (10, 80), corr=1),
        builders.event("mtia_runtime", "mtiaLaunch", 1, 2, correlation=1),
        builders.event("hpu_op", "matmul", 3, 2),
    ]
    path = tmp_path / "rank0.json"
    path.write_bytes(builders.trace(*events))
    graph = build_graph(read_rank(path))
    assert (len(graph), graph.parent.size) == (3, 3)


def test_a_trace_without_events_is_refused():
    with pytest.raises(SynctaxError, match="nothing to build a graph from"):
        build_graph(made())
    with pytest.raises(SynctaxError, match="nothing to build a graph from"):
        build_graph(made(step(1, 0, 10), runtime("cudaEventQuery", 1, 2, tid=9)))


def test_kernels_alone_make_a_graph():
    story = Told(kernel("a", 0, 10), kernel("b", 12, 5), kernel("c", 20, 5, stream=8))
    assert story.path("c") == [("a", 10), ("b", 5)]


def test_an_edge_that_would_go_back_is_dropped_and_counted():
    """At one instant a launch comes before its kernel: what an empty event released at
    the moment of its start cannot come after it as well."""
    story = Told(
        launch("empty", (0, 5), (30, 30), corr=1),
        runtime("cudaDeviceSynchronize", 10, 40, corr=2),
    )
    assert {edge[1] for edge in story.into("cudaDeviceSynchronize")} == {"chain"}
    assert story.reasons() == {"edge_dropped": 1}


# ------------------------------------------------------------------------ whole µs


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("records", [True, False])
def test_a_wait_call_counts_for_the_launch_that_follows_in_the_same_us(records, order):
    """And not for the launch before it in that µs: the ids of calls tell the order."""
    waits = [
        runtime("cudaStreamWaitEvent", 10, 0, corr=6),
        *([stream_wait(10, 0, stream=7, on_stream=20, on_corr=3, corr=6)] * records),
    ]
    story = Told([
        launch(NCCL, (0, 2), (5, 300), stream=20, corr=2),
        runtime("cudaEventRecord", 2, 0, corr=3),
        launch("before", (10, 10), (30, 40), corr=5),
        waits,
        launch("after", (10, 11), (301, 320), corr=8),
        launch("at last", (11, 12), (321, 330), corr=9),
    ][::order])  # fmt: skip
    told = "recorded" if records else "calls"
    assert (NCCL, "cross", told) in story.into("after")
    crossing = story.graph.kind == EdgeKind.CROSS
    assert [story.name(n) for n in story.graph.child[crossing]] == ["after"]


def test_a_call_waits_for_what_was_launched_in_its_us_before_it():
    story = Told(
        runtime("cudaStreamSynchronize", 10, 50, corr=6),
        sync("Stream Sync", 10, 50, corr=6, stream=7),
        launch("gemm", (10, 10), (20, 59), corr=5),
    )
    assert ("gemm", "sync", "recorded") in story.into("cudaStreamSynchronize")


def test_an_event_recorded_in_the_us_of_a_launch_holds_what_came_before_it():
    story = Told(
        launch("later", (10, 10), (60, 90), stream=20, corr=7),
        runtime("cudaEventRecord", 10, 0, corr=6),
        launch("gemm", (10, 10), (20, 59), stream=20, corr=5),
        runtime("cudaEventSynchronize", 11, 50, corr=8),
        sync("Event Sync", 11, 50, corr=8, on=20, record=6),
    )
    assert ("gemm", "sync", "recorded") in story.into("cudaEventSynchronize")


def test_kernels_that_start_in_one_us_run_in_the_order_of_their_launches():
    story = Told(
        launch("third", (3, 4), (20, 30), corr=3),
        launch("second", (2, 3), (20, 20), corr=2),
        launch("first", (1, 2), (20, 20), corr=1),
    )
    assert ("first", "stream", "recorded") in story.into("second")
    assert ("second", "stream", "recorded") in story.into("third")


def test_a_wait_whose_call_is_missing_was_called_when_its_record_says():
    story = Told(
        launch(NCCL, (0, 2), (5, 300), stream=20, corr=2),
        runtime("cudaEventRecord", 2, 1, corr=3),
        launch("before", (9, 10), (30, 40), corr=5),
        stream_wait(12, 1, stream=7, on_stream=20, on_corr=3, corr=6),
        launch("after", (14, 15), (301, 320), corr=8),
    )
    assert (NCCL, "cross", "recorded") in story.into("after")
    assert {edge[1] for edge in story.into("before")} == {"launch", "root"}


# ------------------------------------------------------------------ graph and paths


def story_of_two_streams():
    return Told(
        launch("gemm", (0, 5), (10, 50), corr=1),
        launch("side", (6, 9), (12, 49), stream=8, corr=2),
        launch(NCCL, (10, 15), (52, 90), corr=3),
    )


def test_the_own_stream_is_preferred_within_the_tolerance():
    story = Told(
        launch("own", (0, 5), (10, 48), corr=1),
        launch("side", (6, 9), (12, 50), stream=8, corr=2),
        launch(NCCL, (10, 15), (52, 90), corr=3),
    )
    graph, node = story.graph, story.node(NCCL)
    for tolerance, name in ((3.0, "own"), (2.0, "own"), (1.9, "side"), (0.0, "side")):
        edge = deciding_edges(graph, tolerance_us=tolerance)[node]
        assert story.name(graph.parent[edge]) == name


def test_a_guess_does_not_win_by_a_hair():
    """The side stream ended 1 µs after the launch was complete, by chance."""
    story = Told(
        launch("side", (0, 5), (10, 50), stream=8, corr=1),
        launch("gemm", (40, 49), (52, 90), corr=2),
    )
    graph, node = story.graph, story.node("gemm")
    for tolerance, kind in ((3.0, EdgeKind.LAUNCH), (0.5, EdgeKind.CROSS)):
        edge = deciding_edges(graph, tolerance_us=tolerance)[node]
        assert graph.kind[edge] == kind


@pytest.mark.parametrize("tolerance", [-1.0, float("inf"), float("nan")])
def test_a_tolerance_is_a_length_of_time(tolerance):
    with pytest.raises(ValueError, match="tolerance_us"):
        deciding_edges(story_of_two_streams().graph, tolerance_us=tolerance)


def test_each_target_has_a_window():
    graph = story_of_two_streams().graph
    with pytest.raises(ValueError, match="2 targets, 1 windows"):
        critical_paths(graph, np.array([1, 2]), np.array([0]))
    none = critical_paths(graph, np.array([], np.int64), np.array([], np.int64))
    assert (len(none), none.node.size, none.first.tolist()) == (0, 0, [0])


def test_a_window_cuts_the_item_that_straddles_its_beginning():
    story = story_of_two_streams()
    assert story.path(NCCL, begin=20) == [("gemm", 30)]
    assert story.path(NCCL, begin=50) == []
    assert story.path(NCCL, begin=60) == []


def test_nodes_are_found_by_event():
    story = story_of_two_streams()
    events = np.arange(len(story.trace.events))
    nodes = story.graph.node_of(events)
    on_gpu = story.trace.events.stream >= 0
    assert (nodes[~on_gpu] == -1).all()
    assert (story.nodes.event[nodes[on_gpu]] == events[on_gpu]).all()
    host_only = Told(cpu_op("a", 0, 10)).graph
    assert host_only.node_of(np.array([0])).tolist() == [-1]
    assert repr(host_only) == "<Graph: 2 nodes, 1 edges>"


def test_networkx_gets_nodes_and_edges_with_their_meaning():
    story = story_of_two_streams()
    nx = story.graph.to_networkx()
    edge = nx.edges[story.node("gemm"), story.node(NCCL)]
    assert edge == {"kind": "stream", "provenance": "recorded", "complete_ns": 50_000}
    assert nx.nodes[story.node("gemm")]["kind"] == "gpu"
    assert nx.number_of_edges() <= story.graph.parent.size


def test_streams_that_run_nothing_pass_on_what_they_wait_for():
    """Stream 8 waits for 7, 9 for 8, 10 for 9: in the end 10 waits for the GEMM on 7."""
    passed_on = [
        [
            record_and_wait(record=10 + on, wait=20 + on, at=5 + 3 * (on - 7)),
            stream_wait(
                6 + 3 * (on - 7), 0.3, stream=on + 1, on_stream=on, on_corr=10 + on,
                corr=20 + on,
            ),
        ]
        for on in (7, 8, 9)
    ]  # fmt: skip
    story = Told(
        launch("gemm", (0, 2), (10, 80), corr=1),
        passed_on,
        [launch(f"old {n}", (2 + n / 10, 2.1 + n / 10), (3, 4), stream=n, corr=30 + n)
         for n in (8, 9)],
        launch("end", (20, 22), (81, 90), stream=10, corr=4),
    )  # fmt: skip
    assert ("gemm", "cross", "recorded") in story.into("end")


def test_thousands_of_waits_on_a_stream_that_runs_nothing_stay_few_edges():
    """Two streams wait for each other in turn; what comes of it needs one edge each."""
    waits = [
        [
            record_and_wait(record=1000 + i, wait=3000 + i, at=10 + 4 * i),
            stream_wait(
                11 + 4 * i, 0.3, stream=8 + i % 2, on_stream=7 + i % 2,
                on_corr=1000 + i, corr=3000 + i,
            ),
        ]
        for i in range(400)
    ]  # fmt: skip
    story = Told(
        launch("gemm", (0, 2), (10, 2_000), corr=1),
        launch("left", (3, 4), (5, 6), stream=8, corr=2),
        launch("right", (5, 6), (7, 8), stream=9, corr=3),
        waits,
        launch("end", (1_700, 1_702), (2_001, 2_010), stream=9, corr=4),
    )
    crossing = [edge for edge in story.into("end") if edge[1] == "cross"]
    assert ("gemm", "cross", "recorded") in crossing
    assert np.sum(story.graph.kind == EdgeKind.CROSS) <= 4
    assert story.path("end") == [("cudaLaunchKernel", 2), ("gemm", 1990)]


# ---------------------------------------------------------------- skew of a busy GPU


def busy(count, *inverted_us):
    """Launches queued for 5 ms, and some that their kernels seem to precede."""
    events = []
    for number in range(count):
        at = number * 20
        late = inverted_us[number] if number < len(inverted_us) else -5_000
        start = max(at - late, 0) + (10 if number else 0)
        events.append(
            launch(f"k{number}", (at + 10, at + 14), (start, start + 5), corr=number + 1)
        )
    return Told(*events)


def test_few_inversions_among_queued_launches_are_skew():
    story = busy(40, 0, 40, 40)
    assert story.graph.skew_ns < -20_000
    assert "launch_inverted" not in story.reasons()
