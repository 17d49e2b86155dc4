"""`--explain`: every number of one layout, with the formula it follows from."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from synctax.planning.explain.memory import memory_rows
from synctax.planning.explain.place import placement_rows
from synctax.planning.explain.terms import Row, Terms, terms
from synctax.planning.explain.times import tax_rows, time_rows
from synctax.planning.explain.volumes import volume_rows
from synctax.planning.layout import Layout
from synctax.planning.pipeline import fullest_work, output_work, whole_work
from synctax.planning.remedies import memory_remedies
from synctax.planning.rule import Rule
from synctax.planning.search import Plan, only
from synctax.texts import number

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Explanation:
    """One layout, number by number.

    Parameters
    ----------
    layout : Layout
    rows : tuple of Row
        In the order in which they follow from each other.
    feasible : bool
    """

    layout: Layout
    rows: tuple[Row, ...]
    feasible: bool

    def section(self, name: str) -> tuple[Row, ...]:
        """Select the rows of a section."""
        return tuple(row for row in self.rows if row.section == name)

    def to_frame(self) -> "pd.DataFrame":
        """Build the table `synctax.plan-explain/1`."""
        from synctax.schema.plan import PLAN_EXPLAIN

        columns: dict[str, list[Any]] = {
            column.name: [getattr(row, column.name) for row in self.rows]
            for column in fields(Row)
        }
        return PLAN_EXPLAIN.to_frame(columns)


def explain(plan: Plan, layout: Layout) -> Explanation:
    """Explain a layout by the setting of a plan.

    Parameters
    ----------
    plan : Plan
    layout : Layout
        Of the plan or not.

    Returns
    -------
    Explanation
    """
    alone = only(plan, [layout])
    known = terms(alone, 0)
    rows = (
        *_layout(known),
        *placement_rows(known),
        *volume_rows(known),
        *memory_rows(known),
        *time_rows(known),
        *tax_rows(known),
        *_rules(known),
        *_remedies(known),
    )
    return Explanation(layout, rows, bool(alone.feasible[0]))


def _layout(known: Terms) -> Iterator[Row]:
    plan, layout = known.plan, known.plan.layouts[known.at]
    yield known.row("layout", "gpus", layout.gpus, None, "{t}·{p}·{d}·{c}")
    m = float(plan.costs.microbatches[known.at])
    yield known.row("layout", "microbatches", m, None, "{B}/({b}·{d})")
    yield known.row("layout", "layers_per_stage", known.symbols["l"], None, "{L}/{p}")
    model, training = plan.setting.model, plan.setting.training
    output = output_work(model, training)
    said = f"the output layer, on the last stage, is worth {number(output)} layers"
    yield Row("layout", "output_layer", output, words=said)
    known = known.with_symbols(
        fullest=float(fullest_work(model, training, known.layouts)[0]),
        all=whole_work(model, training),
    )
    uneven = float(plan.costs.imbalance[known.at])
    yield known.row("layout", "imbalance", uneven, None, "{fullest}/({all}/{p})")


def _rules(known: Terms) -> Iterator[Row]:
    for rule in known.plan.eliminations:
        yield _judged(known, rule, "rules")
    for rule in known.plan.cautions:
        yield _judged(known, rule, "warnings")


def _judged(known: Terms, rule: Rule, section: str) -> Row:
    if not rule.broken[known.at]:
        return Row(section, rule.name, verdict="kept", words=rule.keeps)
    said = rule.reason(known.rows)[0]
    return Row(
        section, rule.name, verdict="broken" if section == "rules" else "warns", words=said
    )


def _remedies(known: Terms) -> Iterator[Row]:
    """List what would keep each broken rule; for memory every single change, priced."""
    for rule in known.plan.eliminations:
        if rule.broken[known.at] and rule.name != "memory":
            said = rule.remedy(known.rows)[0]
            yield Row("remedies", rule.name, words=said)
        elif rule.broken[known.at]:
            plan = known.plan
            found = memory_remedies(plan.setting, plan.layouts, known.rows)[0]
            for one in found:
                words = str(one)
                yield Row("remedies", one.kind, one.memory_bytes, "bytes", words=words)
            if not found:
                yield Row("remedies", rule.name, words=rule.remedy(known.rows)[0])
