"""Where a command may write: over nothing that it reads, and each result a file."""

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from synctax.errors import SynctaxError
from synctax.files import is_same, is_special

Guarded = TypeVar("Guarded", bound=Callable[..., Any])


def check_targets(targets: Mapping[str, Path | None]) -> None:
    """Refuse targets that another parameter of the command that runs names, too.

    Files are compared, not spellings: a link is what it leads to. Traces in folders that
    are named are such files.

    Parameters
    ----------
    targets : mapping of str to Path or None
        Files that will be written, by the parameter that names each; None: stdout.

    Raises
    ------
    click.UsageError
        Naming both.
    BadInputError
        If a target is there already, and traces that it might be one of cannot be found.
    """
    context = click.get_current_context()
    params = {str(one.name): one for one in context.command.params}
    for name, path in targets.items():
        if path is None or is_special(path):
            continue
        mine = called(params[name])
        for other, param in params.items():
            if other == name:
                continue
            if _names(targets.get(other), path):
                raise click.UsageError(
                    f"{mine} and {called(param)} both name {path}; give two files"
                )
            if path.exists() and _names(context.params.get(other), path):
                raise click.UsageError(
                    f"{mine} {path} would overwrite what is read as {called(param)}; "
                    "give another file"
                )
        if path.exists() and _is_trace(context.params, path):
            raise click.UsageError(
                f"{mine} {path} would overwrite what is read as a trace; give another file"
            )


def guarded(command: Guarded, name: str) -> Guarded:
    """Make the function of a command refuse to write its `Output` over an input.

    Parameters
    ----------
    command : callable
    name : str
        Of the parameter that gets the output.
    """

    @wraps(command)
    def checked(*args: Any, **kwargs: Any) -> Any:
        check_targets({name: kwargs[name].path})
        return command(*args, **kwargs)

    return cast("Guarded", checked)


def _names(value: Any, path: Path) -> bool:
    """Whether a value of a parameter names a file, as `FILE` or as `FILE:what`."""
    texts = {part for one in _texts(value) for part in (one, one.rpartition(":")[0])}
    return any(is_same(one, path) for one in texts if one)


TRACES = ("traces", "also", "a", "b", "also_a", "also_b")
"""Parameters that name traces."""


def _is_trace(params: Mapping[str, Any], path: Path) -> bool:
    """Whether a file is one of the traces that a command finds in what is named.

    Where nothing is named but could be, those are read that were measured last.
    """
    named = [one for name in TRACES for one in _texts(params.get(name))]
    manifest = params.get("manifest")
    if not named and manifest is None:
        return any(is_same(one, path) for one in _measured_last(params))
    from synctax.trace.discover import discover

    found = discover(named, manifest=None if manifest is None else str(manifest))
    return any(is_same(one.path, path) for one in found.files)


def _measured_last(params: Mapping[str, Any]) -> Iterator[str]:
    """Name the files that a command without traces reads, if it reads any."""
    if "traces" not in params or params.get("workspace") is None:
        return
    from synctax.workspace import Workspace

    try:
        last = Workspace(params["workspace"]).last_measure()
    except SynctaxError:
        return  # the command says so itself
    yield from (file.path for file in last.files)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, (str, Path)):
        yield str(value)
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from _texts(one)


def called(param: click.Parameter) -> str:
    """Name a parameter as the help does: `--cluster`, `TRACE`."""
    if isinstance(param, click.Option):
        return param.opts[0]
    return param.human_readable_name.removesuffix("...")
