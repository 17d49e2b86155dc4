"""Results of `plan`: rows and envelope of each of its tables."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import I64
from synctax.cli.bandwidth_tax import Tax
from synctax.cli.plan_setup import Setup
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.planning.inputs.named import (
    model_names,
    platform_names,
    read_model,
    read_platform,
)
from synctax.planning.search import Plan
from synctax.report import plan_words as words
from synctax.report.output import LongResult, Result
from synctax.report.plan_verdict import verdict
from synctax.report.plan_view import NEAR_MISSES, Shown, nearest_misses
from synctax.schema import Table
from synctax.schema.plan import PLAN, PLAN_COMPARE, PLAN_EXPLAIN
from synctax.schema.plan_lists import PLAN_HARDWARE, PLAN_MODELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from synctax.planning.explain.compare import Comparison
    from synctax.planning.explain.layout import Explanation

QUIET = ("eliminated_", "virtual_stages_without_pipeline")
"""How reasons of notes begin that the table tells of, or that nobody needs to act on."""


@dataclass(frozen=True, slots=True)
class Found:
    """A plan, how it was asked for, and its tax.

    Parameters
    ----------
    plan : Plan
    tax : Tax
    setup : Setup
    pareto, feasible : bool
        Whether only these layouts are asked for.
    """

    plan: Plan
    tax: Tax
    setup: Setup
    pareto: bool = False
    feasible: bool = False

    @property
    def named(self) -> bool:
        """Whether the layouts were named."""
        return bool(self.setup.named)


def noted(found: Found) -> list[Note | str]:
    """List what is said on stderr: of model, machine, tax, and of what was computed."""
    plan, tax = found.plan, found.tax
    best = plan.ranked()[:1]
    n = max([tax.least_n, *plan.costs.barriers.n[best].tolist()])
    told = [note for note in plan.notes if not note.reason.startswith(QUIET)]
    return [*found.setup.notes, *tax.notes, *tax.trust(n), *told]


def chosen(found: Found) -> I64:
    """List the rows that are asked for, the fastest feasible first."""
    plan = found.plan
    rows = plan.ranked()
    if found.pareto:
        return rows[plan.pareto[rows]]
    return rows[plan.feasible[rows]] if found.feasible else rows


def shown(found: Found, rows: I64, top: int | None, usual: int) -> Shown:
    """Choose what the table shows: of a search what is feasible, else near misses.

    Parameters
    ----------
    found : Found
    rows : (j,) int64
        What is asked for.
    top : int or None
        At most so many, if anything was said.
    usual : int
        At most so many of a search, if nothing was said.
    """
    plan = found.plan
    if not found.named:
        rows = rows[plan.feasible[rows]]
    if not rows.size and not found.named:
        rows = nearest_misses(plan, top or NEAR_MISSES)
        return Shown(rows, int(len(plan) - rows.size), tax=found.tax.words)
    # of named ones that all are ruled out, what rules them out is worth knowing
    rows = rows if rows.size else plan.ranked()
    kept = rows[: top or (None if found.named else usual)]
    return Shown(kept, int(rows.size - kept.size), found.named, found.tax.words)


def figures(found: Found, top: int | None, usual: int) -> "dict[str, Callable[[], Figure]]":
    """Tell how each figure of layouts is made; those of steps are of what is shown.

    Parameters
    ----------
    found : Found
    top, usual
        As for `shown`.
    """

    def of_front() -> "Figure":
        from synctax.report.figures.plan import pareto

        return pareto(found.plan)

    def of_steps() -> "Figure":
        from synctax.report.figures.plan import step

        return step(found.plan, shown(found, chosen(found), top, usual).rows)

    return {"pareto": of_front, "step": of_steps}


def result(
    found: Found,
    rows: I64,
    extra: Mapping[str, Any] | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> Result:
    """Make the table of layouts, with all that they follow from in its envelope.

    Parameters
    ----------
    found : Found
    rows : (j,) int64
    extra : mapping, optional
        Further keys of the envelope.
    on_rows : callable, optional
        Told how many more rows are written.
    """
    plan = found.plan
    # words of hundreds of thousands of layouts at once would take gigabytes
    return LongResult(
        PLAN,
        plan.to_frame(rows[:0]),
        parameters(found),
        plan.notes,
        {**told(found, rows), **(extra or {})},
        len(rows),
        lambda start, stop: plan.to_frame(_told_of(rows, start, stop, on_rows)),
    )


def _told_of(
    rows: I64, start: int, stop: int, on_rows: Callable[[int], None] | None
) -> I64:
    if on_rows is not None:
        on_rows(stop - start)
    return rows[start:stop]


def parameters(found: Found) -> dict[str, Any]:
    """Tell what was asked: nothing else is needed to hold a job against the plan."""
    setting = found.plan.setting
    tax = setting.tax
    return {
        "model": asdict(setting.model),
        "platform": asdict(setting.platform),
        "gpus": setting.gpus,
        "training": asdict(setting.training),
        "assumptions": asdict(setting.assumptions),
        "tax": None
        if tax is None
        else {
            "name": tax.name,
            "method": tax.method,
            "form": tax.form,
            "n_fit": tax.model.n_fit,
            "a_us": tax.a_us,
            "a_lo_us": tax.a_lo_us,
            "a_hi_us": tax.a_hi_us,
        },
        "layouts": [str(one) for one in found.setup.named] or None,
        "virtual_stages": None if found.named else list(found.setup.virtual_stages),
        "only": found.setup.only or None,
        "pareto": found.pareto,
        "feasible": found.feasible,
    }


def told(found: Found, rows: I64) -> dict[str, Any]:
    """Tell in words and counts what the plan comes to."""
    plan = found.plan
    best = np.flatnonzero(plan.feasible_rank == 1)
    first = best if best.size else rows[:1]
    basis = [*words.taxed(plan, first, found.tax.words), *words.assumed(plan.setting)]
    return {
        "tax": {
            **found.tax.told(),
            "source": words.name_of(plan.setting, found.tax.words),
        },
        "eliminations": [asdict(one) for one in words.eliminated(plan)],
        "verdict": [words.looked_at(plan), *verdict(plan)],
        "basis": [text.strip() for text in basis],
    }


def explanation(found: Found) -> "Explanation":
    """Explain the layout that was named."""
    from synctax.planning.explain.layout import explain

    return explain(found.plan, found.setup.named[0])


def explained(found: Found, one: "Explanation") -> Result:
    """Make the table of one layout's formulas, places and rules."""
    at = np.array([found.plan.find(one.layout)])
    extra = {"layout": str(one.layout), "feasible": one.feasible}
    return Result(
        PLAN_EXPLAIN,
        one.to_frame(),
        parameters(found),
        found.plan.notes,
        {**extra, **told(found, at)},
    )


def comparison(found: Found) -> "Comparison":
    """Compare the two layouts that were named."""
    from synctax.planning.explain.compare import compare

    first, second = found.setup.named
    return compare(found.plan, first, second)


def compared(found: Found, both: "Comparison") -> Result:
    """Make the table of two layouts beside each other."""
    extra = {"layouts": [str(both.a), str(both.b)], "words": both.words}
    rows = found.plan.ranked()
    return Result(
        PLAN_COMPARE,
        both.to_frame(),
        parameters(found),
        found.plan.notes,
        {**extra, **told(found, rows)},
    )


@dataclass(frozen=True, slots=True)
class Export:
    """A layout in the words of a framework.

    Parameters
    ----------
    text : str
    said : str
        What to say of it.
    row : (1,) int64
        Which layout.
    """

    text: str
    said: str
    row: I64


def exported(plan: Plan, framework: str) -> Export:
    """Write the layout that is worth most for a framework.

    Raises
    ------
    SynctaxError
        If no layout of a search is feasible, or the framework does not run it.
    """
    from synctax.planning.export import (
        megatron_flags,
        torchtitan_recipe,
        torchtitan_toml,
    )

    row = plan.ranked()[:1]
    at = int(row[0])
    layout, setting = plan.layouts[at], plan.setting
    if not plan.feasible[at] and len(plan) > 1:
        raise SynctaxError(
            f"none of {len(plan):,} layouts is feasible, so none is exported; --layout "
            "names one, or see what would make them fit without --export"
        )
    training = replace(setting.training, order=plan.order(at))
    said = f"{layout} for {framework}"
    if not plan.feasible[at]:
        said += f", though it is ruled out: {'; '.join(plan.reasons(row)[0])}"
    if framework == "megatron":
        again = float(plan.costs.memory.recomputed_layers[at])
        flags = megatron_flags(setting.model, training, layout, recomputed_layers=again)
        return Export("\n".join(flags), said, row)
    write = torchtitan_toml if framework == "torchtitan" else torchtitan_recipe
    return Export(write(setting.model, training, layout).rstrip("\n"), said, row)


def models() -> tuple[list[dict[str, Any]], Table]:
    """List the models that are built in."""
    rows = []
    for name in model_names():
        one = read_model(name)
        experts = one.experts
        rows.append(
            {
                "model": name,
                "parameters": one.parameters,
                "active_parameters": one.active_parameters,
                "layers": one.layers,
                "hidden": one.hidden,
                "heads": one.heads,
                "kv_heads": one.kv_heads,
                "ffn": one.ffn,
                "vocabulary": one.vocabulary,
                "experts": None if experts is None else experts.count,
                "top_k": None if experts is None else experts.top_k,
                "source": one.source,
            }
        )
    return rows, PLAN_MODELS


def hardware() -> tuple[list[dict[str, Any]], Table]:
    """List the machines that are built in."""
    rows = []
    for name in platform_names():
        one = asdict(read_platform(name))
        row = {column: one.get(column) for column in PLAN_HARDWARE.names}
        rows.append({**row, "hardware": name})
    return rows, PLAN_HARDWARE


def listed(rows: list[dict[str, Any]], table: Table) -> Result:
    """Make a result of such a list."""
    columns = {name: [row[name] for row in rows] for name in table.names}
    return Result(table, table.to_frame(columns))
