"""Runs one function on many things, in worker processes that end with their parent."""

import multiprocessing as mp
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any, Literal, NoReturn, TypeVar, cast

from synctax.errors import SynctaxError

T = TypeVar("T")
OnBytes = Callable[[int], None]
Function = Callable[[int, OnBytes], T]
Outcome = Literal["done", "failed", "progress"]
Context = ForkContext | SpawnContext

PROGRESS_BYTES = 1 << 20
"""Progress is passed on in steps of at least this many bytes."""

STOP_GRACE_S = 0.5
"""How long stopped workers may take to remove their temporary files."""

MOST_NAMED = 5
"""How many files or other tasks an error message names."""


class WorkerLostError(SynctaxError):
    """A worker ended without an answer: the system killed it, or memory ran out."""


def map_files(
    function: Callable[[str, OnBytes], T],
    paths: Sequence[str],
    *,
    workers: int | None = None,
    on_progress: Callable[[str, int], None] | None = None,
) -> list[T | SynctaxError]:
    """Call `function(path, on_bytes)` for every path, several at a time.

    The largest files go first.

    Parameters
    ----------
    function : callable
        As for `map_tasks`, with a path in place of a number.
    paths : n strings
    workers : int, optional
        As for `map_tasks`.
    on_progress : callable, optional
        Called here with a path and bytes consumed since its last call.

    Returns
    -------
    n results
        As of `map_tasks`.

    Raises
    ------
    WorkerLostError, ValueError, Exception
        As `map_tasks`.
    """

    def told(at: int, count: int) -> None:
        if on_progress is not None:
            on_progress(paths[at], count)

    return map_tasks(
        partial(_of_path, function, tuple(paths)),
        paths,
        order=sorted(range(len(paths)), key=lambda at: -_size_bytes(paths[at])),
        workers=workers,
        on_progress=None if on_progress is None else told,
    )


def _of_path(
    function: Callable[[str, OnBytes], T], paths: Sequence[str], at: int, on_bytes: OnBytes
) -> T:
    return function(paths[at], on_bytes)


def map_tasks(
    function: Function[T],
    names: Sequence[str],
    *,
    order: Sequence[int] | None = None,
    workers: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[T | SynctaxError]:
    """Call `function(at, on_progress)` for every number from 0, several at a time.

    Workers are forked where that is safe (Linux, and no other thread runs), which costs
    a few ms; else each starts a new interpreter. So start threads after this, not before.
    One worker or one task runs in this process.

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

    Returns
    -------
    n results
        In the order of `names`, whatever `workers` is; where `function` raised a
        `SynctaxError`, that error.

    Raises
    ------
    WorkerLostError
        If a worker was killed or its memory ran out.
    ValueError
        If `workers` is below 1.
    Exception
        What else `function` raises, with the worker's traceback as a note.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    count = min(workers or available_cores(), len(names))
    if count > 1:
        new = _Crew(names, range(len(names)) if order is None else order)
        with _started(count, function, new, report=on_progress is not None) as crew:
            return crew.collect(on_progress)
    if on_progress is None:
        return [_call(function, at, name, _silent) for at, name in enumerate(names)]
    return [
        _call(function, at, name, partial(on_progress, at)) for at, name in enumerate(names)
    ]


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


class _Meter:
    """Adds up bytes and passes them on in large steps."""

    def __init__(self, emit: Callable[[int], None]) -> None:
        self.emit = emit
        self.pending = 0

    def __call__(self, n: int) -> None:
        self.pending += n
        if self.pending >= PROGRESS_BYTES:
            self.flush()

    def flush(self) -> None:
        if self.pending:
            n, self.pending = self.pending, 0
            self.emit(n)


def _silent(n: int) -> None:
    """Progress that nobody asked for."""


def _call(
    function: Function[T], at: int, name: str, emit: Callable[[int], None]
) -> T | SynctaxError:
    meter = _Meter(emit)
    try:
        return function(at, meter)
    except SynctaxError as error:
        return error
    except MemoryError as error:
        raise _worker_lost("memory ran out", [name]) from error
    finally:
        meter.flush()


# ------------------------------------------------------------------ in the parent


@dataclass(slots=True)
class _Worker:
    """A process, our end of its pipe, and the number of its task, if any."""

    process: BaseProcess
    connection: Connection
    index: int | None = None


class _Crew:
    """The workers of one call of `map_tasks`."""

    def __init__(self, names: Sequence[str], order: Sequence[int]) -> None:
        self.names = names
        self.workers: list[_Worker] = []
        self.queue = iter(order)

    def collect(self, on_progress: Callable[[int, int], None] | None) -> list[Any]:
        """Hand out every task, and bring the results in the order of their names."""
        results: list[Any] = [None] * len(self.names)
        for worker in self.workers:
            self._assign(worker)
        while busy := {w.connection: w for w in self.workers if w.index is not None}:
            for connection in wait(list(busy)):
                worker = busy[cast("Connection", connection)]
                index = cast("int", worker.index)
                outcome, value = self._receive(worker)
                if outcome == "failed":
                    raise value
                if outcome == "done":
                    results[index] = value
                    self._assign(worker)
                elif on_progress is not None:
                    on_progress(index, value)
        return results

    def stop(self, *, at_once: bool) -> None:
        """End every worker; none is left when this returns."""
        for worker in self.workers:
            worker.connection.close()
            if at_once:
                worker.process.terminate()
        deadline = time.monotonic() + STOP_GRACE_S
        for worker in self.workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()

    def _assign(self, worker: _Worker) -> None:
        worker.index = next(self.queue, None)
        if worker.index is not None:
            try:
                worker.connection.send(worker.index)
            except OSError as error:
                raise self._lost(worker) from error

    def _receive(self, worker: _Worker) -> tuple[Outcome, Any]:
        try:
            data = worker.connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise self._lost(worker) from error
        message: tuple[Outcome, Any] = pickle.loads(data)  # noqa: S301 - from our own child
        return message

    def _lost(self, worker: _Worker) -> WorkerLostError:
        worker.process.join(STOP_GRACE_S)
        reading = [w for w in self.workers if w.index is not None]
        reading.sort(key=lambda other: other is not worker)
        return _worker_lost(
            f"a worker process {_ending(worker.process.exitcode)}",
            [self.names[cast("int", w.index)] for w in reading],
        )


@contextmanager
def _started(
    count: int, function: Function[Any], crew: _Crew, *, report: bool
) -> Iterator[_Crew]:
    context = _context()
    at_once = True
    try:
        with _interrupt_held():
            _start(crew, count, function, context, report=report)
        yield crew
        at_once = False
    finally:
        with _interrupt_held():
            crew.stop(at_once=at_once)


def _start(
    crew: _Crew, count: int, function: Function[Any], context: Context, *, report: bool
) -> None:
    for _ in range(count):
        ours, theirs = context.Pipe()
        # A forked worker inherits our ends of the pipes: it must close them, or its
        # siblings would never see that we are gone.
        inherited = [w.connection for w in crew.workers] + [ours]
        if isinstance(context, SpawnContext):
            inherited = []
        process = context.Process(
            target=_work,
            args=(theirs, inherited, function, tuple(crew.names), report),
            daemon=True,
        )
        with warnings.catch_warnings():
            # Python 3.12 warns of any other thread of the system; those of OpenBLAS and
            # Arrow survive a fork, and of our own there are none.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        theirs.close()
        crew.workers.append(_Worker(process, ours))


def _context() -> Context:
    if sys.platform == "linux" and threading.active_count() == 1:
        return mp.get_context("fork")
    # The tracker lets interrupts through when it starts, so not while they are held.
    resource_tracker.ensure_running()
    return mp.get_context("spawn")


@contextmanager
def _interrupt_held() -> Iterator[None]:
    """Put off Ctrl-C and SIGTERM; processes started meanwhile never see Ctrl-C."""
    held = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _size_bytes(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0  # `function` will say what is wrong with it


def _ending(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"was killed by {signal.Signals(-exit_code).name}"
    return f"ended with code {exit_code}"


def _worker_lost(what: str, names: Sequence[str]) -> WorkerLostError:
    named = ", ".join(names[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return WorkerLostError(
        f"{what} while at work on {named}{more}; if memory ran out, use fewer --workers"
    )


# ------------------------------------------------------------------ in a worker


def _work(
    connection: Connection,
    inherited: list[Connection],
    function: Function[Any],
    names: Sequence[str],
    report: bool,
) -> None:
    # Held since before the fork, so that none meets the parent's handler.
    signal.signal(signal.SIGTERM, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    for other in inherited:
        other.close()

    def send(n: int) -> None:
        try:
            connection.send_bytes(_encode("progress", n))
        except OSError:  # the parent is gone; this must not pass for a bad file
            sys.exit(1)

    try:
        while True:
            at = connection.recv()
            emit = send if report else _silent
            connection.send_bytes(_attempt(function, at, names[at], emit))
    except (EOFError, OSError):
        return  # the parent wants no more, or is gone


def _leave(_signum: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(1)


def _attempt(
    function: Function[Any], at: int, name: str, send: Callable[[int], None]
) -> bytes:
    try:
        return _encode("done", _call(function, at, name, send))
    except Exception as error:  # noqa: BLE001 - raised again in the parent
        return _encode_error(error)


def _encode(outcome: Outcome, value: object) -> bytes:
    return pickle.dumps((outcome, value), protocol=pickle.HIGHEST_PROTOCOL)


def _encode_error(error: Exception) -> bytes:
    text = "".join(traceback.format_exception(error))
    error.add_note(f"in the worker:\n{text}")
    try:
        data = _encode("failed", error)
        pickle.loads(data)  # noqa: S301 - what fails, fails here and not in the parent
    except Exception:  # noqa: BLE001 - an error that cannot travel is told in words
        return _encode("failed", RuntimeError(text))
    return data
