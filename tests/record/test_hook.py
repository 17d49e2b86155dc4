"""The recorder in one process: what it listens to, how it ends, what it leaves."""

import atexit
import json
import multiprocessing
import os
import socket
import sys
import threading
import types
from dataclasses import replace

import pytest

from synctax.record import hook
from synctax.record.bootstrap import sitecustomize
from synctax.record.hook import Hook, arm, last_error
from synctax.record.plan import Plan
from synctax.record.state import RankState, read_states, write_state
from synctax.record.trouble import LONGEST_LINE


class Recording:
    """Lists what it is told; its window is open until it ends."""

    def __init__(self, plan, *, say, world_size=4):
        self.plan, self.say = plan, say
        self.told = []
        host = socket.gethostname()
        self.state = RankState(3, world_size, host, os.getpid(), state="recording")

    def begin(self):
        self.told.append("begin")

    def step(self):
        self.told.append("step")

    def end(self, reason=""):
        self.told.append(f"end {reason}")
        self.state = replace(self.state, state="cut" if reason else "written")


class Process:
    """What a process calls at its end and after a fork, instead of this one."""

    def __init__(self):
        self.at_exit = []
        self.in_child = []

    def fork(self, *, after_in_child):
        self.in_child.append(after_in_child)

    def exit(self):
        for call in reversed(self.at_exit):
            call()


@pytest.fixture
def process(monkeypatch):
    process = Process()
    monkeypatch.setattr(atexit, "register", process.at_exit.append)
    monkeypatch.setattr(os, "register_at_fork", process.fork)
    monkeypatch.delattr(sys, "last_value", raising=False)
    monkeypatch.delenv("RANK", raising=False)
    return process


@pytest.fixture
def heard(monkeypatch):
    """What is listened to, instead of torch."""
    heard = []
    for name in ("by_optimizer", "by_function", "by_run"):
        monkeypatch.setattr(
            hook, name, lambda *args, name=name: heard.append((name, *args))
        )
    return heard


@pytest.fixture
def watch(tmp_path, process, heard):
    """Make a watch that listens, with a plan in a folder of its own."""
    made = []

    def watch(**plan):
        made.append(Hook(Plan(tmp_path, **plan), make=Recording))
        made[-1].listen()
        return made[-1]

    yield watch
    for one in made:
        one._close()


def words(watch):
    folder = watch.plan.folder / "record"
    return [json.loads(path.read_text()) for path in folder.glob("process-*.json")]


# ------------------------------------------------------------------ what is heard


def test_the_plan_tells_what_a_step_is(watch, heard):
    one = watch()
    assert heard.pop() == ("by_optimizer", one)
    one = watch(step_by="run")
    assert heard.pop() == ("by_run", one)
    one = watch(step_by="function", step_at="train:Trainer.step")
    name, target, steps, tell = heard.pop()
    assert (name, str(target), steps) == ("by_function", "train:Trainer.step", one)
    tell("train was never imported")
    assert one.missing == "train was never imported"


def test_a_process_is_armed_by_a_file(tmp_path, process, heard):
    (tmp_path / "plan.json").write_text(Plan(tmp_path, steps=2).to_json())
    arm(str(tmp_path / "plan.json"))
    assert heard[0][1].plan.steps == 2
    assert len(process.at_exit) == len(process.in_child) == 1


def test_the_file_of_the_plan_is_in_the_environment(tmp_path, process, heard, monkeypatch):
    (tmp_path / "plan.json").write_text(Plan(tmp_path, steps=2).to_json())
    monkeypatch.setenv("SYNCTAX_RECORD_PLAN", str(tmp_path / "plan.json"))
    sitecustomize.load_recorder(types.ModuleType("torch"))
    assert heard[0][1].plan.steps == 2


def test_the_recording_of_torch_is_made_for_the_first_step(watch, monkeypatch):
    module = types.ModuleType("synctax.record.recording")
    module.Recording = Recording
    monkeypatch.setitem(sys.modules, module.__name__, module)
    one = Hook(watch().plan)
    one.step()
    assert one.recording.told == ["begin", "step"]
    assert one.recording.say("a line for people") is None
    one._close()


# ------------------------------------------------------------------ ends


def test_our_end_comes_before_those_that_the_recording_registers(watch, process):
    one = watch()
    one.step()
    one.recording.begin = None
    assert process.at_exit == [one.finish, one.finish]
    process.exit()
    assert one.recording.told == ["begin", "step", "end "]


def test_an_uncaught_exception_is_the_reason(watch, process, monkeypatch):
    one = watch()
    one.step()
    one.step()
    monkeypatch.setattr(sys, "last_value", ValueError("bad\nbatch"), raising=False)
    process.exit()
    assert one.recording.told[-1] == "end ValueError: bad in step 2"


def test_a_whole_run_counts_no_steps(watch, process, monkeypatch):
    one = watch(step_by="run")
    one.begin()
    monkeypatch.setattr(sys, "last_value", KeyError("loss"), raising=False)
    process.exit()
    assert one.recording.told == ["begin", "end KeyError: 'loss'"]


@pytest.mark.parametrize("trace", ["iteration_9/rank3_trace.json.gz", ""])
def test_it_is_over_with_the_trace_but_not_without_one(watch, trace):
    one = watch()
    one.step()
    assert not one.over
    one.recording.state = replace(one.recording.state, state="written", trace=trace)
    one.step()
    assert one.over == bool(trace)


def test_nothing_is_done_after_the_end(watch, process):
    one = watch()
    one.step()
    process.exit()
    one.step()
    assert one.recording.told == ["begin", "step", "end "]


def test_a_process_of_multiprocessing_ends_by_its_own_finalizers(watch, monkeypatch):
    monkeypatch.setattr(multiprocessing.process, "parent_process", lambda: "a parent")
    finalizers = []
    monkeypatch.setattr(
        "multiprocessing.util.Finalize",
        lambda _, call, exitpriority: finalizers.append((call, exitpriority)),
    )
    one = watch()
    one.step()
    assert finalizers == [(one.finish, 0)]
    try:
        raise RuntimeError("in a child")
    except RuntimeError:
        one.finish()
    assert one.recording.told[-1] == "end RuntimeError: in a child in step 1"


def test_no_exception_no_words():
    assert last_error() is None


def test_an_exit_has_the_words_of_the_exception_before_it():
    try:
        try:
            raise ValueError("lost")
        except ValueError:
            sys.exit(1)
    except SystemExit:
        assert last_error() == "ValueError: lost"
    try:
        sys.exit(0)
    except SystemExit:
        assert last_error() is None


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("", "RuntimeError"),
        ("a\nb", "RuntimeError: a"),
        ("\nIt failed. See:\nb", "RuntimeError: It failed. See:"),
        ("It failed.", "RuntimeError: It failed"),
        ("[/src/pair.cc:553] Connection closed", "RuntimeError: Connection closed"),
        ("[1, 2] is no shape", "RuntimeError: [1, 2] is no shape"),
        ("x" * LONGEST_LINE, f"RuntimeError: {'x' * LONGEST_LINE}"),
        ("x" * (LONGEST_LINE + 1), f"RuntimeError: {'x' * LONGEST_LINE}..."),
    ],
)
def test_a_message_is_its_first_line_without_places_in_torch(message, words):
    try:
        raise RuntimeError(message)
    except RuntimeError:
        assert last_error() == words


# ------------------------------------------------------------------ processes


def test_a_process_without_a_step_leaves_a_word(watch, process, monkeypatch):
    one = watch()
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setattr(sys, "last_value", OSError("no data"), raising=False)
    process.exit()
    (word,) = words(one)
    assert word["reason"] == "no optimizer stepped; OSError: no data"
    assert (word["rank"], word["pid"]) == ("2", os.getpid())
    assert word["host"] == socket.gethostname()


def before(tmp_path, pid, **keys):
    """Leave the state of rank 3 of another process."""
    write_state(tmp_path, RankState(3, 4, socket.gethostname(), pid, **keys))
    return read_states(tmp_path)


TRACE = "iteration_9/rank3_trace.json.gz"


@pytest.mark.parametrize(
    ("keys", "rank", "world_size"),
    [
        ({"state": "waiting"}, "3", 4),  # alive: it has the environment of that one
        ({"state": "written", "trace": TRACE}, "3", 4),
        ({"state": "written", "trace": TRACE, "pid": 0}, None, 1),  # one job after another
        ({"state": "cut", "trace": TRACE, "pid": 0}, None, 1),
    ],
)
def test_a_process_whose_rank_is_another_leaves_its_trace_alone(
    watch, process, tmp_path, monkeypatch, keys, rank, world_size
):
    if rank:
        monkeypatch.setenv("RANK", rank)
    pid = keys.pop("pid", os.getppid())
    monkeypatch.setattr(hook, "is_alive", lambda state: state.pid == os.getppid())
    states = before(tmp_path, pid, **keys)
    one = watch()
    one._make = lambda plan, say: Recording(plan, say=say, world_size=world_size)
    one.step()
    one.step()
    process.exit()
    assert (one.recording, one.over) == (None, True)
    assert read_states(tmp_path) == states
    (word,) = words(one)
    assert (word["reason"], word["double"]) == (f"process {pid} is rank 3", True)


@pytest.mark.parametrize(
    "keys", [{"state": "cut", "trace": TRACE}, {"state": "recording"}, {"pid": os.getpid()}]
)
def test_a_rank_that_is_started_anew_is_recorded_anew(watch, tmp_path, monkeypatch, keys):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setattr(hook, "is_alive", lambda _: False)
    before(tmp_path, **{"pid": 17} | keys)
    one = watch()
    one.step()
    assert one.recording.told == ["begin", "step"]


def test_lone_jobs_of_which_the_first_left_nothing_are_recorded(
    watch, tmp_path, monkeypatch
):
    monkeypatch.setattr(hook, "is_alive", lambda _: False)
    before(tmp_path, 17, state="nothing")
    one = watch()
    one._make = lambda plan, say: Recording(plan, say=say, world_size=1)
    one.step()
    assert one.recording.told == ["begin", "step"]


@pytest.mark.parametrize("kind", ["launcher", "compiler", "child"])
def test_a_process_that_serves_others_leaves_none(watch, process, monkeypatch, kind):
    if kind == "launcher":
        monkeypatch.setitem(sys.modules, "torch.distributed.launcher", types)
    elif kind == "compiler":
        script = ["python", "-m", "torch._inductor.compile_worker"]
        monkeypatch.setattr(sys, "orig_argv", script)
    else:
        monkeypatch.setattr(multiprocessing.process, "parent_process", lambda: "a parent")
    one = watch()
    process.exit()
    assert words(one) == []


def forked(monkeypatch, process):
    """Go on as a forked child would."""
    monkeypatch.setattr(os, "getpid", lambda: 0)
    for call in process.in_child:
        call()


def test_a_child_of_a_rank_is_none(watch, process, monkeypatch):
    one = watch()
    one.step()
    forked(monkeypatch, process)
    one.step()
    process.exit()
    assert one.recording.told == ["begin", "step"]


def test_a_child_that_is_forked_before_may_be_one(watch, process, monkeypatch):
    one = watch()
    forked(monkeypatch, process)
    one.step()
    process.exit()
    assert one.recording.told == ["begin", "step", "end "]


# ------------------------------------------------------------------ failures


def test_a_failure_is_told_and_ends_the_recording(watch, capsys):
    one = watch()
    one.begin()

    def fail():
        raise MemoryError("no more")

    one.recording.step = fail
    one.step()
    one.step()
    assert capsys.readouterr().err == "synctax: the recorder failed: MemoryError: no more\n"
    (state,) = read_states(one.plan.folder)
    assert (state.rank, state.state) == (3, "nothing")
    assert state.reason == "the recorder failed: MemoryError: no more"


def test_a_failure_after_the_window_takes_no_trace_away(watch, tmp_path, capsys):
    one = watch()
    one.begin()
    one.recording.end("")
    write_state(tmp_path, one.recording.state)
    one.recording.step = None
    one.step()
    assert "TypeError" in capsys.readouterr().err
    assert [state.state for state in read_states(tmp_path)] == ["written"]


def test_a_recording_that_cannot_be_made_is_told(watch, capsys):
    one = watch()
    one._make = None
    one.step()
    assert "the recorder failed: TypeError" in capsys.readouterr().err
    assert one.recording is None


def test_a_state_that_cannot_be_written_is_told(watch, tmp_path, capsys):
    one = watch()
    one.begin()
    (tmp_path / "record").write_text("")
    one.recording.step = None
    one.step()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "record" in lines[1]


def test_an_exception_of_the_scripts_own_passes(watch):
    one = watch()
    one.begin()

    def interrupt():
        raise KeyboardInterrupt

    one.recording.step = interrupt
    with pytest.raises(KeyboardInterrupt):
        one.step()
    assert one._lock.acquire(blocking=False)
    one._lock.release()


def test_steps_of_another_thread_count(watch):
    one = watch()
    thread = threading.Thread(target=one.step)
    thread.start()
    thread.join()
    assert one.recording.told == ["begin", "step"]
