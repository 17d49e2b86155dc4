"""Runs one function on many things, in worker processes that end with their parent."""

import os
import pickle
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from synctax.errors import SynctaxError
from synctax.trace.narrow import OverPaths
from synctax.trace.pool_worker import (
    Function,
    OnBytes,
    Outcome,
    WorkerLostError,
    call,
    silent,
    work,
    worker_lost,
)
from synctax.trace.starting import Context, how, interrupt_held, may_fork, may_spawn

T = TypeVar("T")


class Machines(Protocol):
    """Where files are read other than in processes of this machine."""

    def map_files(
        self,
        function: Callable[[str, OnBytes], T],
        paths: Sequence[str],
        *,
        on_progress: Callable[[str, int], None] | None = None,
    ) -> list[T | SynctaxError]:
        """Call a function on files, as the function `map_files` does."""


Workers = int | Machines | None
"""How many processes of this machine, or the machines in their place
(`dask_pool.Scheduler`); None for a process a core."""

STOP_GRACE_S = 0.5
"""How long stopped workers may take to remove their temporary files."""


def map_files(
    function: Callable[[str, OnBytes], T],
    paths: Sequence[str],
    *,
    workers: Workers = None,
    on_progress: Callable[[str, int], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
    threads: bool = False,
) -> list[T | SynctaxError]:
    """Call `function(path, on_bytes)` for every path, several at a time.

    The largest files go first.

    Parameters
    ----------
    function : callable
        As for `map_tasks`, with a path in place of a number. Of a mapping by path that is
        bound to it, it may ask what belongs to its own path only.
    paths : n strings
    workers : int or Machines, optional
        As for `map_tasks`, or what calls the function in place of processes here.
    on_progress : callable, optional
        Called here with a path and bytes consumed since its last call.
    meanwhile, threads
        As for `map_tasks`.

    Returns
    -------
    n results
        As of `map_tasks`.

    Raises
    ------
    WorkerLostError, ValueError, Exception
        As `map_tasks`.
    """
    if workers is not None and not isinstance(workers, int):
        return workers.map_files(function, paths, on_progress=on_progress)

    def told(at: int, count: int) -> None:
        if on_progress is not None:
            on_progress(paths[at], count)

    return map_tasks(
        OverPaths(function, tuple(paths)),
        paths,
        order=sorted(range(len(paths)), key=lambda at: -size_bytes(paths[at])),
        workers=workers,
        on_progress=None if on_progress is None else told,
        meanwhile=meanwhile,
        threads=threads,
    )


def map_tasks(  # noqa: PLR0913 - each choice is one of its own
    function: Function[T],
    names: Sequence[str],
    *,
    order: Sequence[int] | None = None,
    workers: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
    go_on: bool = False,
    threads: bool = False,
) -> list[T | SynctaxError]:
    """Call `function(at, on_progress)` for every number from 0, several at a time.

    Workers are forked where that is safe (Linux, and no other thread runs), which costs
    a few ms. Else they are threads of this process if `threads` says so, or where a new
    interpreter would run the caller's script again; else each starts a new one. One worker
    or one task runs in this process.

    Parameters
    ----------
    function : callable
        Importable by its name, or a partial of such, as is what it returns or raises. It
        calls `on_progress(n)` with how much more it has done, bytes or whatever it counts.
    names : n strings
        What tasks are called where a worker is lost.
    order : permutation of 0 to n - 1, optional
        Who goes first, where there are several processes; default: as they stand.
    workers : int, optional
        At most this many processes; default: the cores this process may use.
    on_progress : callable, optional
        Called here with the number of a task and what it did since its last call.
    meanwhile : callable, optional
        Called here once, when every process is at work: what has to be done anyway and
        needs no result. It starts no thread. With one worker it is not called.
    go_on : bool
        Where a worker is lost, its task comes to that error, and another worker takes its
        place.
    threads : bool
        The function spends its time in code that lets other threads run.

    Returns
    -------
    n results
        In the order of `names`, whatever `workers` is; where `function` raised a
        `SynctaxError`, that error.

    Raises
    ------
    WorkerLostError
        If a worker was killed or its memory ran out, and not `go_on`.
    ValueError
        If `workers` is below 1.
    Exception
        What else `function` raises, with the worker's traceback as a note.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    count = min(workers or available_cores(), len(names))
    order = range(len(names)) if order is None else order
    if count > 1 and not may_fork() and not go_on and (threads or not may_spawn()):
        from synctax.trace.pool_threads import map_in_threads

        return map_in_threads(
            function,
            names,
            order,
            threads=count,
            on_progress=on_progress,
            meanwhile=meanwhile,
        )
    if count > 1:
        report = on_progress is not None
        new = Crew(function, names, order)
        with started(count, new, report=report) as crew:
            another = partial(_add, crew, report=report) if go_on else None
            return crew.collect(on_progress, another, meanwhile)
    return [
        _here(function, at, name, on_progress, go_on=go_on) for at, name in enumerate(names)
    ]


def _here(
    function: Function[T],
    at: int,
    name: str,
    on_progress: Callable[[int, int], None] | None,
    *,
    go_on: bool,
) -> T | SynctaxError:
    """Call the function in this process."""
    emit = silent if on_progress is None else partial(on_progress, at)
    try:
        return call(function, at, name, emit)
    except WorkerLostError as error:
        if not go_on:
            raise
        return error


def available_cores() -> int:
    """Count the cores that this process may run on.

    Examples
    --------
    >>> available_cores() >= 1
    True
    """
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(slots=True)
class Worker:
    """A process, our end of its pipe, and the number of its task, if any."""

    process: BaseProcess
    connection: Connection
    spawned: bool
    index: int | None = None


class Crew:
    """The workers of one call of `map_tasks`; without a function, one comes with a task."""

    def __init__(
        self, function: Function[Any] | None, names: Sequence[str], order: Sequence[int]
    ) -> None:
        self.function = function
        # what is pickled goes with the task that needs it, and not to every worker
        self.apart = function if isinstance(function, OverPaths) else None
        self.names = names
        self.workers: list[Worker] = []
        self.queue = iter(order)

    def collect(
        self,
        on_progress: Callable[[int, int], None] | None,
        another: Callable[[], None] | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> list[Any]:
        """Hand out every task, and bring the results in the order of their names.

        `another` starts a worker in place of one that is lost; without it, that is raised.
        """
        results: list[Any] = [None] * len(self.names)
        for worker in self.workers:
            self._assign(worker)
        if meanwhile is not None:
            meanwhile()
        while busy := {w.connection: w for w in self.workers if w.index is not None}:
            for connection in wait(list(busy)):
                worker = busy[cast("Connection", connection)]
                index = cast("int", worker.index)
                outcome, value = self._receive(worker, alone=another is not None)
                if outcome == "lost" and another is not None:
                    results[index] = value
                    self._drop(worker)
                    another()
                    self._assign(self.workers[-1])
                elif outcome in ("failed", "lost"):
                    raise value
                elif outcome == "done":
                    results[index] = value
                    self._assign(worker)
                elif on_progress is not None:
                    on_progress(index, value)
        return results

    def stop(self, *, at_once: bool) -> None:
        """End every worker; none is left when this returns."""
        _end(self.workers, at_once=at_once)

    def _next(self, _worker: Worker) -> int | None:
        """Choose what a worker does next."""
        return next(self.queue, None)

    def _assign(self, worker: Worker) -> None:
        worker.index = self._next(worker)
        if worker.index is not None:
            apart = self.apart if worker.spawned or self.function is None else None
            own = None if apart is None else apart.own(worker.index)
            # a worker that is gone is found where its answer is read
            with suppress(OSError):
                worker.connection.send((worker.index, own))

    def _drop(self, worker: Worker) -> None:
        """End one worker, if it has not ended."""
        self.workers.remove(worker)
        _end([worker], at_once=True)

    def _receive(self, worker: Worker, *, alone: bool) -> tuple[Outcome, Any]:
        try:
            data = worker.connection.recv_bytes()
        except (EOFError, OSError):
            return "lost", self._lost([worker] if alone else self._reading(worker))
        message: tuple[Outcome, Any] = pickle.loads(data)  # noqa: S301 - from our own child
        return message

    def _reading(self, first: Worker) -> list[Worker]:
        """List who is at work, one of them first: memory is short for all of them."""
        reading = [w for w in self.workers if w.index is not None]
        reading.sort(key=lambda other: other is not first)
        return reading

    def _lost(self, reading: Sequence[Worker]) -> WorkerLostError:
        process = reading[0].process
        process.join(STOP_GRACE_S)
        return worker_lost(
            f"a worker process {_ending(process.exitcode)}",
            [self.names[cast("int", w.index)] for w in reading],
        )


def _end(workers: Sequence[Worker], *, at_once: bool) -> None:
    for worker in workers:
        worker.connection.close()
        if at_once:
            worker.process.terminate()
    deadline = time.monotonic() + STOP_GRACE_S
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


@contextmanager
def started(count: int, crew: Crew, *, report: bool) -> Iterator[Crew]:
    """Start the workers of a crew; none is left at the end."""
    context = how()
    at_once = True
    try:
        with interrupt_held():
            _start(crew, count, context, report=report)
        yield crew
        at_once = False
    finally:
        with interrupt_held():
            crew.stop(at_once=at_once)


def _start(crew: Crew, count: int, context: Context, *, report: bool) -> None:
    spawned = isinstance(context, SpawnContext)
    function = None if spawned and crew.apart is not None else crew.function
    for _ in range(count):
        ours, theirs = context.Pipe()
        # A forked worker inherits our ends of the pipes: it must close them, or its
        # siblings would never see that we are gone.
        inherited = [w.connection for w in crew.workers] + [ours]
        if spawned:
            inherited = []
        process = context.Process(
            target=work,
            args=(theirs, inherited, function, tuple(crew.names), report),
            daemon=True,
        )
        with warnings.catch_warnings():
            # Python 3.12 warns of any other thread of the system; those of OpenBLAS and
            # Arrow survive a fork, and of our own there are none.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        theirs.close()
        crew.workers.append(Worker(process, ours, spawned))


def _add(crew: Crew, *, report: bool) -> None:
    """Start one more worker."""
    context = how()  # other threads may run by now
    with interrupt_held():
        _start(crew, 1, context, report=report)


def size_bytes(path: str) -> int:
    """Size of a file; 0 where it cannot be told."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0  # `function` will say what is wrong with it


def _ending(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"was killed by {signal.Signals(-exit_code).name}"
    return f"ended with code {exit_code}"
