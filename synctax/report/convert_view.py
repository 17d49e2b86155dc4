"""How `convert` is shown: what became of the rows of a trace, and its jobs in numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from synctax.cluster.convert.convert import Converted
from synctax.cluster.convert.summary import Summary, summary
from synctax.notes import Note
from synctax.report.output import Format, Result, note_text
from synctax.report.tables import Field, Sentence, table
from synctax.schema import Table
from synctax.schema.convert import CONVERT
from synctax.schema.jobs import NEEDED_JOB_COLUMNS
from synctax.texts import counted, number, percent, seconds

if TYPE_CHECKING:
    from rich.console import RenderableType

_DAY_S = 86_400.0
_MOST_FILES = 3
"""Files that a message names."""

_LEAST_WORDS = 24
"""Characters of a reason that are shown before another column leaves a narrow table."""

_MOST_WIDTHS = 6
"""Numbers of GPUs that are listed."""


def result(found: Converted, parameters: Mapping[str, Any], fmt: Format) -> Result:
    """Lay out jobs as rows; a CSV has no columns that are empty in all of them."""
    columns = _columns(found)
    kept = CONVERT
    if fmt == "csv":
        used = [one for one in CONVERT.columns if _is_used(one.name, columns)]
        kept = replace(CONVERT, columns=tuple(used))
    frame = kept.to_frame({name: columns[name] for name in kept.names})
    return Result(
        Table(CONVERT.schema, CONVERT.meaning, kept.columns),
        frame,
        {**parameters, "from": found.format},
        excluded=[one.note for one in found.left],
        extra={
            "files": list(found.files),
            "origin": found.origin or None,
            "rows_read": found.read,
            "rows_kept": len(found),
            "rows_rejected": found.count("rejected"),
            "rows_dropped": found.count("dropped"),
            "notes": [_plain(note) for note in found.notes],
        },
    )


def _columns(found: Converted) -> dict[str, Any]:
    n = len(found)
    columns: dict[str, Any] = {name: [None] * n for name in CONVERT.names}
    for name, values in found.more.items():
        for row, value in values.items():
            columns[name][row] = value
    columns.update(
        job_id=found.job_id,
        submit_s=found.submit_s,
        gpus=found.gpus,
        duration_s=found.duration_s,
        start_s=found.start_s,
        end_s=found.end_s,
        workload=[one or None for one in found.workload],
        model=[one or None for one in found.model],
    )
    return columns


def _is_used(name: str, columns: Mapping[str, Any]) -> bool:
    if name in NEEDED_JOB_COLUMNS:
        return True
    return any(value is not None and value == value for value in columns[name])


def _plain(note: Note) -> dict[str, object]:
    return {
        "reason": note.reason,
        "count": note.count,
        "detail": note.detail,
        "where": note.where,
    }


def notes(found: Converted) -> Iterator[str]:
    """Say in lines what became of the rows, for stderr."""
    yield headline(found)
    for one in found.left:
        yield f"{one.kind}: {note_text(one.note)}"
    yield from map(note_text, found.notes)


def nothing(found: Converted) -> str:
    """Say why no job is kept, and what would help."""
    files = ", ".join(found.files[:_MOST_FILES])
    if not found.left:
        return f"{files}: no job is kept, as there are no rows"
    most = max(found.left, key=lambda one: one.note.count)
    text = (
        f"{files}: no job is kept of {counted(found.read, 'row')}; {most.note.count:,} are "
        f"{most.note.detail} [{most.note.reason}]"
    )
    advice = dict.fromkeys(one.advice for one in found.left if one.advice)
    return "; ".join([text, *advice])


def headline(found: Converted) -> str:
    """Say how many rows were read and kept, and what time 0 is."""
    text = (
        f"{found.title} ({found.format}): {counted(found.read, 'row')} read, "
        f"{len(found):,} kept, {found.count('rejected'):,} rejected, "
        f"{found.count('dropped'):,} dropped"
    )
    return f"{text}; submit_s 0 is {found.origin}" if found.origin else text


def parts(found: Converted) -> "Iterator[RenderableType]":
    """Show what became of the rows, and what the jobs are like."""
    yield Sentence(headline(found))
    if found.left:
        yield ""
        yield table(list(_left(found)))
    if len(found):
        yield ""
        yield from _told(found, summary(found))


def _left(found: Converted) -> Iterator[Field]:
    reasons = [one.note for one in found.left]
    firsts = [_place(one.where, found.files) for one in reasons]
    details = [one.detail for one in reasons]
    yield Field("rows", [f"{one.count:,}" for one in reasons])
    yield Field("left out", [one.kind for one in found.left], right=False)
    yield Field("because", details, right=False, least=_LEAST_WORDS)
    yield Field("first", [place for place, _ in firsts], right=False)
    if any(what for _, what in firsts):
        yield Field("found", [what for _, what in firsts], right=False, rank=1, least=20)


def _place(where: str, files: Sequence[str]) -> tuple[str, str]:
    """Split where a note is from into the place, short, and what stands there."""
    file = max((one for one in files if where.startswith(one)), key=len, default="")
    line, _, what = where.removeprefix(file).strip().partition(": ")
    name = PurePath(file).name if len(files) > 1 else ""
    return f"{name} {line}".strip(), what


def _told(found: Converted, told: Summary) -> Iterator[Sentence]:
    widths = sorted(told.gpus, key=lambda one: -one[1])[:_MOST_WIDTHS]
    most = ", ".join(f"{gpus:,} ({percent(n / len(found))})" for gpus, n in sorted(widths))
    rest = len(told.gpus) - len(widths)
    yield Sentence(f"jobs: {len(found):,}, submitted over {_long(told.span_s)}")
    yield Sentence(
        f"GPUs: {most}" + (f" and {counted(rest, 'other number')}" if rest else "")
    )
    yield Sentence(
        f"run times: median {seconds(told.median_s)}, mean {seconds(told.mean_s)}, longest "
        f"{seconds(told.longest_s)}"
    )
    if told.waits:
        yield Sentence(
            f"measured: {counted(told.waits, 'start')}, median wait "
            f"{seconds(told.wait_median_s)}"
        )
    models = len({one for one in found.model if one})
    if told.named or models:
        yield Sentence(
            f"workloads: {told.named:,} of {len(found):,} jobs, "
            f"{counted(models, 'model')} in the trace"
        )


def _long(value_s: float) -> str:
    return f"{number(value_s / _DAY_S)} d" if value_s >= _DAY_S else seconds(value_s)
