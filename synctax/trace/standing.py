"""Workers that stay for several rounds over files, and what they hold meanwhile."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from synctax.errors import SynctaxError
from synctax.trace.narrow import OverPaths
from synctax.trace.pool import Crew, Worker, Workers, available_cores, size_bytes, started
from synctax.trace.pool_worker import OnBytes
from synctax.trace.spill import low_memory
from synctax.trace.starting import may_fork

T = TypeVar("T")

MOST_HELD_BYTES = 128 << 20
"""A worker holds at most so much from one round to the next; the rest is made again."""

MOST_HELD_IN_ALL_BYTES = 1 << 30
"""All workers together hold at most so much."""


@dataclass(slots=True)
class _Held:
    """What a worker made of files: by path, and how many bytes all of it takes."""

    most_bytes: int
    made: dict[str, object] = field(default_factory=dict)
    bytes: int = 0


_held: ContextVar[_Held | None] = ContextVar("held", default=None)
"""Of a worker that stays; what does not stay holds nothing."""


def held(path: str, make: Callable[[], T], size_bytes: Callable[[T], int]) -> T:
    """Give what is made of a file; in a worker that stays, what was made before.

    Parameters
    ----------
    path : str
    make : callable
        Makes it; of one path always the same kind of thing.
    size_bytes : callable
        Tells how much memory that takes: beyond `MOST_HELD_BYTES` no more is held. The
        first to come stay: rounds go through files in one order, so that what was used
        last is what is wanted last.
    """
    store = _held.get()
    if store is None:
        return make()
    if path in store.made:
        return cast("T", store.made[path])
    made = make()
    size = size_bytes(made)
    if store.bytes + size <= store.most_bytes:
        store.made[path] = made
        store.bytes += size
    return made


@contextmanager
def _holding(workers: int) -> Iterator[None]:
    """Hold what is made, as one of so many workers; nothing where memory is to be saved."""
    most_bytes = min(MOST_HELD_BYTES, MOST_HELD_IN_ALL_BYTES // workers)
    before = _held.set(None if low_memory() else _Held(most_bytes))
    try:
        yield
    finally:
        _held.reset(before)


@contextmanager
def standing(workers: Workers, paths: Sequence[str]) -> Iterator[Workers]:
    """Give workers that stay for all rounds over files, where processes can be forked.

    Parameters
    ----------
    workers : int, Machines or None
        As for `pool.map_files`. Other machines and what would have to be started anew
        are given as they are; one worker is this process, which holds things meanwhile.
    paths : n strings
        All files that will be asked for.

    Yields
    ------
    Workers
        For `pool.map_files`. A file goes to the worker that had it before, which may
        have `held` something of it; to another one where that one has no more to do.
    """
    if workers is not None and not isinstance(workers, int):
        yield workers
        return
    count = min(available_cores() if workers is None else workers, len(paths))
    if count <= 1:
        with _holding(1):  # this process is the worker
            yield workers
        return
    if not may_fork():
        yield workers
        return
    crew = _Standing(paths)
    with ExitStack() as stack:
        with _holding(count):  # those that are forked
            stack.enter_context(started(count, crew, report=True))
        yield crew


class _Standing(Crew):
    """A crew that is asked again; not after it has raised."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(None, paths, ())
        self.number = {path: at for at, path in enumerate(paths)}
        self.had: dict[int, Worker] = {}
        self.left: list[int] = []

    def map_files(
        self,
        function: Callable[[str, OnBytes], T],
        paths: Sequence[str],
        *,
        on_progress: Callable[[str, int], None] | None = None,
    ) -> list[T | SynctaxError]:
        """Call a function on files, as `pool.map_files` does."""

        def told(at: int, count: int) -> None:
            if on_progress is not None:
                on_progress(self.names[at], count)

        self.apart = OverPaths(function, self.names)
        self.left = [self.number[path] for path in paths]
        self.left.sort(key=lambda at: -size_bytes(self.names[at]))
        found: list[Any] = self.collect(told)
        return [found[self.number[path]] for path in paths]

    def _next(self, _worker: Worker) -> int | None:
        """Choose a file that the worker had, one that nobody had, or one of another's."""
        if not self.left:
            return None
        own = [at for at in self.left if self.had.get(at) is _worker]
        new = [at for at in self.left if at not in self.had]
        # of another's the last, which that one would come to last
        chosen = (own or new or self.left[::-1])[0]
        self.left.remove(chosen)
        self.had.setdefault(chosen, _worker)
        return chosen
