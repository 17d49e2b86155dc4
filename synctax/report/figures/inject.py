"""The figure of `inject`: whether delays come back, in the tax and by name."""

from typing import TYPE_CHECKING, Final

import numpy as np

from synctax.errors import SynctaxError
from synctax.report.figures.axes import in_percent
from synctax.report.figures.style import (
    COLORS,
    LINES,
    MARKERS,
    caption,
    new_figure,
    styled,
)
from synctax.texts import counted, decimals, time_us

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from synctax.experiment.lines import Envelope
    from synctax.experiment.recovered import Recovered

US_PER_MS: Final = 1_000.0


def recovery(found: "Recovered") -> "Figure":
    """Draw the tax against the delay, and how often rank and operator are named.

    Above each collective that was attributed, with the lines of `Recovered`; below, by
    size of delay, the share named with its interval. Where the truth tells how much of a
    delay is hidden, the tax is drawn against what exceeds that.

    Raises
    ------
    SynctaxError
        If no collective could be judged, or matplotlib is missing.

    References
    ----------
    Synchronization-tax paper, section 4.3 and figure 5.
    """
    hits = found.hits
    slack = found.knows_slack
    x_us = hits.expected_us if slack else hits.delay_us
    rows = hits.judged & np.isfinite(x_us) & np.isfinite(hits.tax_us)
    if not rows.any():
        raise SynctaxError(
            "no collective that a delay reaches could be attributed, so there is nothing "
            "to draw; `synctax inject --per-collective` lists each with its reason"
        )
    frame = found.to_frame()
    judged = frame[frame["judged"] > 0]
    with styled():
        figure, axes = new_figure(2, height_in=6.0)
        _tax(axes[0], x_us[rows] / US_PER_MS, hits.tax_us[rows] / US_PER_MS)
        line = found.by_excess if slack else found.by_delay
        _lines(axes[0], line, x_us[rows] / US_PER_MS)
        axes[0].set_xlabel("delay beyond the slack (ms)" if slack else "delay (ms)")
        axes[0].set_ylabel("tax (ms)")
        axes[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        _shares(axes[1], judged, found.least_us)
        axes[1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        n = counted(int(rows.sum()), "collective")
        caption(
            figure,
            f"Above: n = {n} that delays reach, attributed. {_line_text(line)} Below: "
            "collectives that one delay alone reaches, in which attribution names the "
            "delayed rank, the operator on it, and the amount; bars: 95 % intervals "
            "(Wilson); right of the dotted line delays must come back",
        )
    return figure


def _tax(axis: "Axes", x_ms: np.ndarray, y_ms: np.ndarray) -> None:
    axis.plot(
        x_ms,
        y_ms,
        linestyle="none",
        marker=MARKERS[0],
        markersize=4,
        markerfacecolor="none",
        markeredgewidth=0.8,
        color=COLORS[0],
        label="a collective",
    )


def _lines(axis: "Axes", found: "Envelope | None", x_ms: np.ndarray) -> None:
    """Draw both fitted lines, and the one on which the whole delay shows."""
    ends = np.array([min(float(x_ms.min()), 0.0), float(x_ms.max())])
    axis.plot(
        ends, ends, color="black", linewidth=1, linestyle=LINES[3], label="tax = delay"
    )
    if found is None:
        return
    pairs = (
        ("through medians", found.robust, 1),
        ("least squares", found.ordinary, 2),
    )
    for label, line, number in pairs:
        axis.plot(
            ends,
            line.slope * ends + line.intercept_us / US_PER_MS,
            color=COLORS[number],
            linestyle=LINES[number - 1],
            label=f"{label}: slope {decimals(line.slope)}",
        )


def _shares(axis: "Axes", frame: "pd.DataFrame", least_us: float) -> None:
    """Draw how often rank and operator are named, by size of delay."""
    x = np.arange(len(frame))
    share = frame["recovered_share"].to_numpy(np.float64)
    ends = [frame[name].to_numpy(np.float64) for name in ("recovered_lo", "recovered_hi")]
    axis.errorbar(
        x,
        share,
        # rounding may put an end on the wrong side of the share itself
        yerr=[np.maximum(share - ends[0], 0), np.maximum(ends[1] - share, 0)],
        color=COLORS[0],
        linestyle=LINES[0],
        marker=MARKERS[0],
        capsize=3,
        label="rank and operator",
    )
    axis.plot(
        x,
        frame["rank_named_share"],
        color=COLORS[1],
        linestyle=LINES[1],
        marker=MARKERS[1],
        markerfacecolor="white",
        label="rank",
    )
    axis.plot(
        x,
        frame["amount_named_share"],
        color=COLORS[2],
        linestyle=LINES[2],
        marker=MARKERS[2],
        markerfacecolor="white",
        label="both, and the amount",
    )
    dose_us = frame["dose_us"].to_numpy(np.float64)
    if (dose_us < least_us).any() and (dose_us >= least_us).any():
        first = int(np.argmax(dose_us >= least_us))
        axis.axvline(first - 0.5, color="black", linewidth=1, linestyle=LINES[3])
    axis.set_xticks(
        x,
        [
            f"{time_us(dose)}\nn = {count:,}"
            for dose, count in zip(dose_us, frame["judged"], strict=True)
        ],
    )
    axis.set_xlim(-0.5, len(frame) - 0.5)
    axis.set_ylim(-0.03, 1.05)
    in_percent(axis, "y")
    axis.set_ylabel("named (%)")
    axis.set_xlabel("size of delay")


def _line_text(found: "Envelope | None") -> str:
    if found is None:
        return "Too few sizes of delay for a line."
    from synctax.experiment.lines import INTERVAL

    line = found.ordinary
    text = f"Least squares: slope {_slope(line.slope)}"
    if np.isfinite(line.slope_lo):
        text += f" ({INTERVAL} {_slope(line.slope_lo)} to {_slope(line.slope_hi)})"
    return f"{text}, R² {decimals(found.r2)}, n = {counted(found.steps, 'step')}."


def _slope(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")
