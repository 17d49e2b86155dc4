"""Starting a job that records itself: its environment, its folder, signals, exit codes."""

import contextlib
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from synctax.record import launch as module
from synctax.record.bootstrap.sitecustomize import HERE
from synctax.record.claim import OccupiedFolderError
from synctax.record.launch import (
    CommandNotFoundError,
    CommandNotRunnableError,
    await_ranks,
    job_environment,
    launch,
    run,
)
from synctax.record.outcome import STILL_RUNS, read_outcome
from synctax.record.plan import Plan
from synctax.record.relay import Relay, _foreground_group
from synctax.record.state import RankState, read_states, write_state
from tests.conftest import ROOT

SH = "/bin/sh"


def touch(*paths):
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")


# ------------------------------------------------------------------ environment


def test_what_the_job_had_on_its_path_comes_after_ours(tmp_path):
    made = job_environment(tmp_path / "plan.json", {"PYTHONPATH": "/a:/b", "HOME": "/h"})
    assert made["PYTHONPATH"] == f"{HERE}:/a:/b"
    assert made["HOME"] == "/h"
    assert made["SYNCTAX_RECORD_PLAN"] == str(tmp_path / "plan.json")


def test_without_a_path_there_is_no_empty_entry(tmp_path):
    for outer in ({}, {"PYTHONPATH": ""}):
        # an empty entry would be the current directory
        assert job_environment(tmp_path, outer)["PYTHONPATH"] == HERE


def test_kineto_is_quiet_unless_it_was_told_otherwise(tmp_path):
    assert job_environment(tmp_path, {})["KINETO_LOG_LEVEL"] == "99"
    outer = {"KINETO_LOG_LEVEL": "0"}
    assert job_environment(tmp_path, outer)["KINETO_LOG_LEVEL"] == "0"


def test_the_job_finds_the_plan_wherever_it_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = 'cd / && cp "$SYNCTAX_RECORD_PLAN" "$1"'
    plan = Plan(tmp_path.relative_to(tmp_path) / "traces", steps=2)
    outcome = launch(plan, [SH, "-c", script, SH, str(tmp_path / "seen.json")])
    seen = Plan.from_json((tmp_path / "seen.json").read_text())
    assert (seen.folder, seen.steps) == (tmp_path / "traces", 2)
    assert outcome.exit_code == 0
    assert outcome.ranks == ()


# ------------------------------------------------------------------ commands


@pytest.mark.parametrize(
    ("command", "code"),
    [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)],
)
def test_the_exit_code_is_as_in_a_shell(command, code):
    assert run([SH, "-c", command], os.environ) == code


def test_a_command_that_is_not_there_leaves_the_folder_alone(tmp_path):
    trace = tmp_path / "iteration_9" / "rank0_trace.json.gz"
    touch(trace)
    write_state(tmp_path, RankState(0, 1, "a", 1, trace="iteration_9/rank0_trace.json.gz"))
    with pytest.raises(CommandNotFoundError, match="nonesuch: no such command") as error:
        launch(Plan(tmp_path), ["nonesuch"], overwrite=True)
    assert error.value.exit_code == 127
    assert trace.exists()


def test_the_path_of_the_job_is_searched(tmp_path):
    program = tmp_path / "program"
    program.write_text(f"#!{SH}\nexit 3\n")
    program.chmod(0o755)
    environment = {"PATH": str(tmp_path)}
    plan = Plan(tmp_path / "traces")
    assert launch(plan, ["program"], environment=environment).exit_code == 3


def test_a_file_that_is_no_program_says_how_to_run_it(tmp_path):
    touch(tmp_path / "train.py", tmp_path / "notes.txt")
    with pytest.raises(CommandNotRunnableError, match=r"run it as python .*train\.py"):
        launch(Plan(tmp_path / "traces"), [str(tmp_path / "train.py")])
    with pytest.raises(CommandNotRunnableError, match=r"notes\.txt is not executable$"):
        launch(Plan(tmp_path / "traces"), [str(tmp_path / "notes.txt")])


@pytest.mark.parametrize(
    ("text", "reason"),
    [("#!/nonesuch/sh\n", "no such file"), ("\x00\x01", "exec format error")],
)
def test_a_program_that_does_not_start_says_why(tmp_path, text, reason):
    program = tmp_path / "program"
    program.write_text(text)
    program.chmod(0o755)
    for _ in range(2):  # the first try leaves nothing that a second would have to replace
        with pytest.raises(CommandNotRunnableError, match=reason) as error:
            launch(Plan(tmp_path / "traces"), [str(program)])
    assert error.value.exit_code == 126


# ------------------------------------------------------------------ signals

COUNTS = """
import os, signal, sys, time
got = []
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: got.append(signal.Signals(number).name))
print("ready", flush=True)
end = time.monotonic() + 20
while not got and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.2)  # for what may come twice
print(*got, flush=True)
sys.exit(5)
"""

OURS = """
import os, sys
from synctax.record.launch import run
sys.exit(run([sys.executable, "-c", sys.argv[1]], os.environ))
"""


def outer(**keys):
    """Start a process that runs the job, with a group of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", OURS, COUNTS],
        cwd=ROOT,
        **{"stdout": subprocess.PIPE, "text": True} | keys,
    )


@pytest.mark.parametrize(
    ("name", "whole_group"), [("SIGINT", True), ("SIGTERM", True), ("SIGHUP", False)]
)
def test_without_a_terminal_the_job_gets_each_signal_once(name, whole_group):
    process = outer(start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    (os.killpg if whole_group else os.kill)(process.pid, getattr(signal, name))
    stdout, _ = process.communicate(timeout=30)
    assert (stdout, process.returncode) == (f"{name}\n", 5)


def on_terminal(act):
    """Run the job on a terminal of its own; `act(terminal, pid)` when it is ready."""
    terminal, inner = pty.openpty()
    own = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    process = subprocess.Popen(
        [sys.executable, "-c", own + OURS, COUNTS],
        cwd=ROOT,
        stdin=inner,
        stdout=inner,
        start_new_session=True,
    )
    os.close(inner)
    shown = b""
    while b"ready" not in shown:
        shown += os.read(terminal, 1000)
    act(terminal, process.pid)
    with contextlib.suppress(OSError):  # of Linux, when the other side is closed
        while more := os.read(terminal, 1000):
            shown += more
    os.close(terminal)
    # a terminal shows the key, too
    return shown.decode().split()[-1].removeprefix("^C"), process.wait()


def test_ctrl_c_reaches_the_job_once():
    assert on_terminal(lambda tty, _: os.write(tty, b"\x03")) == ("SIGINT", 5)


def test_on_a_terminal_too_sigterm_is_passed_on():
    assert on_terminal(lambda _, pid: os.kill(pid, signal.SIGTERM)) == ("SIGTERM", 5)


class Job:
    """A process that lists what it is sent."""

    pid = 0

    def __init__(self, code=None):
        self.code = code
        self.sent = []

    def poll(self):
        return self.code

    def send_signal(self, number):
        self.sent.append(number)


def test_a_signal_that_comes_before_the_job_reaches_it(monkeypatch):
    monkeypatch.setattr("synctax.record.relay._foreground_group", lambda: -1)
    before = signal.getsignal(signal.SIGTERM)
    with Relay() as relay:
        os.kill(os.getpid(), signal.SIGTERM)
        job = Job()
        relay.started(job)
    assert job.sent == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_that_comes_before_a_job_that_does_not_start_is_this_processs_own():
    with pytest.raises(KeyboardInterrupt), Relay():
        os.kill(os.getpid(), signal.SIGINT)


def test_the_terminals_own_signals_are_not_passed_on(monkeypatch):
    monkeypatch.setattr("synctax.record.relay._foreground_group", os.getpgrp)
    with Relay() as relay:
        assert relay.group is None
        relay.started(job := Job())
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            os.kill(os.getpid(), number)
    assert job.sent == [signal.SIGTERM]


def test_without_a_terminal_the_group_of_the_job_gets_them_until_it_has_ended(monkeypatch):
    sent = []
    monkeypatch.setattr("synctax.record.relay._foreground_group", lambda: None)
    monkeypatch.setattr(os, "killpg", lambda *what: sent.append(what))
    with Relay() as relay:
        assert relay.group == 0
        relay.started(job := Job())
        os.kill(os.getpid(), signal.SIGINT)
        job.code = 0
        os.kill(os.getpid(), signal.SIGTERM)
    assert sent == [(0, signal.SIGINT)]


@pytest.mark.parametrize("fails", ["open", "tcgetpgrp", ""])
def test_the_group_in_the_foreground_is_asked_of_the_terminal(monkeypatch, fails):
    closed = []

    def call(result, name):
        def called(*_):
            if name == fails:
                raise OSError
            return result

        return called

    monkeypatch.setattr(os, "open", call(99, "open"))
    monkeypatch.setattr(os, "tcgetpgrp", call(7, "tcgetpgrp"))
    monkeypatch.setattr(os, "close", closed.append)
    assert _foreground_group() == (None if fails else 7)
    assert closed == ([] if fails == "open" else [99])


def test_what_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Relay():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_job_can_be_started_from_any_thread():
    codes = []
    thread = threading.Thread(
        target=lambda: codes.append(run([SH, "-c", "exit 4"], os.environ))
    )
    thread.start()
    thread.join()
    assert codes == [4]


def test_the_job_reads_our_stdin_and_writes_our_stdout():
    code = "import os; from synctax.record.launch import run; run(['cat'], os.environ)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="words",
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.stdout == "words"


def test_the_jobs_stdout_goes_to_stderr_if_asked(tmp_path, capfd):
    job = [SH, "-c", "echo result; echo trouble >&2"]
    launch(Plan(tmp_path / "a"), job, stdout_to_stderr=True)
    assert capfd.readouterr() == ("", "result\ntrouble\n")
    launch(Plan(tmp_path / "b"), job)
    assert capfd.readouterr() == ("result\n", "trouble\n")


def test_what_is_to_be_said_first_is_said_once_the_job_can_start(tmp_path, monkeypatch):
    order = []
    monkeypatch.setattr(module, "run", lambda *_, **__: order.append("run") or 0)
    launch(Plan(tmp_path / "t"), [SH], on_start=lambda: order.append("said"))
    assert order == ["said", "run"]
    touch(tmp_path / "t" / "x.json")
    with pytest.raises(OccupiedFolderError):
        launch(Plan(tmp_path / "t"), [SH], on_start=lambda: order.append("said"))
    assert len(order) == 2


# ------------------------------------------------------------------ who stays longer


def test_ranks_that_outlive_the_command_are_waited_for(tmp_path):
    here = RankState(0, 1, socket.gethostname(), os.getpid(), state="recording")
    write_state(tmp_path, here)
    written = replace(here, state="written")
    threading.Timer(0.1, lambda: write_state(tmp_path, written)).start()
    await_ranks(tmp_path)
    assert read_states(tmp_path) == [written]


@pytest.mark.parametrize("code", [0, 7])
def test_a_damaged_note_takes_no_exit_code_away(tmp_path, code):
    script = f'for f in rank0 process-a-1; do : > "$1/record/$f.json"; done; exit {code}'
    outcome = launch(Plan(tmp_path), [SH, "-c", script, SH, str(tmp_path)])
    assert outcome.exit_code == code
    assert len(outcome.unreadable) == 2


def test_ranks_are_not_waited_for_without_end(tmp_path):
    here = RankState(0, 1, socket.gethostname(), os.getpid(), state="waiting")
    write_state(tmp_path, here)
    await_ranks(tmp_path, timeout_s=0.01)
    (rank,) = read_outcome(Plan(tmp_path), 0).ranks
    assert (rank.fate, rank.reason) == ("running", STILL_RUNS)
