"""Layouts as pictures: step time against memory, and what a step is made of."""

from collections.abc import Iterator
from textwrap import fill
from typing import TYPE_CHECKING, Final

import numpy as np

from synctax.arrays import F64, I64
from synctax.errors import SynctaxError
from synctax.planning.search import Plan
from synctax.planning.ties import ERROR, plainest, surely_fits
from synctax.planning.training import DIMENSIONS
from synctax.report.figures.axes import legend_above, logarithmic
from synctax.report.figures.style import (
    COLORS,
    HATCHES,
    HEAT,
    MARKERS,
    caption,
    new_figure,
    short,
    styled,
)
from synctax.texts import BYTES_PER_GB, counted, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BARS: Final = 40
"""Layouts of a picture of steps: names of more could not be read."""

MANY_DOTS: Final = 5_000
"""More are one image in SVG and PDF, which would be megabytes of dots."""

_DECADE: Final = 10.0
"""Step times that span more are on a logarithmic axis."""

_ROOM: Final = 1.1
"""Beyond the ends of a logarithmic axis."""

_LEGEND_SIGNS: Final = 44
"""Of a line of one of two columns."""

_OTHERS: Final = "0.65"
"""Grey of layouts that others beat."""


def pareto(plan: Plan) -> "Figure":
    """Draw step time against memory of a GPU, of every feasible layout.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    Figure

    Raises
    ------
    SynctaxError
        If no layout is feasible.
    """
    at = np.flatnonzero(plan.feasible)
    if not at.size:
        raise SynctaxError(
            f"none of {counted(len(plan), 'layout')} is feasible, so there is no front to "
            "draw; --figure step draws the nearest misses"
        )
    step_s, held_gb = plan.costs.step_s, plan.costs.memory.memory_bytes / BYTES_PER_GB
    unit, seconds = _unit_of(float(step_s[at].max()))
    with styled():
        from synctax.report.figures.ticks import EvenNumbers

        figure, (axes,) = new_figure(width_in=6.4, height_in=4.5)
        axes.plot(
            held_gb[at],
            step_s[at] / seconds,
            linestyle="none",
            marker=".",
            color=_OTHERS,
            label="feasible layout",
            rasterized=at.size > MANY_DOTS,
        )
        corners = _fastest_by_memory(held_gb[at], step_s[at])
        axes.step(
            held_gb[at][corners],
            step_s[at][corners] / seconds,
            where="post",
            color="black",
            linewidth=1,
            label="least time with that memory",
        )
        front = np.flatnonzero(plan.pareto)
        dots = axes.scatter(
            held_gb[front],
            step_s[front] / seconds,
            c=100 * plan.costs.nic_share[front],
            cmap=HEAT,
            vmin=0,
            vmax=max(1.0, 100 * float(plan.costs.nic_share[front].max())),
            edgecolors="black",
            linewidths=0.6,
            s=28,
            zorder=3,
            label="Pareto front",
        )
        figure.colorbar(dots, ax=axes, label="NIC busy (% of a step)", format=EvenNumbers())
        _marks(axes, plan, seconds)
        _budget(axes, plan)
        axes.set(xlabel="memory of a GPU (GB)", ylabel=f"time of a step ({unit})")
        _log_where_wide(axes, step_s[at] / seconds)
        legend_above(figure, [axes], 2, loc="outside upper left")
        caption(figure, _of_what(plan))
    return figure


def _fastest_by_memory(held: F64, step_s: F64) -> I64:
    """List the rows that are faster than all that need no more memory, by memory."""
    order = np.lexsort((step_s, held))
    least = np.minimum.accumulate(step_s[order])
    better = np.ones(order.size, np.bool_)
    better[1:] = least[1:] < least[:-1]
    return np.asarray(order[better])


def chosen(plan: Plan) -> dict[int, str]:
    """Name the layouts that the verdict names, by row: what each of them is."""
    fastest = np.flatnonzero(plan.feasible_rank == 1)
    feasible = np.flatnonzero(plan.feasible)
    held = plan.costs.memory.memory_bytes[feasible]
    smallest = feasible[np.lexsort((plan.costs.step_s[feasible], held))[:1]]
    rows: dict[int, list[str]] = {}
    for row, what in (
        (int(fastest[0]), "fastest"),
        (plainest(plan), f"plainest within {number(100 * ERROR)}\N{NO-BREAK SPACE}%"),
        (surely_fits(plan), "surely fits"),
        (int(smallest[0]), "least memory"),
    ):
        if row is not None:
            rows.setdefault(row, []).append(what)
    return {row: ", ".join(whats) for row, whats in rows.items()}


def _marks(axes: "Axes", plan: Plan, seconds: float) -> None:
    """Mark what the verdict names, each with the range of its memory."""
    memory = plan.costs.memory
    for marker, (row, what) in zip(MARKERS[1:], chosen(plan).items(), strict=False):
        ends = np.array([memory.memory_lo_bytes[row], memory.memory_hi_bytes[row]])
        axes.plot(
            ends / BYTES_PER_GB,
            np.full(2, plan.costs.step_s[row] / seconds),
            color=COLORS[1],
            linewidth=1.2,
            marker="|",
            zorder=2.5,
        )
        axes.plot(
            memory.memory_bytes[row] / BYTES_PER_GB,
            plan.costs.step_s[row] / seconds,
            linestyle="none",
            marker=marker,
            markersize=11,
            markerfacecolor="none",
            markeredgecolor=COLORS[1],
            markeredgewidth=1.6,
            zorder=4,
            label=fill(f"{plan.layouts[row]}: {what}", _LEGEND_SIGNS),
        )


def _budget(axes: "Axes", plan: Plan) -> None:
    budget_gb = plan.setting.budget_bytes / BYTES_PER_GB
    axes.axvline(
        budget_gb, color="black", linestyle=":", label=f"GPU: {number(budget_gb)} GB"
    )


def _log_where_wide(axes: "Axes", values: F64) -> None:
    if values.max() <= _DECADE * values.min():
        return
    logarithmic(axes, "y", float(values.min()) / _ROOM, float(values.max()) * _ROOM)


def _of_what(plan: Plan) -> str:
    setting = plan.setting
    training, feasible = setting.training, int(plan.feasible.sum())
    left_out = len(plan) - feasible
    ruled_out = f", {left_out:,} ruled out and not drawn" if left_out else ""
    return (
        f"n = {counted(feasible, 'feasible layout')} of {_job(plan)}, {training.batch:,} × "
        f"{training.sequence:,} tokens a step{ruled_out}; "
        f"{int(plan.pareto.sum()):,} on the Pareto front: no other is better in "
        "step time, memory and NIC share at once; bars: range of memory"
    )


def _unit_of(longest_s: float) -> tuple[str, float]:
    """Choose between s, in which steps are told, and smaller ones."""
    return (
        ("s", 1.0)
        if longest_s >= 1
        else ("ms", 1e-3)
        if longest_s >= 1e-3
        else ("µs", 1e-6)
    )


PARTS: Final = ("computation", "bubble, uneven stages", "TP", "CP", "EP", "PP", "DP", "tax")
"""What a step is made of, innermost first."""


def step(plan: Plan, rows: I64) -> "Figure":
    """Draw what the step of some layouts is made of, as stacked bars.

    Parameters
    ----------
    plan : Plan
    rows : (j,) int64
        Which, in order from the top; of more than `MOST_BARS` the first.

    Returns
    -------
    Figure

    Raises
    ------
    SynctaxError
        If there is no row, or no time of theirs is known.
    """
    known = rows[np.isfinite(plan.costs.step_s[rows])]
    if not known.size:
        raise SynctaxError(
            "no layout here has a known time of a step, so there is nothing to draw; "
            "--layout names one"
        )
    drawn = known[:MOST_BARS]
    parts_s = _parts(plan, drawn)
    unit, seconds = _unit_of(float(parts_s.sum(axis=0).max()))
    beyond_unit, beyond = _unit_of(float(parts_s[1:].sum(axis=0).max()))
    with styled():
        figure, (whole, zoomed) = new_figure(
            1, 2, width_in=8.0, height_in=1.8 + 0.27 * drawn.size
        )
        whole.get_gridspec().set_width_ratios([2, 3])  # type: ignore[union-attr]
        _stack(whole, parts_s / seconds, range(len(PARTS)))
        _stack(zoomed, parts_s / beyond, range(1, len(PARTS)))
        _intervals(zoomed, plan, drawn, parts_s, beyond)
        names = [
            f"{plan.layouts[row]}{'' if plan.feasible[row] else ' (ruled out)'}"
            for row in drawn.tolist()
        ]
        whole.set_yticks(range(drawn.size), names)
        zoomed.set_yticks(range(drawn.size), [""] * drawn.size)
        whole.set_xlabel(f"time of a step ({unit})")
        zoomed.set_xlabel(f"of it, all but computation ({beyond_unit})")
        for axes in (whole, zoomed):
            axes.set_ylim(drawn.size - 0.5, -0.5)
            axes.grid(visible=False, axis="y")
            axes.margins(x=0.02)
        legend_above(figure, [whole], 4)
        caption(figure, _of_which(plan, rows, drawn))
    return figure


def _parts(plan: Plan, rows: I64) -> F64:
    """Split the time of a step, a row for each of `PARTS`; columns add up to step_s."""
    cost = plan.costs
    computed_s = cost.compute_s[rows]
    idle_s = computed_s * (cost.imbalance[rows] * (1 + cost.bubble[rows]) - 1)
    exposed_s = {name: cost.times.exposed_s[at, rows] for at, name in enumerate(DIMENSIONS)}
    sent_s = [exposed_s[name] for name in ("tp", "cp", "ep", "pp", "dp")]
    return np.array([computed_s, idle_s, *sent_s, cost.taxed.tax_s[rows]])


def _stack(axes: "Axes", parts: F64, which: range) -> None:
    """Stack bars of the parts that any layout has."""
    y, left = np.arange(parts.shape[1]), np.zeros(parts.shape[1])
    for at in which:
        if not parts[at].any():
            continue
        axes.barh(
            y,
            parts[at],
            left=left,
            height=0.72,
            color=COLORS[_COLOR_OF[at]],
            hatch=HATCHES[at],
            edgecolor="white",
            linewidth=0.4,
            label=PARTS[at],
        )
        left = left + parts[at]


_COLOR_OF: Final = (5, 7, 0, 3, 4, 2, 6, 1)
"""Large parts light, neighbours far apart in lightness."""


def _intervals(axes: "Axes", plan: Plan, rows: I64, parts_s: F64, seconds: float) -> None:
    """Tell how far the tax, the last part, is known."""
    taxed = plan.costs.taxed
    before = parts_s[1:-1].sum(axis=0)
    low, high = before + taxed.tax_lo_s[rows], before + taxed.tax_hi_s[rows]
    axes.hlines(np.arange(rows.size), low / seconds, high / seconds, "black", linewidth=1.2)


def _of_which(plan: Plan, rows: I64, drawn: I64) -> str:
    what = f"n = {counted(drawn.size, 'layout')} of {len(plan):,} of {_job(plan)}"
    return "; ".join([what, *_told(rows, drawn, plan)])


def _job(plan: Plan) -> str:
    setting = plan.setting
    return (
        f"{short(setting.model.name)} on {counted(setting.gpus, 'GPU')} of "
        f"{short(setting.platform.name)}"
    )


def _told(rows: I64, drawn: I64, plan: Plan) -> Iterator[str]:
    more = rows.size - drawn.size
    if more:
        yield f"{more:,} more are not drawn"
    known = ~np.isnan(plan.costs.taxed.tax_hi_s[drawn])
    if plan.setting.tax is None:
        yield "no tax is counted"
    elif known.any():
        yield "black lines: interval of the tax"
