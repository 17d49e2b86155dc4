"""When a window opens, what it writes, and that nothing in it ends a job: one process."""

import atexit
import gzip
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch", reason="needs the extra torch")

import torch
import torch.autograd.profiler
from torch.profiler import ProfilerActivity

from synctax.record import (
    DelayRule,
    Plan,
    RankState,
    Recording,
    groups,
    kineto,
    meet,
    parts,
    profile,
    read_states,
    state,
)
from synctax.record.meet import Meeting, default_store
from synctax.record.names import state_path
from synctax.record.others import Watch
from synctax.record.ranks import who
from synctax.record.state import write_state
from synctax.record.truth import read_truth
from tests.record.conftest import read_trace, steps_of

pytestmark = pytest.mark.torch

A = torch.ones(4, 4)


@pytest.fixture(autouse=True)
def no_rank(monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    yield
    assert not torch.autograd._profiler_enabled()
    home = torch.autograd.profiler
    assert home._enable_profiler.__module__ != "synctax.record.others"
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None


@pytest.fixture
def make(tmp_path):
    """Make a recording of steps 2 and 3 into a folder; `said` is what it says."""
    made = []

    def make(**keys):
        said = []
        keys = {"skip": 1, "warmup": 1, "steps": 2, "folder": tmp_path} | keys
        window = Recording(Plan(**keys), say=said.append)
        window.said = said
        made.append(window)
        return window

    yield make
    for window in made:
        window.end()


def train(window, steps):
    for _ in range(steps):
        torch.mm(A, A)
        window.step()


def traces(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.gz"))


def left_over(folder):
    return [path.name for path in folder.rglob(".*")]


def own_profiler():
    return torch.profiler.profile(activities=[ProfilerActivity.CPU])


# ------------------------------------------------------------------ the window


def test_a_window_has_its_steps_their_operators_and_a_head(make, tmp_path):
    with make() as window:
        train(window, 6)
    assert traces(tmp_path) == ["iteration_4/rank0_trace.json.gz"]
    trace = read_trace(tmp_path / window.state.trace)
    steps = steps_of(trace)
    assert list(steps) == [2, 3]
    mms = [event for event in trace["traceEvents"] if event["name"] == "aten::mm"]
    assert len(mms) == 2
    for mm, (start, end) in zip(mms, steps.values(), strict=True):
        assert start <= mm["ts"] <= mm["ts"] + mm["dur"] <= end
        assert mm["args"]["Input Dims"] == [[4, 4], [4, 4]]
    assert trace["distributedInfo"] == {
        "backend": "",
        "rank": 0,
        "world_size": 1,
        "pg_count": 0,
        "pg_config": [],
    }
    about = trace["synctax"]
    assert about.pop("version")
    assert about == {
        "schema": "synctax.recorded/1",
        "first_step": 2,
        "end_step": 4,
        "cut": "",
        "met": True,
        "gloo_threads": [],
        "delays": False,
    }
    assert trace["traceName"] == "rank0_trace.json"
    assert left_over(tmp_path) == []


def test_states_follow_the_window(make, tmp_path):
    window = make()
    found = []
    with window:
        for _ in range(6):
            (state,) = read_states(tmp_path)
            assert state.state == window.state.state
            found.append(state.state)
            train(window, 1)
    (state,) = read_states(tmp_path)
    assert found == ["waiting", "waiting", "recording", "recording", "written", "written"]
    assert (state.steps_seen, state.first_step, state.end_step) == (6, 2, 4)
    assert state.torch == torch.__version__
    assert state.met is True
    assert window.said == [f"steps 2:4 are in {tmp_path / state.trace}"]


def test_outside_the_window_a_step_calls_nothing(make):
    calls = []

    def notice(frame, event, arg):
        if event in ("call", "c_call"):
            calls.append(frame.f_code.co_name if event == "call" else arg.__name__)

    def step():
        sys.setprofile(notice)
        try:
            window.step()
        finally:
            sys.setprofile(None)

    window = make(skip=50)
    with window:
        for _ in range(49):
            step()
        before = [name for name in calls if name != "setprofile"]
        train(window, 4)
        calls.clear()
        for _ in range(49):
            step()
    assert window.state.state == "written"
    assert before == ["step"] * 49
    assert [name for name in calls if name != "setprofile"] == ["step"] * 49


@pytest.mark.parametrize("skip", [0, 1])
@pytest.mark.parametrize("warmup", [0, 1, 3])
@pytest.mark.parametrize("steps", [1, 2])
def test_any_plan_records_its_steps(make, tmp_path, skip, warmup, steps):
    with make(skip=skip, warmup=warmup, steps=steps) as window:
        train(window, skip + warmup + steps)
    first = skip + warmup
    trace = read_trace(tmp_path / f"iteration_{first + steps}" / "rank0_trace.json.gz")
    assert list(steps_of(trace)) == list(range(first, first + steps))


def test_the_second_window_of_a_folder_counts_on(make, tmp_path):
    for _ in range(2):
        with make() as window:
            train(window, 5)
    assert traces(tmp_path) == [
        "iteration_4/rank0_trace.json.gz",
        "iteration_9/rank0_trace.json.gz",
    ]
    assert list(steps_of(read_trace(tmp_path / window.state.trace))) == [7, 8]


def test_another_process_counts_from_0(make, tmp_path, monkeypatch):
    with make() as window:
        train(window, 5)
    with monkeypatch.context() as other:
        other.setattr(state, "ran_at", lambda pid, when_s: False)
        other.setattr(os, "getpid", lambda: 2**30)
        with make() as window:
            train(window, 5)
    assert window.state.first_step == 2


@pytest.mark.parametrize("held", ["recording", "written", "cut"])
def test_what_another_process_that_runs_recorded_of_this_rank_stays(make, tmp_path, held):
    parent = RankState(0, 1, socket.gethostname(), os.getppid(), state=held, first_step=7)
    write_state(tmp_path, parent)
    with make() as window:
        train(window, 5)
    assert window.state.state == "nothing"
    assert window.said == [f"nothing was recorded: {window.state.reason}"]
    assert f"process {os.getppid()} of this host is rank 0 already" in window.said[0]
    assert (read_states(tmp_path), traces(tmp_path)) == ([parent], [])


@pytest.mark.parametrize(
    "changes",
    [
        {"state": "waiting"},  # as of one that has a group, and a rank, only later
        {"host": "another"},
        {"pid": 2**30},
    ],
)
def test_a_state_that_no_process_holds_is_replaced(make, tmp_path, changes):
    keys = {"host": socket.gethostname(), "pid": os.getppid(), "state": "cut"} | changes
    write_state(tmp_path, RankState(0, 1, **keys))
    with make() as window:
        train(window, 5)
    assert [found.state for found in read_states(tmp_path)] == ["written"]


def test_a_state_older_than_the_process_of_its_number_is_replaced(make, tmp_path):
    write_state(
        tmp_path, RankState(0, 1, socket.gethostname(), os.getppid(), state="written")
    )
    os.utime(state_path(tmp_path, 0), (10**9, 10**9))
    with make() as window:
        train(window, 5)
    assert read_states(tmp_path) == [window.state]


def test_steps_without_a_beginning_or_after_the_end_are_told_once(make):
    window = make()
    for _ in range(9):
        window.step()
    assert window.said == [
        "step was called before begin: use it in a with block, or call begin"
    ]
    with window:
        train(window, 4)
    with window:
        train(window, 9)
    assert window.said[2:] == [
        "a recording that has ended does not begin again: make another"
    ]


@pytest.mark.parametrize("end", [SystemExit(), SystemExit(0), GeneratorExit()])
def test_an_end_that_is_no_trouble_is_not_told_as_one(make, end):
    window = make()
    window.begin()
    train(window, 3)
    window.__exit__(type(end), end, None)
    assert window.state.reason == "the loop ended after 1 of 2 steps of the window"


@pytest.mark.parametrize(("reason", "waited"), [("", True), ("ValueError: x", False)])
def test_only_a_window_that_is_whole_waits_for_devices(make, monkeypatch, reason, waited):
    asked = []
    stop = kineto.KinetoWindow.stop

    def note(self, *, wait=True):
        asked.append(wait)
        stop(self, wait=wait)

    monkeypatch.setattr(kineto.KinetoWindow, "stop", note)
    window = make()
    window.begin()
    train(window, 3 if reason else 4)
    window.end(reason)
    assert asked == [waited]


def test_a_second_recording_waits_for_the_first(make, tmp_path):
    with make(steps=3) as first, make(folder=tmp_path / "second") as second:
        for _ in range(12):
            torch.mm(A, A)
            first.step()
            second.step()
    assert first.state.state == second.state.state == "written"
    assert second.state.first_step >= first.state.end_step
    assert (
        second.said[0]
        == "the job's own profiler is running on this rank; waiting for its end"
    )


def test_begin_end_and_step_may_come_too_often_or_too_early(make, tmp_path):
    window = make()
    window.step()
    window.end("before it began")
    window.begin()
    window.begin()
    train(window, 5)
    window.end()
    window.end("again")
    train(window, 5)
    assert traces(tmp_path) == ["iteration_4/rank0_trace.json.gz"]
    assert (window.state.state, window.state.reason) == ("written", "")
    assert window.state.first_step == 2


def test_a_whole_run_is_one_window(make, tmp_path):
    with make(step_by="run", skip=9) as window:
        torch.mm(A, A)
        window.step()
        torch.mm(A, A)
    trace = read_trace(tmp_path / "iteration_1" / "rank0_trace.json.gz")
    assert list(steps_of(trace)) == [0]
    assert [e["name"] for e in trace["traceEvents"]].count("aten::mm") == 2
    assert (window.state.state, window.state.end_step) == ("written", 1)
    assert trace["synctax"]["cut"] == ""


def test_profile_makes_the_plan(tmp_path, capsys):
    rule = DelayRule("aten::mm", us=0)
    with profile(
        str(tmp_path), skip=0, warmup=1, steps=1, with_stack=True, delays=[rule]
    ) as window:
        train(window, 2)
    assert window.plan == Plan(
        tmp_path, skip=0, warmup=1, steps=1, with_stack=True, delays=(rule,)
    )
    trace = read_trace(tmp_path / "iteration_2" / "rank0_trace.json.gz")
    assert any(event.get("cat") == "python_function" for event in trace["traceEvents"])
    assert capsys.readouterr().err == (
        f"synctax record: rank 0: steps 1:2 are in {tmp_path / window.state.trace}\n"
    )
    with pytest.raises(ValueError, match="at least one step"):
        profile(tmp_path, steps=0)


def test_without_stderr_nothing_is_said(make, monkeypatch):
    window = make()
    window._journal._say_to = None
    monkeypatch.setattr(sys, "stderr", None)
    with window:
        train(window, 4)
    assert window.state.state == "written"


def test_the_rank_of_the_environment_names_the_files(make, tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    with make() as window:
        train(window, 4)
    assert traces(tmp_path) == ["iteration_4/rank3_trace.json.gz"]
    trace = read_trace(tmp_path / window.state.trace)
    assert (trace["distributedInfo"]["rank"], trace["synctax"]["met"]) == (3, False)
    assert window.said == [
        "ranks did not meet before the window: there is no process group"
    ]
    assert window.state.reason == window.said[0]


@pytest.fixture
def group():
    """A process group of one rank, in this process."""
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("at", [0, 3])
def test_a_process_group_is_told_of_whenever_it_is_there(make, tmp_path, request, at):
    with make() as window:
        train(window, at)
        request.getfixturevalue("group")
        train(window, 3 - at)
        assert default_store().add("a number", 1) == 1
        if at == 0:  # torch has told of it when the window began
            torch.distributed.destroy_process_group()
        train(window, 2)
    trace = read_trace(tmp_path / window.state.trace)
    told = trace["distributedInfo"]
    assert (told["backend"], told["world_size"], told["pg_count"]) == ("gloo", 1, 1)
    assert told["pg_config"][0]["ranks"] == [0]
    assert window.state.backend == "gloo"


def test_groups_that_are_made_or_destroyed_in_the_window_are_told_of_in_order(
    make, tmp_path, group
):
    dist = torch.distributed
    destroy = dist.destroy_process_group
    with make(step_by="run") as window:
        torch.mm(A, A)
        first = dist.new_group([0], group_desc="first")
        dist.new_group([0], group_desc="second")
        dist.destroy_process_group(first)
        dist.new_group([0], group_desc="third")
        dist.destroy_process_group()
        store = dist.HashStore()
        dist.init_process_group("gloo", store=store, rank=0, world_size=1)
        torch.mm(A, A)
    trace = read_trace(tmp_path / window.state.trace)
    told = trace["distributedInfo"]
    assert [one["pg_desc"] for one in told["pg_config"]] == [
        "default_pg",
        "first",
        "second",
        "third",
        "default_pg",
    ]
    assert (told["backend"], told["world_size"], told["pg_count"]) == ("gloo", 1, 5)
    threads = trace["synctax"]["gloo_threads"]
    assert len(threads) == len(set(threads)) == 10
    assert dist.destroy_process_group is destroy


def test_groups_of_before_the_window_are_not_told_of(make, tmp_path, group):
    dist = torch.distributed
    with make() as window:
        dist.destroy_process_group(dist.new_group([0]))
        train(window, 2)
        dist.new_group([0], group_desc="later")
        train(window, 2)
    told = read_trace(tmp_path / window.state.trace)["distributedInfo"]
    assert [one["pg_desc"] for one in told["pg_config"]] == ["default_pg", "later"]


def test_a_rank_stays_away_while_it_still_can(make, monkeypatch, group):
    """The group is destroyed before the loop ends: with it goes the store."""
    stayed = []
    monkeypatch.setattr(meet, "stay_away", lambda who, step: stayed.append(step))
    with make() as window:
        train(window, 1)
        with pytest.raises(ValueError, match="Invalid process group"):
            torch.distributed.destroy_process_group("no group")
        assert stayed == []
        torch.distributed.destroy_process_group()
        assert stayed == [2]
    assert stayed == [2]


def test_a_forked_child_keeps_out_of_it_when_it_destroys_groups(make, monkeypatch, group):
    stayed = []
    monkeypatch.setattr(meet, "stay_away", lambda who, step: stayed.append(step))
    with make(), monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: -5)
        torch.distributed.destroy_process_group()
        assert stayed == []


def test_torch_without_distributed_has_no_groups_to_watch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.distributed.distributed_c10d", None)
    watch = groups.Groups(lambda everything: None)
    watch.install()
    watch.look()
    watch.remove()
    assert watch.info()["pg_config"] == []


def test_the_version_of_nccl_is_told_where_it_is_known(monkeypatch):
    watch = groups.Groups(lambda everything: None)
    watch.who = replace(watch.who, backend="nccl")
    monkeypatch.setattr(torch.cuda.nccl, "version", lambda: (2, 21, 5))
    assert watch.info()["nccl_version"] == "2.21.5"
    monkeypatch.setattr(torch.cuda.nccl, "version", fail(RuntimeError("no NCCL")))
    assert "nccl_version" not in watch.info()


# ------------------------------------------------------------------ windows that end early


def test_too_few_steps_leave_nothing_and_say_how_many_are_needed(make, tmp_path):
    with make() as window:
        train(window, 1)
    assert (window.state.state, traces(tmp_path)) == ("nothing", [])
    assert window.state.reason == "the window needs 4 steps, and 1 were seen"
    assert read_states(tmp_path) == [window.state]


def test_what_all_ranks_have_in_common_only_the_first_says(make, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    with make(meet_timeout_s=0) as few:
        train(few, 1)
    with make(meet_timeout_s=0) as enough:
        train(enough, 4)
    assert (few.state.state, enough.state.state) == ("nothing", "written")
    assert few.said == enough.said == []


@pytest.mark.parametrize("steps", [2, 3])
def test_a_loop_that_ends_amid_the_window_leaves_what_was_recorded(make, tmp_path, steps):
    with make() as window:
        train(window, steps)
    assert window.state.state == "cut"
    assert (
        window.state.reason == f"the loop ended after {steps - 2} of 2 steps of the window"
    )
    assert window.state.end_step == steps
    trace = read_trace(tmp_path / "iteration_4" / "rank0_trace.json.gz")
    assert trace["synctax"]["end_step"] == steps
    assert trace["synctax"]["cut"] == window.state.reason
    unfinished = [
        event["name"]
        for event in trace["traceEvents"]
        if event.get("args", {}).get("finished") is False
    ]
    assert unfinished == [f"ProfilerStep#{steps}"]


@pytest.mark.parametrize(
    ("steps", "state"), [(0, "nothing"), (1, "nothing"), (2, "cut"), (4, "written")]
)
def test_an_exception_goes_on_and_is_the_reason(make, steps, state):
    window = make()

    def loop():
        with window:
            train(window, steps)
            raise ValueError("bad sample\nin epoch 3")

    with pytest.raises(ValueError, match="bad sample"):
        loop()
    assert window.state.state == state
    assert window.state.reason.startswith(
        "ValueError: bad sample" if state != "written" else ""
    )
    assert "\n" not in window.state.reason


@pytest.mark.parametrize(
    ("reason", "cut"),
    [
        ('no key "a"', "no key 'a'"),
        ("C:\\temp", "C:/temp"),
        ("tab\there \x1b[31m", "tab here  [31m"),
        ("µs über 日本", "µs über 日本"),
        ("half \ud800 of one", "half ? of one"),
    ],
)
def test_no_reason_spoils_the_trace(make, tmp_path, reason, cut):
    window = make()
    window.begin()
    train(window, 3)
    window.end(reason)
    assert read_trace(tmp_path / window.state.trace)["synctax"]["cut"] == cut
    assert read_states(tmp_path) == [window.state]


def test_nothing_that_was_recorded_is_kept_in_memory(make):
    with make() as window:
        train(window, 2)
        inner = weakref.ref(window._tools.window._profiler.profiler)
        train(window, 2)
        assert inner() is None


def test_at_exit_an_open_window_is_written(make, monkeypatch):
    kept = []
    monkeypatch.setattr(atexit, "register", kept.append)
    window = make()
    window.begin()
    train(window, 3)
    (leave,) = kept
    leave()
    assert window.state.state == "cut"


def test_an_end_amid_the_work_on_a_step_waits_for_it(make, monkeypatch):
    window = make()
    start = kineto.KinetoWindow.start

    def interrupted(self):
        window.end("SIGTERM came")  # as a handler of signals does
        start(self)

    monkeypatch.setattr(kineto.KinetoWindow, "start", interrupted)
    with window:
        train(window, 6)
    assert window.state.state == "nothing"
    few = "the window needs 4 steps, and 2 were seen"
    assert window.state.reason == f"SIGTERM came; {few}"
    assert traces(window.plan.folder) == []


def test_a_whole_run_that_is_ended_while_ranks_meet_leaves_nothing(make, monkeypatch):
    window = make(step_by="run")

    def gather(who, step, *, ready, timeout_s, stop):
        window.end("SIGTERM came")
        assert stop()
        return Meeting(1, 2, 0)

    monkeypatch.setattr(meet, "gather", gather)
    with window:
        torch.mm(A, A)
    assert window.state.state == "nothing"
    assert window.state.reason == "SIGTERM came; the run ended before its ranks had met"


def test_an_exit_before_the_first_step_of_the_window_leaves_no_empty_trace(
    make, monkeypatch
):
    window = make()
    monkeypatch.setattr(meet, "gather", lambda *_, **__: sys.exit(3))
    with pytest.raises(SystemExit), window:
        train(window, 6)
    assert window.state.state == "nothing"
    assert window.state.reason.startswith("SystemExit: 3; ")


def test_another_thread_can_end_the_window(make):
    with make(steps=4) as window:
        train(window, 3)
        thread = threading.Thread(target=window.end, args=("SIGTERM came",))
        thread.start()
        thread.join()
        assert window.state.state == "cut"
        train(window, 3)
    assert window.state.reason == "SIGTERM came"
    assert window.state.end_step == 3


def test_where_torch_records_one_thread_another_ends_the_window_with_the_step(
    make, monkeypatch
):
    monkeypatch.setattr(kineto, "_config", lambda **_: (None, False))
    with make(steps=4) as window:
        train(window, 3)
        thread = threading.Thread(target=window.end, args=("SIGTERM came",))
        thread.start()
        thread.join()
        assert window.state.state == "recording"
        train(window, 1)
        assert window.state.state == "cut"
    assert window.said[0].endswith("records no synchronisation of GPUs")


def test_a_forked_child_records_nothing(make, monkeypatch, tmp_path):
    with make() as window:
        train(window, 1)
        with monkeypatch.context() as child:
            child.setattr(os, "getpid", lambda: -5)
            window.end("the child ended")
        train(window, 4)
    assert window.state.state == "written"

    child = make(folder=tmp_path / "child")
    child.begin()
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: -5)
        train(child, 9)
    child.end()
    assert traces(tmp_path / "child") == []


# ------------------------------------------------------------------ other profilers


def test_a_profiler_of_the_job_goes_first(make):
    theirs = own_profiler()
    with make() as window:
        theirs.start()
        train(window, 3)
        theirs.stop()
        train(window, 8)
    assert len([event for event in theirs.events() if event.name == "aten::mm"]) == 3
    assert (window.state.state, window.state.first_step) == ("written", 4)
    assert (
        window.said[0]
        == "the job's own profiler is running on this rank; waiting for its end"
    )
    assert len(window.said) == 2


def test_a_profiler_of_the_job_that_never_ends_leaves_nothing(make):
    with own_profiler() as theirs, make() as window:
        train(window, 9)
    assert window.state.reason == "the job's own profiler was running until the end"
    assert window.state.state == "nothing"
    assert len([event for event in theirs.events() if event.name == "aten::mm"]) == 9


def test_a_profiler_of_the_job_amid_our_window_ends_it(make):
    with make() as window:
        train(window, 3)
        with own_profiler() as theirs:
            torch.mm(A, A)
        train(window, 2)
    assert [event.name for event in theirs.events()].count("aten::mm") == 1
    assert window.state.state == "cut"
    assert window.state.reason == "the job used its own profiler after 1 of 2 steps"


@pytest.mark.parametrize("starts", [True, False])
def test_a_profiler_of_the_job_while_ours_warms_up_delays_ours(make, starts):
    with make(warmup=2) as window:
        train(window, 2)
        theirs = own_profiler()
        theirs.prepare_trace()
        if starts:
            theirs.start_trace()
        train(window, 1)
        if not starts:
            theirs.start_trace()
        torch.mm(A, A)
        theirs.stop_trace()
        train(window, 6)
    assert [event.name for event in theirs.events()].count("aten::mm") >= 1
    assert window.state.state == "written"


@pytest.mark.parametrize(("skip", "state"), [(1, "cut"), (2, "written"), (4, "written")])
def test_a_schedule_of_the_job_is_left_alone(make, skip, state):
    schedule = torch.profiler.schedule(wait=1, warmup=2, active=2, repeat=1)
    seen = []
    with (
        make(skip=skip, warmup=0) as window,
        torch.profiler.profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule,
            on_trace_ready=lambda p: seen.append(
                [event.name for event in p.events()].count("aten::mm")
            ),
        ) as theirs,
    ):
        for _ in range(14):
            train(window, 1)
            theirs.step()
    assert seen == [2]
    assert window.state.state == state


def test_a_whole_run_begins_when_a_profiler_of_the_job_has_ended(make, tmp_path):
    theirs = own_profiler()
    theirs.start()
    with make(step_by="run") as window:
        torch.mm(A, A)
        assert window.state.state == "waiting"
        theirs.stop()
        assert window.state.state == "recording"
        torch.add(A, A)
    theirs = [event.name for event in theirs.events()]
    assert ("aten::mm" in theirs, "aten::add" in theirs) == (True, False)
    trace = read_trace(tmp_path / window.state.trace)
    found = [e["name"] for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]
    assert found == ["aten::add"]
    assert (window.state.state, window.state.reason) == ("written", "")
    assert window.state.met is True  # it is alone


def test_a_whole_run_is_cut_by_a_profiler_of_the_job(make):
    with make(step_by="run") as window:
        torch.mm(A, A)
        with own_profiler():
            torch.mm(A, A)
    assert (window.state.state, window.state.reason) == (
        "cut",
        "the job used its own profiler",
    )


def test_a_whole_run_does_not_wait_for_a_rank_whose_profiler_runs(make, monkeypatch):
    monkeypatch.setattr(meet, "gather", lambda who, step, **_: Meeting(2, 2, 1))
    with make(step_by="run") as window:
        torch.mm(A, A)
    assert window.state.state == "written"


def test_a_whole_run_that_was_put_off_did_not_begin_with_others(make, monkeypatch):
    monkeypatch.setattr(meet, "gather", lambda who, step, **_: Meeting(2, 2, 1))
    theirs = own_profiler()
    theirs.start()
    with make(step_by="run") as window:
        theirs.stop()
    assert (window.state.state, window.state.met) == ("written", False)


def test_what_others_put_around_torchs_functions_stays(make, monkeypatch):
    home = torch.autograd.profiler
    real = home._enable_profiler
    with make() as window:
        inner = home._enable_profiler

        def around(*args):
            return inner(*args)

        monkeypatch.setattr(home, "_enable_profiler", around)
        train(window, 4)
    assert home._enable_profiler is around
    with own_profiler() as theirs:
        torch.mm(A, A)
    assert "aten::mm" in [event.name for event in theirs.events()]
    monkeypatch.undo()
    home._enable_profiler = real


def test_a_job_that_exits_while_its_profiler_is_waited_for_says_so(make, monkeypatch):
    monkeypatch.setattr(meet, "gather", lambda *_, **__: sys.exit(3))
    with own_profiler():
        window = make()
        with pytest.raises(SystemExit), window:
            train(window, 6)
    assert window.state.state == "nothing"
    assert window.state.reason.startswith("SystemExit: 3; ")


def test_a_rank_that_missed_the_others_meets_them_no_more(make, monkeypatch):
    meetings = []

    def gather(who, step, *, ready, timeout_s, stop):
        meetings.append(step)
        return Meeting(1, 2, int(not ready))

    monkeypatch.setattr(meet, "gather", gather)
    theirs = own_profiler()
    with make() as window:
        theirs.start()
        train(window, 3)
        theirs.stop()
        train(window, 8)
    assert meetings == [2]
    assert (window.state.state, window.state.met) == ("written", False)
    assert window.state.reason == "1 of 2 ranks met before the window"


# ------------------------------------------------------------------ delays


def test_delays_act_in_the_warm_up_and_the_window_and_are_told(make, tmp_path):
    rule = DelayRule("aten::mm", us=100)
    with make(delays=(rule,)) as window:
        train(window, 6)
    assert window.state.delays == "iteration_4/rank0_delays.json"
    truth = read_truth(tmp_path / window.state.delays)
    assert [made.step for made in truth.delays] == [1, 2, 3]
    assert truth.occurrences == {step: {0: 1} for step in (1, 2, 3)}
    assert read_trace(tmp_path / window.state.trace)["synctax"]["delays"] is True


def test_picks_of_the_first_recorded_step_are_among_those_of_the_warm_up(make, tmp_path):
    with make(delays=(DelayRule("aten::mm", us=0, pick=1),)) as window:
        train(window, 4)
    truth = read_truth(tmp_path / window.state.delays)
    assert [made.step for made in truth.delays] == [2, 3]


def test_each_delay_lies_within_its_operator_in_the_trace(make, tmp_path):
    with make(delays=(DelayRule("aten::mm", us=800),)) as window:
        train(window, 4)
    trace = read_trace(tmp_path / window.state.trace)
    base = trace["baseTimeNanoseconds"]
    mms = [
        (base + event["ts"] * 1000, base + (event["ts"] + event["dur"]) * 1000)
        for event in trace["traceEvents"]
        if event["name"] == "aten::mm"
    ]
    recorded = [
        made for made in read_truth(tmp_path / window.state.delays).delays if made.step >= 2
    ]
    assert len(recorded) == 2
    for made in recorded:
        assert any(
            start - 500_000 <= made.start_ns and made.end_ns <= end + 500_000
            for start, end in mms
            if end - start >= 800_000
        )


def test_a_window_that_waits_delays_nothing_meanwhile(make, tmp_path):
    theirs = own_profiler()
    with make(delays=(DelayRule("aten::mm", us=0),)) as window:
        theirs.start()
        train(window, 6)
        theirs.stop()
        train(window, 8)
    truth = read_truth(tmp_path / window.state.delays)
    first = window.state.first_step
    assert [made.step for made in truth.delays] == [1, 3, first - 1, first, first + 1]


def test_a_delay_that_cannot_be_made_leaves_nothing(make):
    with make(delays=(DelayRule("aten::mm", us=1, side="gpu"),)) as window:
        train(window, 4)
    assert window.state.state == "nothing"
    assert "needs a GPU" in window.state.reason


# ------------------------------------------------------------------ trouble


def fail(error):
    def act(*args, **kwargs):
        raise error

    return act


@pytest.mark.parametrize("name", ["prepare", "start", "mark", "note", "stop", "save"])
@pytest.mark.parametrize(
    "error", [RuntimeError("CUPTI_ERROR\nmore"), OSError(28, "No space left on device")]
)
def test_an_error_of_the_profiler_is_a_line_and_no_more(
    make, monkeypatch, tmp_path, name, error
):
    window = make(delays=(DelayRule("aten::mm", us=0),))
    with window, monkeypatch.context() as patch:
        real = getattr(kineto.KinetoWindow, name)
        patch.setattr(kineto.KinetoWindow, name, fail(error))
        train(window, 3)
        if name in ("mark", "stop"):  # needed to leave torch as it was
            patch.setattr(kineto.KinetoWindow, name, real)
            if name == "stop":
                window._tools.window.stop = fail(error)
                inner = window._tools.window
        train(window, 2)
    if name == "stop":
        del inner.stop
        inner.stop()
    assert window.state.state == "nothing"
    first = str(error).partition("\n")[0]
    assert window.state.reason == f"{type(error).__name__}: {first}"
    assert window.said == [f"nothing was recorded: {window.state.reason}"]
    assert traces(tmp_path) == left_over(tmp_path) == []


@pytest.mark.parametrize(("fails_at", "away"), [(1, [2]), (2, [4]), (3, [])])
def test_a_rank_that_gave_up_stays_away_from_the_meeting_it_would_be_at(
    make, monkeypatch, fails_at, away
):
    """The window is tried at step 2, where another rank is busy, and again at 4."""
    stayed, prepared = [], []

    def prepare(self):
        prepared.append(1)
        if len(prepared) == fails_at:
            raise RuntimeError("CUPTI_ERROR")
        real(self)

    real = kineto.KinetoWindow.prepare
    monkeypatch.setattr(kineto.KinetoWindow, "prepare", prepare)
    monkeypatch.setattr(meet, "who", lambda: replace(who(), has_group=True))
    monkeypatch.setattr(meet, "stay_away", lambda who, step: stayed.append(step))
    monkeypatch.setattr(meet, "gather", lambda who, step, **_: Meeting(2, 2, step == 2))
    with make() as window:
        train(window, 9)
    assert stayed == away
    assert window.state.state == ("written" if fails_at == 3 else "nothing")


def test_a_rank_that_gave_up_before_it_had_a_group_stays_away_as_soon_as_it_can(
    make, monkeypatch
):
    stayed, grouped = [], []
    monkeypatch.setattr(meet, "who", lambda: replace(who(), has_group=bool(grouped)))
    monkeypatch.setattr(meet, "stay_away", lambda who, step: stayed.append(step))
    monkeypatch.setattr(kineto.KinetoWindow, "prepare", fail(RuntimeError("CUPTI_ERROR")))
    with make(warmup=3) as window:
        train(window, 3)
        assert (window.state.state, stayed) == ("nothing", [])
        grouped.append(True)
        train(window, 5)
    assert stayed == [4]


@pytest.mark.parametrize("steps", [0, 1])
def test_a_rank_whose_loop_ends_before_the_window_stays_away_from_it(
    make, monkeypatch, steps
):
    stayed = []
    monkeypatch.setattr(meet, "who", lambda: replace(who(), has_group=True))
    monkeypatch.setattr(meet, "stay_away", lambda who, step: stayed.append(step))
    with make() as window:
        train(window, steps)
    assert stayed == [2]


def test_a_folder_that_cannot_be_made_is_told_once(make, tmp_path):
    wall = tmp_path / "wall"
    wall.write_text("a file")
    with make(folder=wall) as window:
        train(window, 6)
    assert window.state.state == "nothing"
    assert window.said == [f"nothing was recorded: {window.state.reason}"]
    assert "Not a directory" in window.state.reason


def test_a_trace_that_is_not_whole_is_no_trace(make, monkeypatch, tmp_path):
    monkeypatch.setattr(
        torch.profiler.profile,
        "export_chrome_trace",
        lambda self, path: Path(path).write_text('{"traceEvents": [{"ph": "X"'),
    )
    with make() as window:
        train(window, 6)
    assert window.state.state == "nothing"
    assert "is the disk full?" in window.state.reason
    assert traces(tmp_path) == left_over(tmp_path) == []


@pytest.fixture
def killed(tmp_path):
    """The number of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_what_a_killed_writer_left_is_removed_and_nothing_else(make, tmp_path, killed):
    folder = tmp_path / "iteration_4"
    folder.mkdir()
    name = ".rank0_trace.json.gz"
    for end in (killed, os.getpid(), os.getppid(), "copy"):
        (folder / f"{name}.{end}").write_text("")
    (folder / f".rank01_trace.json.gz.{killed}").write_text("")
    with make() as window:
        train(window, 4)
    assert window.state.state == "written"
    assert sorted(left_over(folder)) == sorted(
        [f"{name}.{os.getppid()}", f"{name}.copy", f".rank01_trace.json.gz.{killed}"]
    )


def test_an_abandoned_workplace_is_removed_and_one_in_use_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    home, target = tmp_path / "temporary", tmp_path / "target"
    for place in (home / "synctax-dead", home / "other", target):
        place.mkdir(parents=True)
        (place / "lock").write_text("")
    code = (
        "import sys; from pathlib import Path; from synctax.record.parts import workplace\n"
        "with workplace(Path(sys.argv[1])) as folder:\n"
        "    print(folder.name, flush=True); sys.stdin.read()"
    )
    environment = os.environ | {"TMPDIR": str(home)}
    writer = subprocess.Popen(
        [sys.executable, "-c", code, str(target)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    in_use = writer.stdout.readline().strip()
    with parts.workplace(target) as mine:
        names = {path.name for path in home.iterdir()}
        assert names == {in_use, mine.name, "other"}
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    with parts.workplace(target) as mine:
        assert {path.name for path in home.iterdir()} == {mine.name, "other"}
    assert [path.name for path in home.iterdir()] == ["other"]


@pytest.mark.parametrize(
    ("temporary", "target", "beside"),
    [(1 << 40, 1 << 41, False), (100, 1 << 40, True), (100, 99, False), (100, 100, False)],
)
def test_a_small_temporary_folder_is_not_used_where_there_is_more_room(
    make, monkeypatch, tmp_path, temporary, target, beside
):
    home = tmp_path / "temporary"
    home.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(home))
    free = {home: temporary, tmp_path / "traces" / "iteration_4": target}
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: SimpleNamespace(free=free[Path(path)])
    )
    exported = []
    export = torch.profiler.profile.export_chrome_trace
    monkeypatch.setattr(
        torch.profiler.profile,
        "export_chrome_trace",
        lambda self, path: (exported.append(Path(path)), export(self, path)),
    )
    with make(folder=tmp_path / "traces") as window:
        train(window, 4)
    assert window.state.state == "written"
    assert (home in exported[0].parents) is not beside
    assert left_over(tmp_path / "traces") == [] == list(home.iterdir())


# ------------------------------------------------------------------ torch of other versions


@pytest.mark.parametrize(
    ("known", "any_thread"),
    [
        ({"enable_cuda_sync_events", "profile_all_threads", "trace_only"}, True),
        ({"enable_cuda_sync_events", "profile_all_threads"}, True),
        ({"enable_cuda_sync_events"}, False),
        (set(), False),
    ],
)
def test_what_a_version_does_not_know_is_left_out(monkeypatch, known, any_thread):
    def config(**keys):
        if set(keys) - known:
            raise TypeError("incompatible constructor arguments")
        return keys

    monkeypatch.setattr(torch._C._profiler, "_ExperimentalConfig", config)
    found, any_thread_found = kineto._config(with_stack=False)
    assert found == (dict.fromkeys(known, True) or None)
    assert any_thread_found is any_thread


def test_nothing_is_made_of_the_events_but_the_trace(make):
    with make() as window:
        train(window, 2)
        inner = window._tools.window._profiler.profiler
        train(window, 2)
    # what torch 2.4 makes at once, later versions when asked
    assert inner._parse_kineto_results(inner.kineto_results) == []


def test_a_function_that_a_version_does_not_have_is_not_watched(monkeypatch):
    home = torch.autograd.profiler
    monkeypatch.delattr(home, "_prepare_profiler")
    watch = Watch(lambda: None, lambda: None)
    watch.install()
    watch.install()
    assert not hasattr(home, "_prepare_profiler")
    watch.remove()
    assert not watch.busy()


def test_devices_are_recorded_and_waited_for_where_they_are(monkeypatch):
    waited = []
    here = SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        synchronize=lambda: waited.append(1),
    )
    kinds = torch.profiler.ProfilerActivity
    assert kineto.activities() == [kinds.CPU]
    monkeypatch.setattr(torch, "cuda", here)
    monkeypatch.setattr(
        torch.profiler, "supported_activities", lambda: {kinds.CPU, kinds.CUDA}
    )
    assert kineto.activities() == [kinds.CPU, kinds.CUDA]
    kineto.synchronize()
    assert waited == [1]


def test_kineto_is_quiet_unless_told_otherwise(monkeypatch):
    monkeypatch.delenv("KINETO_LOG_LEVEL", raising=False)
    with kineto.quiet():
        assert os.environ["KINETO_LOG_LEVEL"] == "99"
    assert "KINETO_LOG_LEVEL" not in os.environ
    monkeypatch.setenv("KINETO_LOG_LEVEL", "0")
    with kineto.quiet():
        assert os.environ["KINETO_LOG_LEVEL"] == "0"
    assert os.environ["KINETO_LOG_LEVEL"] == "0"


@pytest.mark.parametrize("size", [0, 10, kineto.TAIL_BYTES, 3 * kineto.CHUNK_BYTES + 5])
def test_a_trace_of_any_size_is_compressed_whole(tmp_path, size):
    plain, packed = tmp_path / "rank0_trace.json", tmp_path / "packed.gz"
    text = '{"pad": "' + "x" * size + f'", "traceName": "{plain}"}}'
    plain.write_text(text)
    kineto.compress(plain, packed)
    assert gzip.decompress(packed.read_bytes()).decode() == text.replace(
        str(plain), plain.name
    )
    assert json.loads(gzip.decompress(packed.read_bytes()))["traceName"] == plain.name
