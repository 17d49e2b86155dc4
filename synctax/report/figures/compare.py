"""Figures of a comparison: waits of both sides, and waits against computation."""

from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import F64
from synctax.attribution.labels import CLASS_TEXT
from synctax.comparison.comparison import Comparison
from synctax.comparison.kernels import KEPT
from synctax.comparison.rows import rows_of
from synctax.comparison.units import Side
from synctax.errors import SynctaxError
from synctax.report.figures.axes import cumulated, empty, in_lines, in_percent, legend_above
from synctax.report.figures.style import (
    COLORS,
    HATCHES,
    LINES,
    caption,
    named,
    new_figure,
    short,
    styled,
)
from synctax.texts import percent, signed_us, time_us

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 6
"""Rows that are drawn: those in which most is waited."""

LOG_SPAN = 30.0
"""Where the largest is so many times the median, an axis is logarithmic."""

_LEAST_BINS, _MOST_BINS = 8, 40
_BEYOND = 1.03
"""Axes end beyond the largest value by this factor."""

_SIDES = ("A", "B")


def tax(found: Comparison) -> "Figure":
    """Draw the cumulated distribution of the tax on both sides, a panel a row.

    Parameters
    ----------
    found : Comparison

    Returns
    -------
    Figure
        In each panel the curves of A and B; the change of the median in its corner.

    Raises
    ------
    SynctaxError
        If no role and operation is on both sides.

    References
    ----------
    Synchronization-tax paper, figure 3 (of one run).
    """
    rows = [row for row in found.rows if _on_both(found, *row)][:MOST_PANELS]
    if not rows:
        raise SynctaxError(
            "no group and operation is on both sides, so no two curves can be drawn; "
            "compare runs of one setup"
        )
    columns = min(len(rows), 2)
    high = -(-len(rows) // columns)
    with styled():
        figure, axes = new_figure(
            high, columns, width_in=3.6 * columns + 0.4, height_in=2.7 * high + 0.9
        )
        counts = []
        for axis, row in zip(axes, rows, strict=False):
            counts.append(_cdf(axis, found, *row))
        for axis in axes[len(rows) :]:
            axis.set_visible(False)
        legend_above(figure, axes[:1], 2, loc="outside upper right")
        told = ", ".join(
            f"{short(group)} {op} n = {n[0]:,} and {n[1]:,}"
            for (group, op), n in zip(rows, counts, strict=True)
        )
        caption(
            figure,
            f"Wait of the first rank to arrive, before (A) and after (B): {told} "
            f"collectives. Differences of medians with {percent(found.options.level)} "
            "intervals.",
        )
    return figure


def _on_both(found: Comparison, group: str, op: str) -> bool:
    one = found.find(group, op, "tax_max_us_median")
    return one is not None and one.only_in is None


def _taxes(found: Comparison, group: str, op: str) -> list[F64]:
    sides = (found.a, found.b)
    return [rows_of(side)[group, op].values()["tax_max_us"] for side in sides]


def _cdf(axis: "Axes", found: Comparison, group: str, op: str) -> tuple[int, int]:
    taxes = _taxes(found, group, op)
    most_us = max(float(values.max()) for values in taxes)
    for at, values in enumerate(taxes):
        ordered, share = cumulated(values, start=0.0, end=_BEYOND * most_us)
        axis.step(
            ordered,
            share,
            where="post",
            color=COLORS[at],
            linestyle=LINES[at],
            label=_SIDES[at],
        )
    _scale(axis, taxes)
    axis.set_ylim(0, 1.02)
    axis.set_xlabel(in_lines(axis, f"{named(group)} {op}: tax (µs)"))
    axis.set_ylabel("collectives (%)")
    in_percent(axis, "y")
    change = found.find(group, op, "tax_max_us_median")
    if change is not None:
        one = change.found
        text = f"B − A: median {signed_us(one.difference)}"
        if not np.isnan(one.low):
            text += f"\n({signed_us(one.low)} … {signed_us(one.high)})"
        axis.set_title(text, loc="left", fontsize="small")
    return taxes[0].size, taxes[1].size


def _scale(axis: "Axes", taxes: list[F64]) -> None:
    """Let the axis be logarithmic where values span decades; those of 0 stay in sight."""
    every = np.concatenate(taxes)
    above = every[every > 0]
    if above.size and float(above.max()) > LOG_SPAN * float(np.median(above)):
        low = float(np.quantile(above, 0.05))
        from synctax.report.figures.ticks import Numbers

        axis.set_xscale("symlog", linthresh=max(low, 1e-3))
        axis.xaxis.set_major_formatter(Numbers())
    if not above.size:
        empty(axis, "nobody waits, in A nor in B")
    axis.set_xlim(0, _BEYOND * float(above.max()) if above.size else 1.0)


def clocks(found: Comparison, *, kernel_class: str = "gemm") -> "Figure":
    """Draw the tax beside the time of kernels: left the one, right the other.

    Parameters
    ----------
    found : Comparison
        With kernels that were timed.
    kernel_class : str
        Which kernels: GEMMs show the clock of a GPU most.

    Returns
    -------
    Figure
        Left the distribution of the tax of the row in which most is waited; right
        durations of the kernels with their medians.

    Raises
    ------
    SynctaxError
        If a side has no such kernel, or no row is on both sides.

    References
    ----------
    Synchronization-tax paper, section 4.4 and figure 7 (pinned against default clocks).
    """
    rows = [row for row in found.rows if _on_both(found, *row)]
    if found.kernels is None or not rows:
        raise SynctaxError(
            "tax and kernels of both sides are drawn, and one of them was not measured; "
            "compare runs of one setup, with kernels"
        )
    durations = [side.durations_us(kernel_class) for side in found.kernels]
    kernels = CLASS_TEXT[kernel_class]
    for side, values in zip(_SIDES, durations, strict=True):
        if not values.size:
            raise SynctaxError(
                f"there are no {kernels} in {side}; choose another class with "
                "--kernel-class"
            )
    group, op = rows[0]
    taxes = _taxes(found, group, op)
    with styled():
        figure, (left, right) = new_figure(1, 2, width_in=7.6, height_in=3.8)
        _histogram(left, taxes)
        left.set_xlabel(in_lines(left, f"tax of {named(group)} {op} (µs)"))
        left.set_ylabel("collectives (%)")
        _histogram(right, durations)
        right.set_xlabel(f"{kernels}: duration (µs)")
        right.set_ylabel("kernels (%)")
        legend_above(figure, [left], 2, loc="outside upper right")
        counts = next(
            c.counts for c in found.kernel_changes if c.kernel_class == kernel_class
        )
        caption(
            figure,
            f"Before (A) and after (B). Left: n = {taxes[0].size:,} and {taxes[1].size:,} "
            f"collectives. Right: n = {counts[0]:,} and {counts[1]:,} {kernels} on "
            f"{_ranks(found.a)} and {_ranks(found.b)} ranks, of each rank at most "
            f"{KEPT:,} evenly over their order. Vertical lines: medians; the last bar "
            "holds all beyond.",
        )
    return figure


def _ranks(side: Side) -> int:
    return len({rank.rank for run in side.runs for rank in run.tax.matches.ranks})


def _histogram(axis: "Axes", values: list[F64]) -> None:
    """Draw shares over common bins; the last one holds all that lie beyond."""
    every = np.concatenate(values)
    top = float(np.quantile(every, 0.99))
    top = top if top > float(every.min()) else float(every.max())
    bins = int(np.clip(np.sqrt(min(v.size for v in values)), _LEAST_BINS, _MOST_BINS))
    edges = np.linspace(float(every.min()), top or 1.0, bins + 1)
    in_percent(axis, "y")
    medians = [float(np.median(of_side)) for of_side in values]
    told = ", ".join(
        f"{side} {time_us(middle)}" for side, middle in zip(_SIDES, medians, strict=True)
    )
    axis.set_title(f"median {told}", loc="left", fontsize="small")
    for at, of_side in enumerate(values):
        axis.hist(
            np.clip(of_side, edges[0], edges[-1]),
            bins=edges.tolist(),
            weights=np.full(of_side.size, 1 / of_side.size),
            histtype="stepfilled",
            alpha=0.35,
            color=COLORS[at],
            edgecolor=COLORS[at],
            hatch=HATCHES[at],
            linestyle=LINES[at],
        )
        axis.axvline(medians[at], color=COLORS[at], linestyle=LINES[at], label=_SIDES[at])
