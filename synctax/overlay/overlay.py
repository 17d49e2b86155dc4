"""One Chrome trace of all ranks on one clock, with waits and critical paths drawn in."""

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
from synctax.notes import Note
from synctax.overlay.choice import Choice
from synctax.overlay.container import head, tail
from synctax.overlay.drawn import Sheet, draw_waits, label_text, process_of
from synctax.overlay.labels import rank_labels
from synctax.overlay.moved import Moved, clock_notes, tasks_of
from synctax.overlay.paths import culprit_spans, draw_paths, largest
from synctax.overlay.pieces import join
from synctax.overlay.rewrite import RankPiece, Task, rewrite
from synctax.schema.html import Shown
from synctax.trace.pool import map_files

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
    text_bytes : int
        Size of the file before it is compressed.
    waits, paths, arrows, drawn : int
        Waits, critical paths and arrows drawn; all events that are not of the traces.
    notes : tuple of Note
    """

    matches: Matches
    clocks: tuple[RankClock, ...]
    pieces: tuple[RankPiece, ...]
    base_ns: int
    text_bytes: int
    waits: int
    paths: int
    arrows: int
    drawn: int
    notes: tuple[Note, ...]

    def __repr__(self) -> str:
        events = sum(piece.events for piece in self.pieces)
        return (
            f"<Overlay: {len(self.pieces)} ranks, {events:,} events, {self.waits:,} waits>"
        )

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
class Measured:
    """What is laid over what.

    Parameters
    ----------
    job : Job
    tax : Tax
        Of that job. Collectives that count are drawn; where steps were selected, events
        of these steps are kept, and what they lead to.
    found : Attribution or None
        Of that tax; without it, no path and no culprit is drawn.
    """

    job: Job
    tax: Tax
    found: "Attribution | None"


def write_overlay(
    measured: Measured,
    out: BinaryIO,
    folder: Path,
    *,
    choice: Choice | None = None,
    workers: int | None = None,
    on_progress: Callable[[str, int], None] | None = None,
) -> Overlay:
    """Write one trace of all ranks for ui.perfetto.dev and chrome://tracing.

    All times of a rank are moved by one offset, so that durations stay what they are and
    slices that nest still do; what a drift of its clock leaves is noted.

    Parameters
    ----------
    measured : Measured
    out : binary file
        What is written to.
    folder : Path
        Where parts of the file may lie for a while, about as large as the result.
    choice : Choice, optional
    workers : int, optional
        Processes; the result does not depend on it.
    on_progress : callable, optional
        Called with a path and the bytes read of it since its last call.

    Returns
    -------
    Overlay

    Raises
    ------
    SynctaxError
        If a file can no longer be read.
    ValueError
        If the attribution was made with a `method` other than "path".
    """
    choice = choice or Choice()
    tax, found = measured.tax, measured.found
    if found is not None and found.options.method != "path":
        raise ValueError(f"method {found.options.method!r} keeps no paths to draw")
    matches, clocks = tax.matches, job_clocks(tax.matches)
    moved = Moved.of(measured.job, tax, clocks)
    culprits = {} if found is None else culprit_spans(found)
    tasks = tasks_of(tax, culprits, moved, choice.keep)
    paths = [task.path for task in tasks]
    results = map_files(
        partial(_piece, {task.path: task for task in tasks}, folder, choice.compressed),
        paths,
        workers=workers,
        on_progress=on_progress,
    )
    pieces = tuple(_read(result) for result in results)
    sheet = Sheet(moved.shift_ns)
    drawn = _Counted(_drawn(tax, found, choice, sheet, pieces))
    size = join(
        out,
        [head(moved.base_ns, clocks, pieces)],
        [piece.piece for piece in pieces],
        tail(drawn, moved, matches.ranks, clocks, pieces),
        compressed=choice.compressed,
    )
    return Overlay(
        matches=matches,
        clocks=clocks,
        pieces=pieces,
        base_ns=moved.base_ns,
        text_bytes=size,
        waits=sheet.waits,
        paths=sheet.paths,
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
