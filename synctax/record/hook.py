"""What `synctax record` puts into each process of a job that imports torch.

The process becomes a rank when it first steps (`synctax.record.stepping`). Launchers,
loaders of data and compilers import torch too, and never do.
"""

import atexit
import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synctax.record.alive import is_alive
from synctax.record.defined import Target
from synctax.record.names import PROCESS_SCHEMA, process_path
from synctax.record.plan import Plan
from synctax.record.signals import Signals
from synctax.record.state import RankState, state_before, write_state, write_whole
from synctax.record.stepping import by_function, by_optimizer, by_run
from synctax.record.trouble import first_line

if TYPE_CHECKING:
    from synctax.record.recording import Recording

OPEN = ("waiting", "recording")
"""States of a recording that has not ended."""

LONGEST_WAIT_S = 20.0
"""For what another thread is doing: a trace that is being written. torchrun kills 30 s
after the signal that it sends first."""

Make = Callable[..., "Recording"]


def arm(path: str) -> None:
    """Watch this process, which has just imported torch, as a plan says.

    Parameters
    ----------
    path : str
        File of the plan.

    Raises
    ------
    OSError, ValueError
        If there is none.
    """
    hook = Hook(Plan.from_json(Path(path).read_text(encoding="utf-8")))
    hook.listen()


def make_recording(plan: Plan, **keys: Any) -> "Recording":
    """Make the recording of a rank; torch is needed from here on."""
    from synctax.record.recording import Recording

    return Recording(plan, **keys)


def _say_nothing(_line: str) -> None:
    """The states of all ranks are told when the job has ended."""


def say(text: str) -> None:
    """Write a line to stderr."""
    sys.stderr.write(f"synctax: {text}\n")


class Hook:
    """One process of a job: its steps, what interrupts them, and its end.

    No method raises an error of its own: the job goes on without being recorded.

    Parameters
    ----------
    plan : Plan
    make : callable
        As `Recording`.
    """

    def __init__(self, plan: Plan, *, make: Make = make_recording) -> None:
        self.plan = plan
        self.recording: Recording | None = None
        self.missing = "no optimizer stepped"
        self.over = False
        self.steps = 0
        self._make = make
        self._lock = threading.RLock()
        self._owner = 0
        self._closed = False
        self._process = os.getpid()
        self._asked = False
        self._signals = Signals(self._stopped, self._is_inside)

    def listen(self) -> None:
        """Wait for steps, and for the end of the process."""
        if self.plan.step_by == "optimizer":
            by_optimizer(self)
        elif self.plan.step_by == "function":
            by_function(Target.parse(self.plan.step_at), self, self._miss)
        else:
            self.missing = "no process group was made, no module ran, no optimizer stepped"
            by_run(self)
        os.register_at_fork(after_in_child=self._in_child)
        atexit.register(self.finish)

    def is_open(self) -> bool:
        """Whether a recording has begun and not ended."""
        return not self._closed and (
            self.recording is not None and self.recording.state.state in OPEN
        )

    # ------------------------------------------------------------------ what happens

    def begin(self) -> None:
        """Become a rank; once."""
        if self.recording is None:
            self._run(self._begin)

    def step(self) -> None:
        """End a step; the first makes the process a rank."""
        self.begin()
        self._run(self._step)

    def finish(self) -> None:
        """End with the process; called more than once where it ends in several ways."""
        if self._process != os.getpid():
            return
        error = last_error()
        if self.recording is None:
            missing = self.missing if error is None else f"{self.missing}; {error}"
            self._run(lambda: None if _is_helper() else self._leave_word(missing))
        else:
            self._end("" if error is None else error + self._where())
        self._close()

    # ------------------------------------------------------------------ how

    def _begin(self) -> None:
        if self.recording is not None:  # another thread was faster
            return
        recording = self._make(self.plan, say=_say_nothing)
        other = other_process(self.plan.folder, recording.state)
        if other:
            self._leave_word(other, double=True)
            self._close()
            return
        self.recording = recording
        self._signals.install()
        self.recording.begin()
        # after what the recording registers, so that it runs before and knows the reason
        atexit.register(self.finish)
        _at_end_of_child(self.finish)

    def _step(self) -> None:
        if self.recording is not None:
            self.recording.step()
            self.steps += 1
            if not self.is_open():
                self._signals.remove()
                # one without a trace may have to tell others that it does not come
                self.over = bool(self.recording.state.trace)

    def _end(self, reason: str) -> None:
        recording = self.recording
        if recording is not None:
            self._run(lambda: recording.end(reason))

    def _stopped(self, signal: str) -> None:
        """Write what there is, from whichever thread, before the process may die."""
        if not self.is_open():
            return
        reason = f"{signal} came{self._where()}"
        if self._is_inside():
            # ends when the step has been dealt with; asked again, it is too late for that
            if self._asked or self.recording is None:
                self._write_off(reason)
            else:
                self._asked = True
                self.recording.end(reason)
            return
        self._end(reason)
        if self.is_open() and threading.current_thread() is not threading.main_thread():
            self._write_off(f"{reason}, and the thread that recorded was blocked")

    def _is_inside(self) -> bool:
        return self._owner == threading.get_ident()

    def _run(self, act: Callable[[], None]) -> None:
        """Do one thing at a time, and never let its failure reach the job."""
        if self._closed or self._is_inside():
            return
        # of two threads, the second acts on a signal: it must not wait for ever
        if not self._lock.acquire(timeout=LONGEST_WAIT_S):
            return
        try:
            self._owner = threading.get_ident()
            act()
        except Exception as error:  # noqa: BLE001 - the job must not fail because of us
            self._fail(error)
        finally:
            self._owner = 0
            self._lock.release()
        self._signals.deliver()

    def _fail(self, error: Exception) -> None:
        self._closed = self.over = True
        what = f"the recorder failed: {first_line(error)}"
        say(what)
        self._write_off(what)

    def _write_off(self, reason: str) -> None:
        """Leave a state that says that there is no trace, and why."""
        if self.recording is None or self.recording.state.state not in OPEN:
            return
        state = replace(self.recording.state, state="nothing", reason=reason)
        try:
            write_state(self.plan.folder, state)
        except OSError as error:
            say(str(error))

    def _close(self) -> None:
        self._closed = self.over = True
        self._signals.remove()

    def _in_child(self) -> None:
        """Make a forked child none of ours, unless the ranks are forked themselves."""
        self._lock = threading.RLock()
        self._owner = 0
        self._closed = self.over = self._closed or self.recording is not None
        self._signals.in_child()
        if not self._closed:
            self._process = os.getpid()

    def _where(self) -> str:
        return "" if self.plan.step_by == "run" else f" in step {self.steps}"

    def _miss(self, what: str) -> None:
        self.missing = what

    def _leave_word(self, reason: str, *, double: bool = False) -> None:
        """Say why a process that imported torch is no rank, in a file beside the ranks."""
        host = socket.gethostname()
        word = {
            "schema": PROCESS_SCHEMA,
            "host": host,
            "pid": os.getpid(),
            "rank": os.environ.get("RANK", ""),
            "command": sys.orig_argv,
            "reason": reason,
            "double": double,
        }
        path = process_path(self.plan.folder, host, os.getpid())
        write_whole(path, json.dumps(word) + "\n")


def other_process(folder: Path, state: RankState) -> str:
    """Say that another process is the rank that this one would be; empty if none is.

    It may be one that is still there, whose environment this one has, or, where nothing
    names ranks, one that has recorded before. A rank that has ended otherwise may come
    again: launchers start jobs anew.

    Parameters
    ----------
    folder : Path
    state : RankState
        Of this process.
    """
    other = state_before(folder, state.rank)
    if other is None or (other.pid, other.host) == (state.pid, state.host):
        return ""
    named = "RANK" in os.environ or state.world_size > 1
    if is_alive(other) or (other.trace and not named):
        return f"process {other.pid} is rank {state.rank}"
    return ""


def last_error() -> str | None:
    """Name the exception that ends the process, and the first line of its message."""
    # finalizers of multiprocessing run while it is on its way, others after it was shown
    error = sys.exc_info()[1] or getattr(sys, "last_value", None)
    if isinstance(error, SystemExit):
        error = error.__context__  # torch.multiprocessing exits where it caught one
    return None if error is None else first_line(error)


def _at_end_of_child(call: Callable[[], None]) -> None:
    """Call a function when a process of multiprocessing ends, which may skip `atexit`."""
    multiprocessing = sys.modules.get("multiprocessing.process")
    if multiprocessing is not None and multiprocessing.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(None, call, exitpriority=0)


def _is_helper() -> bool:
    """Whether this process only serves others: a launcher, a loader, a compiler."""
    multiprocessing = sys.modules.get("multiprocessing.process")
    child = multiprocessing is not None and multiprocessing.parent_process() is not None
    script = " ".join(sys.orig_argv)
    return (
        child
        or "torch.distributed.launcher" in sys.modules
        or "torch._inductor.compile_worker" in script
    )
