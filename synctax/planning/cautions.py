"""What a layout that can run still brings with it: rules that warn and do not eliminate."""

from collections.abc import Iterator
from typing import Final

from synctax.planning.costs import Costs
from synctax.planning.divisibility import CHUNKS_WITHOUT_LAYERS
from synctax.planning.layout import Layouts
from synctax.planning.link_cautions import link_cautions
from synctax.planning.pipeline import output_work, split_layers
from synctax.planning.rule import Rule, always, each, keyed, nothing
from synctax.planning.setting import Setting
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
        *link_cautions(setting, layouts, cost),
        *_far(setting, cost),
        _few_tokens(setting, layouts),
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
                f"{kv} KV heads on {t} ranks of TP: {t // kv} copies of each, as "
                "Megatron-Core makes since 0.16; before it refuses, and so does torchtitan"
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
