"""A plan as columns of `synctax.plan/1`; words are made only for the rows asked for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from synctax.arrays import I64
from synctax.planning.barriers import BARRIER_GROUPS
from synctax.planning.costs import sent_bytes
from synctax.planning.divisibility import CHUNKS_WITHOUT_LAYERS
from synctax.planning.pipeline import split_layers
from synctax.planning.ties import within_error
from synctax.planning.training import DIMENSIONS, ORDERS

if TYPE_CHECKING:
    from synctax.planning.search import Plan

Columns = dict[str, "npt.NDArray[Any] | list[Any]"]


def plan_columns(plan: "Plan", rows: I64 | None = None) -> Columns:
    """Build the columns of some rows.

    Parameters
    ----------
    plan : Plan
    rows : (j,) int64, optional
        Which, and in what order; all, in the order of the plan, if not given.

    Returns
    -------
    dict of str to (j,) values
        In the order of the table; None and NaN stand for absent.
    """
    at = np.arange(len(plan)) if rows is None else np.asarray(rows, np.int64)
    numbers = _numbers(plan, at) | _judged(plan, at) | _words(plan, at)
    from synctax.schema.plan import PLAN

    return {name: numbers[name] for name in PLAN.names}


def split_text(split: Sequence[int]) -> str:
    """Write how layers split, runs of equal ones together.

    Examples
    --------
    >>> split_text((7, 8, 8, 8, 7)), split_text((14, 14))
    ('7, 3×8, 7', '2×14')
    """
    said: list[str] = []
    first = 0
    for at in range(1, len(split) + 1):
        if at == len(split) or split[at] != split[first]:
            many = at - first
            said.append(f"{many}×{split[first]}" if many > 1 else f"{split[first]}")
            first = at
    return ", ".join(said)


def _numbers(plan: "Plan", at: I64) -> Columns:
    cost = plan.costs
    told: Columns = {
        name: getattr(plan.layouts, name)[at] for name in (*DIMENSIONS, "virtual_stages")
    }
    told |= {
        f"{name}_bytes": getattr(cost.volumes, f"{name}_bytes")[at] for name in DIMENSIONS
    }
    held = ("state", "activation", "memory", "memory_lo", "memory_hi")
    told |= {f"{name}_bytes": getattr(cost.memory, f"{name}_bytes")[at] for name in held}
    told |= {
        "microbatches": cost.microbatches[at],
        "barriers": cost.barriers.count[at],
        "bubble": cost.bubble[at],
        "nvlink_s": cost.times.nvlink_s[at],
        "nic_s": cost.times.nic_s[at],
        "compute_s": cost.compute_s[at],
        "tax_s": cost.taxed.tax_s[at],
        "step_s": cost.step_s[at],
        "imbalance": cost.imbalance[at],
        "recomputed_layers": cost.memory.recomputed_layers[at],
        "exposed_s": cost.exposed_s[at],
        "nic_share": cost.nic_share[at],
        "barrier_n": cost.barriers.n[at],
        "tax_lo_s": cost.taxed.tax_lo_s[at],
        "tax_hi_s": cost.taxed.tax_hi_s[at],
        "tax_reach": cost.taxed.reach[at],
        "step_mfu": cost.step_mfu(plan.setting)[at],
    }
    return told


def _judged(plan: "Plan", at: I64) -> Columns:
    places = plan.feasible_rank[at]
    groups = np.array(BARRIER_GROUPS, object)
    told: Columns = {
        "fits": plan.costs.memory.memory_bytes[at] <= plan.setting.budget_bytes,
        "feasible_rank": [place or None for place in places.tolist()],
        "pareto": plan.pareto[at],
        "within_error": within_error(plan)[at],
        "order": np.array(ORDERS, object)[plan.costs.placement.order[at]],
        "barrier_group": groups[plan.costs.barriers.group[at]],
    }
    sent = sent_bytes(plan.costs.volumes)
    links = np.array([None, "nvlink", "nic"], object)
    for row, name in enumerate(DIMENSIONS):
        link = np.where(plan.costs.placement.inside[row, at], 1, 2)
        told[f"{name}_link"] = links[np.where(sent[row, at] > 0, link, 0)]
    return told


def _words(plan: "Plan", at: I64) -> Columns:
    model = plan.setting.model
    most = model.layers + CHUNKS_WITHOUT_LAYERS
    each = (plan.layouts.pp[at].tolist(), plan.layouts.virtual_stages[at].tolist())
    pairs = list(zip(*each, strict=True))
    splits = {
        (p, v): split_text(split_layers(model, p, v)) if p * v <= most else None
        for p, v in set(pairs)
    }
    return {
        "layout": [str(plan.layouts[one]) for one in at.tolist()],
        "eliminated_because": _joined(plan.reasons(at)),
        "would_fit": _joined(plan.remedies(at)),
        "warnings": _joined(plan.warnings(at)),
        "stage_layers": [splits[pair] for pair in pairs],
    }


def _joined(said: list[list[str]]) -> list[str | None]:
    return ["; ".join(texts) if texts else None for texts in said]
