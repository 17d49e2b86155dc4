"""How commands read traces: with which reader, and how many files at a time."""

import os
from typing import Any

import click


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


def workers_option(command: Any) -> Any:
    """Add how files are read: `workers: int | None`; results do not depend on it."""
    command = click.option(
        "--reader",
        type=click.Choice(["native", "python"]),
        expose_value=False,
        callback=_choose_reader,
        help="What reads the traces: the compiled reader, or the one in Python.  "
        "[default: native where it was built]",
    )(command)
    return click.option(
        "--workers",
        type=click.IntRange(min=1),
        metavar="N",
        help="Processes that read files at the same time.  [default: one per core]",
    )(command)
