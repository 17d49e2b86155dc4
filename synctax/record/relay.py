"""Pass the signals that this process gets on to a job, once each."""

import os
import signal
import subprocess
import threading
from types import FrameType
from typing import Any, Self

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that go to the job; this process waits for its end."""

Job = subprocess.Popen[bytes]


class Relay:
    """Handlers of signals while a job runs, and the process group it is to run in.

    On a terminal the job stays in the group of this process, so that both are stopped,
    continued and interrupted together; what the terminal has sent to both is not passed
    on: so one of those that is sent to this process alone, as by `kill -INT`, reaches
    nobody; SIGTERM does. Without one whoever signals this process or its group means the
    job, which has a group of its own and gets each signal once.
    """

    def __init__(self) -> None:
        self.group = None if _foreground_group() is not None else 0
        """For `Popen(process_group=...)`."""
        self._job: Job | None = None
        self._early: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in NUMBERS:
                if signal.getsignal(number) is not signal.SIG_IGN:  # as of nohup
                    self._before[number] = signal.signal(number, self._pass_on)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._job is None:
            # no job has come of it: what was meant for one was meant for this process
            for number in self._early:
                signal.raise_signal(number)

    def started(self, job: Job) -> None:
        """Tell which process is the job; what came before reaches it now."""
        self._job = job
        for number in self._early:
            self._pass_on(number)

    def _pass_on(self, number: int, _frame: FrameType | None = None) -> None:
        job = self._job
        if job is None:
            self._early.append(number)
        elif self.group is None:
            # a terminal sends all but SIGTERM, to each process in its foreground
            if number == signal.SIGTERM or _foreground_group() != os.getpgrp():
                job.send_signal(number)
        elif job.poll() is None:
            os.killpg(job.pid, number)


def _foreground_group() -> int | None:
    """Return the process group that the terminal sends signals to; None without one."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return None
    try:
        return os.tcgetpgrp(terminal)
    except OSError:  # it is gone
        return None
    finally:
        os.close(terminal)
