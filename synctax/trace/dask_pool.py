"""Reads files on the workers of a Dask cluster, with the result that one machine gives."""

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from itertools import count
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from uuid import uuid4

from synctax.errors import SynctaxError
from synctax.trace.dask_connect import (
    LOCAL,
    REMEDY,
    Connection,
    OnNote,
    Words,
    connect,
    impatient,
    quiet,
    warned,
)
from synctax.trace.dask_worker import UNFIT, VERSION, Answer, Terms, answer
from synctax.trace.narrow import narrowed
from synctax.trace.pool import size_bytes
from synctax.trace.pool_worker import OnBytes, worker_lost
from synctax.trace.readers import VARIABLE
from synctax.trace.spill import asked_for

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")

LOOKS_EVERY_S: Final = 1.0
"""How often it is looked whether the scheduler is still there."""


class Scheduler:
    """The workers of a Dask cluster, for `workers` of what reads traces.

    Files are read and searched where workers are; what comes back is what a process of
    this machine would have given. Nothing is connected before the first file is read.

    Parameters
    ----------
    address : str or distributed.Client
        `tcp://host:8786` (or any other address that Dask knows), the file that a scheduler
        wrote (`--scheduler-file`), or `local`: workers that are started here, and end with
        this. A client that is given is used and not closed.
    processes : int, optional
        How many workers `local` has; default: the cores this process may use.
    on_note : callable, optional
        Told in words what may be of interest, such as versions that differ; default:
        a warning.

    Raises
    ------
    ValueError
        If `processes` is below 1, or given for workers that run already.

    Examples
    --------
    >>> with Scheduler("tcp://head:8786") as cluster:  # doctest: +SKIP
    ...     job = synctax.load("/shared/traces", workers=cluster)
    ...     found = synctax.attribute(synctax.measure(job), workers=cluster)
    """

    def __init__(
        self,
        address: "str | Client",
        *,
        processes: int | None = None,
        on_note: OnNote = warned,
    ) -> None:
        if processes is not None and address != LOCAL:
            raise ValueError("processes are for workers that are started here, with local")
        if processes is not None and processes < 1:
            raise ValueError(f"processes must be at least 1, got {processes}")
        self._address = address
        self._processes = processes
        self._on_note = on_note
        self._connection: Connection | None = None

    def __repr__(self) -> str:
        return f"Scheduler({self._address!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def map_files(
        self,
        function: Callable[[str, OnBytes], T],
        paths: Sequence[str],
        *,
        on_progress: Callable[[str, int], None] | None = None,
    ) -> list[T | SynctaxError]:
        """Call `function(path, on_bytes)` for every path on the workers.

        A worker that is lost is replaced by another, as often as the scheduler allows.

        Parameters
        ----------
        function, paths, on_progress
            As for `pool.map_files`.

        Returns
        -------
        n results
            As of `pool.map_tasks`.

        Raises
        ------
        SynctaxError
            If Dask is not installed, no scheduler answers, it is lost, or a worker has
            another version of synctax or does not see a file that is seen here.
        WorkerLostError
            If workers end again and again while at work on a file.
        Exception
            What else `function` raises, with the worker's traceback as a note.
        """
        if not paths:
            return []
        if self._connection is None:
            self._connection = connect(self._address, self._processes, self._on_note)
        run = _Run(self._connection, paths, on_progress)
        with quiet() if self._connection.own else nullcontext(), impatient():
            try:
                run.submit(function)
                return run.collect()
            finally:
                run.end()


class _Run:
    """One call of `map_files`: what was asked of workers, and what came."""

    def __init__(
        self,
        connection: Connection,
        paths: Sequence[str],
        on_progress: Callable[[str, int], None] | None,
    ) -> None:
        self._client = connection.client
        self._words = Words(connection.name)
        self._paths = paths
        self._on_progress = on_progress
        self._topic = "" if on_progress is None else f"synctax-{uuid4().hex}"
        self._events: SimpleQueue[tuple[str, int] | Future] = SimpleQueue()
        self._waiting: dict[str, Future] = {}
        self._at: dict[str, int] = {}
        self._told = dict.fromkeys(paths, 0)
        self._results: list[Any] = [None] * len(paths)

    def submit(self, function: Callable[[str, OnBytes], Any]) -> None:
        """Ask for all files, the largest first."""
        if self._topic:
            self._client.subscribe_topic(self._topic, self._heard)
        sizes = [
            None if "://" in path else size_bytes(path) or None for path in self._paths
        ]
        run, number = uuid4().hex, count()
        for at in sorted(range(len(sizes)), key=lambda one: -(sizes[one] or 0)):
            path = self._paths[at]
            terms: Terms = {
                "version": VERSION,
                "folder": os.getcwd(),  # noqa: PTH109 - as a text
                "reader": os.environ.get(VARIABLE, ""),
                "low_memory": asked_for() is not None,
                "size_bytes": sizes[at],
                "topic": self._topic,
            }
            key = f"synctax-{run}-{next(number)}"
            self._at[key] = at
            self._waiting[key] = self._client.submit(
                answer, pickle.dumps(narrowed(function, path)), path, terms, key=key
            )
        for future in list(self._waiting.values()):
            future.add_done_callback(self._events.put)

    def collect(self) -> list[Any]:
        """Wait for all results, and put them in the order of the paths."""
        while self._waiting:
            done = [one for one in self._new_events() if self._ended(one)]
            if done:
                for future, told in zip(done, self._gather(done), strict=True):
                    self._take(self._at[future.key], told)
            elif self._client.status != "running":
                raise self._words.scheduler_lost(len(self._waiting))
        return self._results

    def end(self) -> None:
        """Have no worker begin what is still waiting."""
        if self._client.status != "running":
            return
        # the scheduler may go at this very moment, and then nothing is left to cancel
        with suppress(Exception):
            if self._waiting:
                self._client.cancel(list(self._waiting.values()))
            if self._topic:
                self._client.unsubscribe_topic(self._topic)
        self._waiting.clear()

    def _heard(self, event: tuple[float, Any]) -> None:
        told = event[1]
        self._events.put((told["path"], told["done"]))

    def _new_events(self) -> "Iterator[Future]":
        """Wait for something to happen; tell progress, and yield what is done."""
        try:
            event = self._events.get(timeout=LOOKS_EVERY_S)
            while True:
                if isinstance(event, tuple):
                    self._tell(*event)
                else:
                    yield event
                event = self._events.get_nowait()
        except Empty:
            return

    def _ended(self, future: "Future") -> bool:
        """Whether a future has a result.

        Raises
        ------
        SynctaxError
            If it has none: the function's own errors are results.
        """
        if future.status == "finished":
            del self._waiting[future.key]
            return True
        if future.status in ("pending", "lost"):
            # its worker ended with the result, and another one is at it
            future.add_done_callback(self._events.put)
            return False
        if future.status != "error":
            raise self._words.scheduler_lost(len(self._waiting))
        raise self._refused(future.key, future.exception())

    def _gather(self, done: "list[Future]") -> list[Answer]:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            answers: list[Answer] = self._client.gather(done)
        except CancelledError as error:
            raise self._words.scheduler_lost(len(self._waiting) + len(done)) from error
        except KilledWorker as error:
            raise self._refused(error.task, error) from error
        return answers

    def _refused(self, key: str, error: Any) -> SynctaxError:
        from distributed import KilledWorker

        path = self._paths[self._at[key]]
        if isinstance(error, KilledWorker):
            return self._words.killed(path, error)
        return self._words.not_begun(path, error)

    def _take(self, at: int, told: Answer) -> None:
        path = self._paths[at]
        self._tell(path, told["done"])
        outcome, value = pickle.loads(told["data"])  # noqa: S301 - as of our own processes
        if outcome == UNFIT:
            raise self._words.unfit(told["host"], value)
        if outcome == "lost":
            raise worker_lost(f"memory ran out on {told['host']}", [path], REMEDY)
        if outcome == "failed":
            raise self._words.failed(told["host"], path, value)
        self._results[at] = value

    def _tell(self, path: str, done: int) -> None:
        """Pass on progress; a file that is begun again has to come so far first."""
        if self._on_progress is not None and done > self._told[path]:
            self._on_progress(path, done - self._told[path])
            self._told[path] = done
