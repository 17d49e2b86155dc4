"""Figures of `synctax fit-evt`: which there are, of what, and drawing the one asked for."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from synctax.cli.plotting import Plot, draw

if TYPE_CHECKING:
    from synctax.evt.results import EvtFit

FIGURES: Final = ("fit", "maxima", "delay", "growth", "return-level")

OF_BLOCK_TIMES: Final = ("maxima", "delay")
"""Figures that normalised maxima say nothing of."""


def check_figure(plot: Plot, maxima: Path | None, n: tuple[int, ...] | None) -> None:
    """Refuse before anything is fitted what could not be drawn of it.

    Parameters
    ----------
    plot : Plot
    maxima : Path, optional
        Normalised maxima, if these are fitted.
    n : tuple of int, optional
        Ranks to predict for, if they were given.

    Raises
    ------
    click.UsageError
        Naming what would help.
    """
    if plot.path is None:
        return
    if maxima is not None and plot.figure in OF_BLOCK_TIMES:
        raise click.UsageError(
            f"--figure {plot.figure} is of block times, and --maxima has none"
        )
    if plot.figure == "growth" and n is not None and len(set(n)) < 2:
        raise click.UsageError(
            "--figure growth is over several numbers of ranks; give more, as in --n 8:4096"
        )


def draw_fit(plot: Plot, fit: "EvtFit") -> None:
    """Draw the figure of a fit that was asked for, if one was.

    Parameters
    ----------
    plot : Plot
    fit : EvtFit

    Raises
    ------
    SynctaxError
        If there is nothing to draw.
    """
    if plot.path is None:
        return
    from synctax.report.figures import evt, evt_waits

    makers = {
        "fit": evt.density_and_quantiles,
        "maxima": evt.block_maxima,
        "delay": evt_waits.delay,
        "growth": evt_waits.growth,
        "return-level": evt.return_levels,
    }
    draw(plot, {plot.figure: lambda: makers[plot.figure](fit)})
