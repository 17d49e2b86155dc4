"""What layouts bring with them where groups leave a domain: rails, tiers, NICs in use."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.notes import Note
from synctax.planning.costs import Costs, sent_bytes
from synctax.planning.crossings import crosses, uplinks
from synctax.planning.domains import (
    CP,
    DP,
    DP_LAST,
    EP,
    PP,
    TP,
    place,
)
from synctax.planning.layout import Layouts, take
from synctax.planning.platform import Tier
from synctax.planning.rule import Rule, each, keyed, nothing, seconds
from synctax.planning.setting import Setting
from synctax.planning.times import times
from synctax.planning.training import DIMENSIONS, ORDERS
from synctax.texts import number, size_bytes

NOTABLE_SHARE: Final = 0.02
"""Of a step: what NICs that are not counted would shorten it by, to be worth a word."""

SMALLER_DOMAIN: Final = "smaller_domain"


def link_cautions(setting: Setting, layouts: Layouts, cost: Costs) -> Iterator[Rule]:
    """Apply every rule that warns of what leaves a domain.

    Parameters
    ----------
    setting : Setting
    layouts : Layouts
        k of them.
    cost : Costs

    Yields
    ------
    Rule
    """
    for row in (CP, EP, PP, DP):
        yield _rails(setting, cost, row)
    yield from _tiers(setting, layouts, cost)
    yield from _nics(setting, layouts, cost)
    yield from _smaller_domain(setting, cost)


def _rails(setting: Setting, cost: Costs, row: int) -> Rule:
    host, name = setting.platform.gpus_per_host, DIMENSIONS[row]

    def reason(far: int) -> str:
        apart = f"{name.upper()} leaves the domain with neighbours {far:,} ranks apart"
        if row == PP:
            return (
                f"{apart}, no multiple of the {host} GPUs of a host: local indices differ, "
                "and with them rails"
            )
        return (
            f"{apart}: on some hosts of {host} GPUs a group has other local indices than "
            "on the next, and with them other rails"
        )

    keeps = {PP: "that PP joins over NICs have one local index"}
    same = f"of a group of {name.upper()} have the same local indices on every host"
    return Rule(
        f"{name}_rails",
        ~cost.placement.rails[row],
        keyed(reason, cost.placement.stride[row]),
        nothing,
        f"ranks {keeps.get(row, same)}",
    )


def _tiers(setting: Setting, layouts: Layouts, cost: Costs) -> Iterator[Rule]:
    """Warn of what crosses an oversubscribed tier and is not the outermost dimension."""
    outermost = _outermost(layouts, cost.placement.order == DP_LAST)
    for tier in setting.platform.tiers:
        if tier.oversubscription > 1:
            crossing = _crossing(layouts, cost, tier)
            # what one replica reduces, it reduces over the dimension that is outermost
            crossing[DP] &= (layouts.dp > 1) | (layouts.pp > 1)
            for row in (TP, CP, EP, PP, DP):
                broken = crossing[row] & (outermost != row)
                yield _tier(setting, layouts, cost, row, tier, broken)


def _crossing(layouts: Layouts, cost: Costs, tier: Tier) -> Bool:
    where = cost.placement
    ranks = layouts.tp * layouts.pp * layouts.dp * layouts.cp
    sends = sent_bytes(cost.volumes) > 0
    return sends & crosses(tier, where.inside, where.span, ranks)


def _outermost(layouts: Layouts, dp_last: Bool) -> I64:
    """Find the dimension that varies slowest over ranks."""
    p, d = layouts.pp > 1, layouts.dp > 1
    inner = np.where(layouts.cp > 1, CP, TP)
    pp_last = np.where(p, PP, np.where(d, DP, inner))
    return np.where(dp_last & d, DP, pp_last)


def _tier(
    setting: Setting, layouts: Layouts, cost: Costs, row: int, tier: Tier, broken: Bool
) -> Rule:
    name = DIMENSIONS[row]

    def words(rows: I64) -> list[str]:
        crowds = _crowding(setting, layouts, cost, tier, rows)[row]
        return [reason(*one) for one in zip(rows.tolist(), crowds.tolist(), strict=True)]

    def reason(at: int, crowd: float) -> str:
        sent = float(sent_bytes(cost.volumes)[row, at])
        carry = uplinks(tier)
        slower = f"{number(crowd)} times slower" if crowd > 1 else "no slower"
        return (
            f"{name.upper()} crosses blocks of {tier.gpus:,} GPUs, "
            f"{number(tier.oversubscription)}:1 oversubscribed, with {size_bytes(sent)} a "
            f"step ({seconds(cost.times.sending_s[row, at])}), and is not outermost: "
            f"{number(crowd * carry)} flows leave a block over uplinks for {number(carry)} "
            f"NICs, {slower}"
        )

    return Rule(
        f"{name}_tier_{tier.gpus}",
        broken,
        words,
        nothing,
        f"{name.upper()} within {tier.gpus:,} GPUs, or outermost",
    )


def _crowding(
    setting: Setting, layouts: Layouts, cost: Costs, tier: Tier, rows: I64
) -> F64:
    """Tell of some rows how many flows share each NIC of a tier's uplinks."""
    if len(setting.platform.tiers) == 1:
        return cost.placement.crowding[:, rows]
    alone = replace(setting.platform, tiers=(tier,))
    some, order = take(layouts, rows), cost.placement.order[rows]
    sent = sent_bytes(cost.volumes)[:, rows]
    experts = setting.model.experts is not None
    each_order = [
        place(alone, replace(setting.training, order=one), some, sent, experts=experts)
        for one in ORDERS
    ]
    return np.choose(order, [one.crowding for one in each_order])


def _nics(setting: Setting, layouts: Layouts, cost: Costs) -> Iterator[Rule]:
    """Warn where the NICs of all ranks of a group would shorten a step."""
    if setting.assumptions.pooled_nics:
        return
    shared = replace(setting.assumptions, pooled_nics=True)
    sent = sent_bytes(cost.volumes)
    then = times(
        replace(setting, assumptions=shared), layouts, cost.placement, sent, cost.compute_s
    )
    saved_s = cost.times.exposed_s - then.exposed_s
    step_s = cost.step_s - saved_s.sum(axis=0)

    def reason(at: int) -> str:
        who = [name.upper() for row, name in enumerate(DIMENSIONS) if saved_s[row, at] > 0]
        return (
            f"{' and '.join(who)} at the rate of one NIC a group: with the NICs of all its "
            f"ranks in a domain a step takes {seconds(step_s[at])}, not "
            f"{seconds(cost.step_s[at])} (--pool-nics)"
        )

    yield Rule(
        "pooled_nics",
        saved_s.sum(axis=0) > NOTABLE_SHARE * cost.step_s,
        each(reason),
        nothing,
        "the rate of one NIC a group makes no step longer that the NICs of all its ranks "
        "in a domain would shorten",
    )


def smaller_domain(setting: Setting) -> int | None:
    """Tell the largest power of two in a domain, where a job's GPUs fill only such ones.

    Parameters
    ----------
    setting : Setting

    Returns
    -------
    int or None
        64 for racks of 72, where the job's GPUs are a multiple of 64 and not of 72.

    Examples
    --------
    >>> from synctax.planning.inputs.named import read_model, read_platform
    >>> from synctax.planning.training import Training
    >>> model, rack = read_model("llama3-8b"), read_platform("gb200-nvl72")
    >>> smaller_domain(Setting(model, rack, 256, Training(256, 8_192)))
    64
    """
    domain = setting.platform.domain
    power = 1 << (domain.bit_length() - 1)
    fits = setting.gpus % power == 0 and setting.gpus % domain > 0
    return power if fits and setting.gpus > domain else None


def domain_notes(
    setting: Setting, warned: tuple[Rule, ...], feasible: Bool
) -> Iterator[Note]:
    """Count the feasible layouts that only a smaller domain would keep inside.

    Parameters
    ----------
    setting : Setting
    warned : tuple of Rule
        Those of `link_cautions` among them.
    feasible : (k,) bool

    Yields
    ------
    Note
    """
    power, domain = smaller_domain(setting), setting.platform.domain
    for rule in warned:
        many = int((rule.broken & feasible).sum())
        if rule.name == SMALLER_DOMAIN and many:
            yield Note(
                SMALLER_DOMAIN,
                many,
                f"groups of a feasible layout leave a domain of {domain} and would not "
                f"leave one of {power}, of which {setting.gpus:,} GPUs are a multiple "
                f"(--domain {power})",
            )


def _smaller_domain(setting: Setting, cost: Costs) -> Iterator[Rule]:
    power, domain, where = smaller_domain(setting), setting.platform.domain, cost.placement
    if power is None:
        return
    leaves = (sent_bytes(cost.volumes) > 0) & ~where.inside & (power % where.span == 0)
    # TP is told so where it is eliminated
    leaves[TP] = False

    def reason(at: int) -> str:
        who = [name.upper() for row, name in enumerate(DIMENSIONS) if leaves[row, at]]
        return (
            f"groups of {' and '.join(who)} leave the domain of {domain} and would not "
            f"leave one of {power}: {setting.gpus:,} GPUs are a multiple of {power} only "
            f"(--domain {power})"
        )

    yield Rule(
        SMALLER_DOMAIN,
        leaves.any(axis=0),
        each(reason),
        nothing,
        f"nothing leaves a domain of {domain} that would not leave one of {power}",
    )
