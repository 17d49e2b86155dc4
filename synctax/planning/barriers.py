"""How often a step makes ranks wait for each other, and how many of them."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from synctax.arrays import F64, I8, I64
from synctax.planning.domains import expert_tp
from synctax.planning.layout import Layouts
from synctax.planning.pipeline import average_layers, microbatches
from synctax.planning.shape import Model
from synctax.planning.training import Training

BARRIER_GROUPS: Final = ("none", "tp", "ep", "cp", "dp")
"""From the innermost dimension out; `none` where no collective stops any rank."""


Joined = Literal["inner", "layer"]
"""Whose ranks count as meeting at a barrier: those of the innermost dimension alone, or all
that some collective of a layer joins."""


@dataclass(frozen=True, slots=True, eq=False)
class Barriers:
    """The barriers of a step, of the innermost dimension that has several ranks.

    Parameters
    ----------
    count : (k,) float64
        On a rank, the average over stages.
    n : (k,) int64
        Ranks that meet at one.
    group : (k,) int8
        Index into `BARRIER_GROUPS`.
    """

    count: F64
    n: I64
    group: I8


def barriers(
    model: Model,
    training: Training,
    layouts: Layouts,
    recomputed: F64 | None = None,
    *,
    joined: Joined = "inner",
) -> Barriers:
    """Count the barriers of a step: where ranks cannot go on before the last one arrives.

    Only those of one dimension, the innermost: a rank that is late to an outer one was late
    to these before. A reduce-scatter and the all-gather that goes with it count once.

    Parameters
    ----------
    recomputed : (k,) float64, optional
        Layers of a stage that the backward pass computes again in full: their forward
        collectives run once more.
    joined : Joined
        Whose ranks count. The latest rank of those that an outer collective joins is later
        than that of those that the innermost one joins: with `inner` a layout of little TP
        and much CP is charged for the few, though each of its layers waits for the many.
        `layer` charges every barrier for all that its layer joins: t·c with CP, and where
        experts are spread no fewer than e, times t where TP shards experts too; all of
        t·d·c where parameters are gathered layer by layer. It is the upper end, as not
        every barrier of a layer joins all of them. What comes once a step joins no layer.

    Notes
    -----
    - TP: 4·l·m, the reduce-scatters (or all-reduces) after attention and after the MLP,
      forward and backward. For experts that TP does not shard, the all-to-alls that stand
      in their place count as these, though more ranks meet there.
    - EP: 4 all-to-alls for each layer with experts and each microbatch.
    - CP: 2·l·m, keys and values forward and their gradients backward.
    - DP: one a step. Where parameters are sharded 2·l·m, the all-gathers forward and
      backward; the reduce-scatter, which no layer waits for, is none.

    The average l = L/p makes the count a fraction where layers do not divide.
    """
    m = microbatches(training, layouts)
    layers = average_layers(model, layouts)
    again = np.zeros(len(layouts)) if recomputed is None else recomputed / layers
    moe = model.moe_layers / layouts.pp
    of_dp = 2 * layers * m if training.sharding == "parameters" else np.ones(len(layouts))
    have = [
        layouts.tp > 1,
        (layouts.ep > 1) & (model.moe_layers > 0),
        layouts.cp > 1,
        layouts.dp > 1,
    ]
    counts = [
        (4 + 2 * again) * layers * m,
        (4 + 2 * again) * moe * m,
        (2 + again) * layers * m,
        of_dp,
    ]
    ranks = [layouts.tp, layouts.ep, layouts.cp, layouts.dp]
    if joined == "layer":
        most = layer_ranks(model, training, layouts)
        ranks = [most, most, most, np.maximum(most, layouts.dp)]
    groups = [np.int8(group) for group in range(1, len(BARRIER_GROUPS))]
    return Barriers(
        np.select(have, counts, 0.0),
        np.select(have, ranks, 1),
        np.select(have, groups, np.int8(0)),
    )


def layer_ranks(model: Model, training: Training, layouts: Layouts) -> I64:
    """Count the ranks that some collective of a layer joins.

    Parameters
    ----------
    model : Model
    training : Training
    layouts : Layouts
        k of them.

    Returns
    -------
    (k,) int64
    """
    ranks = layouts.tp * layouts.cp
    if training.sharding == "parameters":
        ranks = ranks * layouts.dp
    if not model.moe_layers:
        return ranks
    of_experts = layouts.ep * expert_tp(training, layouts)
    return np.where(layouts.ep > 1, np.maximum(ranks, of_experts), ranks)
