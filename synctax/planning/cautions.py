"""What a layout that can run still brings with it: rules that warn and do not eliminate."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from synctax.arrays import I64, Bool
from synctax.planning.costs import Costs
from synctax.planning.divisibility import CHUNKS_WITHOUT_LAYERS
from synctax.planning.domains import (
    CP,
    DP,
    DP_LAST,
    EP,
    PP,
    TP,
    apart,
    own_order,
    sizes,
    spans,
)
from synctax.planning.layout import Layouts, take
from synctax.planning.pipeline import output_work, split_layers
from synctax.planning.platform import Tier
from synctax.planning.rule import Rule, always, each, keyed, nothing, seconds
from synctax.planning.setting import Setting
from synctax.planning.training import DIMENSIONS, ORDERS
from synctax.texts import number, percent, size_bytes

FAR_REACH: Final = 8.0
"""Ranks over those of the fit beyond which a tax is called extrapolated."""

EVEN_SHARE: Final = 0.01
"""By how much a stage may compute more than the average before that is worth a word."""

FEW_TOKENS: Final = 1_024
"""Rows of a matrix product below which it is far from its best: its weights are read for
few operations each (of an H100, 989 TFLOP/s over 3.35 TB/s are 295 operations a byte)."""


def cautions(setting: Setting, layouts: Layouts, cost: Costs) -> tuple[Rule, ...]:
    """Apply every rule that warns.

    Parameters
    ----------
    setting : Setting
    layouts : Layouts
        k of them.
    cost : Costs

    Returns
    -------
    tuple of Rule
        A layout that breaks them is feasible all the same.
    """
    return (
        _uneven(setting, layouts, cost),
        *_kv_copies(setting, layouts),
        _sequence_parallel(setting, layouts),
        _close_to_full(setting, cost),
        *(_rails(setting, layouts, cost, row) for row in (CP, EP, PP, DP)),
        *_tiers(setting, layouts, cost),
        *_far(setting, cost),
        _few_tokens(setting, layouts),
        _order(setting, layouts, cost),
    )


def _uneven(setting: Setting, layouts: Layouts, cost: Costs) -> Rule:
    model = setting.model
    output = number(output_work(model, setting.training))

    def reason(p: int, v: int) -> str:
        split = split_layers(model, p, v)
        held = " and ".join(
            f"{split.count(one)} of {one}" for one in sorted({*split}, reverse=True)
        )
        called = "stages" if v == 1 else "chunks"
        return (
            f"{model.layers} layers over {p * v:,} {called}: {held}, and the output layer "
            f"is worth {output} on the last one; the fullest stage computes "
            f"{percent(fullest[p, v] - 1)} more than the average"
        )

    both = zip(layouts.pp.tolist(), layouts.virtual_stages.tolist(), strict=True)
    fullest = dict(zip(both, cost.imbalance.tolist(), strict=True))
    chunks = layouts.pp * layouts.virtual_stages
    return Rule(
        "uneven_stages",
        (cost.imbalance > 1 + EVEN_SHARE)
        & (chunks <= model.layers + CHUNKS_WITHOUT_LAYERS),
        keyed(reason, layouts.pp, layouts.virtual_stages),
        nothing,
        f"no stage computes over {percent(EVEN_SHARE)} more than the average",
    )


def _few_tokens(setting: Setting, layouts: Layouts) -> Rule:
    tokens = setting.training.microbatch * setting.training.sequence // layouts.cp
    return Rule(
        "few_tokens",
        tokens < FEW_TOKENS,
        keyed(
            lambda one: (
                f"{one:,} tokens of a microbatch on a rank: kernels of so few rows reach "
                "less of the peak than the MFU that is assumed of all layouts alike"
            ),
            tokens,
        ),
        nothing,
        f"{FEW_TOKENS:,} tokens of a microbatch on a rank, or more",
    )


def _order(setting: Setting, layouts: Layouts, cost: Costs) -> Rule:
    dense = setting.model.experts is None
    last = cost.placement.order == DP_LAST
    return Rule(
        "order_not_of_megatron",
        last & dense & (layouts.cp > 1) & (layouts.pp > 1),
        always(
            f"order {ORDERS[DP_LAST]} with CP and stages: Megatron-Core refuses it, since "
            "experts would have other replicas, even where there are none"
        ),
        nothing,
        f"order {ORDERS[DP_LAST]} without CP, or without stages",
    )


def _kv_copies(setting: Setting, layouts: Layouts) -> Iterator[Rule]:
    model = setting.model
    if model.latent is not None:
        return
    kv = model.kv_heads
    yield Rule(
        "kv_copies",
        (layouts.tp > kv) & (layouts.tp % kv == 0),
        keyed(
            lambda t: (
                f"{kv} KV heads on {t} ranks of TP: {t // kv} copies of each; "
                "Megatron-LM divides exactly and refuses"
            ),
            layouts.tp,
        ),
        nothing,
        f"tp ≤ {kv} KV heads",
    )


def _sequence_parallel(setting: Setting, layouts: Layouts) -> Rule:
    off = not setting.training.sequence_parallel
    return Rule(
        "without_sequence_parallelism",
        (layouts.tp > 1) & off,
        always(
            "no sequence parallelism: each rank of TP keeps all inputs of norms, and as "
            "much is sent"
        ),
        nothing,
        "sequence parallelism wherever tp > 1",
    )


def _close_to_full(setting: Setting, cost: Costs) -> Rule:
    held, budget = cost.memory, setting.budget_bytes
    return Rule(
        "memory_range",
        held.memory_hi_bytes > budget,
        each(
            lambda at: (
                f"between {size_bytes(held.memory_lo_bytes[at])} and "
                f"{size_bytes(held.memory_hi_bytes[at])} of {size_bytes(budget)}: the "
                "upper end does not fit"
            )
        ),
        nothing,
        "the upper end of the range of memory fits",
    )


def _rails(setting: Setting, layouts: Layouts, cost: Costs, row: int) -> Rule:
    host, name = setting.platform.gpus_per_host, DIMENSIONS[row]

    def reason(far: int) -> str:
        return (
            f"{name.upper()} leaves the domain with neighbours {far:,} ranks apart, no "
            f"multiple of the {host} GPUs of a host: local indices differ, and with them "
            "rails"
        )

    def words(rows: I64) -> list[str]:
        some, order = take(layouts, rows), cost.placement.order[rows]
        far = own_order(apart, setting.training, some, order)[row]
        return keyed(reason, far)(np.arange(len(rows)))

    return Rule(
        f"{name}_rails",
        ~cost.placement.rails[row],
        words,
        nothing,
        f"ranks that {name.upper()} joins over NICs have one local index",
    )


def _tiers(setting: Setting, layouts: Layouts, cost: Costs) -> Iterator[Rule]:
    """Warn of what crosses an oversubscribed tier and is not the outermost dimension."""
    slow = [tier for tier in setting.platform.tiers if tier.oversubscription > 1]
    if not slow:
        return
    degrees = sizes(layouts)
    outermost = _outermost(layouts, cost.placement.order == DP_LAST)
    for tier in slow:
        crosses = crossing(setting, layouts, cost, tier)
        for row in (TP, CP, EP, PP, DP):
            other = (degrees[row] > 1) & (outermost != row)
            yield _tier(cost, tier, row, crosses[row] & other)


def crossing(setting: Setting, layouts: Layouts, cost: Costs, tier: Tier) -> Bool:
    """Tell which dimensions have a group in two blocks of a tier.

    Parameters
    ----------
    setting : Setting
    layouts : Layouts
        k of them.
    cost : Costs
    tier : Tier

    Returns
    -------
    (5, k) bool
        Rows as in DIMENSIONS.
    """
    whole = own_order(spans, setting.training, layouts, cost.placement.order)
    ranks = layouts.tp * layouts.pp * layouts.dp * layouts.cp
    return np.asarray((tier.gpus % whole != 0) & (ranks > tier.gpus))


def _outermost(layouts: Layouts, dp_last: Bool) -> I64:
    """Find the dimension that varies slowest over ranks."""
    p, d = layouts.pp > 1, layouts.dp > 1
    inner = np.where(layouts.cp > 1, CP, TP)
    pp_last = np.where(p, PP, np.where(d, DP, inner))
    return np.where(dp_last & d, DP, pp_last)


def _tier(cost: Costs, tier: Tier, row: int, broken: Bool) -> Rule:
    name = DIMENSIONS[row]
    times_slower = number(tier.oversubscription)

    def reason(at: int) -> str:
        sent = getattr(cost.volumes, f"{name}_bytes")[at]
        return (
            f"{name.upper()} crosses blocks of {tier.gpus:,} GPUs, {times_slower}:1 "
            f"oversubscribed, with {size_bytes(sent)} a step "
            f"({seconds(cost.times.sending_s[row, at])}), and is not outermost"
        )

    return Rule(
        f"{name}_tier_{tier.gpus}",
        broken,
        each(reason),
        nothing,
        f"{name.upper()} within {tier.gpus:,} GPUs, or outermost",
    )


def _far(setting: Setting, cost: Costs) -> Iterator[Rule]:
    if setting.tax is None:
        return
    fitted = setting.tax.model.n_fit
    yield Rule(
        "tax_reach",
        cost.taxed.reach > FAR_REACH,
        keyed(
            lambda n: (
                f"the tax at {n:,} ranks is extrapolated {number(n / fitted)} times "
                f"beyond the {fitted} of its fit"
            ),
            cost.barriers.n,
        ),
        nothing,
        f"ranks that meet ≤ {number(FAR_REACH)} times the {fitted} of the tax's fit",
    )
