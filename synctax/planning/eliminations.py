"""Rules of the machine: the domain that TP must not leave, memory, order, the tax."""

from collections.abc import Iterator

import numpy as np

from synctax.arrays import I64
from synctax.planning.costs import Costs
from synctax.planning.divisibility import divisibility, room_of, tp_remedy
from synctax.planning.domains import (
    DP_LAST,
    PP_LAST,
    TP,
    dp_may_be_last,
    expert_tp,
    straddles,
)
from synctax.planning.layout import Layouts
from synctax.planning.remedies import in_words
from synctax.planning.rule import Rule, always, each, keyed, seconds
from synctax.planning.setting import Setting
from synctax.planning.tax import most_ranks
from synctax.planning.times import nic_bytes_per_s
from synctax.planning.training import ORDERS
from synctax.texts import number, percent, size_bytes


def eliminations(setting: Setting, layouts: Layouts, cost: Costs) -> tuple[Rule, ...]:
    """Apply every rule that eliminates; a layout that breaks none is feasible.

    Parameters
    ----------
    setting : Setting
    layouts : Layouts
        k of them.
    cost : Costs

    Returns
    -------
    tuple of Rule
        Each over all layouts, none stops at another's verdict.
    """
    return (
        *divisibility(setting, layouts),
        *_order(setting, layouts),
        *_tp_domain(setting, layouts, cost),
        _memory(setting, layouts, cost),
        *_tax(setting, cost),
    )


def _tp_domain(setting: Setting, layouts: Layouts, cost: Costs) -> Iterator[Rule]:
    if setting.assumptions.tp_across_domains:
        return
    domain = setting.platform.domain
    leaves: dict[int, str] = {}
    pooled = nic_bytes_per_s(setting, layouts, cost.placement, pooled=True)[TP]

    alone = setting.assumptions.pooled_nics | (cost.placement.together[TP] == 1)

    def reason(
        t: int, sent: float, nic_s: float, shared: float, compute_s: float, own: bool
    ) -> str:
        inside = seconds(sent / setting.nvlink_bytes_per_s)
        also = "" if own else f"{seconds(sent / shared)} over those of all its GPUs, "
        if t not in leaves:
            leaves[t] = _leaves(domain, t, setting.gpus)
        return (
            f"tp {t} {leaves[t]}: its {size_bytes(sent)} a step "
            f"take {seconds(nic_s)} over NICs ({also}{inside} over NVLink), "
            f"{percent(nic_s / compute_s)} of the {seconds(compute_s)} of computation"
        )

    nearest_tp = tp_remedy(room_of(setting), layouts)

    def remedy(rows: I64) -> list[str]:
        each_tp = zip(nearest_tp(rows), layouts.tp[rows].tolist(), strict=True)
        return [
            said
            + (f", or {domain // t * t} of the {domain} GPUs of a domain" * (t < domain))
            for said, t in each_tp
        ]

    yield Rule(
        "tp_domain",
        ~cost.placement.inside[TP],
        keyed(
            reason,
            layouts.tp,
            cost.volumes.tp_bytes,
            cost.times.sending_s[TP],
            pooled,
            cost.compute_s,
            alone,
        ),
        remedy,
        f"tp divides the NVLink domain of {domain}",
    )


def _leaves(domain: int, t: int, gpus: int) -> str:
    if t > domain:
        return f"is larger than the NVLink domain of {domain}"
    first = straddles(domain, t, gpus)
    where = "" if first is None else f": GPUs {first}–{first + t - 1} straddle its end"
    return f"does not tile the NVLink domain ({domain} mod {t} = {domain % t}{where})"


def _memory(setting: Setting, layouts: Layouts, cost: Costs) -> Rule:
    budget, held = setting.budget_bytes, cost.memory
    reserve = setting.assumptions.reserve_bytes
    called = f"{size_bytes(budget)}" + (
        f" ({size_bytes(reserve)} in reserve)" if reserve else ""
    )

    def reason(at: int) -> str:
        return (
            f"needs {size_bytes(held.memory_bytes[at])} of {called}: "
            f"{size_bytes(held.state_bytes[at])} of state and "
            f"{size_bytes(held.activation_bytes[at])} of activations"
        )

    def remedy(rows: I64) -> list[str]:
        return in_words(setting, layouts, rows)

    return Rule(
        "memory",
        held.memory_bytes > budget,
        each(reason),
        remedy,
        f"memory of a GPU ≤ {called}",
    )


def _order(setting: Setting, layouts: Layouts) -> Iterator[Rule]:
    if setting.training.order != ORDERS[DP_LAST] or setting.model.experts is None:
        return
    there = layouts.tp * layouts.cp * layouts.dp // expert_tp(setting.training, layouts)

    def reason(e: int, there: int, d: int) -> str:
        return (
            f"order {ORDERS[DP_LAST]} with stages needs as many replicas of experts as of "
            f"all else, and ep {e} leaves {number(there / e)} beside {d:,}"
        )

    yield Rule(
        "order",
        ~dp_may_be_last(setting.training, layouts),
        keyed(reason, layouts.ep, there, layouts.dp),
        always(f"order {ORDERS[PP_LAST]}"),
        f"order {ORDERS[DP_LAST]} only with as many replicas of experts as of all else",
    )


def _tax(setting: Setting, cost: Costs) -> Iterator[Rule]:
    if setting.tax is None:
        return
    method, most = setting.tax.method, most_ranks(setting.tax)
    yield Rule(
        "tax_known",
        np.isnan(cost.taxed.tax_s),
        keyed(
            lambda n: (
                f"{n:,} ranks meet at a barrier, and {method} predicts a tax for up "
                f"to {most:,.0f}"
            ),
            cost.barriers.n,
        ),
        always("another method of the tax model"),
        "the tax model says something of as many ranks as meet",
    )
