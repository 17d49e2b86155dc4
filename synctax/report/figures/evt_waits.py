"""Figures of predicted waits: beside those that were measured, and as ranks grow."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from synctax.arrays import F64
from synctax.errors import SynctaxError
from synctax.evt.checks import MAX_REACH
from synctax.evt.methods import Method
from synctax.evt.segments import OVERALL
from synctax.report.figures.axes import (
    doubling,
    is_wide,
    known,
    legend_above,
    logarithmic,
)
from synctax.report.figures.evt import KIND_LINE_EM, band, kind_text, line_of
from synctax.report.figures.lettering import wrap
from synctax.report.figures.style import (
    COLORS,
    MARKERS,
    caption,
    new_figure,
    styled,
)
from synctax.texts import counted, is_absent, level_text, number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from synctax.evt.results import EvtFit

MOST_KINDS: Final = 12
"""Kinds of block that a legend has room for."""

CLEAR_COLORS: Final = 6
"""Colours that a small mark shows on white; black is that of everything."""

LINE_IN: Final = 0.175
"""Inches that a line takes in a legend."""

WIDEST: Final = 30
"""Intervals do not stretch the axis of growth beyond predictions by more than this."""

_PREDICTED: Final[dict[Method, str]] = {
    "gumbel": "tau",
    "gev": "tau_gev",
    "deviations": "tau_deviations",
}
"""How columns of each predictor begin."""

_SEEN: Final = (
    ("measured_us", "o", "measured, by block times"),
    ("tax_mean_us", "x", "measured at collectives"),
)

Row = dict[Any, Any]


def delay(fit: "EvtFit") -> "Figure":
    """Draw the predicted against the measured mean wait, by kind of compute block.

    Parameters
    ----------
    fit : EvtFit
        Of block times.

    Returns
    -------
    Figure
        A point a row of `fit.per_segment()`: measured at collectives, or by block times
        where that is not known; predicted, `ratio` times as much, with its interval.

    Raises
    ------
    SynctaxError
        If no wait was measured, as of normalised maxima; if matplotlib is not installed.

    References
    ----------
    Synchronization-tax paper, figure 11.
    """
    points = _compared(fit.per_segment())
    if not points:
        raise SynctaxError(
            "no wait was measured that a prediction could stand beside; fit traces or "
            "block times, in which ranks wait"
        )
    shown = points[: MOST_KINDS + 1]
    with styled():
        labels = [_label(point) for point in shown]
        lines = sum(1 + label.count("\n") for label in labels)
        height_in = max(4.0, 1.2 + LINE_IN * lines)
        figure, (axes,) = new_figure(width_in=6.8, height_in=height_in)
        drawn = [_point(axes, point, at) for at, point in enumerate(shown)]
        for one, label in zip(drawn, labels, strict=True):
            one.set_label(label)
        ends = _square(axes, shown)
        drawn += axes.plot(
            ends, ends, color="black", linewidth=0.8, zorder=1, label="y = x"
        )
        axes.set(xlabel="measured mean wait (µs)", ylabel="predicted mean wait (µs)")
        figure.legend(handles=drawn, loc="outside right upper")
        caption(figure, _delay_caption(fit, points, shown))
    return figure


def growth(fit: "EvtFit") -> "Figure":
    """Draw how the mean wait grows with the ranks, and where the data end.

    Parameters
    ----------
    fit : EvtFit

    Returns
    -------
    Figure
        Over n: predictions with their intervals, and what was measured, of
        `fit.to_frame()`; a line at the ranks of the fit, where extrapolation begins.

    Raises
    ------
    SynctaxError
        If waits are predicted for one number of ranks only; if matplotlib is not
        installed.

    References
    ----------
    Synchronization-tax paper, sections 5.1 and 5.3.
    """
    rows = fit.to_frame()
    if len(rows) < 2:
        raise SynctaxError("one number of ranks has no growth; give more, as in --n 8:4096")
    with styled():
        figure, (axes,) = new_figure(width_in=6.8, height_in=4.4)
        for name, prefix in _PREDICTED.items():
            if rows[f"{prefix}_us"].notna().any():
                axes.plot(rows["n"], rows[f"{prefix}_us"], **line_of(name))
                band(
                    axes, name, rows["n"], rows[f"{prefix}_lo_us"], rows[f"{prefix}_hi_us"]
                )
        for column, marker, label in _SEEN:
            if rows[column].notna().any():
                axes.plot(
                    rows["n"],
                    rows[column],
                    linestyle="none",
                    marker=marker,
                    markersize=7,
                    markeredgewidth=1.5,
                    markerfacecolor="none",
                    color="black",
                    label=label,
                    zorder=4,
                )
        _waits_axis(axes, rows)
        doubling(axes, rows["n"])
        _mark_reach(axes, fit.m)
        axes.set(xlabel="ranks n", ylabel="mean wait of a rank (µs)")
        legend_above(figure, [axes], 3)
        caption(figure, _growth_caption(fit, rows, axes.get_ylim()[1]))
    return figure


def _compared(segments: "pd.DataFrame") -> list[Row]:
    """Choose what each segment is compared with; most instances first, everything last."""
    found = []
    for row in segments.to_dict("records"):
        at_collectives = bool(row["tax_mean_us"] > 0)
        measured = row["tax_mean_us"] if at_collectives else row["measured_us"]
        kind = "" if at_collectives else "blocks_"
        ends = {
            end: row[f"{kind}ratio{end}"] * measured if measured > 0 else np.nan
            for end in ("", "_lo", "_hi")
        }
        if np.isfinite(ends[""]):
            point = {"x": measured, "y": ends[""], "lo": ends["_lo"], "hi": ends["_hi"]}
            found.append(row | point | {"at_collectives": at_collectives})
    found.sort(key=lambda one: (one["group"] == OVERALL, -one["instances"]))
    apart = [one for one in found if one["group"] != OVERALL]
    # a single kind is everything
    return apart if len(apart) == 1 else [*found[-1:], *apart]


def _point(axes: "Axes", point: Row, at: int) -> "Artist":
    """Draw one kind of block, and return what stands for it in the legend."""
    color = COLORS[at % CLEAR_COLORS]
    everything = point["group"] == OVERALL
    bars = [[max(point["y"] - point["lo"], 0)], [max(point["hi"] - point["y"], 0)]]
    drawn: Artist = axes.errorbar(
        [point["x"]],
        [point["y"]],
        yerr=bars if np.isfinite(bars).all() else None,
        color="black" if everything else color,
        marker="*" if everything else MARKERS[at % (len(MARKERS) - 1)],
        markersize=11 if everything else 7,
        markerfacecolor=None if point["at_collectives"] else "none",
        linestyle="none",
        capsize=3,
        zorder=3,
    )[0]
    return drawn


def _label(point: Row) -> str:
    """Name a kind of block in a legend, in lines."""
    names = (point[name] for name in ("group", "gpu", "dtype", "phase"))
    ranks = "" if is_absent(point["n"]) else f"{int(point['n']):,} ranks, "
    said = "all" if point["group"] == OVERALL else kind_text(*names)
    return "\n".join([*wrap(said, KIND_LINE_EM), f"{ranks}n = {point['instances']:,}"])


def _square(axes: "Axes", points: list[Row]) -> tuple[float, float]:
    """Give both axes the same ends, around all points and bars."""
    values = [[point[name] for name in ("x", "y", "lo", "hi")] for point in points]
    seen = known(values)
    low, high = float(seen.min()), float(seen.max())
    if is_wide(seen):
        ends = low / 1.4, high * 1.4
        logarithmic(axes, "x", *ends)
        logarithmic(axes, "y", *ends)
    else:
        ends = 0.0, high * 1.12
        axes.set(xlim=ends, ylim=ends)
    axes.set_aspect("equal", anchor="NW")
    return ends


def _delay_caption(fit: "EvtFit", points: list[Row], shown: list[Row]) -> str:
    hollow = sum(not one["at_collectives"] for one in shown)
    told = {
        0: "Measured at the collectives.",
        len(shown): "Measured by block times: waits at collectives are not known.",
    }.get(hollow, "Measured at the collectives; hollow: by block times.")
    left_out = len(points) - len(shown)
    more = f", {left_out:,} rarer left out" if left_out else ""
    kinds = counted(sum(one["group"] != OVERALL for one in shown), "kind")
    instances = sum(one["instances"] for one in points if one["group"] != OVERALL)
    return (
        f"n = {counted(instances, 'instance')} of {kinds} of block{more}. Predicted by one "
        f"Gumbel law of maxima over {fit.m:,} ranks. {told} Bars: "
        f"{level_text(fit.options.level)} interval of predicted over measured."
    )


def _waits_axis(axes: "Axes", rows: "pd.DataFrame") -> None:
    """Make room for predictions and measurements, and for intervals within reason."""
    middles = [f"{prefix}_us" for prefix in _PREDICTED.values()]
    middles += [column for column, *_ in _SEEN]
    seen = known(rows[middles].to_numpy(np.float64))
    low, high = float(seen.min()), float(seen.max())
    prefixes = _PREDICTED.values()
    bounds = [f"{prefix}_{end}_us" for prefix in prefixes for end in ("lo", "hi")]
    wide = known(rows[bounds].to_numpy(np.float64))
    inside: F64 = wide[(wide > low / WIDEST) & (wide < high * WIDEST)]
    low, high = min(low, *inside), max(high, *inside)
    if is_wide([low, high]):
        logarithmic(axes, "y", low / 1.25, high * 1.25)
    else:
        axes.set_ylim(0, high * 1.08)


def _mark_reach(axes: "Axes", m: int) -> None:
    """Mark the ranks of the fit, and grey what lies far beyond."""
    _, end = axes.get_xlim()
    axes.axvline(m, color="black", linewidth=1.0, linestyle=(0, (2, 2)))
    axes.annotate(
        "extrapolated →",
        (m, 0.02),
        (4, 0),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        fontsize="small",
    )
    if end > MAX_REACH * m:
        axes.axvspan(MAX_REACH * m, end, color="black", alpha=0.06, linewidth=0, zorder=0)


def _growth_caption(fit: "EvtFit", rows: "pd.DataFrame", top_us: float) -> str:
    ends = rows[[f"{prefix}_hi_us" for prefix in _PREDICTED.values()]].to_numpy(np.float64)
    beyond = " Those that leave the picture are wider." if np.any(ends > top_us) else ""
    most = rows.iloc[-1]
    far = float(rows["reach"].max())
    grey = (
        f" Grey: beyond {MAX_REACH} times that the law decides, not the data."
        if far > MAX_REACH
        else ""
    )
    return (
        f"n = {fit.z.size:,} block maxima over {fit.m:,} ranks (dotted line); "
        f"{number(int(most['n']))} ranks are {number(far)} times as many.{grey} Shaded: "
        f"{level_text(fit.options.level)} intervals, by resampling, where there are some."
        f"{beyond}"
    )
