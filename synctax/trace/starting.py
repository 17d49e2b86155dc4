"""How a worker process is started, and what it hears of interrupts meanwhile."""

import multiprocessing as mp
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import ForkContext, SpawnContext
from pathlib import Path
from typing import Final

Context = ForkContext | SpawnContext


GUARDED: Final = ("synctax", "synctax.exe", "__main__.py")
"""Programs that may be run again: what they do stands behind a guard."""


def may_fork() -> bool:
    """Tell whether forking is safe: on Linux, where no other thread may hold a lock.

    A worker of somebody else's pool may have no processes of its own.
    """
    alone = threading.active_count() == 1 and not mp.current_process().daemon
    return sys.platform == "linux" and alone


def may_spawn() -> bool:
    """Tell whether a new interpreter is one more of this: it runs the user's script first.

    A script whose calls do not stand behind `if __name__ == "__main__"` would do all again
    in each worker. Whether they do cannot be told, so a script is not run again; notebooks
    and interactive sessions have none.
    """
    script = getattr(sys.modules["__main__"], "__file__", None)
    own = script is None or Path(script).name in GUARDED
    return own and not mp.current_process().daemon


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
