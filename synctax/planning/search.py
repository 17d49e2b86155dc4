"""`plan`: every layout of a number of GPUs, what it costs, and whether it can run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import I64, Bool
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.planning.candidates import (
    DEFAULT_VIRTUAL_STAGES,
    candidates,
    with_degrees,
)
from synctax.planning.cautions import cautions
from synctax.planning.costs import Costs, costs
from synctax.planning.divisibility import host_notes
from synctax.planning.eliminations import eliminations
from synctax.planning.layout import Layout, Layouts
from synctax.planning.link_cautions import domain_notes
from synctax.planning.pareto import pareto
from synctax.planning.platform import Platform
from synctax.planning.platform import check as check_platform
from synctax.planning.possible import ImpossibleError, counts
from synctax.planning.rule import Rule, spoken
from synctax.planning.setting import Setting
from synctax.planning.shape import Model
from synctax.planning.shape import check as check_model
from synctax.planning.tax import PlanTax
from synctax.planning.training import (
    ORDERS,
    Assumptions,
    Order,
    Training,
    check_assumptions,
)
from synctax.planning.training import check as check_training
from synctax.schema.html import Shown

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Plan(Shown):
    """Layouts, judged.

    Parameters
    ----------
    setting : Setting
    layouts : Layouts
        k of them.
    costs : Costs
    eliminations : tuple of Rule
        What a layout must keep to be feasible.
    cautions : tuple of Rule
        What it should keep.
    feasible : (k,) bool
    feasible_rank : (k,) int64
        By time of a step among feasible ones, from 1; 0 where not feasible.
    pareto : (k,) bool
        Feasible, and no feasible one is better in time of a step, memory and NIC share.
    notes : tuple of Note
        What was not listed, eliminated (by rule), or computed with less than was asked.
    """

    setting: Setting
    layouts: Layouts
    costs: Costs
    eliminations: tuple[Rule, ...]
    cautions: tuple[Rule, ...]
    feasible: Bool
    feasible_rank: I64
    pareto: Bool
    notes: tuple[Note, ...] = ()

    def __len__(self) -> int:
        """Layouts."""
        return len(self.layouts)

    def __repr__(self) -> str:
        return f"<Plan: {int(self.feasible.sum()):,} of {len(self):,} layouts are feasible>"

    def order(self, at: int) -> Order:
        """Tell the order of ranks of a layout."""
        return ORDERS[int(self.costs.placement.order[at])]

    def find(self, layout: Layout) -> int:
        """Find a layout among those of the plan.

        Raises
        ------
        SynctaxError
            If it is not there.
        """
        columns = self.layouts
        same = np.ones(len(self), np.bool_)
        for name in ("tp", "pp", "dp", "cp", "ep", "virtual_stages"):
            same &= getattr(columns, name) == getattr(layout, name)
        at = np.flatnonzero(same)
        if not at.size:
            raise SynctaxError(
                f"layout {layout} is none of the {len(self):,} of this plan; it has "
                f"{layout.gpus:,} ranks, and the plan is for {self.setting.gpus:,} GPUs"
            )
        return int(at[0])

    def ranked(self) -> I64:
        """List layouts by what they are worth: feasible ones by time, then the others.

        Returns
        -------
        (k,) int64
            Of those eliminated, first what breaks fewest rules, then by time of a step.
        """
        broken = np.zeros(len(self), np.int64)
        for rule in self.eliminations:
            broken += rule.broken
        held, step_s = self.costs.memory.memory_bytes, self.costs.step_s
        return np.lexsort((held, step_s, broken))

    def reasons(self, rows: I64) -> list[list[str]]:
        """Say of some rows why they are eliminated; an empty list for feasible ones."""
        return spoken(self.eliminations, rows)

    def remedies(self, rows: I64) -> list[list[str]]:
        """Say of some rows what would keep the rules that they break."""
        return spoken(self.eliminations, rows, remedy=True)

    def warnings(self, rows: I64) -> list[list[str]]:
        """Say of some rows what they bring with them."""
        return spoken(self.cautions, rows)

    def to_frame(self, rows: I64 | None = None) -> "pd.DataFrame":
        """Build the table `synctax.plan/1`.

        Parameters
        ----------
        rows : (j,) int64, optional
            Which, and in what order; all, in the order of the plan, if not given.
        """
        from synctax.planning.columns import plan_columns
        from synctax.schema.plan import PLAN

        return PLAN.to_frame(plan_columns(self, rows))


def plan(  # noqa: PLR0913 - the options of a search
    model: Model,
    platform: Platform,
    gpus: int,
    training: Training,
    assumptions: Assumptions | None = None,
    *,
    layouts: Layouts | None = None,
    virtual_stages: Sequence[int] = DEFAULT_VIRTUAL_STAGES,
    only: Mapping[str, int] | None = None,
    tax: PlanTax | None = None,
) -> Plan:
    """Cost and judge every layout of a number of GPUs, or those that are given.

    Nothing is dropped: a layout that cannot run keeps its row, with every rule that it
    breaks.

    Parameters
    ----------
    model : Model
    platform : Platform
    gpus : int
    training : Training
    assumptions : Assumptions, optional
    layouts : Layouts, optional
        Only these.
    virtual_stages : sequence of int
        Each v to look at, where no layouts are given.
    only : mapping of str to int, optional
        Degrees of tp, pp, dp, cp, ep that layouts of the search must have.
    tax : PlanTax, optional
        Without it none is counted.

    Returns
    -------
    Plan

    Raises
    ------
    SynctaxError
        If there are no GPUs, or so many that their layouts are too many; if a number of
        the training, the platform or the assumptions is impossible; if the tax model lacks
        what is needed.
    """
    setting = Setting(model, platform, gpus, training, assumptions or Assumptions(), tax)
    check(setting)
    notes: tuple[Note, ...] = ()
    if layouts is None:
        layouts, notes = candidates(model, gpus, virtual_stages)
        if only:
            layouts, others = with_degrees(layouts, only)
            notes = (*notes, others)
    return judge(setting, layouts, notes)


def judge(setting: Setting, layouts: Layouts, notes: tuple[Note, ...] = ()) -> Plan:
    """Cost and judge some layouts.

    Parameters
    ----------
    setting : Setting
    layouts : Layouts
        k of them.
    notes : tuple of Note
        What is known already of how they were chosen.

    Returns
    -------
    Plan
    """
    cost = costs(setting, layouts)
    rules = eliminations(setting, layouts, cost)
    feasible = np.ones(len(layouts), np.bool_)
    for rule in rules:
        feasible &= ~rule.broken
    warned = cautions(setting, layouts, cost)
    of_domain = domain_notes(setting, warned, feasible)
    told = (
        *notes,
        *host_notes(setting),
        *cost.taxed.notes,
        *of_domain,
        *_eliminated(rules),
    )
    return Plan(
        setting,
        layouts,
        cost,
        rules,
        warned,
        feasible,
        _places(cost, feasible),
        _front(cost, feasible),
        told,
    )


def only(found: Plan, layouts: Sequence[Layout]) -> Plan:
    """Judge some layouts by the setting of a plan.

    Parameters
    ----------
    found : Plan
    layouts : sequence of Layout
        Of the plan or not.

    Returns
    -------
    Plan
        Ranks and front are among these only.
    """
    return judge(found.setting, Layouts.of(layouts))


def _places(cost: Costs, feasible: Bool) -> I64:
    at = np.flatnonzero(feasible)
    order = np.lexsort((cost.memory.memory_bytes[at], cost.step_s[at]))
    places = np.zeros(len(feasible), np.int64)
    places[at[order]] = np.arange(1, at.size + 1)
    return places


def _front(cost: Costs, feasible: Bool) -> Bool:
    held, nic_share = cost.memory.memory_bytes, cost.nic_share
    costly = np.stack([cost.step_s, held, nic_share], axis=1)[feasible]
    front = np.zeros(len(feasible), np.bool_)
    front[feasible] = pareto(costly)
    return front


def _eliminated(rules: tuple[Rule, ...]) -> Iterator[Note]:
    for rule in rules:
        many = int(rule.broken.sum())
        if many:
            yield Note(f"eliminated_{rule.name}", many, f"not so: {rule.keeps}")


def check(setting: Setting) -> None:
    """Refuse numbers that no job, machine or assumption can have.

    Parameters
    ----------
    setting : Setting

    Raises
    ------
    SynctaxError
        Naming the number and its value.
    """
    counts(setting, ("gpus",))
    check_model(setting.model)
    check_platform(setting.platform)
    check_training(setting.training)
    check_assumptions(setting.assumptions)
    if setting.budget_bytes <= 0:
        raise ImpossibleError(
            "reserve_bytes",
            setting.assumptions.reserve_bytes,
            f"less than the {setting.platform.memory_bytes:g} of a GPU of "
            f"{setting.platform.name}",
        )
