"""Layouts for people to read: the best, what rules out the others, what was assumed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import I64
from synctax.planning.columns import plan_columns
from synctax.planning.search import Plan
from synctax.planning.ties import within_error
from synctax.report import plan_words as words
from synctax.report.plan_verdict import verdict
from synctax.report.tables import Field, Sentence, column, table
from synctax.texts import number, percent, size_bytes

if TYPE_CHECKING:
    from rich.console import RenderableType

Row = dict[str, Any]

NEAR_MISSES = 5
"""Layouts that are shown with what would make them feasible, where none is."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What of a plan is shown.

    Parameters
    ----------
    rows : (j,) int64
        In the order of the table.
    more : int
        Others like them that are not shown.
    named : bool
        Whether the user named the layouts: then all of them are told in full.
    tax : str
        What the tax is called.
    """

    rows: I64
    more: int = 0
    named: bool = False
    tax: str = ""


def parts(plan: Plan, shown: Shown) -> "list[RenderableType]":
    """Lay out a plan: the table, what rules layouts out, sentences."""
    rows = records(plan, shown.rows)
    ruled_out = _ruled_out(plan, shown.rows)
    laid: list[RenderableType] = []
    if rows:
        laid += [_table(rows, ruled_out, plan), *_more(shown), ""]
    if shown.named and rows:
        laid += [_sent(rows), ""]
    laid.append(Sentence(words.looked_at(plan)))
    best = np.flatnonzero(plan.feasible_rank == 1)
    laid += [Sentence(text) for text in verdict(plan)]
    if shown.named or not best.size:
        laid += _told(plan, shown.rows, in_full=shown.named)
    else:
        laid += [_line("note", text) for text in plan.warnings(best)[0]]
    if not shown.named:
        laid += _eliminations(plan)
    told_of = best if best.size else shown.rows
    sentences = [*words.taxed(plan, told_of, shown.tax), *words.assumed(plan.setting)]
    return [*laid, "", *(Sentence(text) for text in sentences)]


def records(plan: Plan, rows: I64) -> list[Row]:
    """Return some rows of a plan as mappings of column to value, without pandas."""
    columns = {
        name: values if isinstance(values, list) else values.tolist()
        for name, values in plan_columns(plan, rows).items()
    }
    return [
        dict(zip(columns, values, strict=True))
        for values in zip(*columns.values(), strict=True)
    ]


def _ruled_out(plan: Plan, rows: I64) -> list[str]:
    """Name the rules that rows break."""
    names: list[list[str]] = [[] for _ in range(len(rows))]
    for rule in plan.eliminations:
        for at in np.flatnonzero(rule.broken[rows]).tolist():
            names[at].append(rule.name.replace("_", " "))
    return [", ".join(some) for some in names]


def _table(rows: Sequence[Row], ruled_out: Sequence[str], plan: Plan) -> "RenderableType":
    budget = plan.setting.budget_bytes
    marks = ["* " if row["pareto"] else "  " for row in rows]
    fields = [
        Field(
            "  layout",
            [mark + row["layout"] for mark, row in zip(marks, rows, strict=True)],
            right=False,
        ),
        _field(rows, "step", _step if within_error(plan).sum() > 1 else _alone),
        _field(rows, "memory", lambda row: size_bytes(row["memory_bytes"])),
        _field(
            rows,
            f"of {size_bytes(budget)}",
            lambda row: percent(row["memory_bytes"] / budget),
            rank=4,
        ),
        _field(rows, "range", _memory_range, rank=6),
        column(rows, "bubble", "bubble", percent, rank=2),
        column(rows, "exposed_s", "exposed", words.seconds, rank=3),
        column(rows, "tax_s", "tax", words.seconds, rank=1),
        column(rows, "nic_share", "NIC", percent),
        Field("on NICs", [_over_nics(row) for row in rows], right=False, rank=1),
        column(rows, "step_mfu", "MFU", percent, rank=5),
    ]
    if any(ruled_out):
        fields.append(Field("ruled out by", ruled_out, right=False))
    return table(fields)


def _field(
    rows: Sequence[Row], title: str, show: Callable[[Row], str], rank: int = 0
) -> Field:
    return Field(title, [show(row) for row in rows], rank=rank)


def _step(row: Row) -> str:
    return f"{'~' if row['within_error'] else ''}{_alone(row)}"


def _alone(row: Row) -> str:
    return words.step(row["step_s"])


def _memory_range(row: Row) -> str:
    low, high = size_bytes(row["memory_lo_bytes"]), size_bytes(row["memory_hi_bytes"])
    unit = high[high.rindex(" ") :]
    return f"{low.removesuffix(unit)} to {high}"


def _over_nics(row: Row) -> str:
    """Name the dimensions that leave the domain, innermost first."""
    names = row["order"].split("-")
    return " ".join(name for name in names if row[f"{name}_link"] == "nic") or "none"


def _sent(rows: Sequence[Row]) -> "RenderableType":
    """What a GPU sends, holds and waits for in a step: the numbers behind the times."""
    used = [name for name in ("tp", "pp", "dp", "cp", "ep") if any(_sends(rows, name))]
    return table(
        [
            Field("  layout", ["  " + row["layout"] for row in rows], right=False),
            column(rows, "microbatches", "m", number, rank=3),
            *(
                column(rows, f"{name}_bytes", f"{name.upper()} sends", size_bytes, rank=1)
                for name in used
            ),
            column(rows, "nvlink_s", "NVLink", words.seconds),
            column(rows, "nic_s", "NIC", words.seconds),
            column(rows, "state_bytes", "state", size_bytes, rank=2),
            column(rows, "activation_bytes", "activations", size_bytes, rank=2),
            column(rows, "barriers", "barriers", lambda v: number(round(v)), rank=2),
            Field("of", [_meeting(row) for row in rows], rank=4),
        ]
    )


def _sends(rows: Sequence[Row], name: str) -> list[bool]:
    return [bool(row[f"{name}_bytes"]) for row in rows]


def _meeting(row: Row) -> str:
    if row["barrier_group"] == "none":
        return "none"
    return f"{row['barrier_group']} {row['barrier_n']:,}"


def _more(shown: Shown) -> list[str]:
    if not shown.more:
        return []
    return [f"  {shown.more:,} more: --top shows them, --format json holds every layout"]


def _told(plan: Plan, rows: I64, *, in_full: bool) -> "Iterator[RenderableType]":
    """Say of every row what rules it out, what would let it run, what it brings along."""
    said = zip(plan.reasons(rows), plan.remedies(rows), plan.warnings(rows), strict=True)
    for at, (reasons, remedies, warnings) in zip(rows.tolist(), said, strict=True):
        if reasons or warnings:
            yield ""
            yield str(plan.layouts[at])
        yield from (_line("ruled out", text) for text in reasons)
        yield from (_line("what would help", text) for text in remedies)
        if in_full:
            yield from (_line("note", text) for text in warnings)


def _line(label: str, text: str) -> Sentence:
    return Sentence(f"  {label}: {text}", 4)


def _eliminations(plan: Plan) -> "list[RenderableType]":
    found = words.eliminated(plan)
    if not found:
        return []
    return [
        "",
        table(
            [
                Field("ruled out", [f"{one.layouts:,}" for one in found]),
                Field("by it alone", [f"{one.alone:,}" for one in found]),
                Field("because not", [one.keeps for one in found], right=False),
            ]
        ),
    ]


def nearest_misses(plan: Plan, most: int = NEAR_MISSES) -> I64:
    """List eliminated layouts: what breaks few rules, and of that what is fast and fits.

    Time and what memory is over the budget count alike: twice as slow is as far off as
    twice too large.
    """
    broken = np.zeros(len(plan), np.int64)
    for rule in plan.eliminations:
        broken += rule.broken
    over = np.maximum(plan.costs.memory.memory_bytes, plan.setting.budget_bytes)
    order = np.lexsort((over * plan.costs.step_s, broken))
    return order[~plan.feasible[order]][:most]
