"""Figures of `synctax bandwidth`: which there are, of which rows, and drawing them."""

from typing import TYPE_CHECKING, Final

import click

from synctax.cli.plotting import Plot, draw

if TYPE_CHECKING:
    import pandas as pd

FIGURES: Final = ("bandwidth", "flops", "algorithms")


def figure_asked(
    plot: Plot,
    *,
    growths: tuple[float, ...] | None,
    n: tuple[int, ...] | None,
    residuals: bool,
    algorithms: bool,
) -> Plot:
    """Tell which figure is drawn: with grown FLOPS it is `flops` unless another is named.

    Parameters
    ----------
    plot : Plot
    growths : tuple of float, optional
        Of FLOPS, where they grow.
    n : tuple of int, optional
        Ranks, if they were given.
    residuals, algorithms : bool
        Whether these tables were asked for instead.

    Returns
    -------
    Plot

    Raises
    ------
    click.UsageError
        If the rows are not those of the figure, or too few.
    """
    if plot.path is None:
        return plot
    if residuals:
        raise click.UsageError("--residuals has no picture; leave out --plot")
    if algorithms:
        raise click.UsageError(
            "--algorithms lists formulas; leave it out, and --figure algorithms draws "
            "them over n"
        )
    named = click.get_current_context().params.get("figure")
    figure = named or ("flops" if growths else "bandwidth")
    if figure == "flops" and not growths:
        raise click.UsageError(
            "--figure flops is over grown FLOPS; give --flops-growth 1,2,4,8"
        )
    if figure == "bandwidth" and growths:
        raise click.UsageError(
            "--flops-growth is drawn by --figure flops; leave it out, or that figure"
        )
    if figure == "flops" and growths and len(growths) < 2:
        raise click.UsageError(
            "--figure flops is over several growths of FLOPS; give more, as in "
            "--flops-growth 1,2,4,8"
        )
    if figure != "flops" and n is not None and len(set(n)) < 2:
        raise click.UsageError(
            f"--figure {figure} is over several numbers of ranks; give more, as in --n "
            "8:4096"
        )
    return Plot(plot.path, figure)


def draw_rows(plot: Plot, rows: "pd.DataFrame", tax: str) -> None:
    """Draw the figure that was asked for, if one was.

    Parameters
    ----------
    plot : Plot
        As `figure_asked` returned it.
    rows : DataFrame
        `schema.BANDWIDTH`, or `schema.BANDWIDTH_FLOPS` for `flops`.
    tax : str
        Which tax they are of, in words.

    Raises
    ------
    SynctaxError
        If there is nothing to draw.
    """
    if plot.path is None:
        return
    from synctax.report.figures import bandwidth

    draw(
        plot,
        {
            "bandwidth": lambda: bandwidth.best_bandwidth(rows, tax=tax),
            "flops": lambda: bandwidth.flops(rows, tax=tax),
            "algorithms": lambda: bandwidth.algorithms(rows),
        },
    )
