"""Figures of `attribute`: whether paths explain the tax, and what the culprits are."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from synctax.arrays import F64, I64, NS_PER_US
from synctax.errors import SynctaxError
from synctax.report.figures.axes import empty, legend_above
from synctax.report.figures.axes import logarithmic as logarithmic_axis
from synctax.report.figures.style import (
    COLORS,
    LINES,
    MARKERS,
    caption,
    listed,
    named,
    new_figure,
    styled,
)
from synctax.texts import counted, decimals, percent, time_us

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from synctax.attribution.attribute import Attribution
    from synctax.attribution.equation import Fit

MOST_ROLES: Final = 6
"""More kinds of points in one picture cannot be told apart."""

MOST_PANELS: Final = 4
"""More panels than these are too small on a page."""

DECADES_FOR_LOG: Final = 2.0
"""Taxes that span more are drawn on logarithmic axes."""

ROOM: Final = 1.6
"""Factor of room beside the outermost points of logarithmic axes."""

US_PER_MS: Final = 1_000.0

MEANINGS: Final = {
    "communication": "waits for other groups",
    "carried": "late before the window",
    "diffuse": "nothing explains half",
    "passed_on": "waits for several groups",
}
"""Classes whose names, those of tables, do not tell what they are."""


def variation(found: "Attribution") -> "Figure":
    """Draw equation 2: what lies on the paths against the measured tax, by collective.

    With the line that `Attribution.equation` fits, and y = x.

    Raises
    ------
    SynctaxError
        If no collective was attributed, or matplotlib is missing.

    References
    ----------
    Synchronization-tax paper, equation 2 and figure 5.
    """
    rows = counting(found)
    x, y = us(found.results.tax_ns), us(found.results.path_variation_ns)
    positive = (x > 0) & (y > 0)
    logarithmic = _spans(x[rows], DECADES_FOR_LOG) and bool(positive[rows].any())
    drawn = positive if logarithmic else np.ones(x.size, np.bool_)
    with styled():
        figure, (axis,) = new_figure(width_in=5.2, height_in=4.6)
        for number, (role, mine) in enumerate(_by_role(found)):
            inside = mine[drawn[mine]]
            axis.plot(
                x[inside],
                y[inside],
                linestyle="none",
                marker=MARKERS[number],
                markersize=_marker_size(rows.size),
                markerfacecolor="none",
                markeredgewidth=0.8,
                color=COLORS[number],
                label=f"{named(role)} (n = {mine.size:,})",
                rasterized=inside.size > 2_000,
            )
        kept = rows[drawn[rows]]
        _lines(axis, found.equation, x[kept], logarithmic=logarithmic)
        _scales(axis, x[kept], y[kept], logarithmic=logarithmic)
        axis.set_xlabel("measured tax (µs)")
        axis.set_ylabel("variation along the critical paths (µs)")
        legend_above(figure, [axis], 2)
        lost = _not_drawn(x[rows], y[rows]) if logarithmic else ""
        caption(
            figure,
            f"Equation 2 in n = {counted(rows.size, 'collective')}: path of the slowest "
            "rank less that of the fastest, without launch and queueing, against longest "
            f"less shortest duration. {_fit_text(found.equation)}{lost}",
        )
    return figure


def classes(found: "Attribution") -> "Figure":
    """Draw the tax by class of culprit, and what of it culprits explain; a panel a group.

    Raises
    ------
    SynctaxError
        If nobody waited in a collective that was attributed, or matplotlib is missing.
    """
    counting(found)
    frame = found.to_frame()
    frame = frame[frame["tax_us"] > 0]
    require_tax(len(frame))
    every = list(dict.fromkeys(frame["group"]))
    shown = every[:MOST_PANELS]
    tables = [frame[frame["group"] == role] for role in shown]
    heights = [0.75 + 0.36 * len(table) for table in tables]
    with styled():
        figure, axes = new_figure(
            len(shown), height_in=1.1 + sum(heights), row_heights=heights
        )
        for axis, role, table in zip(axes, shown, tables, strict=True):
            y = np.arange(len(table))
            tax_ms = (table["tax_us"] / US_PER_MS).to_numpy()
            own_ms = (table["variation_us"] / US_PER_MS).to_numpy()
            axis.barh(
                y,
                tax_ms,
                height=0.72,
                color="white",
                edgecolor=COLORS[0],
                hatch="////",
                linewidth=0.8,
                label="tax",
            )
            axis.barh(
                y, own_ms, height=0.4, color=COLORS[1], label="of it, variation of culprits"
            )
            for place, share, count, end in zip(
                y, table["share_of_tax"], table["collectives"], tax_ms, strict=True
            ):
                axis.annotate(
                    f"{percent(share)} (n = {count:,})",
                    (end, place),
                    xytext=(4, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize="small",
                )
            axis.set_yticks(y, [named(one) for one in table["culprit_class"]])
            axis.invert_yaxis()
            axis.grid(visible=False, axis="y")
            axis.set_xlim(0, 1.28 * float(tax_ms.max()))
            axis.set_xlabel(f"tax of {named(role)} (ms)")
        legend_above(figure, axes, 2)
        mine = frame[frame["group"].isin(shown)]
        count = int(mine["collectives"].sum())
        caption(
            figure,
            "What culprits are: sum of the tax over the collectives whose culprit is of "
            "the class, and by how much culprits took longer than on the fastest rank; "
            f"n = {counted(count, 'collective')} in which ranks waited"
            + meanings(mine["culprit_class"])
            + left_out(every[MOST_PANELS:]),
        )
    return figure


# ------------------------------------------------------------------ arranging


def counting(found: "Attribution") -> I64:
    """Numbers of the results that count."""
    rows = np.flatnonzero(found.used)
    if not rows.size:
        raise SynctaxError(
            "no collective was attributed, so there is nothing to draw; `synctax "
            "attribute --per-collective` lists each with its reason"
        )
    return rows


def require_tax(count: int) -> None:
    """Refuse where nothing has a tax.

    Raises
    ------
    SynctaxError
        If `count` is 0.
    """
    if not count:
        raise SynctaxError(
            "ranks waited in none of the collectives that were attributed, so there is "
            "nothing to draw; other groups or steps may have waits"
        )


def us(values_ns: I64) -> F64:
    """Turn ns, (k,) int64, into µs."""
    return values_ns / NS_PER_US


def _spans(values: F64, decades: float) -> bool:
    positive = values[values > 0]
    return bool(positive.size) and bool(
        np.log10(positive.max()) - np.log10(positive.min()) > decades
    )


def _by_role(found: "Attribution") -> list[tuple[str, I64]]:
    """Results that count by role, the smallest ones together."""
    from synctax.attribution.summary import parts

    roles = [(part.role, part.rows) for part in parts(found)]
    if len(roles) <= MOST_ROLES:
        return roles
    kept, rest = roles[: MOST_ROLES - 1], roles[MOST_ROLES - 1 :]
    return [
        *kept,
        (f"{len(rest)} other groups", np.concatenate([rows for _, rows in rest])),
    ]


def _marker_size(count: int) -> float:
    """In points: many points need small ones."""
    return float(np.clip(60 / max(count, 1) ** 0.5, 2.0, 5.0))


def _lines(axis: "Axes", fit: "Fit", x: F64, *, logarithmic: bool) -> None:
    """Draw y = x and the fitted line over the taxes that are drawn."""
    ends = float(x.min()), float(x.max())
    at = np.geomspace(*ends, 200) if logarithmic else np.linspace(*ends, 2)
    axis.plot(at, at, color="black", linewidth=1, linestyle=LINES[3], label="y = x")
    if np.isnan(fit.slope):
        return
    y = fit.slope * at + fit.intercept_us
    axis.plot(
        at,
        np.where(y > 0, y, np.nan) if logarithmic else y,
        color="black",
        linewidth=1.2,
        label=f"least squares: slope {decimals(fit.slope)}, R² {decimals(fit.r2)}",
    )


def _scales(axis: "Axes", x: F64, y: F64, *, logarithmic: bool) -> None:
    """Choose the axes; the fitted line may leave logarithmic ones below."""
    if not logarithmic:
        if not x.any():
            axis.set(xlim=(0, 1), ylim=(0, 1))
            empty(axis, "nobody waited in any of them")
        return
    logarithmic_axis(axis, "x", float(x.min()) / ROOM, float(x.max()) * ROOM)
    least, most = min(x.min(), y.min()), max(x.max(), y.max())
    logarithmic_axis(axis, "y", float(least) / ROOM, float(most) * ROOM)


def _fit_text(fit: "Fit") -> str:
    if np.isnan(fit.slope):
        return "Too few different taxes for a line."
    text = (
        f"Line of best fit: slope {decimals(fit.slope)}, intercept "
        f"{time_us(fit.intercept_us)}, "
        f"R² {decimals(fit.r2)}"
    )
    if not np.isnan(fit.placebo_r2):
        text += f" (of random paths {decimals(fit.placebo_r2)})"
    return f"{text}."


def _not_drawn(tax_us: F64, variation_us: F64) -> str:
    """Count what has no place on logarithmic axes."""
    nobody = int((tax_us <= 0).sum())
    negative = int(((tax_us > 0) & (variation_us <= 0)).sum())
    why = [
        f"{count:,} {text}"
        for count, text in (
            (nobody, "in which nobody waited"),
            (negative, "whose variation is 0 or negative"),
        )
        if count
    ]
    return f" Not drawn: {' and '.join(why)}." if why else ""


def meanings(classes: Iterable[str]) -> str:
    """Tell what classes are that are called as in tables and do not explain themselves."""
    there = dict.fromkeys(classes)
    told = [f"{one}: {words}" for one, words in MEANINGS.items() if one in there]
    return f"; {', '.join(told)}" if told else ""


def left_out(rest: Sequence[str]) -> str:
    """Name the groups that have no room."""
    if not rest:
        return ""
    return f". {counted(len(rest), 'group')} left out for room: {listed(rest)}"
