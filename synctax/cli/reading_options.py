"""Options on where and how traces are read: processes, a Dask cluster, the reader."""

import os
from collections.abc import Callable
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
    restore = _set(ctx, VARIABLE, value)
    try:
        chosen()  # that it was not built should be heard now, not of every file
    except BaseException:
        restore()
        raise


def _choose_memory(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
    """Ask for columns in files as long as the command runs, of its processes too."""
    if not value:
        return
    from synctax.report.output import Output, notes
    from synctax.trace.spill import VARIABLE, Spill, is_in_memory

    spill = Spill()
    spill.file().close()  # that none can be made should be heard now, not of every file
    if is_in_memory(spill.folder):
        text = f"{spill.folder} is in memory itself: set TMPDIR to a folder on a disk"
        notes([text], Output(verbosity=verbosity(ctx)))
    _set(ctx, VARIABLE, "1")


def _set(ctx: click.Context, variable: str, value: str) -> Callable[[], None]:
    """Set a variable of the environment until the command ends."""
    before = os.environ.get(variable)

    def restore() -> None:
        os.environ.pop(variable, None)
        if before is not None:
            os.environ[variable] = before

    os.environ[variable] = value
    ctx.call_on_close(restore)
    return restore


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
        "--low-memory",
        is_flag=True,
        expose_value=False,
        callback=_choose_memory,
        help="Keep columns of files that are read in TMPDIR instead of memory.",
    )(command)
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
