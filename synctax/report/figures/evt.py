"""Figures of a fit: its laws beside the block maxima that they were fitted to."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from synctax.errors import SynctaxError
from synctax.evt.methods import Method
from synctax.evt.verdict import NAMES
from synctax.report.figures.axes import is_wide, legend_above, logarithmic
from synctax.report.figures.lettering import wrap
from synctax.report.figures.style import (
    COLORS,
    LINES,
    MARKERS,
    caption,
    named,
    new_figure,
    styled,
)
from synctax.texts import counted, decimals, level_text, time_us

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from synctax.evt.model import Block
    from synctax.evt.results import EvtFit

CURVE_POINTS: Final = 400
"""A density is drawn through so many points, and the middles of the bins."""

MOST_POINTS: Final = 5_000
"""More points are kept as a picture within SVG and PDF: files stay small."""

MOST_SEGMENTS: Final = 30
"""More rows of boxes than this are not read."""

WHISKERS: Final = (1, 99)
"""Percentiles at which whiskers end."""

ABOVE: Final = 0.6
"""Of the range of levels, so much is left above them for intervals."""

_LAWS: Final[dict[Method, int]] = {"gumbel": 0, "gev": 1, "deviations": 2}
"""Colour, line and marker of each predictor, the same in all figures."""

_MAXIMA_LAWS: Final[tuple[Method, ...]] = ("gumbel", "gev")

_GREY: Final = "#BBBBBB"


def density_and_quantiles(fit: "EvtFit") -> "Figure":
    """Draw the standardised maxima beside the fitted laws: densities, and a Q-Q plot.

    Parameters
    ----------
    fit : EvtFit

    Returns
    -------
    Figure
        Two axes. Densities: bars of `fit.points("pdf")`, and a curve a law. Q-Q: maxima
        over quantiles of each law, of `fit.points("qq")`, and the band of the Gumbel law.

    Raises
    ------
    SynctaxError
        If matplotlib is not installed.

    References
    ----------
    Synchronization-tax paper, figure 9.
    """
    with styled():
        figure, (left, right) = new_figure(1, 2, width_in=8.4, height_in=3.8)
        _densities(left, fit)
        _quantiles(right, fit)
        legend_above(figure, [left, right], 6)
        gev = fit.fitted.gev
        shape = "" if gev is None else f" GEV: ξ = {decimals(gev.shape)}."
        caption(
            figure,
            f"n = {maxima_text(fit)}; a: mean time of a block, b: its spread."
            f"{shape} Points above the line are longer than the law says. "
            f"Shaded: {level_text(fit.options.level)} band of each point under the Gumbel "
            "law.",
        )
    return figure


def _densities(axes: "Axes", fit: "EvtFit") -> None:
    bins = fit.points("pdf")
    axes.bar(
        bins["z_lo"],
        bins["density"],
        bins["z_hi"] - bins["z_lo"],
        align="edge",
        color=_GREY,
        edgecolor="white",
        linewidth=0.4,
        label="maxima",
    )
    z = np.union1d(
        np.linspace(bins["z_lo"].iloc[0], bins["z_hi"].iloc[-1], CURVE_POINTS), bins["z"]
    )
    laws = (fit.fitted.gumbel, fit.fitted.gev)
    for name, law in zip(_MAXIMA_LAWS, laws, strict=True):
        if law is not None:
            axes.plot(z, law.pdf(z), **line_of(name))
    axes.set(xlabel="z = (block maximum − a) / b", ylabel="density (per unit of z)")


def _quantiles(axes: "Axes", fit: "EvtFit") -> None:
    points = fit.points("qq")
    seen = points[["z", "gumbel_z", "gev_z"]].to_numpy(np.float64)
    ends = [np.nanmin(seen), np.nanmax(seen)]
    axes.plot(ends, ends, color="black", linewidth=0.8, label="y = x")
    axes.fill_between(
        points["gumbel_z"],
        points["gumbel_lo_z"],
        points["gumbel_hi_z"],
        color=COLORS[0],
        alpha=0.15,
        linewidth=0,
    )
    for name in reversed(_MAXIMA_LAWS):
        if points[f"{name}_z"].notna().any():
            _points(axes, points[f"{name}_z"], points["z"], name)
    axes.set(xlabel="quantile of the law (z)", ylabel="quantile of the maxima (z)")


def block_maxima(fit: "EvtFit") -> "Figure":
    """Draw how block maxima are distributed, by kind of compute block.

    Parameters
    ----------
    fit : EvtFit
        Of block times.

    Returns
    -------
    Figure
        A box a group, GPU model, type of operands and phase, in µs; longest medians last.

    Raises
    ------
    SynctaxError
        If the fit is of normalised maxima; if matplotlib is not installed.

    References
    ----------
    Synchronization-tax paper, figure 10.
    """
    standard = fit.inputs.standard
    if standard is None:
        raise SynctaxError(
            "normalised maxima are of no kind of block; draw block times, or --figure fit"
        )
    times = standard.times
    longest_us = times.us.max(axis=1)
    kinds = [_kind(block) for block in times.blocks]
    different = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
    of = np.array([different[kind] for kind in kinds], np.int64)[times.block]
    groups = [longest_us[of == number] for number in range(len(different))]
    named = list(zip(different, groups, strict=True))
    shown = sorted(named, key=lambda one: -one[1].size)[:MOST_SEGMENTS]
    shown.sort(key=lambda one: float(np.median(one[1])))
    with styled():
        figure, (axes,) = new_figure(height_in=1.5 + 0.34 * len(shown))
        axes.boxplot(
            [values for _, values in shown],
            orientation="horizontal",
            whis=WHISKERS,
            widths=0.55,
            tick_labels=[kind_label(kind, values.size) for kind, values in shown],
            patch_artist=True,
            boxprops={"facecolor": "#CFE3F1", "edgecolor": "black", "linewidth": 0.8},
            medianprops={"color": COLORS[1], "linewidth": 1.8},
            flierprops={"marker": ".", "markersize": 4, "markeredgecolor": "#555555"},
        )
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0, labelsize="small")
        axes.set_xlabel("block maximum (µs)")
        drawn = np.concatenate([values for _, values in shown])
        if is_wide(drawn):
            logarithmic(axes, "x", drawn.min() / 1.3, drawn.max() * 1.3)
        left_out = len(named) - len(shown)
        more = f"; {counted(left_out, 'rarer kind')} of block left out" if left_out else ""
        caption(
            figure,
            f"n = {maxima_text(fit)}{more}. Box: quartiles, line: median, whiskers: "
            f"{WHISKERS[0]} % to {WHISKERS[1]} %, points: beyond.",
        )
    return figure


def return_levels(fit: "EvtFit") -> "Figure":
    """Draw what one block maximum in so many exceeds.

    Parameters
    ----------
    fit : EvtFit

    Returns
    -------
    Figure
        Over the period: maxima, the levels of both laws, and their intervals, of
        `fit.points("return-level")`; a second scale in µs.

    Raises
    ------
    SynctaxError
        If matplotlib is not installed.

    References
    ----------
    Coles, An Introduction to Statistical Modeling of Extreme Values (2001), section 3.3.
    """
    points = fit.points("return-level")
    seen = points[points["z"].notna()]
    with styled():
        figure, (axes,) = new_figure(width_in=6.8, height_in=4.2)
        for name in _MAXIMA_LAWS:
            if points[f"{name}_z"].notna().any():
                axes.plot(points["period"], points[f"{name}_z"], **line_of(name))
                known = points[points[f"{name}_lo_z"].notna()]
                ends = known[f"{name}_lo_z"], known[f"{name}_hi_z"]
                band(axes, name, known["period"], *ends)
        axes.plot(
            seen["period"],
            seen["z"],
            linestyle="none",
            marker="o",
            markersize=4,
            markerfacecolor="none",
            color="black",
            label="maxima",
            rasterized=len(seen) > MOST_POINTS,
        )
        levels = points[["z", "gumbel_z", "gev_z"]].to_numpy(np.float64)
        low, high = np.nanmin(levels), np.nanmax(levels)
        # upper ends of heavy tails would press everything else to the ground
        axes.set_ylim(low - 0.05 * (high - low), high + ABOVE * (high - low))
        logarithmic(axes, "x", 1.0, float(points["period"].max()) * 1.15)
        axes.set(xlabel="return period (instances of a block)", ylabel="level (z)")
        a_us, b_us = fit.a_us, fit.b_us
        second = axes.secondary_yaxis("right", functions=_to_us_and_back(a_us, b_us))
        second.yaxis.set_major_formatter(axes.yaxis.get_major_formatter())
        second.set_ylabel("slowest block time of the mean block (µs)")
        legend_above(figure, [axes], 3)
        caption(
            figure,
            f"n = {maxima_text(fit)}. One instance in so many is longer than its level. "
            f"Shaded: {level_text(fit.options.level)} profile-likelihood interval. Mean "
            f"block: {time_us(a_us)}, spread {time_us(b_us)}.",
        )
    return figure


def _to_us_and_back(a_us: float, b_us: float) -> tuple[Any, Any]:
    """Turn z into block times of the mean block, and back."""
    return (lambda z: a_us + b_us * z), (lambda us: (us - a_us) / b_us)


def line_of(name: Method) -> dict[str, Any]:
    """Tell how the curve of a predictor looks, in all figures.

    Parameters
    ----------
    name : {"gumbel", "gev", "deviations"}
    """
    at = _LAWS[name]
    return {"color": COLORS[at], "linestyle": LINES[at], "label": NAMES[name]}


def band(axes: "Axes", name: Method, x: Any, lo: Any, hi: Any) -> None:
    """Shade the interval of a predictor.

    Parameters
    ----------
    axes : Axes
    name : {"gumbel", "gev", "deviations"}
    x, lo, hi : (k,) array_like of float
        NaN where there is none.
    """
    color, style = COLORS[_LAWS[name]], LINES[_LAWS[name]]
    axes.fill_between(x, lo, hi, color=color, alpha=0.13, linewidth=0)
    for end in (lo, hi):  # bands that overlap are told apart by their edges
        axes.plot(x, end, color=color, linestyle=style, linewidth=0.7, alpha=0.7)


def maxima_text(fit: "EvtFit") -> str:
    """Say how many maxima there are, and over how many ranks.

    Parameters
    ----------
    fit : EvtFit
    """
    return f"{fit.z.size:,} block maxima over {fit.m:,} ranks"


def _points(axes: "Axes", x: Any, y: Any, name: Method) -> None:
    at = _LAWS[name]
    axes.plot(
        x,
        y,
        linestyle="none",
        marker=MARKERS[at],
        markersize=3.5,
        markerfacecolor="none",
        markeredgewidth=0.8,
        color=COLORS[at],
        label=f"{NAMES[name]} Q-Q",
        rasterized=len(x) > MOST_POINTS,
    )


Kind = tuple[str | None, ...]
"""Group, GPU model, type of operands and phase of blocks."""

KIND_LINE_EM: Final = 21.0
"""Width of lines in which a kind is named, in em."""

PART_EM: Final = 11.0
"""Of one of the names that it is made of: that of a GPU fits."""


def _kind(block: "Block") -> Kind:
    return block.group, block.gpu, block.dtype, block.phase


def kind_label(kind: Kind, count: int) -> str:
    """Name a kind of block and how many there are, in lines for ticks.

    Parameters
    ----------
    kind : Kind
    count : int
    """
    tied = f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{count:,}"
    lines = wrap(f"{kind_text(*kind)}, {tied}", KIND_LINE_EM)
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def kind_text(*names: str | None) -> str:
    """Name a kind of block by what is known of it, as figures show names.

    Parameters
    ----------
    names : str or None

    Examples
    --------
    >>> kind_text("tp", None, "bf16", ""), kind_text(None, "")
    ('tp, bf16', 'blocks of no known kind')
    """
    known = (named(one, PART_EM) for one in names if one)
    return ", ".join(known) or "blocks of no known kind"
