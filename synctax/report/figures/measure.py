"""Figures of `measure`: how much of collectives is waiting, and who was last."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from synctax.arrays import I64
from synctax.collectives.lasts import LEAST_SHOWN, Lasts, Runs
from synctax.errors import SynctaxError
from synctax.report.figures.axes import (
    cumulated,
    empty,
    in_lines,
    in_percent,
    legend_above,
    logarithmic,
    whole,
)
from synctax.report.figures.style import (
    COLORS,
    HEAT,
    LINES,
    MARKERS,
    caption,
    listed,
    named,
    new_figure,
    styled,
)
from synctax.texts import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from synctax.collectives.summary import Part
    from synctax.collectives.tax import Tax

MOST_CURVES: Final = 7
"""More curves in one picture cannot be told apart."""

MOST_PANELS: Final = 4
"""More panels than these are too small in a column of a paper."""

MOST_TICKS: Final = 16
"""So many ranks are written beside an axis."""

LONG_RUN: Final = 40
"""Longer runs are on a logarithmic axis."""

MOST_RULED: Final = 32
"""More ranks stand without lines between them."""


def cdf(tax: "Tax") -> "Figure":
    """Draw which share of each collective's time its fastest and its median rank wait.

    Cumulated over the collectives that count, a curve per group role and operation. The
    time of a rank in a collective is the duration of its kernel.

    Raises
    ------
    SynctaxError
        If no collective counts, or matplotlib is missing.

    References
    ----------
    Synchronization-tax paper, figure 3.
    """
    from synctax.collectives.summary import shares_and_taxes

    all_parts = _parts(tax)
    parts = all_parts[:MOST_CURVES]
    with styled():
        figure, axes = new_figure(1, 2, height_in=3.6)
        found = [shares_and_taxes(tax, part.slots) for part in parts]
        for axis, column in zip(axes, ("share_fastest", "share_median"), strict=True):
            for number, (part, shares) in enumerate(zip(parts, found, strict=True)):
                axis.step(
                    *cumulated(shares[column], start=0.0, end=1.0),
                    where="post",
                    color=COLORS[number],
                    linestyle=LINES[number],
                    label=f"{_name(part)} (n = {part.slots.size:,})",
                )
            if not any(shares[column].any() for shares in found):
                empty(axis, "it waits in none of them")
        for axis, who in zip(axes, ("fastest", "median"), strict=True):
            axis.set_xlabel(f"time that the {who} rank waits (%)")
            axis.set_xlim(0, 1)
            axis.set_ylim(0, 1.01)
            in_percent(axis, "x")
            in_percent(axis, "y")
        axes[0].set_ylabel("collectives (%)")
        axes[1].tick_params(labelleft=False)
        legend_above(figure, axes, 2)
        count = sum(part.slots.size for part in parts)
        caption(
            figure,
            "Share of its time in a collective that a rank waits for the last one, "
            f"cumulated over n = {counted(count, 'collective')} of {_ranks_text(tax)}"
            + _left_out(all_parts[MOST_CURVES:], "curves"),
        )
    return figure


def last(tax: "Tax") -> "Figure":
    """Draw which rank was last over time, a panel per group role.

    Collectives of a group stand in order of time, whatever their operation; sibling groups
    share a panel. Where there are more than `MOST_COLUMNS`, or very many ranks, neighbours
    are put together.

    Raises
    ------
    SynctaxError
        If no collective counts, or matplotlib is missing.
    """
    roles = list(_by_role(tax).items())
    shown = [(role, Lasts.of(tax, slots)) for role, slots in roles[:MOST_PANELS]]
    heights = [0.9 + min(max(0.14 * one.ranks.size, 0.7), 3.6) for _, one in shown]
    with styled():
        figure, axes = new_figure(
            len(shown), height_in=0.5 + sum(heights), row_heights=heights
        )
        for axis, (role, one) in zip(axes, shown, strict=True):
            _draw_lasts(figure, axis, role, one)
        together = max(one.together for _, one in shown)
        how = (
            "Dark: the rank was last."
            if together == 1
            else f"Up to {together:,} collectives in a row share a column; the darker, the "
            "more of them the rank was last in (white: none; the line in the scale: were "
            "all ranks equal)."
        )
        count = sum(slots.size for _, slots in roles[:MOST_PANELS])
        caption(
            figure,
            f"Who was the last to arrive: n = {counted(count, 'collective')} of "
            f"{_ranks_text(tax)}. {how} Where ranks tie none is last"
            + _left_out([role for role, _ in roles[MOST_PANELS:]], "groups"),
        )
    return figure


def runs(tax: "Tax") -> "Figure":
    """Draw how long the same rank stayed the last, against what equal ranks would give.

    A panel per group role and operation: number of runs at least so long, of all sibling
    groups together.

    Raises
    ------
    SynctaxError
        If ranks tie in all collectives that count, or matplotlib is missing.
    """
    from matplotlib.ticker import MaxNLocator

    every = [(part, Runs.of(tax, part)) for part in _parts(tax)]
    every = [(part, one) for part, one in every if one.lengths.size]
    if not every:
        raise SynctaxError(
            "ranks tie in every collective, so nobody was last; a profile that tells "
            "nanoseconds would tell them apart"
        )
    shown = every[:MOST_PANELS]
    with styled():
        columns = min(len(shown), 2)
        rows = -(-len(shown) // columns)
        figure, axes = new_figure(rows, columns, height_in=1.2 + 2.4 * rows)
        for axis in axes[len(shown) :]:
            axis.set_visible(False)
        for axis, (part, one) in zip(axes, shown, strict=False):
            x, found, expected = one.curves()
            for number, (label, y) in enumerate(
                (("found", found), ("if all ranks were equal", expected))
            ):
                axis.plot(
                    x,
                    y,
                    color=COLORS[number],
                    linestyle=LINES[number],
                    marker=MARKERS[number],
                    markersize=4 - number,
                    markerfacecolor=COLORS[number] if not number else "white",
                    label=label,
                )
            most = 2 * float(np.nanmax([found, expected]))
            logarithmic(axis, "y", LEAST_SHOWN, most)
            if x[-1] > LONG_RUN:
                logarithmic(axis, "x", 0.9, 1.1 * float(x[-1]))
            else:
                axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
                axis.set_xlim(0.5, x[-1] + 0.5)
            title = f"{_name(part)} (n = {one.lengths.sum():,})"
            axis.set_title(in_lines(axis, title))
            axis.set_xlabel("collectives in a row, k")
        for axis in axes[::columns]:
            axis.set_ylabel("runs of k or more")
        legend_above(figure, axes, 2)
        caption(
            figure,
            "Runs of collectives in which the same rank was last, and how many there "
            "would be in the mean if each rank were equally likely; n: collectives "
            f"in which ranks do not tie, of {_ranks_text(tax)}"
            + _left_out([part for part, _ in every[MOST_PANELS:]], "panels"),
        )
    return figure


# ------------------------------------------------------------------ arranging


def _parts(tax: "Tax") -> "list[Part]":
    """Roles and operations that count, most waits first as in the table."""
    from synctax.collectives.summary import parts

    found = {(part.role, part.op.label): part for part in parts(tax)}
    if not found:
        raise SynctaxError(
            "no collective counts, so there is nothing to draw; `synctax measure "
            "--per-collective` lists each with its reason"
        )
    frame = tax.to_frame()
    return [found[key] for key in zip(frame["group"], frame["op"], strict=True)]


def _by_role(tax: "Tax") -> dict[str, I64]:
    """Collectives that count by group role, the role with most waits first."""
    roles: dict[str, list[I64]] = {}
    for part in _parts(tax):
        roles.setdefault(part.role, []).append(part.slots)
    return {role: np.concatenate(slots) for role, slots in roles.items()}


def _name(part: "Part") -> str:
    return f"{named(part.role)} {part.op.label}"


def _ranks_text(tax: "Tax") -> str:
    return counted(len({rank.rank for rank in tax.matches.ranks}), "rank")


def _left_out(rest: "Sequence[Part | str]", what: str) -> str:
    """Name what has no room."""
    if not rest:
        return ""
    told = [one if isinstance(one, str) else f"{one.role} {one.op.label}" for one in rest]
    return f". {counted(len(rest), what[:-1])} left out for room: {listed(told)}"


def _draw_lasts(figure: "Figure", axis: "Axes", role: str, one: Lasts) -> None:
    """Draw a heat map, with its scale where columns hold several collectives."""
    import matplotlib as mpl

    most = float(np.nanmax(one.share))
    heat = mpl.colormaps[f"{HEAT}_r"].with_extremes(under="white", bad="#dddddd")
    image = axis.imshow(
        one.share,
        aspect="auto",
        interpolation="nearest",
        cmap=heat,
        vmin=np.nextafter(0, 1),
        vmax=most or 1.0,
        extent=(-0.5, one.places - 0.5, one.ranks.size - 0.5, -0.5),
    )
    axis.grid(visible=False)
    if one.ranks.size <= MOST_RULED:
        axis.set_yticks(np.arange(0.5, one.ranks.size - 1), minor=True)
        axis.tick_params(which="minor", length=0)
        axis.grid(which="minor", axis="y")
    step = -(-one.ranks.size // MOST_TICKS)
    rows = np.arange(0, one.ranks.size, step)
    axis.set_yticks(rows, [str(rank) for rank in one.ranks[rows].tolist()])
    axis.set_ylabel("rank")
    whole(axis, "x")
    axis.set_xlabel(f"place among the {named(role)} collectives of the rank's group")
    if not most:
        empty(axis, "ranks tie in all of them: none was last")
    if one.together > 1:
        scale = figure.colorbar(image, ax=axis, pad=0.01)
        scale.set_label("last in (%)")
        in_percent(scale.ax, "y")
        scale.ax.axhline(one.equal, color="black", linewidth=1)
