"""One layout in full, for people to read: can it run, where it lies, what it costs."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from synctax.planning.explain.layout import Explanation
from synctax.planning.explain.terms import Row
from synctax.planning.search import Plan
from synctax.report import plan_words as words
from synctax.report.tables import Field, Sentence, table
from synctax.texts import ABSENT, counted, number, size_bytes, time_us

if TYPE_CHECKING:
    from rich.console import RenderableType

_COSTS = ("layout", "volumes", "memory", "times", "tax")
"""Sections that are formulas, in the order in which they follow from each other."""

_UNITS = {"bytes": size_bytes, "s": words.seconds, "us": time_us}


def parts(found: Explanation, plan: Plan, tax: str) -> "list[RenderableType]":
    """Lay out an explanation: verdict, placement, formulas with their numbers, assumptions.

    Parameters
    ----------
    found : Explanation
    plan : Plan
        The search that the layout is of.
    tax : str
        What the tax is called.
    """
    laid: list[RenderableType] = [*_verdict(found, plan), "", "placement"]
    for row in found.section("placement"):
        name = words.quantity(row.quantity, row.unit)
        laid.append(Sentence(f"  {name}: {row.words}", 4))
    for name in _COSTS:
        laid += ["", name, _formulas(found.section(name))]
    at = np.array([plan.find(found.layout)])
    basis = [*words.taxed(plan, at, tax), *words.assumed(plan.setting)]
    return [*laid, "", *(Sentence(text) for text in basis)]


def _verdict(found: Explanation, plan: Plan) -> "Iterator[RenderableType]":
    at = plan.find(found.layout)
    feasible = int(plan.feasible.sum())
    if found.feasible:
        front = ", on the front of step time, memory and NIC share" * bool(plan.pareto[at])
        many = counted(plan.setting.gpus, "GPU")
        yield Sentence(
            f"{found.layout} can run: number {plan.feasible_rank[at]:,} by time of "
            f"{counted(feasible, 'feasible layout')} of {many}{front}"
        )
    else:
        others = f"; {feasible:,} of {counted(len(plan), 'layout')} can"
        yield Sentence(f"{found.layout} cannot run{others}")
    rules = found.section("rules")
    yield from _labelled("ruled out", [row for row in rules if row.verdict == "broken"])
    yield from _labelled("what would help", found.section("remedies"))
    warnings = found.section("warnings")
    yield from _labelled("note", [row for row in warnings if row.verdict == "warns"])
    kept = sum(row.verdict == "kept" for row in (*rules, *warnings))
    yield f"  kept: {counted(kept, 'other rule')}"


def _labelled(label: str, rows: Sequence[Row]) -> Iterator[Sentence]:
    for row in rows:
        yield Sentence(f"  {label}: {row.words}", 4)


def _formulas(rows: Sequence[Row]) -> "RenderableType":
    names = ["  " + words.quantity(row.quantity, row.unit) for row in rows]
    return table(
        [
            Field("  quantity", names, right=False),
            Field("value", [_value(row) for row in rows]),
            Field("formula", [row.formula or row.words or "" for row in rows], right=False),
            Field("in numbers", [row.filled or "" for row in rows], right=False, rank=1),
        ]
    )


def _value(row: Row) -> str:
    return ABSENT if row.value is None else _UNITS.get(row.unit or "", number)(row.value)
