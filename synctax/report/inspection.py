"""What `inspect` prints: files, groups, notes, and what can be computed."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from synctax.collectives.file_rows import NOT_NEEDED, file_rows, frame
from synctax.collectives.load import Job
from synctax.collectives.load_words import NOT_A_TRACE
from synctax.collectives.overview import GroupRow, Overview, Verdict
from synctax.notes import Note
from synctax.report.output import Result, note_text
from synctax.report.tables import Field, Sentence, table
from synctax.schema import INSPECT_FILES, INSPECT_GROUPS
from synctax.texts import ABSENT, number, size_bytes, time_us
from synctax.trace.assign import FileStatus
from synctax.trace.oddities import name_some
from synctax.urls import without_secrets

if TYPE_CHECKING:
    from rich.console import RenderableType

MANY_FILES = 16
"""With more files than this, those that are alike are counted instead of listed."""

SHOWN_ALIKE = 8

_SUBJECT = 11
"""Columns of what a verdict is about; the verdict stands beside it."""

Row = dict[str, Any]


def envelope_extra(job: Job, seen: Overview) -> Row:
    """Return what JSON holds beside the rows: groups, verdicts, skipped files."""
    return {
        "world_size": job.world_size,
        "groups": [_group_row(row) for row in seen.groups],
        "verdicts": [
            {"subject": v.subject, "answer": v.answer or None, "text": v.text}
            for v in seen.verdicts
        ],
        "problems": [problem.message for problem in job.problems],
        "skipped": [
            {"file": s.path, "reason": s.reason, "remedy": s.remedy or None}
            for s in job.skipped
        ],
        "other_files": job.ignored,
    }


def parts(job: Job, seen: Overview, *, every_file: bool = False) -> "list[RenderableType]":
    """Lay out the inspection for people.

    Parameters
    ----------
    job : Job
    seen : Overview
    every_file : bool
        List every file, however many are alike.
    """
    # before anything is cut off, or a URL is no more known for one
    folder = _common_folder([without_secrets(file.path) for file in job.files])

    def short(line: str) -> str:
        return without_secrets(line).replace(folder, "") if folder else line

    lines = [*_skipped(job, every_file=every_file), *_notes(job, seen)]
    return [
        *_files(job, folder, every_file=every_file),
        *_groups(seen.groups),
        *map(short, lines),
        *(Sentence(short(text), _SUBJECT) for text in _verdicts(seen.verdicts)),
    ]


# ------------------------------------------------------------------ rows


def _group_row(row: GroupRow) -> Row:
    return {name: getattr(row, name) for name in INSPECT_GROUPS.names}


# ------------------------------------------------------------------ files


def _files(job: Job, folder: str, *, every_file: bool) -> "list[RenderableType]":
    rows = file_rows(job)
    shown, hidden = (rows, 0) if every_file else _few(rows)
    head = f"{_count(len(rows), 'trace')}, {size_bytes(sum(r['size_bytes'] for r in rows))}"
    head += f", in {folder}" if folder else ""
    head += f"; a job of {_count(job.world_size, 'rank')}" if job.world_size else ""
    names = [without_secrets(row["file"])[len(folder) :] for row in shown]
    fields = [
        Field("file", names if every_file else shortened(names), right=False),
        Field("rank", [_cell(row["rank"]) for row in shown]),
        *_details(shown, _same(rows)),
        Field("comm kernels", [_cell(row["comm_kernels"]) for row in shown], rank=1),
    ]
    if any(row["status"] != FileStatus.USED or row["truncated"] for row in rows):
        fields.append(Field("status", [_status(row) for row in shown], right=False))
    same = ", ".join(f"{title} {cell}" for title, cell in _same(rows).items())
    return [
        head,
        *([f"every file: {same}"] if same else []),
        "",
        table(fields),
        *([f"… and {hidden} more alike; -v lists them"] if hidden else []),
        "",
    ]


_DETAILS = (
    ("rank_source", "rank from", 3),
    ("host", "host", 5),
    ("gpu", "gpu", 2),
    ("window", "window", 1),
    ("steps", "steps", 4),
    ("streams", "streams", 6),
    ("groups", "groups", 6),
    ("pytorch_version", "pytorch", 7),
    ("nccl_version", "nccl", 7),
    ("repairs", "repairs", 1),
)
"""Key of a row, title, and how soon the column leaves on a narrow screen."""


def _same(rows: list[Row]) -> dict[str, str]:
    """Collect what several files have in common: it needs no column."""
    rows = [row for row in rows if row["status"] != "unreadable"]
    if len(rows) <= 1:
        return {}
    values = {title: {row[key] for row in rows} for key, title, _ in _DETAILS}
    return {
        title: _cell(next(iter(cells)))
        for title, cells in values.items()
        if len(cells) == 1 and not cells & {None, 0}
    }


def _details(rows: list[Row], same: dict[str, str]) -> list[Field]:
    fields = [
        Field(
            title,
            [_cell(row[key]) for row in rows],
            right=all(isinstance(row[key], int | None) for row in rows),
            rank=rank,
        )
        for key, title, rank in _DETAILS
        if title not in same and any(row[key] for row in rows)
    ]
    span = Field("span", [time_us(row["span_us"]) for row in rows], rank=5)
    return [*fields, span] if any(row["span_us"] is not None for row in rows) else fields


def shortened(names: Sequence[str], *, width: int = 44) -> list[str]:
    """Leave out what long names have in common at both ends.

    >>> shortened(["a7.cluster_19.1698.pt.json", "a7.cluster_20.1699.pt.json"], width=20)
    ['…_19.1698…', '…_20.1699…']
    """
    if len(names) == 1 or max(map(len, names), default=0) <= width:
        return list(names)
    parts = [_PARTS.split(name) for name in names]
    head, tail = _alike(parts), _alike([part[::-1] for part in parts])
    shortest = min(map(len, parts))
    tail = max(0, min(tail, shortest - head - 1))
    if not head and not tail:
        return list(names)
    return [
        "…" * bool(head) + "".join(part[head : len(part) - tail]) + "…" * bool(tail)
        for part in parts
    ]


_PARTS = re.compile(r"(?<=[^._/-])(?=[._/-])")


def _alike(parts: list[list[str]]) -> int:
    levels = zip(*parts, strict=False)
    return sum(1 for _ in takewhile(lambda level: len({*level}) == 1, levels))


def _few(rows: list[Row]) -> tuple[list[Row], int]:
    """Keep every odd file, and the first of those that are alike."""
    if len(rows) <= MANY_FILES:
        return rows, 0
    alike = [r["file"] for r in rows if r["status"] == FileStatus.USED and not r["repairs"]]
    hidden = set(alike[SHOWN_ALIKE:])
    return [row for row in rows if row["file"] not in hidden], len(hidden)


def _common_folder(paths: Sequence[str]) -> str:
    folders = [path.split("/")[:-1] for path in paths]
    return "".join(f"{part}/" for part in folders[0][: _alike(folders)])


def _status(row: Row) -> str:
    cut = " (cut off)" if row["truncated"] else ""
    return f"{row['status']}{cut}"


def _cell(value: Any) -> str:
    if value is None:
        return ABSENT
    return number(value) if isinstance(value, (int, float)) else str(value)


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


# ------------------------------------------------------------------ the rest


def _groups(rows: Sequence[GroupRow]) -> "list[RenderableType]":
    if not rows:
        return []
    fields = [
        Field("group", [row.group for row in rows], right=False),
        Field("op", [row.op for row in rows], right=False),
        Field("groups", [number(row.n_groups) for row in rows]),
        Field("of", [number(row.n_ranks) for row in rows]),
        Field("ranks", [_shortened(row.ranks) for row in rows], right=False, rank=2),
        Field("collectives a rank", [_from_to(row) for row in rows]),
        Field("members from", [row.origin for row in rows], right=False, rank=1),
    ]
    return [table(fields), ""]


def _shortened(ranks: str, width: int = 40) -> str:
    return ranks if len(ranks) <= width else f"{ranks[: width - 1]}…"


def _from_to(row: GroupRow) -> str:
    low, high = row.collectives_min, row.collectives_max
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def _skipped(job: Job, *, every_file: bool) -> list[str]:
    alike: dict[tuple[str, str], list[str]] = {}
    for one in job.skipped:
        alike.setdefault((one.reason, one.remedy), []).append(one.path)
    lines = []
    for (reason, remedy), paths in alike.items():
        named = ", ".join(paths) if every_file else name_some(paths)
        each = "each " if len(paths) > 1 else ""
        lines.append(f"not read: {named} {each}{reason}{': ' * bool(remedy)}{remedy}")
    if job.ignored:
        lines.append(f"not read: {_count(job.ignored, 'file')} that cannot be traces")
    return [*lines, ""] if lines else []


def _notes(job: Job, seen: Overview) -> list[str]:
    of_ranks: Counter[tuple[str, str]] = Counter()
    for rank in job.ranks:
        for note in rank.notes:
            of_ranks[note.reason, note.detail] += note.count
    passed = {d: n for (reason, d), n in of_ranks.items() if reason == NOT_NEEDED}
    told = (note for note in (*job.notes, *seen.notes) if note.reason != NOT_A_TRACE)
    lines = [f"note: {note.detail}" for note in told]
    lines += [
        f"note: {note_text(Note(reason, count, detail))}"
        for (reason, detail), count in of_ranks.items()
        if reason != NOT_NEEDED
    ]
    if passed:
        kinds = ", ".join(f"{n:,} {detail}" for detail, n in passed.items())
        lines.append(f"note: events of kinds that are not needed: {kinds}")
    return [*lines, ""] if lines else []


def _verdicts(verdicts: Sequence[Verdict]) -> list[str]:
    return [
        f"{v.subject + ':':<{_SUBJECT}}{v.answer + ': ' if v.answer else ''}{v.text}"
        for v in verdicts
    ]


def result(job: Job, seen: Overview, parameters: Row) -> Result:
    """Put together what `emit` writes."""
    return Result(
        table=INSPECT_FILES,
        data=frame(job),
        parameters=parameters,
        excluded=(*job.notes, *seen.notes),
        extra=envelope_extra(job, seen),
    )
