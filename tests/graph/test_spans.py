"""Collectives that run on CPU threads: who issued them, and who waits for them.

The events are a real four-rank run's (torch 2.13, gloo), cut down.
"""

from synctax.graph.model import NodeKind
from tests.graph.made import Told, launch
from tests.trace.builders import annotation, cpu_op

MAIN, POOL, OTHER = 61, 151, 152


def asked(ts, dur, what="allreduce_"):
    return cpu_op(f"c10d::{what}", ts, dur, tid=MAIN)


def ran(ts, dur, what="all_reduce", tid=POOL):
    return annotation(f"gloo:{what}", ts, dur, tid=tid)


def test_a_collective_is_launched_by_the_operator_that_issued_it():
    story = Told(
        cpu_op("aten::mm", 0, 50, tid=MAIN),
        asked(60, 20),
        ran(90, 300),
        cpu_op("aten::add", 400, 10, tid=MAIN),
    )
    assert story.nodes.kind[story.node("gloo:all_reduce")] == NodeKind.COLLECTIVE
    assert story.into("gloo:all_reduce") == {
        ("root", "root", "recorded"), ("c10d::allreduce_", "launch", "inferred"),
    }  # fmt: skip
    assert story.path("gloo:all_reduce") == [
        ("aten::mm", 50), ("gap before c10d::allreduce_", 10), ("c10d::allreduce_", 20),
    ]  # fmt: skip


def test_the_thread_that_issued_it_waits_for_its_end():
    story = Told(asked(60, 20), ran(90, 300), cpu_op("aten::add", 400, 10, tid=MAIN))
    assert story.thread(MAIN) == [
        ("c10d::allreduce_", 60, 80), ("wait in aten::add", 80, 390),
        ("gap before aten::add", 390, 400), ("aten::add", 400, 410),
    ]  # fmt: skip
    assert ("gloo:all_reduce", "handover", "inferred") in story.into("gap before aten::add")
    assert story.path("aten::add") == [
        ("c10d::allreduce_", 20), ("gloo:all_reduce", 300), ("gap before aten::add", 10),
    ]  # fmt: skip
    assert story.reasons() == {"thread_handover": 1, "span_issuer_inferred": 1}


def test_an_operator_may_still_run_when_its_collective_starts():
    story = Told(asked(60, 50), ran(90, 300))
    assert story.path("gloo:all_reduce") == [("c10d::allreduce_", 30)]


def test_work_inside_the_operator_that_issues_is_on_the_path():
    """gloo's reduce-scatter copies its buffer before it hands over, in the operator."""
    inside = [cpu_op("aten::clone", 65, 100, tid=MAIN)]
    running = Told(asked(60, 200, "_reduce_scatter_base_"), *inside, ran(190, 300))
    returned = Told(asked(60, 120, "_reduce_scatter_base_"), *inside, ran(190, 300))
    outer = "c10d::_reduce_scatter_base_"
    shown = [(outer, 5), ("aten::clone", 100)]
    assert running.path("gloo:all_reduce") == [*shown, (outer, 25)]
    assert returned.path("gloo:all_reduce") == [*shown, (outer, 15)]


def test_an_operator_inside_itself_issues_once():
    """Under a `TorchDispatchMode` the operator shows twice, one in the other."""
    inner = cpu_op("c10d::allreduce_", 70, 150, tid=MAIN)
    story = Told(asked(60, 200), inner, ran(190, 30))
    twice = [("c10d::allreduce_", 10), ("c10d::allreduce_", 120)]
    assert story.path("gloo:all_reduce") == twice


def test_the_backends_thread_does_nothing_between_collectives():
    """Its wait for the next one is no work that could have decided anything."""
    story = Told(
        asked(60, 20), ran(90, 100),
        cpu_op("aten::mm", 200, 500, tid=MAIN), asked(705, 60), ran(750, 100),
    )  # fmt: skip
    assert story.thread(POOL) == [
        ("gloo:all_reduce", 90, 190), ("gloo:all_reduce", 750, 850),
    ]  # fmt: skip
    assert story.path("gloo:all_reduce")[-3:] == [
        ("aten::mm", 500), ("gap before c10d::allreduce_", 5), ("c10d::allreduce_", 45),
    ]  # fmt: skip


def test_collectives_queue_on_the_backends_thread():
    story = Told(
        asked(0, 10), asked(11, 10, "broadcast_"),
        ran(20, 100), ran(121, 50, "broadcast"),
    )  # fmt: skip
    assert story.path("gloo:broadcast") == [
        ("c10d::allreduce_", 10),
        ("gloo:all_reduce", 100),
    ]


def test_a_collective_that_ends_releases_though_its_thread_goes_on():
    story = Told(
        asked(0, 10), asked(11, 10), ran(20, 100), ran(121, 200),
        cpu_op("copy the first bucket", 130, 5, tid=MAIN),
    )  # fmt: skip
    assert story.thread(MAIN)[-3:] == [
        ("wait in copy the first bucket", 21, 120),
        ("gap before copy the first bucket", 120, 130),
        ("copy the first bucket", 130, 135),
    ]


def test_an_operator_that_waits_is_cut_as_a_gap_is():
    wait = cpu_op("_c10d_functional::wait_tensor", 30, 70, tid=MAIN)
    issue = cpu_op("_c10d_functional::all_reduce", 0, 20, tid=MAIN)
    inner = cpu_op("c10d::allreduce_", 5, 10, tid=MAIN)
    story = Told(issue, inner, ran(25, 70), wait)
    assert story.thread(MAIN)[-2:] == [
        ("wait in _c10d_functional::wait_tensor", 30, 95),
        ("_c10d_functional::wait_tensor", 95, 100),
    ]
    assert story.reasons()["span_issuer_inferred"] == 1


def test_two_threads_of_a_backend_take_turns():
    story = Told(
        asked(0, 10), asked(11, 10), ran(20, 100), ran(23, 150, tid=OTHER),
        cpu_op("aten::add", 180, 5, tid=MAIN),
    )  # fmt: skip
    both = [e for e in story.into("gap before aten::add") if e[1] == "handover"]
    assert both == [("gloo:all_reduce", "handover", "inferred")]
    assert story.thread(MAIN)[-3] == ("wait in aten::add", 21, 173)


def test_what_was_issued_before_the_window_has_no_issuer():
    story = Told(ran(0, 30), asked(40, 10), ran(55, 30), asked(90, 10))
    assert story.reasons()["span_issuer_inferred"] == 1
    first = story.graph.child[story.graph.kind == 3].tolist()
    assert [story.name(node) for node in first] == ["gloo:all_reduce"]
    assert story.nodes.start_ns[first[0]] == 55_000


def test_a_collective_on_the_programs_own_thread_needs_no_issuer():
    story = Told(cpu_op("c10d::send", 0, 100, tid=MAIN), ran(10, 80, "send", tid=MAIN))
    assert story.thread(MAIN) == [
        ("c10d::send", 0, 10), ("gloo:send", 10, 90), ("c10d::send", 90, 100),
    ]  # fmt: skip
    assert story.reasons() == {}


def test_what_the_backend_runs_instead_is_issued_by_the_operator_that_asked_for_it():
    """gloo reduces everywhere for a reduce-scatter, between all-reduces asked for."""
    story = Told(
        asked(0, 10, "_reduce_scatter_base_"), ran(20, 100),
        cpu_op("aten::mm", 130, 50, tid=MAIN),
        asked(190, 10), ran(210, 40),
    )  # fmt: skip
    assert story.reasons()["span_issuer_inferred"] == 2
    assert story.path("gloo:all_reduce")[-2:] == [
        ("gap before c10d::allreduce_", 10), ("c10d::allreduce_", 10),
    ]  # fmt: skip


def test_an_operation_that_the_backend_ran_itself_stands_in_for_no_other():
    story = Told(
        asked(0, 10, "reduce_scatter_"), ran(20, 30, "reduce_scatter"),
        asked(60, 10), ran(80, 40),
    )  # fmt: skip
    assert story.reasons()["span_issuer_inferred"] == 2


def test_time_in_python_code_of_an_operator_is_the_operators():
    """A `TorchDispatchMode` shows as a range inside the operator that it handles."""
    story = Told(
        cpu_op("aten::mm", 0, 100, tid=MAIN),
        cpu_op("PythonDispatchMode", 2, 96, tid=MAIN),
        cpu_op("aten::mm", 80, 15, tid=MAIN),
        asked(110, 10), ran(125, 40),
    )  # fmt: skip
    assert {name for name, *_ in story.thread(MAIN)} == {
        "aten::mm", "gap before c10d::allreduce_", "c10d::allreduce_",
    }  # fmt: skip


def test_what_a_collective_holds_is_part_of_it():
    story = Told(asked(0, 10), ran(20, 50), cpu_op("aten::copy_", 30, 10, tid=POOL))
    assert story.thread(POOL) == [("gloo:all_reduce", 20, 70)]


def test_beside_kernels_that_communicate_a_span_is_a_range_like_others():
    story = Told(
        launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", (0, 5), (10, 20), corr=1),
        asked(30, 10), ran(50, 20),
    )  # fmt: skip
    assert story.nodes.kind[story.node("gloo:all_reduce")] == NodeKind.SLICE
