"""`synctax convert`: traces of other systems into the CSV of jobs."""

from typing import Final

import click

from synctax.cli.options import Finite, output_options
from synctax.cluster.convert.found import (
    ATTEMPTS,
    FORMAT_NAMES,
    FRACTIONALS,
    STATUSES,
    Options,
)
from synctax.report.output import Output

_DEFAULT: Final = Options()


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option(
    "--from",
    "source",
    type=click.Choice(FORMAT_NAMES),
    metavar="FORMAT",
    help=f"Format of the files: {', '.join(FORMAT_NAMES)}.  "
    "[default: recognised from how they begin]",
)
@click.option(
    "--status",
    type=click.Choice(STATUSES),
    default=_DEFAULT.status,
    show_default=True,
    help="Which jobs: those that failed or were killed held their GPUs too.",
)
@click.option(
    "--attempts",
    type=click.Choice(ATTEMPTS),
    default=_DEFAULT.attempts,
    show_default=True,
    help="Run time of a job that was started several times (philly): of all attempts "
    "together, or from the first start to the last end.",
)
@click.option(
    "--fractional",
    type=click.Choice(FRACTIONALS),
    default=_DEFAULT.fractional,
    show_default=True,
    help="What becomes of jobs that ask for parts of GPUs.",
)
@click.option(
    "--timezone",
    metavar="ZONE",
    help="Of times that name none, such as Europe/Paris; none takes them as they stand.  "
    "[default: America/Los_Angeles for philly, UTC for acme, else none]",
)
@click.option(
    "--throughputs",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Gavel's simulation_throughputs.json: steps a second (gavel).",
)
@click.option(
    "--gpu-type",
    default="v100",
    show_default=True,
    metavar="NAME",
    help="Whose rates to take of --throughputs.",
)
@click.option(
    "--assume-duration-s",
    type=Finite(least=0),
    metavar="S",
    help="Run time of jobs whose trace tells none (pollux, gavel).",
)
@output_options
def convert(
    files: tuple[str, ...],
    source: str | None,
    status: str,
    attempts: str,
    fractional: str,
    timezone: str | None,
    throughputs: str | None,
    gpu_type: str,
    assume_duration_s: float | None,
    out: Output,
) -> None:
    r"""Convert a trace of jobs into the CSV that simulate reads.

    FILES are one trace, or - for stdin: Philly, Helios, Acme (Seren, Kalos), Alibaba PAI
    v2020, openb v2023 and spot v2026, Tiresias, Muri, Chronus, Pollux, Gavel, Slurm's
    sacct -P, or a CSV of jobs; plain, .gz or .zst. A row that cannot be a job stops nothing
    and is counted with its reason; without -o and --format these counts are what is shown.
    Where no row is a job nothing is written, and the exit code is 1.

    \b
    Examples:
      synctax convert cluster_job_log -o jobs.csv
      sacct -aPS 2026-01-01 \
        -o JobID,Submit,Start,End,Elapsed,AllocTRES,State > jobs.txt
      synctax convert jobs.txt --status pass -o jobs.csv
    """
    from synctax.cli.convert_stages import Asked, read
    from synctax.errors import SynctaxError
    from synctax.report import convert_view as view
    from synctax.report.output import emit, notes, show

    asked = Asked(
        files=files,
        source=source,
        status=status,
        attempts=attempts,
        fractional=fractional,
        timezone=timezone,
        throughputs=throughputs,
        gpu_type=gpu_type,
        assume_duration_s=assume_duration_s,
    )
    found = read(asked, out.verbosity)
    if out.fmt == "table":
        notes(found.notes, out)
        show(view.parts(found), out)
    else:
        notes(view.notes(found), out)
    if not len(found):
        raise SynctaxError(view.nothing(found))
    if out.fmt != "table":
        emit(view.result(found, asked.parameters, out.fmt), out)
