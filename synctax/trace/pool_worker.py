"""What a worker of a pool does: calls the function, tells how far it is, and what came."""

import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, Literal, NoReturn, TypeVar

from synctax.errors import SynctaxError
from synctax.trace.freed import keep_freed
from synctax.trace.spill import low_memory
from synctax.urls import without_secrets

T = TypeVar("T")
OnBytes = Callable[[int], None]
Function = Callable[[int, OnBytes], T]
Outcome = Literal["done", "failed", "lost", "progress"]

PROGRESS_BYTES = 1 << 20
"""Progress is passed on in steps of at least this many bytes."""

MOST_NAMED = 5
"""How many files or other tasks an error message names."""


class WorkerLostError(SynctaxError):
    """A worker ended without an answer: the system killed it, or memory ran out."""


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


def silent(n: int) -> None:
    """Progress that nobody asked for."""


def call(
    function: Function[T], at: int, name: str, emit: Callable[[int], None]
) -> T | SynctaxError:
    """Call the function on a task; what it refuses is its answer.

    Raises
    ------
    WorkerLostError
        If memory ran out.
    """
    meter = _Meter(emit)
    try:
        return function(at, meter)
    except SynctaxError as error:
        return error
    except MemoryError as error:
        raise worker_lost("memory ran out", [name]) from error
    finally:
        meter.flush()


def worker_lost(
    what: str, names: Sequence[str], remedy: str = "use fewer --workers"
) -> WorkerLostError:
    """Make the error of a lost worker, which names tasks."""
    named = ", ".join(names[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return WorkerLostError(
        f"{what} while at work on {named}{more}; if memory ran out, {remedy}"
    )


def work(
    connection: Connection,
    inherited: list[Connection],
    function: Function[Any] | None,
    names: Sequence[str],
    report: bool,
) -> None:
    """Answer one task after the other, until the parent wants no more or is gone.

    Without a function, one comes with each task.
    """
    # Held since before the fork, so that none meets the parent's handler.
    signal.signal(signal.SIGTERM, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    if not low_memory():
        keep_freed()
    for other in inherited:
        other.close()

    def send(n: int) -> None:
        try:
            connection.send_bytes(_encode("progress", n))
        except OSError:  # the parent is gone; this must not pass for a bad file
            sys.exit(1)

    try:
        while True:
            at, own = connection.recv()
            emit = send if report else silent
            connection.send_bytes(attempt(function or own, at, names[at], emit))
    except (EOFError, OSError):
        return  # the parent wants no more, or is gone


def _leave(_signum: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(1)


def attempt(
    function: Function[Any], at: int, name: str, send: Callable[[int], None]
) -> bytes:
    """Call the function on a task; return what came of it, pickled with an `Outcome`."""
    try:
        return _encode("done", call(function, at, name, send))
    except WorkerLostError as error:
        return _encode("lost", error)
    except Exception as error:  # noqa: BLE001 - raised again in the parent
        return _encode_error(error)


def _encode(outcome: Outcome, value: object) -> bytes:
    return pickle.dumps((outcome, value), protocol=pickle.HIGHEST_PROTOCOL)


def _encode_error(error: Exception) -> bytes:
    text = without_secrets("".join(traceback.format_exception(error)))
    error.add_note(f"in the worker:\n{text}")
    try:
        data = _encode("failed", error)
        pickle.loads(data)  # noqa: S301 - what fails, fails here and not in the parent
    except Exception:  # noqa: BLE001 - an error that cannot travel is told in words
        return _encode("failed", RuntimeError(text))
    return data
