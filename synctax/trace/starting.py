"""How a worker process is started, and what it hears of interrupts meanwhile."""

import multiprocessing as mp
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import ForkContext, SpawnContext

Context = ForkContext | SpawnContext


def may_fork() -> bool:
    """Tell whether forking is safe: on Linux, where no other thread may hold a lock."""
    return sys.platform == "linux" and threading.active_count() == 1


def how() -> Context:
    """Choose how workers are started: forked where that is safe, which takes a few ms."""
    if may_fork():
        return mp.get_context("fork")
    # The tracker lets interrupts through when it starts, so not while they are held.
    resource_tracker.ensure_running()
    return mp.get_context("spawn")


@contextmanager
def interrupt_held() -> Iterator[None]:
    """Put off Ctrl-C and SIGTERM; processes started meanwhile never see Ctrl-C."""
    held = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
