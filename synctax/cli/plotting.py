"""`--plot FILE`: draw a result; with several figures `--figure` tells which."""

import contextlib
import importlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from synctax.cli.targets import check_targets
from synctax.report.figures.style import NO_MATPLOTLIB, SUFFIXES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Plot:
    """Which figure is drawn, and into which file; None where none was asked for."""

    path: Path | None
    figure: str


def plot_options(*figures: str) -> Callable[[Decorated], Decorated]:
    """Add `--plot`, and `--figure` where there are several; the command gets `plot: Plot`.

    Stand it directly above the function, below `output_options`.

    Parameters
    ----------
    figures : str
        Names of the figures, the usual one first.
    """

    def decorate(command: Decorated) -> Decorated:
        @wraps(command)
        def drawn(*args: Any, **kwargs: Any) -> Any:
            path = kwargs.pop("plot")
            figure = kwargs.pop("figure", None)
            if figure is not None and path is None:
                raise click.UsageError("--figure tells what --plot FILE draws; give both")
            out = kwargs.get("out")
            check_targets({"plot": path} | ({"out": out.path} if out else {}))
            if path is not None and out is not None and out.path is None:
                _keep_apart(path)
            return command(*args, plot=Plot(path, figure or figures[0]), **kwargs)

        both = drawn
        if len(figures) > 1:
            both = click.option(
                "--figure",
                type=click.Choice(figures),
                help=f"Which picture --plot draws.  [default: {figures[0]}]",
            )(both)
        both = click.option(
            "--plot",
            type=click.Path(dir_okay=False, writable=True, path_type=Path),
            callback=_checked,
            metavar="FILE",
            help="Draw a picture too: .png, .svg or .pdf (needs synctax[plot]).",
        )(both)
        return cast("Decorated", both)

    return decorate


def draw(plot: Plot, makers: "dict[str, Callable[[], Figure]]") -> None:
    """Draw the figure that was asked for, if one was.

    Parameters
    ----------
    plot : Plot
    makers : mapping of str to callable
        Makes each of the figures that the command named.

    Raises
    ------
    SynctaxError
        If there is nothing to draw, or matplotlib is missing.
    """
    if plot.path is None:
        return
    _set_aside()
    from synctax.report.figures.style import save

    save(makers[plot.figure](), plot.path)


def _set_aside() -> None:
    """Let nothing of the user's set-up reach pictures or stop them.

    A backend is for windows, and there are none; a file of settings may be damaged; that
    fonts cannot be kept for the next time changes nothing.
    """
    os.environ.pop("MPLBACKEND", None)
    os.environ["MATPLOTLIBRC"] = os.devnull
    import logging

    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    # a file of settings in the current folder comes before that of the variable
    with contextlib.chdir(os.sep):
        importlib.import_module("matplotlib")


def _checked(ctx: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Refuse before anything is computed what could not be drawn at the end."""
    if path is None:
        return None
    if path.suffix.lower() not in SUFFIXES:
        raise click.BadParameter(
            f"the name {path.name!r} tells no format; end it in {_listed(SUFFIXES)}",
            ctx,
            option,
        )
    if not path.parent.is_dir():
        raise click.BadParameter(f"{path.parent} is no folder", ctx, option)
    if find_spec("matplotlib") is None:
        raise click.UsageError(f"--plot: {NO_MATPLOTLIB}", ctx)
    return path


def _keep_apart(path: Path) -> None:
    """Refuse a picture that goes to stdout, by whatever name, where the result goes."""
    try:
        there, stdout = path.stat(), os.fstat(1)
    except OSError:  # a file to come is not stdout, and to a closed one nothing goes
        return
    if os.path.samestat(there, stdout) and not os.path.samestat(
        there, Path(os.devnull).stat()
    ):
        raise click.UsageError(
            f"--plot {path} is stdout, where the result goes; write that to a file with "
            "-o FILE"
        )


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
