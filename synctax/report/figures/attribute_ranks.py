"""Whose fault the tax is: the figure of `attribute` that tells ranks apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from synctax.arrays import F64, I64
from synctax.report.figures.attribute import (
    MOST_PANELS,
    US_PER_MS,
    counting,
    left_out,
    meanings,
    require_tax,
    us,
)
from synctax.report.figures.axes import legend_above
from synctax.report.figures.style import (
    COLORS,
    HATCHES,
    caption,
    named,
    new_figure,
    styled,
)
from synctax.texts import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from synctax.attribution.attribute import Attribution
    from synctax.attribution.summary import Part

MOST_CLASSES: Final = 6
"""So many classes have a colour of their own; the rest is drawn together."""

MOST_TICKS: Final = 16
"""So many ranks are written below an axis."""

MOST_HATCHED: Final = 64
"""Bars of more ranks are too thin for hatches."""

REST: Final = "#999999"
"""Colour of the classes that are drawn together."""

RESTING: Final = "all other classes"

CAUSE: Final = "cause lies here"


def ranks(found: "Attribution") -> "Figure":
    """Draw the tax of the collectives each rank was last in, by class; a panel a group.

    A line across a bar tells the tax whose cause lies on the rank, whichever was last.

    Raises
    ------
    SynctaxError
        If nobody waited in a collective that was attributed, or matplotlib is missing.
    """
    from synctax.attribution.summary import parts

    counting(found)
    results = found.results
    waited = [(part, part.rows[results.tax_ns[part.rows] > 0]) for part in parts(found)]
    every = [(part, rows) for part, rows in waited if rows.size]
    require_tax(len(every))
    shown = every[:MOST_PANELS]
    order = _classes_by_tax(found, np.concatenate([rows for _, rows in shown]))
    with styled():
        figure, axes = new_figure(len(shown), height_in=1.4 + 2.1 * len(shown))
        tied = sum(
            _draw_ranks(found, axis, part, order)
            for axis, (part, _) in zip(axes, shown, strict=True)
        )
        legend_above(figure, axes, 3, last=CAUSE)
        count = sum(rows.size for _, rows in shown)
        caption(
            figure,
            "Tax of the collectives that a rank was last in, by class of culprit (upwards "
            "as in the legend); lines: tax whose cause lies on the rank, whichever was "
            "last; "
            f"n = {counted(count, 'collective')} in which ranks waited"
            + (f", {tied:,} of them without a last rank: ranks tie" if tied else "")
            + meanings(order[:MOST_CLASSES])
            + left_out([part.role for part, _ in every[MOST_PANELS:]]),
        )
    return figure


def _classes_by_tax(found: "Attribution", rows: I64) -> list[str]:
    """Classes of culprits, most tax first."""
    from synctax.attribution.summary import class_names

    sums: dict[str, int] = {}
    for name, tax_ns in zip(
        class_names(found, rows), found.results.tax_ns[rows].tolist(), strict=True
    ):
        sums[name] = sums.get(name, 0) + tax_ns
    return sorted(sums, key=lambda name: -sums[name])


def _draw_ranks(
    found: "Attribution", axis: "Axes", part: "Part", order: Sequence[str]
) -> int:
    """Draw a panel of stacked bars; return how many collectives have no last rank."""
    from synctax.attribution.summary import class_names, origin_ranks, stragglers

    results, places = found.results, found.tax.matches.ranks
    rows = part.rows[results.tax_ns[part.rows] > 0]
    number = np.array([*(one.rank for one in places), -1], np.int64)
    last, origin = number[stragglers(found, rows)], number[origin_ranks(found, rows)]
    tax_ms = us(results.tax_ns[rows]) / US_PER_MS
    names = np.array(class_names(found, rows), object)
    every = _ranks_of(found, part)
    x = np.arange(every.size)
    bottom = np.zeros(every.size)
    for place, (label, mine) in enumerate(_layers(names, order)):
        sums = _by_rank(last[mine], tax_ms[mine], every)
        rest = place == MOST_CLASSES
        axis.bar(
            x,
            sums,
            bottom=bottom,
            width=0.8,
            color=REST if rest else COLORS[place],
            hatch=HATCHES[place] if every.size <= MOST_HATCHED else "",
            edgecolor="white",
            linewidth=0,
            label=label if mine.any() else None,
        )
        bottom += sums
    cause = _by_rank(origin, tax_ms, every)
    axis.hlines(cause, x - 0.45, x + 0.45, color="black", linewidth=1.6, label=CAUSE)
    step = -(-every.size // MOST_TICKS)
    axis.set_xticks(x[::step], [str(rank) for rank in every[::step].tolist()])
    axis.grid(visible=False, axis="x")
    axis.set_ylim(0, 1.06 * max(float(cause.max()), float(bottom.max())))
    axis.set_xlim(-0.7, every.size - 0.3)
    axis.set_xlabel(f"rank of {named(part.role)}")
    axis.set_ylabel("tax (ms)")
    return int((last < 0).sum())


def _layers(names: np.ndarray, order: Sequence[str]) -> list[tuple[str, np.ndarray]]:
    """Which results are of each class; the rarest ones together."""
    layers = [(named(one), names == one) for one in order[:MOST_CLASSES]]
    rest = order[MOST_CLASSES:]
    if rest:
        layers.append((RESTING, np.isin(names, rest)))
    return layers


def _ranks_of(found: "Attribution", part: "Part") -> I64:
    """Global ranks of the groups of a part, ascending."""
    from synctax.attribution.summary import members

    places = found.tax.matches.ranks
    return np.unique(np.array([places[p].rank for p in members(found, part)], np.int64))


def _by_rank(rank: I64, values: F64, every: I64) -> F64:
    """Sum values by rank; those of ranks that are not among `every` are dropped."""
    inside = np.isin(rank, every)
    row = np.searchsorted(every, rank[inside])
    return np.bincount(row, values[inside], minlength=every.size).astype(np.float64)
