"""Read and measure the traces that a command was given, with a progress bar."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synctax.cli.progress import reading_files
from synctax.cli.recall import Sources
from synctax.report.output import NoteLike, Output

if TYPE_CHECKING:
    from synctax.collectives.load import Job
    from synctax.collectives.tax import Tax
    from synctax.notes import Note
    from synctax.trace.pool import Workers
    from synctax.workspace import Workspace

ROUTINE = frozenset(
    {
        "skipped_category",
        "thread_ignored",
        "sync_recorded",
        "edges_cross_calls",
        "edges_cross_inferred",
        "edges_sync_inferred",
        "no_interval_mean",
        "no_interval_quantile",
    }
)
"""Reasons that most traces have and nobody acts on: said with `-v`, and in JSON."""


def read_job(
    traces: Sequence[str],
    *,
    manifest: Path | None,
    workers: "Workers",
    verbosity: int,
    ranks: frozenset[int] | None = None,
    space: "Workspace | None" = None,
    meanwhile: Callable[[], None] | None = None,
) -> "Job":
    """Find, read and place the traces; the job may have problems (`load.require`).

    Parameters are as for `load.load`; `space` keeps the columns, `verbosity` is as for
    `progress.reading`, `meanwhile` as for `trace.pool.map_tasks`.
    """
    from synctax.collectives.load import survey
    from synctax.trace.discover import discover

    found = discover(traces, manifest=None if manifest is None else str(manifest))
    sizes = {file.path: file.size_bytes for file in found.files}
    with reading_files(sizes, verbosity=verbosity) as on_progress:
        return survey(
            found,
            ranks=ranks,
            workers=workers,
            cache=space,
            on_progress=on_progress,
            meanwhile=meanwhile,
        )


def measure_again(
    sources: Sources,
    space: "Workspace | None",
    out: Output,
    workers: "Workers",
    *,
    group: str | None = None,
    op: str | None = None,
    remember: bool = True,
) -> "tuple[Tax, Note | None]":
    """Read and measure for a later stage; traces that were named are then the last ones.

    Parameters
    ----------
    sources : Sources
    space : Workspace or None
        Where columns are kept.
    out : Output
    workers : int, Machines or None
    group, op : str, optional
        As for `tax.measure`.
    remember : bool
        Whether traces that were named become what was measured last.

    Returns
    -------
    Tax, Note or None
        The note says why nothing can be kept in the workspace, if so.
    """
    _, tax, unwritable = job_again(
        sources, space, out, workers, group=group, op=op, remember=remember
    )
    return tax, unwritable


def job_again(
    sources: Sources,
    space: "Workspace | None",
    out: Output,
    workers: "Workers",
    *,
    group: str | None = None,
    op: str | None = None,
    remember: bool = True,
) -> "tuple[Job, Tax, Note | None]":
    """Read and measure as `measure_again`, for what needs the job, too.

    Returns
    -------
    Job, Tax, Note or None
        The note says why nothing can be kept in the workspace, if so.
    """
    from synctax.collectives.load import require
    from synctax.collectives.tax import measure

    unwritable = space.prepare() if space else None
    job = require(
        read_job(
            sources.traces,
            manifest=sources.manifest,
            workers=workers,
            verbosity=out.verbosity,
            ranks=sources.ranks,
            space=space,
        )
    )
    tax = measure(
        job,
        group=group,
        op=op,
        steps=sources.steps,
        end_tolerance_us=sources.end_tolerance_us,
    )
    if space and not unwritable and remember and not sources.recalled:
        unwritable = _remember(space, sources, job, tax)
    return job, tax, unwritable


def _remember(
    space: "Workspace", sources: Sources, job: "Job", tax: "Tax"
) -> "Note | None":
    steps = sources.steps
    space.prune()
    return space.record_measure(
        sources.traces,
        [row.path for row in job.files],
        manifest=None if sources.manifest is None else str(sources.manifest),
        options={
            "steps": None if steps is None else [steps.start, steps.stop],
            "ranks": None if sources.ranks is None else sorted(sources.ranks),
            "include_head": False,
            "end_tolerance_us": tax.end_tolerance_us,
        },
    )


def worth_saying(found: Iterable[NoteLike], verbosity: int) -> list[NoteLike]:
    """Choose the notes for stderr: without `-v`, those that somebody may act on."""
    return [note for note in found if note.reason not in ROUTINE or verbosity > 0]
