"""What changed between two runs, for people to read: sentences, then a table."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.comparison.verdict import (
    MOST_LEADS,
    STEP,
    TAXES,
    TRANSFER,
    changed,
    verdict,
    worth_telling,
)
from synctax.report import tables
from synctax.report.tables import Field, Sentence, column, records
from synctax.texts import (
    ABSENT,
    is_absent,
    number,
    percent,
    rate_gb_per_s,
    signed_us,
    time_us,
    with_sign,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.comparison.comparison import Comparison
    from synctax.comparison.rows import Change
    from synctax.report.output import Result

MOST_CULPRITS = 8
"""So many culprits of a kind and group are shown; JSON and CSV hold all."""

MARK = "*"
"""Stands after a difference that is more than chance explains."""

_TOLD = ("resampled", "one_run", "unequal", "run_in_both")

_STATISTICS = {
    "tax_max_us_median": "median",
    "tax_max_us_mean": "mean",
    "tax_mean_us_mean": "wait",
}
"""Columns of the tax."""

_WORDS = {
    "tax_max_us_median": "median tax, what the first rank to arrive waits",
    "tax_max_us_mean": "mean tax, what the first rank to arrive waits",
    "tax_mean_us_mean": "mean wait of a rank",
}
"""What A and B are then of."""

_BUSBW = "busbw_gb_per_s_median"


def parts(found: "Comparison") -> "list[RenderableType]":
    """Lay out a comparison: the verdict, a row for each group and operation, how it held.

    Parameters
    ----------
    found : Comparison
    """
    shown: list[RenderableType] = [Sentence(text) for text in verdict(found)]
    shown += ["", _table(found), "", *_footer(found)]
    return shown


def _table(found: "Comparison") -> "RenderableType":
    """Lay out a row for each group and operation, below that of the step.

    Columns with a number that the verdict names stay, however narrow the terminal is; A, B
    and the first difference are of the statistic of the tax that it names first.
    """
    told = {one.quantity for one in worth_telling(found)[:MOST_LEADS]}
    main = _statistic(found)
    step = found.find(None, None, STEP)
    rows = found.rows

    def of(name: str) -> "list[Change | None]":
        return [found.find(*row, name) for row in rows]

    def cells(name: str, show: "Callable[[Change | None], str]") -> list[str]:
        return [*([show(step)] if step else []), *map(show, of(name))]

    def rank(name: str, other: int) -> int:
        return 0 if name in told else other

    def pair(name: str, title: str, show: Callable[[float], str], rank: int) -> Field:
        blank = [""] if step else []
        return Field(title, [*blank, *_pair(of(name), show)], rank=rank)

    def change(name: str, title: str, signed: Callable[[float], str], rank: int) -> Field:
        blank = [""] if step else []
        own = [_change(found, one, signed) for one in of(name)]
        return Field(title, [*blank, *own], rank=rank)

    statistic = _STATISTICS[main]
    more = [name for name in TAXES[:2] if name != main]
    more += [name for name in TAXES[2:] if name != main and name in told]
    last = [_last(one) for one in of("straggler_share")]
    return tables.table(
        [
            Field(
                "group", [*(["step"] if step else []), *(g for g, _ in rows)], right=False
            ),
            Field(
                "op", [*(["mean time"] if step else []), *(o for _, o in rows)], right=False
            ),
            Field(
                "n",
                [*([""] if step else []), *(_both(one, _count) for one in of(main))],
                rank=5,
            ),
            Field(f"{statistic} A", cells(main, partial(_side, side="a")), rank=1),
            Field(f"{statistic} B", cells(main, partial(_side, side="b")), rank=1),
            Field("B − A", cells(main, partial(_change, found))),
            Field(percent(found.options.level), cells(main, _ends), rank=2),
            *(
                change(name, f"{_STATISTICS[name]} B − A", signed_us, rank(name, 3))
                for name in more
            ),
            pair("wait_share_of_step", "of step", percent, 3),
            pair(TRANSFER, "transfer", time_us, 4),
            change(TRANSFER, "transfer B − A", signed_us, rank(TRANSFER, 4)),
            pair(_BUSBW, "busbw", rate_gb_per_s, 6),
            change(_BUSBW, "busbw B − A", partial(with_sign, show=rate_gb_per_s), 6),
            Field("last", [*([""] if step else []), *last], rank=5),
        ]
    )


def _statistic(found: "Comparison") -> str:
    """Choose the statistic of the tax that is shown: the first in the verdict."""
    every = worth_telling(found)[:MOST_LEADS]
    return next((one.quantity for one in every if one.quantity in TAXES), TAXES[0])


def _count(one: "Change", side: int) -> str:
    return number(one.counts[side])


def _both(one: "Change | None", show: "Callable[[Change, int], str]") -> str:
    if one is None:
        return ABSENT
    before, after = show(one, 0), show(one, 1)
    return before if before == after else f"{before} → {after}"


def _side(one: "Change | None", side: str) -> str:
    return ABSENT if one is None else time_us(getattr(one.found, side))


def _pair(changes: "list[Change | None]", show: Callable[[float], str]) -> list[str]:
    return [
        ABSENT
        if one is None
        else _both(one, lambda change, side: show((change.found.a, change.found.b)[side]))
        for one in changes
    ]


def _change(
    found: "Comparison",
    one: "Change | None",
    show: Callable[[float], str] = signed_us,
) -> str:
    if one is None or np.isnan(one.found.difference):
        return f"only in {one.only_in.upper()}" if one and one.only_in else ABSENT
    return show(one.found.difference) + (MARK if changed(found, one) else " ")


def _ends(one: "Change | None") -> str:
    if one is None or np.isnan(one.found.low):
        return ABSENT
    return f"{signed_us(one.found.low)} to {signed_us(one.found.high)}"


def _last(one: "Change | None") -> str:
    def show(change: "Change", side: int) -> str:
        rank, share = change.ranks[side], (change.found.a, change.found.b)[side]
        return ABSENT if rank is None else f"rank {rank} {percent(share)}"

    return _both(one, show)


def _footer(found: "Comparison") -> "list[RenderableType]":
    """Say what the columns are of, what a star means, and what was drawn."""
    statistic = _WORDS[_statistic(found)]
    said = [f"columns A and B: {statistic}"]
    if found.changed.any():
        level = found.options.level
        said.append(
            f"{MARK} more than chance explains, with all {found.tested} numbers looked "
            f"at together (Benjamini-Hochberg, {percent(1 - level)})"
        )
    said += [note.detail for note in found.notes if note.reason in _TOLD]
    return [Sentence(text) for text in said]


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
