"""Calls a function on many things in threads of this process, where none can be forked.

For what lets other threads run most of the time, as the compiled reader does. A process
that cannot be forked is started anew: it imports everything again, and the program of the
caller too, which a script without `if __name__ == "__main__"` does not survive.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, Literal, TypeVar

from synctax.trace.pool_worker import Function, call

T = TypeVar("T")
_Told = tuple[Literal["done", "failed", "progress"], int, Any]


class _StoppedError(Exception):
    """Nobody waits for the answer any more."""


def map_in_threads(
    function: Function[T],
    names: Sequence[str],
    order: Sequence[int],
    *,
    threads: int,
    on_progress: Callable[[int, int], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> list[Any]:
    """Call `function(at, on_progress)` for every number, several at a time.

    Parameters
    ----------
    function, names, order, on_progress, meanwhile
        As for `pool.map_tasks`; it may raise what cannot be pickled, too.
    threads : int
        How many, at least 1.

    Returns
    -------
    n results
        As of `pool.map_tasks`. No thread is left when this returns or raises: what was
        begun ends at the next progress that it tells.

    Raises
    ------
    WorkerLostError
        If memory ran out.
    Exception
        What else `function` raises.
    """
    asked = _Asked(function, names)
    with ThreadPoolExecutor(threads, thread_name_prefix="synctax") as pool:
        try:
            for at in order:
                # what holds for this call (`errand`) holds for its threads
                pool.submit(copy_context().run, asked.answer, at)
            if meanwhile is not None:
                meanwhile()
            return asked.collect(on_progress)
        finally:
            asked.stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


class _Asked:
    """The questions of one call, and what threads tell of them."""

    def __init__(self, function: Function[Any], names: Sequence[str]) -> None:
        self.function = function
        self.names = names
        self.told: SimpleQueue[_Told] = SimpleQueue()
        self.stopped = threading.Event()

    def answer(self, at: int) -> None:
        """Call the function, in a thread."""

        def emit(n: int) -> None:
            if self.stopped.is_set():
                raise _StoppedError
            self.told.put(("progress", at, n))

        try:
            found = call(self.function, at, self.names[at], emit)
        except BaseException as error:  # noqa: BLE001 - raised again where it is heard
            self.told.put(("failed", at, error))
        else:
            self.told.put(("done", at, found))

    def collect(self, on_progress: Callable[[int, int], None] | None) -> list[Any]:
        """Hear the threads until all is answered."""
        results: list[Any] = [None] * len(self.names)
        left = len(self.names)
        while left:
            what, at, value = self.told.get()
            if what == "failed":
                raise value
            if what == "done":
                results[at] = value
                left -= 1
            elif on_progress is not None:
                on_progress(at, value)
        return results
