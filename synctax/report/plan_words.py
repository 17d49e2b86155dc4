"""What a plan comes to, in sentences: what was looked at, assumed, and waited for."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from synctax.arrays import I64
from synctax.planning.barriers import BARRIER_GROUPS
from synctax.planning.flop import attention_flop, step_flop
from synctax.planning.rule import seconds as shortened
from synctax.planning.search import Plan
from synctax.planning.setting import Setting
from synctax.planning.tax import PlanTax
from synctax.planning.training import DIMENSIONS, Exposed
from synctax.texts import counted, number, percent, size_bytes, time_us

_US_PER_MS = 1e3


def seconds(value_s: float) -> str:
    """Write a time that is given in seconds; none is 0 s.

    Examples
    --------
    >>> seconds(0.0), seconds(0.676), seconds(162.85)
    ('0 s', '676 ms', '163 s')
    """
    return shortened(value_s) if value_s else "0 s"


def step(value_s: float) -> str:
    """Write the time of a step, of which layouts often differ by little.

    Examples
    --------
    >>> step(111.9428), step(0.0127)
    ('111.9 s', '12.7 ms')
    """
    return f"{number(value_s, digits=4)} s" if value_s >= 1 else seconds(value_s)


def quantity(name: str, unit: str | None) -> str:
    """Write a quantity for people, without its unit, which stands beside its value.

    Examples
    --------
    >>> quantity("pp_bytes", "bytes"), quantity("pp_s", "s"), quantity("pp", None)
    ('PP sends', 'PP takes', 'PP')
    >>> quantity("memory_lo_bytes", "bytes"), quantity("nic_s", "s")
    ('memory at least', 'NIC busy')
    """
    if name == "barrier_n":
        return "ranks at a barrier"
    bare = name if unit is None else name.removesuffix(f"_{unit}")
    text = " ".join(_SPELLED.get(part, part) for part in bare.split("_"))
    if bare in DIMENSIONS and unit is not None:
        text += " sends" if unit == "bytes" else " takes"
    if bare in ("bubble", "imbalance") and unit is not None:
        text += " time"
    return f"{text} busy" if bare in ("nvlink", "nic") else text


_SPELLED = {
    **{name: name.upper() for name in (*DIMENSIONS, "nic", "mfu")},
    "gpus": "GPUs",
    "nvlink": "NVLink",
    "lo": "at least",
    "hi": "at most",
}
"""Parts of names of columns as people write them."""


@dataclass(frozen=True, slots=True)
class Elimination:
    """A rule that some layouts break.

    Parameters
    ----------
    rule : str
        Its stable name.
    keeps : str
        What it asks for.
    layouts : int
        That break it.
    alone : int
        That break no other.
    """

    rule: str
    keeps: str
    layouts: int
    alone: int


def eliminated(plan: Plan) -> list[Elimination]:
    """Count what eliminates layouts, the rule that most of them break first."""
    many = np.zeros(len(plan), np.int64)
    for rule in plan.eliminations:
        many += rule.broken
    found = [
        Elimination(
            rule.name,
            rule.keeps,
            int(rule.broken.sum()),
            int((rule.broken & (many == 1)).sum()),
        )
        for rule in plan.eliminations
        if rule.broken.any()
    ]
    return sorted(found, key=lambda one: -one.layouts)


def looked_at(plan: Plan) -> str:
    """Say of what there are how many layouts."""
    setting = plan.setting
    training, platform = setting.training, setting.platform
    feasible = int(plan.feasible.sum())
    text = (
        f"{counted(len(plan), 'layout')} of {setting.model.name} on "
        f"{counted(setting.gpus, 'GPU')} of {platform.name}, {training.batch:,} × "
        f"{training.sequence:,} tokens a step: "
    )
    front = int(plan.pareto.sum())
    if front <= 1:
        return f"{text}{f'{feasible:,} feasible' if feasible else 'none is feasible'}"
    return (
        f"{text}{feasible:,} feasible, {front:,} of them marked *: no other is better in "
        "step time, memory and NIC share"
    )


def fastest(plan: Plan, at: int) -> str:
    """Say what the fastest layout reaches."""
    setting = plan.setting
    step_s = float(plan.costs.step_s[at])
    tokens = setting.training.batch * setting.training.sequence
    mfu = float(plan.costs.step_mfu(setting)[at])
    return (
        f"fastest: {plan.layouts[at]}, {step(step_s)} a step, "
        f"{number(round(tokens / step_s / setting.gpus))} tokens/s a GPU, "
        f"{percent(mfu)} of the BF16 peak; ranks in order {plan.order(at)}"
    )


def assumed(setting: Setting) -> list[str]:
    """Say what was assumed of the machine, and what is kept in memory."""
    platform, own = setting.platform, setting.assumptions
    peak = f"{number(platform.bf16_tflops)} TFLOP/s"
    speed = (
        f"assumed: computation alone at {_share(own.mfu)} of {peak}; "
        f"{_rate(own.nvlink_efficiency, platform.nvlink_gb_per_s)} over NVLink within "
        f"{platform.domain:,} GPUs, {_rate(own.nic_efficiency, platform.nic_gb_per_s)} "
        f"over {'NICs of all of a group in a domain' if own.pooled_nics else 'the NIC'}; "
        f"{_exposed(setting)}; {_attention(setting)}"
    )
    for tier in platform.tiers:
        speed += f"; {number(tier.oversubscription)}:1 between blocks of {tier.gpus:,} GPUs"
    return [speed, _held(setting)]


def _attention(setting: Setting) -> str:
    """Say what attention's scores are beside what is counted of parameters."""
    alone = replace(setting.training, count_attention=False)
    share = attention_flop(setting.model, alone) / step_flop(setting.model, alone)
    counted = "" if setting.training.count_attention else "not "
    return f"scores of attention {counted}counted: {percent(share)} more operations"


def _share(share: float) -> str:
    return f"{number(100 * share)} %"


def _rate(efficiency: float, gb_per_s: float) -> str:
    part = "" if efficiency == 1 else f"{_share(efficiency)} of "
    return f"{part}{number(gb_per_s)} GB/s"


def _exposed(setting: Setting) -> str:
    """Say what of communication is not hidden."""
    own: Exposed = setting.assumptions.exposed
    by_share: dict[float, list[str]] = {}
    for name in DIMENSIONS:
        share = getattr(own, name)
        if share is not None:
            by_share.setdefault(share, []).append(name.upper())
    said = [
        f"{_share(share)} of {', '.join(names)}"
        for share, names in sorted(by_share.items(), reverse=True)
    ]
    if own.dp is None:
        beside = "step" if setting.training.sharding == "parameters" else "microbatch"
        said.append(f"of DP what is longer than the computation of a {beside}")
    return f"exposed: {', '.join(said)}"


def _held(setting: Setting) -> str:
    training = setting.training
    budget = size_bytes(setting.budget_bytes)
    reserve = setting.assumptions.reserve_bytes
    over = "dp·cp" if training.shard_over == "d*c" else "dp"
    state = {
        "none": "state whole on every rank of DP",
        "optimizer": f"optimizer state sharded over {over}",
        "gradients": f"optimizer state and gradients sharded over {over}",
        "parameters": f"state sharded over {over}, parameters too",
    }[training.sharding]
    again = {
        "none": "nothing recomputed",
        "selective": "attention recomputed (selective)",
        "full": "all layers recomputed",
        "fit": "as many layers recomputed as memory asks",
    }[training.recompute]
    parallel = "with" if training.sequence_parallel else "without"
    kept = f" ({size_bytes(reserve)} in reserve)" if reserve else ""
    return (
        f"memory: {budget} a GPU{kept}; {state}; {again}; {parallel} sequence parallelism; "
        f"microbatches of {training.microbatch:,}"
    )


def taxed(plan: Plan, rows: I64, called: str) -> Iterator[str]:
    """Say what waiting at barriers costs the first of some layouts, and how that is known.

    Parameters
    ----------
    plan : Plan
    rows : (j,) int64
        Those that are told.
    called : str
        What the tax is called.

    Yields
    ------
    str
        The wait with its interval and its reach; what it is in proportion to.
    """
    tax = plan.setting.tax
    if tax is None:
        yield charged(plan.setting, called)
        return
    if not len(rows):
        yield charged(plan.setting, called)
        return
    yield _waited(plan, int(rows[0]), tax)
    yield f"  {charged(plan.setting, called).removeprefix('tax: ')}"


def charged(setting: Setting, called: str) -> str:
    """Say which tax is counted, and in which form."""
    tax = setting.tax
    if tax is None:
        return "tax: none, so waiting at barriers is not in the times"
    return f"tax: {name_of(setting, called)}; {_form(tax)}; {_JOINED[tax.joined]}"


def name_of(setting: Setting, called: str) -> str:
    """Tell what a tax is called whose interval is of what it is in proportion to."""
    tax = setting.tax
    own = tax is not None and tax.a_us is not None
    return called.removesuffix(", no interval") if own else called


_JOINED = {
    "inner": "of those that a layer joins, the ranks of the innermost dimension count",
    "layer": "all ranks count that a collective of a layer joins",
}
"""Whose ranks count at a barrier."""


def _waited(plan: Plan, at: int, tax: PlanTax) -> str:
    cost = plan.costs
    met, waits = cost.barriers, cost.taxed
    group = BARRIER_GROUPS[int(met.group[at])]
    if group == "none":
        return f"tax of {plan.layouts[at]}: none, no ranks meet"
    n = int(met.n[at])
    whose = f" of {group.upper()}" if tax.joined == "inner" else ""
    return (
        f"tax of {plan.layouts[at]}: {seconds(float(waits.tax_s[at]))}"
        f"{_interval(waits.tax_lo_s[at], waits.tax_hi_s[at])}, "
        f"{percent(float(waits.tax_s[at] / cost.step_s[at]))} of the step: "
        f"{counted(n, 'rank')}{whose} meet {number(round(met.count[at]))} "
        f"times, {_reach(float(waits.reach[at]), tax.model.n_fit)}"
    )


def _interval(lo_s: float, hi_s: float) -> str:
    if np.isnan(lo_s) or np.isnan(hi_s):
        return " (no interval)"
    return f" ({seconds(float(lo_s))} to {seconds(float(hi_s))})"


def _reach(reach: float, n_fit: int) -> str:
    if reach == 1:
        return f"as many as the {n_fit:,} of the fit"
    return f"{number(reach)} × the {n_fit:,} of the fit"


def _form(tax: PlanTax) -> str:
    if tax.form == "absolute":
        return "the same microseconds at every barrier, whatever is computed before it"
    if tax.a_lo_us is None or tax.a_lo_us == tax.a_hi_us:
        before = time_us(tax.a_us)
    else:
        before = f"{number(tax.a_lo_us / _US_PER_MS)} to {time_us(tax.a_hi_us)}"
    return (
        f"in proportion to the computation before a barrier: {before} where it was "
        "measured; the interval also holds blocks whose slow and fast parts even out"
    )
