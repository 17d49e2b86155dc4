"""What is said of the files of a job: notes, why none can be used, why none was read."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.trace.assign import FileStatus
from synctax.trace.discover import Skipped
from synctax.trace.oddities import Problem, name_some, rank_text

if TYPE_CHECKING:
    from synctax.collectives.load import FileRow

NOT_A_TRACE = "not_a_trace"
"""Reason of the note on files that are none, but may have been meant as one."""


def load_notes(rows: "Sequence[FileRow]", skipped: Sequence[Skipped]) -> list[Note]:
    """Note what of the files was left out, or not whole."""
    notes = []
    lost = [f"{one.path} {one.reason}" for one in skipped if not one.companion]
    if lost:
        notes.append(Note(NOT_A_TRACE, len(lost), f"left out: {name_some(lost)}"))
    broken = [row for row in rows if row.status is FileStatus.UNREADABLE]
    if broken:
        told = name_some(row.reason for row in broken)
        notes.append(Note("file_unreadable", len(broken), f"left out: {told}"))
    empty = [row.path for row in rows if row.status is FileStatus.EMPTY]
    if empty:
        notes.append(
            Note("file_empty", len(empty), f"left out, with no event: {name_some(empty)}")
        )
    cut = [
        row.path
        for row in rows
        if row.status is FileStatus.USED and row.facts and row.facts.truncated
    ]
    if cut:
        notes.append(
            Note(
                "file_truncated",
                len(cut),
                f"files that end before their trace does: {name_some(cut)}; "
                "what precedes the cut is used",
            )
        )
    return notes


def empty_problem(
    rows: "Sequence[FileRow]", ranks: Collection[int] | None
) -> list[Problem]:
    """Say why no file can be used, if so."""
    statuses = {row.status for row in rows}
    if statuses & {FileStatus.USED, FileStatus.CLASH} or statuses == {FileStatus.NO_RANK}:
        return []
    if ranks is not None and FileStatus.NOT_SELECTED in statuses:
        there = rank_text(row.rank for row in rows if row.rank is not None)
        message = f"no trace is of rank {rank_text(ranks)}; there are the ranks {there}"
    elif statuses == {FileStatus.EMPTY}:
        message = (
            f"no trace holds an event, only metadata: {name_some(r.path for r in rows)}; "
            "the profiler was probably never active: check its schedule, and that it is "
            "stopped before the process ends"
        )
    else:
        message = "no trace can be used: " + name_some(
            f"{row.path} ({row.status})" for row in rows
        )
    return [Problem(message, bad_input=False)]


def nothing_read(broken: dict[str, SynctaxError], skipped: Sequence[Skipped]) -> str:
    """Say why no file could be read."""
    one = "the trace cannot" if len(broken) == 1 else f"none of {len(broken)} traces can"
    message = f"{one} be read: {name_some(broken.values())}"
    if skipped:
        told = name_some(f"{one.path} {one.reason}" for one in skipped)
        message += f"; what else is there is no trace: {told}"
    return message
