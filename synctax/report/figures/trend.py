"""The trend of a tax: its windows, who was last in each, and which classes owe it."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from synctax.errors import SynctaxError
from synctax.report.figures.axes import empty, in_percent, numbered, whole
from synctax.report.figures.style import (
    COLORS,
    HATCHES,
    LINES,
    MARKERS,
    caption,
    new_figure,
    plain,
    short,
    styled,
)
from synctax.texts import is_absent, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from synctax.comparison.trend import Trend

MOST_RANKS = 6
"""So many ranks have a colour of their own; the others share one."""

MOST_CLASSES = 6
GREY = "#BBBBBB"
OTHERS = "all others"
"""Ranks or classes; a class of kernels is called other."""

TWO = 2

TALLEST = 3.0
"""The panel of the tax ends at so many times the largest mean or median: intervals of a few
steps may be far longer."""


def trend(found: "Trend", *, row: int = 0) -> "Figure":
    """Draw one role and operation over the points of a trend.

    Above the mean tax with its interval, the median, and where the level breaks, if it
    does; below who was last most often at each point, and the share of the tax that each
    class owes.

    Parameters
    ----------
    found : Trend
    row : int
        Which of `found.lines`; the first has most waits.

    Raises
    ------
    SynctaxError
        If there is but one point.
    """
    line, change = found.lines[row], found.changes[row]
    if change.points.size < TWO:
        raise SynctaxError(
            "one window makes no trend; name a folder with several, or cut it with "
            "--by step"
        )
    frame = found.to_frame()
    key = (line.part.role, line.part.op.label)
    frame = frame[(frame["group"] == key[0]) & (frame["op"] == key[1])]
    x, label = _axis(found, frame)
    panels = 3 if any(line.culprits) else 2
    with styled():
        figure, axes = new_figure(panels, height_in=2.6 + 1.4 * (panels - 1))
        edges = _edges(x)
        cut = _tax(axes[0], x, frame, percent(found.options.level))
        if change.finding in ("step_up", "step_down"):
            at = edges[int(change.largest.first)] if change.largest else edges[0]
            axes[0].axvline(at, color="black", linestyle=":", label="break")
        _beside(axes[0])
        _stragglers(axes[1], edges, frame)
        if panels > TWO:
            _culprits(axes[2], edges, found, frame, key)
        for axis in axes:
            axis.set_xlim(edges[0], edges[-1])
            numbered(axis)
            if label not in TIMES.values():
                whole(axis, "x")
        for axis in axes[1:]:
            in_percent(axis, "y")
        for axis in axes[:-1]:
            axis.tick_params(labelbottom=False)
        axes[-1].set_xlabel(label)
        caption(figure, _words(found, frame, cut=cut, culprits=panels > TWO))
        return figure


TIMES: Final = {per: f"time ({per}s)" for per in ("hour", "minute", "second")}
"""What an axis of time is called, by what slopes are told per."""


def _words(found: "Trend", frame: "pd.DataFrame", *, cut: bool, culprits: bool) -> str:
    noun = f"{found.points.noun}s"
    n = int(frame["collectives"].sum())
    last = "the rank that was last most often" + (
        "; the share of the tax that each class of culprit owes" if culprits else ""
    )
    level = percent(found.options.level)
    there = frame["tax_max_mean_us_lo"].notna()
    interval = f"with {level} interval" if there.any() else "no interval: too few steps"
    if there.any() and not there.all():
        interval += f" at {int(there.sum()):,} of {len(frame):,} {noun}"
    end = " Intervals go on above the panel." if cut else ""
    return (
        f"{short(frame['group'].iloc[0])} {frame['op'].iloc[0]}: n = {n:,} collectives in "
        f"{len(frame):,} {noun}. Mean ({interval}) and median tax (max − min duration); "
        f"{last}.{end}"
    )


def _axis(found: "Trend", frame: "pd.DataFrame") -> tuple[np.ndarray, str]:
    """Where each point stands, and what that is called."""
    if not is_absent(frame["iteration"].iloc[0]):
        word = "iteration" if found.points.steps_each is None else "step"
        return frame["iteration"].to_numpy(float), word
    if found.points.per in TIMES:
        return found.points.x[frame["point"].to_numpy(int)], TIMES[found.points.per]
    return frame["point"].to_numpy(float), found.points.per


def _edges(x: np.ndarray) -> np.ndarray:
    """Borders half-way between points, and as far beyond the first and the last."""
    middle = (x[1:] + x[:-1]) / 2
    return np.concatenate([[2 * x[0] - middle[0]], middle, [2 * x[-1] - middle[-1]]])


def _tax(axis: "Axes", x: np.ndarray, frame: "pd.DataFrame", level: str) -> bool:
    """Draw mean and median with the interval; tell whether that goes on above."""
    _band(axis, x, frame, level)
    for name, place in (("mean", 0), ("median", 1)):
        axis.plot(
            x,
            frame[f"tax_max_us_{name}"].to_numpy(float),
            color=COLORS[place],
            linestyle=LINES[place],
            marker=MARKERS[place],
            markersize=3,
            label=name,
        )
    axis.set_ylabel("tax (µs)")
    shown = frame[["tax_max_us_mean", "tax_max_us_median"]].to_numpy(float)
    most = float(shown.max())
    if not most:
        axis.set_ylim(0, 1)
        empty(axis, "nobody waited: every tax is 0 µs")
        return False
    axis.set_ylim(bottom=0)
    cut = bool(axis.get_ylim()[1] > TALLEST * most)
    if cut:
        axis.set_ylim(0, TALLEST * most)
    return cut


def _band(axis: "Axes", x: np.ndarray, frame: "pd.DataFrame", level: str) -> None:
    """Draw the interval of the mean: a band, or a line where both neighbours have none."""
    low = frame["tax_max_mean_us_lo"].to_numpy(float)
    high = frame["tax_max_mean_us_hi"].to_numpy(float)
    known = ~np.isnan(low)
    if not known.any():
        return
    look: dict[str, Any] = {"color": COLORS[0], "alpha": 0.25}
    axis.fill_between(x, low, high, linewidth=0, label=level, **look)
    beside = np.zeros(known.size, np.bool_)
    beside[1:] |= known[:-1]
    beside[:-1] |= known[1:]
    lone = known & ~beside
    axis.vlines(x[lone], low[lone], high[lone], linewidth=3, **look)


def _stragglers(axis: "Axes", edges: np.ndarray, frame: "pd.DataFrame") -> None:
    """A bar a point, as high as the share of its straggler, in the colour of the rank."""
    ranks, share = frame["straggler_rank"], frame["straggler_share"].to_numpy(float)
    counts = ranks.dropna().value_counts()
    often = sorted(counts.index[:MOST_RANKS].tolist())
    for number, rank in enumerate([*often, None]):
        own = ranks.notna() & (ranks == rank if rank is not None else ~ranks.isin(often))
        mine = np.flatnonzero(own.to_numpy(bool, na_value=False))
        if not mine.size:
            continue
        axis.bar(
            edges[mine],
            share[mine],
            width=np.diff(edges)[mine],
            align="edge",
            color=GREY if rank is None else COLORS[number],
            hatch=HATCHES[(number + 1) % len(HATCHES)] if rank is not None else "",
            edgecolor="white",
            linewidth=0.3,
            label=OTHERS if rank is None else f"rank {rank}",
        )
    if not counts.size:
        empty(axis, "nobody was last: ranks tie in every collective")
    axis.set_ylim(0, 1)
    axis.set_ylabel("last in (%)")
    _beside(axis)


def _culprits(
    axis: "Axes",
    edges: np.ndarray,
    found: "Trend",
    frame: "pd.DataFrame",
    key: tuple[str, str],
) -> None:
    shares = found.culprits()
    shares = shares[(shares["group"] == key[0]) & (shares["op"] == key[1])]
    table = shares.pivot_table(
        index="point", columns="culprit_class", values="share_of_tax", fill_value=0.0
    ).reindex(frame["point"].to_numpy(int), fill_value=0.0)
    order = table.sum().sort_values(ascending=False, kind="stable").index.tolist()
    shown = {name: table[name].to_numpy(float) for name in order[:MOST_CLASSES]}
    if len(order) > MOST_CLASSES:
        shown[OTHERS] = table[order[MOST_CLASSES:]].sum(axis=1).to_numpy(float)
    base = np.zeros(len(frame))
    for number, (name, values) in enumerate(shown.items()):
        axis.bar(
            edges[:-1],
            values,
            bottom=base,
            width=np.diff(edges),
            align="edge",
            color=GREY if name == OTHERS else COLORS[number],
            hatch=HATCHES[number],
            edgecolor="white",
            linewidth=0.3,
            label=plain(str(name)),
        )
        base = base + values
    axis.set_ylim(0, 1)
    axis.set_ylabel("tax owed (%)")
    _beside(axis)


def _beside(axis: "Axes") -> None:
    if axis.get_legend_handles_labels()[0]:
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)
