"""What changed of ranks, culprits, fitted parameters and kernels, for people to read."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.report import tables
from synctax.report.compare_view import MARK
from synctax.report.tables import Field, Sentence, column, records
from synctax.texts import ABSENT, is_absent, number, percent, signed_us, time_us, with_sign

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.comparison.comparison import Comparison
    from synctax.report.output import Result

MOST_CULPRITS = 8
"""So many culprits of a kind and group are shown; JSON and CSV hold all."""


def ranks(result: "Result") -> "list[RenderableType]":
    """Lay out what changed on every rank.

    Parameters
    ----------
    result : Result
    """
    rows = records(result.frame)
    waits = [row for row in rows if row["quantity"] == "wait_us_mean"]
    lasts = [row for row in rows if row["quantity"] == "straggler_share"]
    return [
        tables.table(
            [
                column(waits, "group", "group", str),
                column(waits, "op", "op", str),
                column(waits, "rank", "rank"),
                column(waits, "a", "mean wait A", time_us),
                column(waits, "b", "B", time_us),
                _marked(waits, "difference", signed_us),
                _interval(result, waits, "difference", signed_us),
                Field(
                    "last A → B",
                    [_arrow(row, percent) + _star(row) for row in lasts],
                    rank=2,
                ),
            ]
        ),
        "",
        f"{MARK} more than chance explains, with all rows looked at together",
    ]


def culprits(result: "Result") -> "list[RenderableType]":
    """Lay out whose caused tax changed most: classes, ranks and items of each group.

    Parameters
    ----------
    result : Result
    """
    shown: dict[tuple[str, str], int] = {}
    rows = []
    for row in records(result.frame):
        key = (row["group"], row["kind"])
        shown[key] = shown.get(key, 0) + 1
        if shown[key] <= MOST_CULPRITS:
            rows.append(row | {"who": _who(row)})
    if not rows:
        return ["no group was attributed on both sides"]
    hidden = len(result.frame) - len(rows)
    more = f"; {hidden} more in JSON and CSV" if hidden else ""
    note = (
        f"tax a collective of the group; {MARK} more than chance explains, all rows "
        f"together{more}"
    )
    return [
        tables.table(
            [
                column(rows, "group", "group", str),
                column(rows, "kind", "kind", str),
                Field("culprit", [row["who"] for row in rows], right=False, least=16),
                column(rows, "tax_a_us", "tax A", time_us, rank=2),
                column(rows, "tax_b_us", "tax B", time_us, rank=2),
                _marked(rows, "difference_us", signed_us),
                _interval(result, rows, "difference", signed_us, "_us"),
                Field("share A → B", [_share(row) for row in rows], rank=1),
            ]
        ),
        "",
        note,
    ]


def fit(found: "Comparison", result: "Result") -> "list[RenderableType]":
    """Lay out the fitted parameters of both sides, or say why there are none.

    Parameters
    ----------
    found : Comparison
    result : Result
    """
    fits = found.fits
    if fits is None or not fits.changes:
        return [Sentence(text) for text in fits.why_not] if fits is not None else []
    rows = records(result.frame)
    cells = [(row, _show(row["quantity"])) for row in rows]
    one, two = fits.a, fits.b
    fields = [
        column(rows, "quantity", "parameter", str),
        Field("A", [show(row["a"]) for row, show in cells]),
        Field("B", [show(row["b"]) for row, show in cells]),
        Field(
            "B − A",
            [with_sign(row["difference"], show) + _star(row) for row, show in cells],
        ),
        Field(
            percent(found.options.level),
            [
                _from_to(row, "difference", "", partial(with_sign, show=show))
                for row, show in cells
            ],
            rank=1,
        ),
    ]
    told = [
        f"{name}: {side.instances} instances of blocks of {side.group}, fitted over "
        f"{side.ranks} ranks"
        for name, side in (("A", one), ("B", two))
        if side is not None
    ]
    if found.fit_changed.any():
        told.insert(0, f"{MARK} more than chance explains, with rows and culprits, too")
    return [tables.table(fields), "", *told]


def kernels(result: "Result") -> "list[RenderableType]":
    """Lay out how long kernels take, by class.

    Parameters
    ----------
    result : Result
    """
    rows = records(result.frame)
    if not rows:
        return ["no kernel that computes was recorded on either side"]
    return [
        tables.table(
            [
                column(rows, "kernel_class", "kernels", str),
                column(rows, "kernels_a", "n A", rank=3),
                column(rows, "kernels_b", "n B", rank=3),
                column(rows, "duration_a_us_median", "median A", time_us, rank=2),
                column(rows, "duration_b_us_median", "median B", time_us, rank=2),
                column(rows, "duration_a_us_mean", "mean A", time_us),
                column(rows, "duration_b_us_mean", "mean B", time_us),
                _marked(rows, "difference_us", signed_us),
                _interval(result, rows, "difference", signed_us, "_us"),
            ]
        ),
        "",
        f"{MARK} more than chance explains, with all rows looked at together",
    ]


def _show(quantity: str) -> Callable[[Any], str]:
    return time_us if "_us" in quantity else number


def _star(row: dict[str, Any]) -> str:
    return MARK if row["changed"] is True or row["changed"] == np.True_ else " "


def _marked(rows: list[dict[str, Any]], name: str, show: Callable[[Any], str]) -> Field:
    cells = [
        ABSENT if is_absent(row[name]) else show(row[name]) + _star(row) for row in rows
    ]
    return Field("B − A", cells)


def _interval(
    result: "Result",
    rows: list[dict[str, Any]],
    name: str,
    show: Callable[[Any], str],
    unit: str = "",
) -> Field:
    cells = [_from_to(row, name, unit, show) for row in rows]
    level = result.parameters.get("level")
    return Field("interval" if level is None else percent(level), cells, rank=1)


def _from_to(row: dict[str, Any], name: str, unit: str, show: Callable[[Any], str]) -> str:
    low, high = row[f"{name}_lo{unit}"], row[f"{name}_hi{unit}"]
    if is_absent(low) or is_absent(high):
        return ABSENT
    return f"{show(low)} to {show(high)}"


def _arrow(row: dict[str, Any], show: Callable[[Any], str]) -> str:
    return f"{show(row['a'])} → {show(row['b'])}"


def _share(row: dict[str, Any]) -> str:
    return f"{percent(row['share_of_tax_a'])} → {percent(row['share_of_tax_b'])}"


def _who(row: dict[str, Any]) -> str:
    rank = "" if is_absent(row["rank"]) else f"rank {row['rank']}"
    if row["kind"] == "class":
        return str(row["culprit_class"])
    if row["kind"] == "rank":
        return rank or "no single rank"
    from synctax.attribution.labels import short_name

    name = short_name(str(row["culprit"]))
    return f"{rank}: {name}" if rank else name
