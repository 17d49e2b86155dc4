"""What SIGTERM and SIGINT do to a process that records."""

import ctypes
import os
import signal
import sys
import threading
import time

import pytest

from synctax.record import signals
from synctax.record.hook import Hook
from synctax.record.plan import Plan
from synctax.record.signals import Signals
from synctax.record.state import RankState, read_states
from tests.record import fake_torch

pytestmark = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(),
    reason="only the main thread has handlers",
)


@pytest.fixture(autouse=True)
def short_grace(monkeypatch):
    monkeypatch.setattr(signals, "GRACE_S", 0.05)


@pytest.fixture
def script_handler():
    """A handler of the script for SIGTERM, that lists the signals it gets."""
    got = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: got.append(number))
    yield got
    signal.signal(signal.SIGTERM, before)


class Caller:
    """What handlers call; while `inside`, it must not be interrupted."""

    def __init__(self):
        self.acts = []
        self.inside = False
        self.signals = Signals(self.act, lambda: self.inside)

    def act(self, name):
        self.acts.append((name, threading.current_thread() is threading.main_thread()))


@pytest.fixture
def caller(script_handler):
    caller = Caller()
    caller.signals.install()
    yield caller
    caller.signals.remove()


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)


def until(true):
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


# ------------------------------------------------------------------ handlers


def test_the_scripts_own_handler_runs_after_ours(caller, script_handler):
    terminate()
    assert caller.acts == [("SIGTERM", True)]
    assert script_handler == [signal.SIGTERM]


def test_ctrl_c_still_interrupts(caller):
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    assert caller.acts == [("SIGINT", True)]


def test_a_signal_while_busy_takes_its_effect_later_and_a_second_one_at_once(
    caller, script_handler
):
    caller.inside = True
    terminate()
    assert (len(caller.acts), script_handler) == (1, [])
    terminate()
    assert script_handler == [signal.SIGTERM]
    caller.inside = False
    caller.signals.deliver()
    assert len(script_handler) == 2
    caller.signals.deliver()
    assert len(script_handler) == 2


def test_handlers_are_put_back(caller, script_handler):
    ours = signal.getsignal(signal.SIGTERM)
    caller.signals.install()  # a second time changes nothing
    assert signal.getsignal(signal.SIGTERM) == ours
    caller.signals.remove()
    assert signal.getsignal(signal.SIGTERM) != ours
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.set_wakeup_fd(-1) == -1
    terminate()
    assert (caller.acts, len(script_handler)) == ([], 1)


def test_a_handler_that_the_script_sets_later_stays(caller):
    def later(*_):
        pass

    signal.signal(signal.SIGTERM, later)
    caller.signals.remove()
    assert signal.getsignal(signal.SIGTERM) is later


def test_a_signal_that_is_ignored_stays_ignored():
    caller, before = Caller(), signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        caller.signals.install()
        terminate()
        assert caller.acts == []
    finally:
        caller.signals.remove()
        signal.signal(signal.SIGTERM, before)


def test_a_wakeup_descriptor_of_the_script_stays(script_handler):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    caller = Caller()
    caller.signals.install()
    assert signal.set_wakeup_fd(writer) == writer
    caller.signals.remove()
    assert signal.set_wakeup_fd(-1) == writer
    # and one that it sets later
    caller.signals.install()
    signal.set_wakeup_fd(writer)
    caller.signals.remove()
    assert signal.set_wakeup_fd(-1) == writer
    os.close(reader)
    os.close(writer)


def test_another_thread_installs_and_removes_nothing(caller):
    ours = signal.getsignal(signal.SIGTERM)
    other = Caller()
    for act in (other.signals.install, caller.signals.remove):
        thread = threading.Thread(target=act)
        thread.start()
        thread.join()
    assert signal.getsignal(signal.SIGTERM) == ours


def test_a_signal_that_nobody_handles_kills_once_we_have_acted(monkeypatch):
    killed, before = [], signal.signal(signal.SIGTERM, signal.SIG_DFL)
    monkeypatch.setattr(os, "kill", lambda _, number: killed.append(number))
    caller = Caller()
    try:
        caller.signals.install()
        signal.raise_signal(signal.SIGTERM)
        assert killed == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        # of a handler in C nothing is known
        signals._do(None, signal.SIGTERM, None)
        assert killed == [signal.SIGTERM]
        # in the place of the main thread, while ours is still there
        signal.signal(signal.SIGTERM, caller.signals._caught)
        caller.signals._for_blocked(signal.SIGTERM)
        assert killed == [signal.SIGTERM] * 2
    finally:
        caller.signals.remove()
        signal.signal(signal.SIGTERM, before)


# ------------------------------------------------------------------ a blocked main thread


def blocked_until(true):
    """Wait in C without the interpreter's lock, and without being interrupted."""
    mutex = ctypes.create_string_buffer(64)
    libc = ctypes.CDLL(None)
    libc.pthread_mutex_lock(mutex)

    def release():
        until(true)
        libc.pthread_mutex_unlock(mutex)

    thread = threading.Thread(target=release)
    thread.start()
    libc.pthread_mutex_lock(mutex)
    thread.join()


@pytest.mark.skipif(sys.platform != "linux", reason="a mutex of glibc")
def test_another_thread_acts_where_the_main_thread_is_blocked(caller, script_handler):
    threading.Timer(0.05, terminate).start()
    blocked_until(lambda: caller.acts)
    assert caller.acts[0] == ("SIGTERM", False)
    until(lambda: script_handler)  # which runs once the wait is over
    assert script_handler == [signal.SIGTERM]


def test_signals_that_come_together_are_not_taken_for_those_of_a_blocked_thread(
    caller, script_handler
):
    for _ in range(20):
        terminate()
        terminate()
    time.sleep(3 * signals.GRACE_S)
    assert {main for _, main in caller.acts} == {True}
    assert len(caller.acts) == len(script_handler) == 40


def test_the_window_ends_where_a_later_handler_of_the_script_goes_on(caller):
    got = []
    signal.signal(signal.SIGTERM, lambda *_: got.append(1))
    terminate()
    until(lambda: caller.acts)
    assert (caller.acts, got) == ([("SIGTERM", False)], [1])


def test_other_signals_are_none_of_ours(caller):
    got = []
    before = signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        until(lambda: got)
        terminate()
        until(lambda: caller.acts)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert [name for name, _ in caller.acts] == ["SIGTERM"]


# ------------------------------------------------------------------ what a rank leaves


class Recording:
    """A recording that another thread can end or not."""

    def __init__(self, plan, *, say, any_thread=True):
        self.state = RankState(0, 1, "node-a", 1, state="recording")
        self.any_thread = any_thread
        self.ends = []

    def begin(self):
        pass

    def step(self):
        self.during()

    def during(self):
        pass

    def end(self, reason=""):
        self.ends.append(reason)
        main = threading.current_thread() is threading.main_thread()
        if main or self.any_thread:
            self.state = RankState(0, 1, "node-a", 1, state="cut", reason=reason)


@pytest.fixture
def watch(tmp_path, script_handler):
    watch = Hook(Plan(tmp_path), make=Recording)
    yield watch
    watch.finish()


def state(watch):
    return [(one.state, one.reason) for one in read_states(watch.plan.folder)]


def test_sigterm_ends_the_window_in_its_step(watch, script_handler):
    watch.step()
    watch.step()
    terminate()
    assert watch.recording.ends == ["SIGTERM came in step 2"]
    assert script_handler == [signal.SIGTERM]
    terminate()
    assert len(watch.recording.ends) == 1


def test_handlers_leave_with_the_window(watch):
    theirs = signal.getsignal(signal.SIGTERM)
    watch.step()
    assert signal.getsignal(signal.SIGTERM) != theirs
    watch.recording.end("it is over")
    watch.step()
    assert signal.getsignal(signal.SIGTERM) is theirs


def test_a_signal_in_the_recorder_ends_the_window_when_that_has_ended(
    watch, script_handler
):
    watch.begin()
    seen = []

    def during():
        terminate()
        seen.append((list(watch.recording.ends), list(script_handler)))

    watch.recording.during = during
    watch.recording.any_thread = True
    watch.step()
    assert seen == [(["SIGTERM came in step 0"], [])]
    assert script_handler == [signal.SIGTERM]


def test_a_second_signal_does_not_wait_for_the_recorder(watch, script_handler):
    watch.begin()
    kept = watch.recording
    kept.end = kept.ends.append  # takes effect later

    def during():
        terminate()
        terminate()
        assert state(watch) == [("nothing", "SIGTERM came in step 0")]
        assert script_handler == [signal.SIGTERM]

    kept.during = during
    watch.step()
    assert len(script_handler) == 2


def test_what_another_thread_cannot_save_is_told(watch):
    watch.begin()
    watch.recording.any_thread = False
    thread = threading.Thread(target=watch._stopped, args=("SIGTERM",))
    thread.start()
    thread.join()
    reason = "SIGTERM came in step 0, and the thread that recorded was blocked"
    assert state(watch) == [("nothing", reason)]


def test_another_thread_does_not_wait_for_ever(watch, monkeypatch):
    monkeypatch.setattr("synctax.record.hook.LONGEST_WAIT_S", 0.01)

    def during():
        thread = threading.Thread(target=watch._stopped, args=("SIGTERM",))
        thread.start()
        thread.join()

    watch.begin()
    watch.recording.during = during
    watch.step()
    assert state(watch)[0][0] == "nothing"


def test_two_threads_make_one_rank(watch):
    made = []
    watch._make = lambda *a, **k: made.append(Recording(*a, **k)) or made[-1]
    threads = [threading.Thread(target=watch.begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    watch._run(watch._begin)
    assert len(made) == 1


# ------------------------------------------------------------------ processes

WAITS = """
import torch, os, signal, sys, time
optimizer = torch.optim.SGD()
{before}
for _ in range(3):
    optimizer.step()
print("ready", flush=True)
{wait}
print("on")
"""


@pytest.fixture
def job(tmp_path):
    """Start a script that waits in its third step; `job.traces` is its folder."""
    jobs = []

    def start(before="", wait="time.sleep(60)"):
        script = WAITS.format(before=before, wait=wait)
        job = fake_torch.start(tmp_path, script)
        job.traces = tmp_path / "traces"
        jobs.append(job)
        assert job.stdout.readline() == "ready\n"
        return job

    yield start
    for job in jobs:
        if job.poll() is None:
            job.kill()
        job.communicate()


def ends(job):
    stdout, _ = job.communicate(timeout=30)
    return job.returncode, stdout, fake_torch.told(job.traces)["rank0"][-1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_job_dies_of_the_signal_after_its_trace_was_written(job, number):
    waiting = job()
    waiting.send_signal(number)
    assert ends(waiting) == (-number, "", f"end {number.name} came in step 3")
    assert [one.state for one in read_states(waiting.traces)] == ["cut"]


def test_a_job_with_a_handler_of_its_own_ends_as_that_says(job):
    handler = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))"
    waiting = job(before=handler)
    waiting.terminate()
    assert ends(waiting) == (5, "", "end SIGTERM came in step 3")


BLOCKED = """
import ctypes
mutex, libc = ctypes.create_string_buffer(64), ctypes.CDLL(None)
libc.pthread_mutex_lock(mutex)
libc.pthread_mutex_lock(mutex)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a mutex of glibc")
def test_a_job_that_is_blocked_in_c_dies_of_sigterm_as_it_would(job):
    waiting = job(wait=BLOCKED)
    waiting.terminate()
    assert ends(waiting) == (-signal.SIGTERM, "", "end SIGTERM came in step 3")


def test_children_of_a_rank_die_of_sigterm_and_end_nothing(job):
    fork = """
child = os.fork()
if not child:
    time.sleep(60)
time.sleep(0.1)
os.kill(child, signal.SIGTERM)
print(os.WTERMSIG(os.wait()[1]))
"""
    waiting = job(wait=fork)
    assert ends(waiting) == (0, f"{signal.SIGTERM:d}\non\n", "end ")
