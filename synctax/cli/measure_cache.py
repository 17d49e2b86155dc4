"""`synctax measure --only-cache`: fills a workspace that others measure from."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from synctax.cli.progress import reading_files
from synctax.errors import BadInputError, SynctaxError
from synctax.report.output import Output, emit

if TYPE_CHECKING:
    from synctax.fill import Filled
    from synctax.trace.pool import Workers

_TAKEN = ("traces", "only_cache", "manifest", "workers", "workspace", "out")
"""Parameters that are of use; those that pass nothing on have no say here."""


def only_cache(
    traces: tuple[str, ...],
    manifest: Path | None,
    workers: "Workers",
    workspace: Path,
    out: Output,
) -> None:
    """Keep the columns of traces, and say of each what became of it.

    Raises
    ------
    click.UsageError
        If an option is given that is for measuring.
    BadInputError
        If no trace can be read.
    SynctaxError
        If columns cannot be kept.
    """
    from synctax.fill import fill
    from synctax.report.cache_view import parts, result
    from synctax.trace.discover import discover
    from synctax.workspace import Workspace

    _refuse_others()
    space = Workspace(workspace)
    unwritable = space.prepare()
    if unwritable is not None:
        raise SynctaxError(unwritable.detail)
    found = discover(traces, manifest=None if manifest is None else str(manifest))
    sizes = {file.path: file.size_bytes for file in found.files}
    with reading_files(sizes, verbosity=out.verbosity) as on_progress:
        files = fill(found.files, space, workers=workers, on_progress=on_progress)
    asked = {"traces": traces, "manifest": manifest, "workspace": workspace}
    emit(result(files, asked), out, render=lambda _: parts(files, workspace))
    _check(files)


def _refuse_others() -> None:
    context = click.get_current_context()
    for param in context.command.params:
        given = context.get_parameter_source(str(param.name))
        unused = given is ParameterSource.COMMANDLINE and param.expose_value
        if unused and param.name not in _TAKEN:
            raise click.UsageError(
                f"--only-cache measures nothing yet, so {param.opts[0]} is of no use; "
                "leave it out"
            )


def _check(files: "tuple[Filled, ...]") -> None:
    """End with an error if the columns of a file that can be read are not there now."""
    from synctax.fill import Outcome
    from synctax.trace.oddities import name_some

    lost = [one for one in files if one.outcome is Outcome.NOT_KEPT]
    if lost:
        told = name_some(f"{one.path}: {one.reason}" for one in lost)
        raise SynctaxError(
            f"the columns of {len(lost)} of {len(files)} files are not in the workspace: "
            f"{told}"
        )
    if all(one.outcome is Outcome.UNREADABLE for one in files):
        raise BadInputError(
            f"no trace can be read: {name_some(one.reason for one in files)}"
        )
