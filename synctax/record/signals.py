"""SIGTERM and SIGINT in a process that records: write what there is, then die as it would.

Python runs a handler in the main thread, between two instructions. A main thread that is
blocked in a wait of C++, as of a collective whose other ranks are gone, comes to none. So
a thread reads the numbers of signals from the wakeup descriptor, and acts if the main
thread does not.

A script that puts a handler of its own in the place of ours later keeps it; the window is
then ended from the thread, whether or not the script goes on afterwards.
"""

import ctypes
import os
import select
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

GRACE_S = 1.0
"""How long the main thread has to act on a signal before another does."""

NUMBERS = (signal.SIGTERM, signal.SIGINT)
"""torchrun ends the ranks that are left with SIGTERM, and with SIGKILL 30 s later."""

_HANDLED = 0
"""What the main thread adds to the numbers of signals when it has come to its handler."""


class Signals:
    """Handlers that call a function first, then do what would have been done without.

    Parameters
    ----------
    act : callable
        Called with the name of the signal: in the main thread, or in another if that one
        is blocked.
    busy : callable
        Whether the calling thread is where it must not be interrupted: what the signal
        does otherwise then waits for `deliver`.
    """

    def __init__(self, act: Callable[[str], None], busy: Callable[[], bool]) -> None:
        self._act = act
        self._busy = busy
        self._before: dict[int, Any] = {}
        self._late: list[tuple[Any, int, FrameType | None]] = []
        self._wakeup: tuple[int, int] | None = None

    def install(self) -> None:
        """Take over the signals that end the process or have a handler of the script.

        Only the main thread can; in another nothing happens.
        """
        if not _in_main_thread() or self._before:
            return
        for number in NUMBERS:
            before = signal.getsignal(number)
            # None: a handler in C, which Python cannot put back
            if before not in (None, signal.SIG_IGN):
                self._before[number] = before
                signal.signal(number, self._caught)
        self._watch()

    def remove(self) -> None:
        """Put back what was there; where the script has put its own since, leave that."""
        if not _in_main_thread():
            return
        for number, before in self._before.items():
            if signal.getsignal(number) == self._caught:
                signal.signal(number, before)
        self._before = {}
        if self._wakeup is not None:
            other = signal.set_wakeup_fd(-1)
            if other not in (-1, self._wakeup[1]):
                signal.set_wakeup_fd(other)  # the script's own, as of asyncio
            os.close(self._wakeup[1])  # the thread reads the end, and ends
            self._wakeup = None

    def in_child(self) -> None:
        """Forget everything in a forked child: it is no rank, and ends by signals."""
        # the pipe is shared with the parent, but nothing is written to it here any more
        self.remove()
        self._late = []

    def deliver(self) -> None:
        """Act on signals that came while the process was busy."""
        while self._late and _in_main_thread():
            _do(*self._late.pop(0))

    def _watch(self) -> None:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        other = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        if other != -1:  # the script needs it, and acts on signals without Python's help
            signal.set_wakeup_fd(other)
            os.close(reader)
            os.close(writer)
            return
        self._wakeup = (reader, writer)
        name = "synctax-signals"
        threading.Thread(target=self._read, args=(reader,), name=name, daemon=True).start()

    def _read(self, reader: int) -> None:
        more = select.poll()
        more.register(reader, select.POLLIN)
        waiting = _HANDLED
        while True:
            if waiting != _HANDLED and not more.poll(1000 * GRACE_S):
                self._for_blocked(waiting)
                waiting = _HANDLED
            came = os.read(reader, 1)
            if not came:
                break
            if came[0] == _HANDLED or came[0] in self._before:
                waiting = came[0]
        os.close(reader)

    def _for_blocked(self, number: int) -> None:
        """Act in the place of the main thread, and die where it would have died."""
        self._act(signal.Signals(number).name)
        ours = signal.getsignal(number) == self._caught
        if ours and self._before.get(number) is signal.SIG_DFL:
            # signal.signal is for the main thread only
            restore = ctypes.pythonapi.PyOS_setsig
            restore.argtypes = (ctypes.c_int, ctypes.c_void_p)
            restore.restype = ctypes.c_void_p
            restore(number, int(signal.SIG_DFL))
            os.kill(os.getpid(), number)

    def _caught(self, number: int, frame: FrameType | None) -> None:
        if self._wakeup is not None:
            with suppress(OSError):  # it is full: the other thread is far behind
                os.write(self._wakeup[1], bytes([_HANDLED]))
        before = self._before.get(number, signal.SIG_DFL)
        late = self._busy() and not self._late  # a second one is not kept waiting
        if late:
            self._late.append((before, number, frame))
        self._act(signal.Signals(number).name)
        if not late:
            _do(before, number, frame)


def _do(handler: Any, number: int, frame: FrameType | None) -> None:
    """Do what a signal would have done with a handler of Python, or none."""
    if callable(handler):
        handler(number, frame)
    elif handler is signal.SIG_DFL:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
