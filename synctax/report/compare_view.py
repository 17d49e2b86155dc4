"""What changed between two runs, for people to read: sentences, then a table."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

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
from synctax.report.tables import Field, Sentence
from synctax.texts import (
    ABSENT,
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
