"""`synctax inspect`: which file is which rank, and what can be computed."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from synctax.cli.options import (
    manifest_option,
    output_options,
    traces_argument,
)
from synctax.cli.reading_options import workers_option
from synctax.errors import BadInputError, SynctaxError
from synctax.report.output import Output

if TYPE_CHECKING:
    from synctax.trace.pool import Workers


@click.command()
@traces_argument
@manifest_option
@workers_option
@output_options
@click.pass_context
def inspect(
    ctx: click.Context,
    traces: tuple[str, ...],
    manifest: Path | None,
    workers: "Workers",
    out: Output,
) -> None:
    r"""Show which file of TRACES is which rank, what is odd, and what can be computed.

    TRACES are folders (searched with their subfolders), files, patterns, or a manifest.
    Exits with 0 if the tax can be measured, 1 if not, 3 if the files are at fault.

    \b
    Example:
      synctax inspect traces/
    """
    from synctax.cli.reading import read_job
    from synctax.collectives.overview import overview
    from synctax.report.inspection import parts, result
    from synctax.report.output import emit, notes

    job = read_job(traces, manifest=manifest, workers=workers, verbosity=out.verbosity)
    seen = overview(job)
    emit(
        result(job, seen, {"traces": traces, "manifest": manifest}),
        out,
        render=lambda _result: parts(job, seen, every_file=out.verbosity > 0),
    )
    if out.fmt in ("csv", "parquet"):  # what has no place in them
        notes((*job.notes, *seen.notes), out)
    if any(problem.bad_input for problem in job.problems):
        ctx.exit(BadInputError.exit_code)
    ctx.exit(0 if seen.measurable else SynctaxError.exit_code)
