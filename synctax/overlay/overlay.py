"""One Chrome trace of all ranks on one clock, with waits and critical paths drawn in."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from synctax.arrays import NS_PER_US
from synctax.collectives.job_clocks import RankClock, job_clocks
from synctax.collectives.load import Job
from synctax.collectives.matches import Matches
from synctax.collectives.tax import Tax
from synctax.errors import SynctaxError
from synctax.files import folder_beside, is_same, is_special, replacing
from synctax.notes import Note
from synctax.overlay.choice import SUFFIXES, Choice
from synctax.overlay.container import head, tail
from synctax.overlay.drawn import Sheet, draw_waits, label_text, process_of
from synctax.overlay.labels import rank_labels
from synctax.overlay.moved import Moved, clock_notes, tasks_of
from synctax.overlay.paths import culprit_spans, draw_paths, largest
from synctax.overlay.pieces import join
from synctax.overlay.rewrite import RankPiece, Task, rewrite
from synctax.schema.html import Shown
from synctax.texts import counted
from synctax.trace.on_scheduler import on_scheduler
from synctax.trace.pool import Workers, map_files

if TYPE_CHECKING:
    import pandas as pd

    from synctax.attribution.attribute import Attribution


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Overlay(Shown):
    """What was written.

    Parameters
    ----------
    matches : Matches
        Whose ranks are in it.
    clocks : tuple of RankClock
        By position.
    pieces : tuple of RankPiece
        Events of each rank.
    base_ns : int
        Time 0 of the overlay, on the clock of the job.
    text_bytes, file_bytes : int
        Size of the file before it is compressed, and as it is.
    waits, paths, culprits, arrows, drawn : int
        Waits and critical paths drawn, culprits and arrows on these; all events that are
        not of the traces.
    notes : tuple of Note
        What was left out, repaired or cannot be shown, and what clocks leave.
    """

    matches: Matches
    clocks: tuple[RankClock, ...]
    pieces: tuple[RankPiece, ...]
    base_ns: int
    text_bytes: int
    file_bytes: int
    waits: int
    paths: int
    culprits: int
    arrows: int
    drawn: int
    notes: tuple[Note, ...]

    def __repr__(self) -> str:
        waits = counted(self.waits, "wait")
        return f"<Overlay: {self.whose}, {counted(self.events, 'event')}, {waits}>"

    @property
    def events(self) -> int:
        """Events of the traces in it."""
        return sum(piece.events for piece in self.pieces)

    @property
    def coloured(self) -> int:
        """Events of the traces that are to blame, and coloured as such."""
        return sum(piece.coloured for piece in self.pieces)

    @property
    def whose(self) -> str:
        """Ranks in words, and their windows where these are more."""
        ranks = {one.rank for one in self.matches.ranks}
        count = len(self.matches.ranks)
        if min(ranks, default=0) < 0:
            return counted(count, "trace")
        windows = f" ({count:,} windows)" if len(ranks) < count else ""
        return counted(len(ranks), "rank") + windows

    def to_frame(self) -> "pd.DataFrame":
        """One row per rank (`schema.OVERLAY`)."""
        from synctax.schema.overlay import OVERLAY

        ranks, clocks, pieces = self.matches.ranks, self.clocks, self.pieces
        return OVERLAY.to_frame(
            {
                "rank": [one.rank if one.rank >= 0 else None for one in ranks],
                "host": [one.host or None for one in ranks],
                "window": [one.window or None for one in ranks],
                "offset_us": [clock.offset_ns / NS_PER_US for clock in clocks],
                "drift_ppm": [clock.drift * 1e6 for clock in clocks],
                "residual_us": [clock.residual_ns / NS_PER_US for clock in clocks],
                "collectives": [clock.collectives for clock in clocks],
                "linked": [clock.linked for clock in clocks],
                "events": [piece.events for piece in pieces],
                "left_out": [piece.left_out for piece in pieces],
            }
        )


@dataclass(frozen=True, slots=True)
class _Measured:
    """What is laid over what: the tax of a job, and the attribution of that tax, if any."""

    job: Job
    tax: Tax
    found: "Attribution | None"


def write_overlay(  # noqa: PLR0913 - each choice is one of its own
    job: Job,
    of: "Tax | Attribution",
    target: str | os.PathLike[str],
    *,
    choice: Choice | None = None,
    workers: Workers = None,
    scheduler: str | None = None,
    on_progress: Callable[[str, int], None] | None = None,
) -> Overlay:
    """Write one trace of all ranks for ui.perfetto.dev and chrome://tracing.

    All times of a rank are moved by one offset, so that durations stay what they are and
    slices that nest still do; what a drift of its clock leaves is noted. The file is there
    whole or not at all; parts of it lie beside it until then, about as large in all.

    Parameters
    ----------
    job : Job
        As `synctax.load` returns it: its traces are read once more.
    of : Tax or Attribution
        What is drawn over them: the waits of the collectives that count; of an
        attribution, which was made with `method="path"`, critical paths and culprits, too.
        Where the tax is of some steps, events of these are kept.
    target : path
        A name that ends in `.json.gz` or `.json`, which is what the file is then; what is
        no regular file is written as gzip.
    choice : Choice, optional
        How many paths, and which events of the traces; `synctax.OverlayChoice`.
    workers, scheduler
        As for `synctax.load`; workers elsewhere write parts of the file beside it, and so
        must see its folder.
    on_progress : callable, optional
        Called with a path and the bytes read of it since its last call.

    Returns
    -------
    Overlay

    Raises
    ------
    BadInputError
        If a trace can no longer be read.
    SynctaxError
        If not one collective counts.
    OSError
        If the file cannot be written.
    TypeError
        If `of` is neither a tax nor an attribution.
    ValueError
        If it is of other traces, the attribution was made with another `method`, the name
        has another ending, or `target` is one of the traces of the job.

    Examples
    --------
    >>> import synctax
    >>> job = synctax.load(["examples/tp4-fsdp2"])  # doctest: +SKIP
    >>> tax = synctax.measure(job, steps=range(2, 3))  # doctest: +SKIP
    >>> synctax.write_overlay(job, synctax.attribute(tax), "job.json.gz")  # doctest: +SKIP
    <Overlay: 8 ranks, 3,780 events, 56 waits>
    """
    measured, path = _measured(job, of), Path(target)
    _check_target(job, path)
    choice, compressed = choice or Choice(), not path.name.lower().endswith(".json")
    with replacing(path) as file, folder_beside(path) as folder:
        clocks = job_clocks(measured.tax.matches)
        moved = Moved.of(job, measured.tax, clocks)
        tasks = _tasks(measured, moved, choice)
        with on_scheduler(workers, scheduler) as crew:
            results = map_files(
                partial(_piece, tasks, folder, compressed),
                list(tasks),
                workers=crew,
                on_progress=on_progress,
            )
        pieces = tuple(_read(result) for result in results)
        return _join(measured, (clocks, moved, pieces), choice, file, compressed=compressed)


def _measured(job: Job, of: "Tax | Attribution") -> _Measured:
    """Check that what is drawn belongs to the traces."""
    from synctax.attribution.attribute import Attribution

    if not isinstance(of, (Tax, Attribution)):
        raise TypeError(
            f"an overlay is of a tax or an attribution, not of {type(of).__name__}"
        )
    tax, found = (of, None) if isinstance(of, Tax) else (of.tax, of)
    if found is not None and found.options.method != "path":
        raise ValueError(f"method {found.options.method!r} keeps no paths to draw")
    if not {one.path for one in tax.matches.ranks} <= {one.path for one in job.facts}:
        raise ValueError("the tax is of other traces than the job")
    if not tax.used.any():
        reasons = "; ".join(f"{note.count:,} {note.detail}" for note in tax.excluded()[:3])
        raise SynctaxError(
            f"none of {int(tax.shown.sum()):,} collectives can be measured, so there is "
            f"nothing to draw ({reasons or 'no collectives'}); synctax inspect says what "
            "the traces hold"
        )
    return _Measured(job, tax, found)


def _check_target(job: Job, path: Path) -> None:
    """Check that a file may be written: one of a name that is read, over no trace."""
    if is_special(path):
        return
    if not path.name.lower().endswith(SUFFIXES):
        raise ValueError(
            f"the name {path.name!r} is none of a trace; end it in {' or '.join(SUFFIXES)}"
        )
    if path.exists() and any(is_same(one.path, path) for one in job.files):
        raise ValueError(
            f"{path} is a trace of the job, which would be lost; name another file"
        )


def _tasks(measured: _Measured, moved: Moved, choice: Choice) -> dict[str, Task]:
    """Say what to make of each file."""
    culprits = {} if measured.found is None else culprit_spans(measured.found)
    tasks = tasks_of(measured.tax, culprits, moved, choice.keep)
    return {task.path: task for task in tasks}


def _join(
    measured: _Measured,
    made: tuple[tuple[RankClock, ...], Moved, tuple[RankPiece, ...]],
    choice: Choice,
    file: BinaryIO,
    *,
    compressed: bool,
) -> Overlay:
    """Draw, and write the file of what was made of each rank."""
    (clocks, moved, pieces), matches = made, measured.tax.matches
    sheet = Sheet(moved.shift_ns)
    drawn = _Counted(_drawn(measured.tax, measured.found, choice, sheet, pieces))
    sizes = join(
        file,
        [head(moved.base_ns, clocks, pieces)],
        [piece.piece for piece in pieces],
        tail(drawn, moved, matches.ranks, clocks, pieces),
        compressed=compressed,
    )
    return Overlay(
        matches=matches,
        clocks=clocks,
        pieces=pieces,
        base_ns=moved.base_ns,
        text_bytes=sizes.text_bytes,
        file_bytes=sizes.file_bytes,
        waits=sheet.waits,
        paths=sheet.paths,
        culprits=sheet.culprits,
        arrows=sheet.arrows,
        drawn=drawn.count,
        notes=(*clock_notes(matches, clocks, moved), *_notes(pieces, sheet)),
    )


def _piece(
    tasks: dict[str, Task],
    folder: Path,
    compressed: bool,
    path: str,
    on_bytes: Callable[[int], None],
) -> RankPiece:
    task = tasks[path]
    return rewrite(task, folder / str(task.position), on_bytes, compressed=compressed)


def _read(result: RankPiece | SynctaxError) -> RankPiece:
    if isinstance(result, SynctaxError):
        raise result
    return result


class _Counted:
    """Texts, and how many there were."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._texts = texts
        self.count = 0

    def __iter__(self) -> Iterator[bytes]:
        for text in self._texts:
            self.count += 1
            yield text


def _drawn(
    tax: Tax,
    found: "Attribution | None",
    choice: Choice,
    sheet: Sheet,
    pieces: tuple[RankPiece, ...],
) -> Iterator[bytes]:
    """Draw what is not of the traces; names of threads last, when all are known."""
    numbers = [] if found is None else largest(found, choice.paths)
    if found is not None:
        sheet.wanted = {int(found.results.slot[number]) for number in numbers}
    for position, (one, piece) in enumerate(zip(tax.matches.ranks, pieces, strict=True)):
        yield from rank_labels(position, one, piece)
    yield from draw_waits(tax, found, sheet)
    if found is not None:
        yield from draw_paths(found, numbers, sheet)
    for order, ((position, track, lane), tid) in enumerate(
        sorted(sheet.threads.numbers.items())
    ):
        name = track if not lane else f"{track} ({lane + 1})"
        pid = process_of(position)
        yield label_text("thread_name", pid, tid, {"name": name})
        yield label_text("thread_sort_index", pid, tid, {"sort_index": order})


def _notes(pieces: tuple[RankPiece, ...], sheet: Sheet) -> Iterator[Note]:
    left_out = sum(piece.left_out for piece in pieces)
    if left_out:
        yield Note(
            "event_left_out", left_out, "events of the traces that were not asked for"
        )
    merged: dict[tuple[str, str], Note] = {}
    for piece in pieces:
        for note in piece.notes:
            old = merged.get((note.reason, note.detail))
            count = note.count + (old.count if old else 0)
            where = old.where if old else note.where
            merged[note.reason, note.detail] = Note(note.reason, count, note.detail, where)
    yield from merged.values()
    if sheet.arrows_left_out:
        yield Note(
            "arrow_left_out",
            sheet.arrows_left_out,
            "arrows to waits that end, by these clocks, before the last rank arrives",
        )
