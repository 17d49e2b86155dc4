"""Progress of what takes long, on stderr: files, bytes and rate, or a count."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Self

from synctax.report.streams import say
from synctax.texts import BYTES_PER_GB, counted, rate_gb_per_s, size_bytes

PLAIN_INTERVAL_S = 10.0
"""Time between lines where stderr is no terminal."""

REDRAW_INTERVAL_S = 0.1
"""Time between two drawings of the bar on a terminal."""


@dataclass(slots=True)
class _Done:
    files: int
    total_files: int
    bytes: int
    total_bytes: int
    started_s: float
    doing: str
    counts: str = ""

    def text(self) -> str:
        if self.counts:
            return f"{self.bytes} of {self.total_bytes} {self.counts}"
        elapsed_s = max(time.monotonic() - self.started_s, 1e-9)
        return (
            f"{self.files} of {counted(self.total_files, 'file')}, "
            f"{size_bytes(self.bytes)} of {size_bytes(self.total_bytes)}, "
            f"{rate_gb_per_s(self.bytes / elapsed_s / BYTES_PER_GB)}"
        )


@dataclass(frozen=True, slots=True)
class Progress:
    """Told what was read: call it with bytes since the last call, and after each file."""

    on_bytes: Callable[[int], None]
    on_file: Callable[[], None]

    def __call__(self, bytes_delta: int) -> None:
        """Count bytes that were read."""
        self.on_bytes(bytes_delta)


@contextmanager
def reading(
    *, total_files: int, total_bytes: int, verbosity: int = 0, doing: str = "reading"
) -> Iterator[Progress]:
    """Show progress while the block runs; the terminal is restored however it ends.

    Parameters
    ----------
    total_files, total_bytes : int
        What there is to read.
    verbosity : int
        Below 0 nothing is shown. Where stderr is no terminal, a line appears now and
        then, and only above 0.
    doing : str
        What is done with the files.

    Yields
    ------
    Progress
        Call it with the number of bytes read since the last call (`on_progress`), and
        `on_file()` after each file. Not for several threads at once.
    """
    yield from _shown(
        _Done(0, total_files, 0, total_bytes, time.monotonic(), doing), verbosity
    )


@contextmanager
def counting(
    total: int, *, what: str, verbosity: int = 0, doing: str
) -> Iterator[Callable[[int], None]]:
    """Show how many things are done while the block runs.

    Parameters
    ----------
    total : int
    what : str
        What is counted, such as `replays`.
    verbosity, doing
        As for `reading`.

    Yields
    ------
    callable
        Call it with how many more are done.
    """
    done = _Done(0, 0, 0, total, time.monotonic(), doing, what)
    for progress in _shown(done, verbosity):
        yield progress.on_bytes


@contextmanager
def counting_up(
    *, what: str, verbosity: int = 0, doing: str
) -> Iterator[Callable[[int, int], None]]:
    """Show how many things are done, of a number that is known once the first is.

    Parameters
    ----------
    what, verbosity, doing
        As for `counting`.

    Yields
    ------
    callable
        Call it with how many are done, and of how many.
    """
    told: Callable[[int], None] | None = None
    before = 0
    with ExitStack() as stack:

        def on_progress(done: int, total: int) -> None:
            nonlocal told, before
            if told is None:
                bar = counting(total, what=what, verbosity=verbosity, doing=doing)
                told = stack.enter_context(bar)
            told(done - before)
            before = done

        yield on_progress


def _shown(done: _Done, verbosity: int) -> Iterator[Progress]:
    if verbosity < 0 or (verbosity == 0 and not sys.stderr.isatty()):
        yield Progress(lambda _delta: None, lambda: None)
    elif sys.stderr.isatty():
        yield from _bar(done)
    else:
        yield from _lines(done)


def _counting(done: _Done, changed: Callable[[], None]) -> Progress:
    def on_bytes(delta: int) -> None:
        done.bytes += delta
        changed()

    def on_file() -> None:
        done.files += 1
        changed()

    return Progress(on_bytes, on_file)


def _bar(done: _Done) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn(done.doing, markup=False),
        BarColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
        transient=True,
        # a thread that redraws would keep the workers from being forked
        auto_refresh=False,
    )
    with bar:
        task = bar.add_task(done.text(), total=max(done.total_bytes, 1))
        last_s = done.started_s

        def changed() -> None:
            nonlocal last_s
            now_s = time.monotonic()
            all_read = done.bytes >= done.total_bytes
            if now_s - last_s >= REDRAW_INTERVAL_S or all_read:
                last_s = now_s
                bar.update(
                    task, completed=done.bytes, description=done.text(), refresh=True
                )

        yield _counting(done, changed)


def _lines(done: _Done) -> Iterator[Progress]:
    last_s = done.started_s

    def changed() -> None:
        nonlocal last_s
        if time.monotonic() - last_s >= PLAIN_INTERVAL_S:
            last_s = time.monotonic()
            say(f"{done.doing}: {done.text()}")

    yield _counting(done, changed)
    past = "read" if done.doing == "reading" else done.doing
    say(f"{past}: {done.text()}")


@contextmanager
def reading_files(
    sizes_bytes: Mapping[str, int], *, verbosity: int = 0, doing: str = "reading"
) -> Iterator[Callable[[str, int], None]]:
    """Show progress over files while the block runs.

    Parameters
    ----------
    sizes_bytes : mapping
        Size of each file by path.
    verbosity, doing
        As for `reading`.

    Yields
    ------
    callable
        `on_progress(path, n)`: call it with the bytes read of a file since its last call.
    """
    left_bytes = dict(sizes_bytes)
    with reading(
        total_files=len(left_bytes),
        total_bytes=sum(left_bytes.values()),
        verbosity=verbosity,
        doing=doing,
    ) as progress:

        def on_progress(path: str, n: int) -> None:
            progress(n)
            before, left_bytes[path] = left_bytes[path], left_bytes[path] - n
            if left_bytes[path] <= 0 < before:
                progress.on_file()

        yield on_progress


class RoundsOfFiles:
    """Progress over rounds that go through files, one bar after the other.

    A context; `on_round` and `on_progress` are for `attribution.attribute.attribute`,
    these and `on_replay` for `attribution.whatif.whatif`.
    """

    def __init__(self, *, verbosity: int = 0) -> None:
        self._verbosity = verbosity
        self._stack = ExitStack()
        self._told: Callable[[str, int], None] | None = None
        self._counted: Callable[[int], None] | None = None
        self._done = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def on_round(self, doing: str, sizes_bytes: Mapping[str, int]) -> None:
        """End the bar of the round before and begin another."""
        self._stack.close()
        bar = reading_files(sizes_bytes, verbosity=self._verbosity, doing=doing)
        self._told = self._stack.enter_context(bar)

    def on_progress(self, path: str, n: int) -> None:
        """Count bytes of a file of this round."""
        if self._told is not None:
            self._told(path, n)

    def on_replay(self, done: int, total: int) -> None:
        """Count replays; the first call ends the bar of the round before."""
        if self._counted is None:
            self._stack.close()
            bar = counting(
                total, what="replays", verbosity=self._verbosity, doing="replaying"
            )
            self._counted = self._stack.enter_context(bar)
        self._counted(done - self._done)
        self._done = done
