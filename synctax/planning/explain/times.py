"""Where the time of a step goes, part by part, and the tax on its own line."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from synctax.planning.costs import sent_bytes
from synctax.planning.domains import DP
from synctax.planning.explain.terms import Row, Terms
from synctax.planning.flop import attention_flop
from synctax.planning.tax import independent_share, wait_us
from synctax.planning.training import DIMENSIONS
from synctax.texts import number, time_us

if TYPE_CHECKING:
    from synctax.planning.search import Plan

_SECTION: Final = "times"


def step_parts(plan: "Plan", at: int) -> dict[str, float]:
    """Split the time of a step into what it is made of.

    Parameters
    ----------
    plan : Plan
    at : int
        Which layout.

    Returns
    -------
    dict of str to float
        In s; the sum is `step_s`.
    """
    cost = plan.costs
    busy, uneven = float(cost.compute_s[at]), float(cost.imbalance[at])
    parts = {
        "compute_s": busy,
        "imbalance_s": busy * (uneven - 1),
        "bubble_s": busy * uneven * float(cost.bubble[at]),
    }
    for row, name in enumerate(DIMENSIONS):
        parts[f"{name}_exposed_s"] = float(cost.times.exposed_s[row, at])
    parts["tax_s"] = float(cost.taxed.tax_s[at])
    return parts


def time_rows(known: Terms) -> Iterator[Row]:
    """Explain computation, sending, what is exposed, and their sum.

    Parameters
    ----------
    known : Terms

    Yields
    ------
    Row
    """
    plan, at = known.plan, known.at
    cost = plan.costs
    again = float(cost.memory.recompute_flop_share[at])
    known = known.with_symbols(
        again=again,
        compute=float(cost.compute_s[at]),
        imbalance=float(cost.imbalance[at]),
        bubble=float(cost.bubble[at]),
        exposed=float(cost.exposed_s[at]),
        tax=float(cost.taxed.tax_s[at]),
    )
    flop = "6·{P_active}·{B}·{s}"
    if plan.setting.training.count_attention:
        scores = attention_flop(plan.setting.model, plan.setting.training)
        known, flop = known.with_symbols(scores=scores), f"({flop} + {{scores}})"
    flop += "/({gpus}·{peak}·{mfu})"
    template = f"{flop}·(1 + {{again}})" if again else flop
    yield known.row(_SECTION, "compute_s", cost.compute_s[at], "s", template)
    yield known.row(_SECTION, "bubble", cost.bubble[at], None, "({p} − 1)/({v}·{m})")
    yield from _sending(known)
    total = "{compute}·{imbalance}·(1 + {bubble}) + {exposed} + {tax}"
    yield known.row(_SECTION, "step_s", cost.step_s[at], "s", total)
    for name, value in step_parts(plan, at).items():
        share = value / float(cost.step_s[at])
        if value:
            said = f"{100 * share:.3g} % of a step"
            yield Row(_SECTION, f"of_step_{name}", value, "s", words=said)


def _sending(known: Terms) -> Iterator[Row]:
    setting, cost, at = known.plan.setting, known.plan.costs, known.at
    sent, times = sent_bytes(cost.volumes)[:, at], cost.times
    for row, name in enumerate(DIMENSIONS):
        if not sent[row]:
            continue
        inside = bool(cost.placement.inside[row, at])
        slower = float(cost.placement.oversubscription[row, at])
        rate = setting.nvlink_bytes_per_s if inside else setting.nic_bytes_per_s
        link = "nvlink" if inside else "nic"
        template = "·{oversubscription}" if slower > 1 else ""
        if setting.assumptions.pooled_nics and not inside:
            link, template = "nics", ""
            rate = float(sent[row]) / float(times.sending_s[row, at])
        one = known.with_symbols(
            **{"sent": float(sent[row]), link: rate, "oversubscription": slower}
        )
        template = f"{{sent}}/{{{link}}}{template}"
        yield one.row(_SECTION, f"{name}_s", times.sending_s[row, at], "s", template)
        yield _exposed(one, row)


def _exposed(known: Terms, row: int) -> Row:
    name, at = DIMENSIONS[row], known.at
    share = getattr(known.plan.setting.assumptions.exposed, name)
    value = float(known.plan.costs.times.exposed_s[row, at])
    sending = float(known.plan.costs.times.sending_s[row, at])
    quantity = f"{name}_exposed_s"
    if row == DP and share is None:
        said = f"{number(value)} s of {number(sending)} s take longer than what hides them"
        return Row(_SECTION, quantity, value, "s", words=said)
    known = known.with_symbols(sending=sending, share=share)
    return known.row(_SECTION, quantity, value, "s", "{share}·{sending}")


def tax_rows(known: Terms) -> Iterator[Row]:
    """Explain the tax: of one barrier, of a step, its interval, its reach.

    Parameters
    ----------
    known : Terms

    Yields
    ------
    Row
    """
    plan, at = known.plan, known.at
    tax, waits, met = plan.setting.tax, plan.costs.taxed, plan.costs.barriers
    if tax is None:
        yield Row("tax", "tax_s", 0.0, "s", words="no tax model: none is counted")
        return
    if met.n[at] == 1:
        yield Row("tax", "tax_s", 0.0, "s", words="no rank waits for another")
        return
    value, n = float(waits.tax_s[at]), int(met.n[at])
    busy, count = float(plan.costs.compute_s[at]), float(met.count[at])
    known = known.with_symbols(compute=busy, barriers=count)
    yield known.row(
        "tax", "compute_per_barrier_s", busy / count, "s", "{compute}/{barriers}"
    )
    if tax.form == "proportional" and tax.a_us is not None:
        known = known.with_symbols(tau_us=wait_us(tax, n), a_us=tax.a_us)
        yield known.row("tax", "tax_s", value, "s", "{compute}·{tau_us}/{a_us}")
    else:
        known = known.with_symbols(tau_us=wait_us(tax, n))
        yield known.row("tax", "tax_s", value, "s", "{barriers}·{tau_us}/1e6")
    ends = (float(waits.tax_lo_s[at]), float(waits.tax_hi_s[at]))
    for name, end in zip(("tax_lo_s", "tax_hi_s"), ends, strict=True):
        if end == end:
            yield Row("tax", name, end, "s", words=f"{number(end / busy)} of computation")
    if tax.a_us is not None:
        share = float(independent_share(tax.a_us, met.count[at], plan.costs.compute_s[at]))
        said = (
            f"if blocks, {number(share**-2)} times as long as where the tax was measured, "
            f"are not slow in one piece but even out: {number(share)} of the share; the "
            "interval holds both"
        )
        yield Row("tax", "tax_independent_s", value * share, "s", words=said)
    each_us = float(waits.tau_us[at])
    yield Row("tax", "tax_per_barrier_us", each_us, "us", words=time_us(each_us))
    reach = float(waits.reach[at])
    said = f"{n:,} ranks, {number(reach)} times the {tax.model.n_fit} of the fit"
    yield Row("tax", "tax_reach", reach, words=said)
