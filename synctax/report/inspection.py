"""What `inspect` prints: files, groups, notes, and what can be computed."""

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from synctax.arrays import NS_PER_US
from synctax.collectives.load import FileRow, Job
from synctax.collectives.overview import GroupRow, Overview, Verdict
from synctax.report.output import Result
from synctax.report.tables import ABSENT, Field, number, size_bytes, table, time_us
from synctax.schema import INSPECT_FILES, INSPECT_GROUPS
from synctax.trace.model import EventKind
from synctax.trace.oddities import rank_text

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

MANY_FILES = 16
"""With more files than this, those that are alike are counted instead of listed."""

SHOWN_ALIKE = 8

SHOWN_SKIPPED = 5

Row = dict[str, Any]


def file_rows(job: Job) -> list[Row]:
    """Describe every file by the columns of `INSPECT_FILES`."""
    return [_file_row(file) for file in job.files]


def frame(job: Job) -> "pd.DataFrame":
    """Build the public table of files."""
    rows = file_rows(job)
    return INSPECT_FILES.to_frame(
        {name: [row[name] for row in rows] for name in INSPECT_FILES.names}
    )


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
    return [
        *_files(job, every_file=every_file),
        *_groups(seen.groups),
        *_skipped(job, every_file=every_file),
        *_notes(job, seen),
        *_verdicts(seen.verdicts),
    ]


# ------------------------------------------------------------------ rows


def _file_row(file: FileRow) -> Row:
    facts, own = file.facts, file.collectives
    row: Row = dict.fromkeys(INSPECT_FILES.names)
    row |= {
        "file": file.path,
        "status": file.status,
        "reason": file.reason or None,
        "rank": file.rank,
        "rank_source": file.rank_source or None,
        "host": file.host or None,
        "host_source": file.host_source or None,
        "gpu": file.gpu or None,
        "window": file.window or None,
        "size_bytes": file.size_bytes,
    }
    if facts is None or own is None:
        return row
    start_ns, end_ns = facts.start_ns, facts.end_ns
    return row | {
        "world_size": facts.meta.world_size,
        "pytorch_version": facts.meta.versions.get("pytorch"),
        "nccl_version": facts.meta.nccl_version,
        "steps": rank_text(facts.steps) or None,
        "streams": len(facts.streams),
        "groups": len(own.groups),
        "comm_kernels": own.comm_kernels,
        "compute_kernels": facts.count(EventKind.KERNEL) - own.comm_kernels,
        "repairs": sum(note.count for note in facts.notes),
        "truncated": facts.truncated,
        "span_us": None
        if start_ns is None or end_ns is None
        else (end_ns - start_ns) / NS_PER_US,
    }


def _group_row(row: GroupRow) -> Row:
    return {name: getattr(row, name) for name in INSPECT_GROUPS.names}


# ------------------------------------------------------------------ files


def _files(job: Job, *, every_file: bool) -> "list[RenderableType]":
    rows = file_rows(job)
    prefix = _common_folder([row["file"] for row in rows])
    shown, hidden = (rows, 0) if every_file else _few(rows)
    total = sum(row["size_bytes"] for row in rows)
    head = f"{_count(len(rows), 'trace')}, {size_bytes(total)}"
    if prefix:
        head += f", in {prefix}"
    if job.world_size:
        head += f"; a job of {_count(job.world_size, 'rank')}"
    fields = [
        Field("file", [row["file"][len(prefix) :] for row in shown], right=False),
        Field("rank", [_cell(row["rank"]) for row in shown]),
        Field("from", [_cell(row["rank_source"]) for row in shown], right=False, rank=1),
        Field("host", [_cell(row["host"]) for row in shown], right=False, rank=5),
        Field("gpu", [_cell(row["gpu"]) for row in shown], right=False, rank=2),
        Field("window", [_cell(row["window"]) for row in shown], right=False, rank=1),
        Field("steps", [_cell(row["steps"]) for row in shown], rank=3),
        Field("span", [time_us(row["span_us"]) for row in shown], rank=6),
        Field("streams", [_cell(row["streams"]) for row in shown], rank=4),
        Field("groups", [_cell(row["groups"]) for row in shown], rank=4),
        Field("comm kernels", [_cell(row["comm_kernels"]) for row in shown]),
        Field("repairs", [_cell(row["repairs"] or None) for row in shown], rank=1),
        Field("pytorch", [_cell(row["pytorch_version"]) for row in shown], rank=7),
        Field("nccl", [_cell(row["nccl_version"]) for row in shown], rank=6),
        Field("status", [_status(row) for row in shown], right=False),
    ]
    always = {"file", "rank", "comm kernels"}
    fields = [
        f
        for f in fields
        if f.title in always or any(cell not in (ABSENT, "used") for cell in f.cells)
    ]
    more = [f"… and {hidden} more alike; -v lists them"] if hidden else []
    return [head, "", table(fields), *more, ""]


def _few(rows: list[Row]) -> tuple[list[Row], int]:
    """Keep every odd file, and the first of those that are alike."""
    if len(rows) <= MANY_FILES:
        return rows, 0
    alike = [r["file"] for r in rows if r["status"] == "used" and not r["repairs"]]
    hidden = set(alike[SHOWN_ALIKE:])
    return [row for row in rows if row["file"] not in hidden], len(hidden)


def _common_folder(paths: Sequence[str]) -> str:
    folders = [path.split("/")[:-1] for path in paths]
    levels = zip(*folders, strict=False)
    common = takewhile(lambda parts: len({*parts}) == 1, levels)
    return "".join(f"{parts[0]}/" for parts in common)


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


def _skipped(job: Job, *, every_file: bool) -> "list[RenderableType]":
    shown = job.skipped if every_file else job.skipped[:SHOWN_SKIPPED]
    lines = [
        f"not read: {s.path}: {s.reason}" + (f"; {s.remedy}" if s.remedy else "")
        for s in shown
    ]
    rest = len(job.skipped) - len(shown)
    if rest:
        lines.append(f"not read: {rest} more files; -v lists them")
    if job.ignored:
        lines.append(f"not read: {_count(job.ignored, 'file')} that cannot be traces")
    unused = [f for f in job.files if f.reason and f.status != "clash"]
    lines += [
        f"not used: {f.path}: {f.reason}"
        for f in (unused if every_file else unused[:SHOWN_SKIPPED])
    ]
    return [*lines, ""] if lines else []


def _notes(job: Job, seen: Overview) -> "list[RenderableType]":
    reading: dict[tuple[str, str], int] = {}
    for facts in job.facts:
        for note in facts.notes:
            key = note.reason, note.detail
            reading[key] = reading.get(key, 0) + note.count
    lines = [f"note: {note.detail or note.reason}" for note in (*job.notes, *seen.notes)]
    lines += [
        f"note: {count:,} × {detail or reason} [{reason}]"
        for (reason, detail), count in reading.items()
    ]
    return [*lines, ""] if lines else []


def _verdicts(verdicts: Sequence[Verdict]) -> "list[RenderableType]":
    return [
        f"{v.subject + ':':<11}{v.answer + ': ' if v.answer else ''}{v.text}"
        for v in verdicts
    ]


def result(job: Job, seen: Overview, parameters: Row) -> Result:
    """Put together what `emit` writes."""
    return Result(
        table=INSPECT_FILES,
        frame=frame(job),
        parameters=parameters,
        excluded=(*job.notes, *seen.notes),
        extra=envelope_extra(job, seen),
    )
