"""Options on where and how traces are read: processes, a Dask cluster, the reader."""

import os
from typing import TYPE_CHECKING, Any

import click

from synctax.cli.options import verbosity

if TYPE_CHECKING:
    from synctax.trace.pool import Workers

_SCHEDULER = "synctax.scheduler"


def _choose_reader(ctx: click.Context, _option: click.Parameter, value: str | None) -> None:
    """Ask for a reader as long as the command runs, of processes that it starts too."""
    from synctax.trace.readers import VARIABLE, chosen

    if value is None:
        return
    before = os.environ.get(VARIABLE)

    def restore() -> None:
        os.environ.pop(VARIABLE, None)
        if before is not None:
            os.environ[VARIABLE] = before

    os.environ[VARIABLE] = value
    ctx.call_on_close(restore)
    chosen()  # that it was not built should be heard now, not of every file


def _leave_scheduler(
    ctx: click.Context, option: click.Parameter, value: str | None
) -> None:
    if value is not None and not value.strip():
        raise click.BadParameter("the address is empty", ctx, option)
    ctx.meta[_SCHEDULER] = value


def _to_workers(
    ctx: click.Context, _option: click.Parameter, processes: int | None
) -> "Workers":
    """Make one value of both options; to a scheduler it connects when a file is read."""
    address = ctx.meta.get(_SCHEDULER)
    if address is None:
        return processes
    from synctax.report.output import Output, notes
    from synctax.trace.dask_connect import LOCAL
    from synctax.trace.dask_pool import Scheduler

    if processes is not None and address != LOCAL:
        raise click.UsageError(
            "--workers counts processes of this machine; those of a cluster are started "
            "with it",
            ctx,
        )

    def say(text: str) -> None:
        notes([text], Output(verbosity=verbosity(ctx)))

    cluster = Scheduler(address, processes=processes, on_note=say)
    ctx.call_on_close(cluster.close)
    return cluster


def workers_option(command: Any) -> Any:
    """Add how files are read: `workers: Workers`; results do not depend on it."""
    command = click.option(
        "--reader",
        type=click.Choice(["native", "python"]),
        expose_value=False,
        callback=_choose_reader,
        help="What reads the traces: the compiled reader, or the one in Python.  "
        "[default: native where it was built]",
    )(command)
    command = click.option(
        "--scheduler",
        metavar="ADDRESS",
        is_eager=True,
        expose_value=False,
        callback=_leave_scheduler,
        help="Read on the workers of this Dask scheduler, such as tcp://host:8786, or of "
        "one started here (local). Traces must lie where workers see them.",
    )(command)
    return click.option(
        "--workers",
        type=click.IntRange(min=1),
        metavar="N",
        callback=_to_workers,
        help="Processes that read files at the same time.  [default: one per core]",
    )(command)
