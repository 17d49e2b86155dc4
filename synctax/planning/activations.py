"""How many bytes a transformer layer keeps of a microbatch for its backward pass."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import F64
from synctax.planning.layout import Layouts
from synctax.planning.shape import BF16_BYTES, Model
from synctax.planning.training import Training

REPLICATED: Final = 10.0
"""Bytes per token and width that ranks of TP hold alike without sequence parallelism:
inputs of two norms, of attention and of the MLP (2 each), two dropout masks (1 each)."""

DROPOUT_BYTES: Final = 2.0
"""Of `REPLICATED`, the masks."""

SHARDED: Final = 24.0
"""Bytes per token and width that TP shards: queries, keys, values and the input of the
output projection (2 each), and of a MLP of width 4h its inner input and output (8 each).
Korthikanti et al. 2022 (arXiv 2205.05198), section 4.1 and table 2."""

SHARDED_BESIDE_MLP: Final = 8.0
"""Of `SHARDED`, what is not of the MLP."""

MLP_BYTES: Final = 4.0
"""Bytes per token and inner width of a MLP: 16 for a width of 4h. Megatron-LM's
theoretical_memory_usage.py takes it for gated ones too: 18 + 4·ffn/h."""

GATED_MLP_BYTES: Final = 6.0
"""As `MLP_BYTES` where gate, up projection and their product are all kept."""

SCORES_BYTES: Final = 5.0
"""Bytes per head and pair of tokens: softmax, its dropout and the mask (2 + 2 + 1). Not
kept with selective recomputation, which is what fused attention does anyway."""

KEPT_OF_A_RECOMPUTED_LAYER: Final = 2.0
"""Bytes per token and width: the input of the layer."""


@dataclass(frozen=True, slots=True, eq=False)
class LayerBytes:
    """What a layer keeps of one microbatch on one GPU.

    Parameters
    ----------
    published, low, high : (k,) float64
        By the published coefficients; by the smallest and by the largest of three counts.
    recomputed : (k,) float64
        Of a layer that is computed again in full.
    """

    published: F64
    low: F64
    high: F64
    recomputed: F64


def layer_bytes(model: Model, training: Training, layouts: Layouts) -> LayerBytes:
    """Compute what a layer keeps: by the published count, the least and the most of three.

    See `layer_counts`.
    """
    whole = layouts.tp if training.sequence_parallel else np.ones_like(layouts.tp)
    counts = layer_counts(model, training, layouts)
    unit = training.microbatch * training.sequence / layouts.cp * model.hidden
    return LayerBytes(
        counts[0],
        counts.min(axis=0),
        counts.max(axis=0),
        unit * KEPT_OF_A_RECOMPUTED_LAYER / whole,
    )


def layer_counts(model: Model, training: Training, layouts: Layouts) -> F64:
    """Count what a layer keeps in three ways, from what its operations need.

    Returns
    -------
    (3, k) float64
        Bytes of one microbatch on one GPU: as published, by width, by tensors.

    Notes
    -----
    In units of b·(s/c)·h bytes, with sequence parallelism; without it the part of 10 (8
    in the last row) is not divided by t. Without selective recomputation 5·a·s/(h·t) more.

    ============ =================================================== ====================
    published    34/t                                                Korthikanti, table 2
    by its width (18 + 4·f/h)/t                                      Megatron-LM
    by tensors   (8 + 4·q/h + 2·kv/h + 6·f/h)/t (4·f/h without gate) counted
    ============ =================================================== ====================

    f is the width of the MLP, of experts the width that a token visits; q the width of all
    query heads and kv that of keys and values together. The last count has no dropout where
    there is a gate, as such models have none, and adds what is particular to

    - latent attention: keys and values expanded to all heads, and both latents before and
      after their norm;
    - experts: the k copies of a token that they read, which are whole on each rank of TP
      where TP shards experts.

    Of a MLP of width 4h without gate and as many heads of keys as of queries, all three are
    34; Llama 3 405B: 34, 31 and 31.75. Where some layers are dense and some have experts,
    the second count is the average, the third that of the larger kind.
    """
    t = layouts.tp
    whole = t if training.sequence_parallel else np.ones_like(t)
    scores = np.zeros(len(layouts))
    if training.recompute == "none":
        scores = SCORES_BYTES * model.heads * training.sequence / (model.hidden * t)
    by_width = SHARDED_BESIDE_MLP + MLP_BYTES * _average_width(model) / model.hidden
    counts = np.stack(
        [
            REPLICATED / whole + SHARDED / t,
            REPLICATED / whole + by_width / t,
            _by_tensors(model, training, layouts),
        ]
    )
    unit = training.microbatch * training.sequence / layouts.cp * model.hidden
    counted: F64 = unit * (counts + scores)
    return counted


def _average_width(model: Model) -> float:
    """Width of the MLP that a token meets, the average over layers."""
    if model.experts is None:
        return float(model.ffn)
    visited = (model.experts.top_k + model.experts.shared) * model.experts.ffn
    dense = model.layers - model.moe_layers
    return (dense * model.ffn + model.moe_layers * visited) / model.layers


def _by_tensors(model: Model, training: Training, layouts: Layouts) -> F64:
    t = layouts.tp
    whole = t if training.sequence_parallel else np.ones_like(t)
    inner = GATED_MLP_BYTES if model.gated else MLP_BYTES
    attention = _attention_width(model) * BF16_BYTES
    mlps: list[F64] = [inner * model.ffn / model.hidden / t]
    if model.experts is not None:
        copies = BF16_BYTES * model.experts.top_k / (1 if training.expert_tp else t)
        visited = (model.experts.top_k + model.experts.shared) * model.experts.ffn
        moe = copies + inner * visited / model.hidden / t
        mlps = [moe] if model.moe_layers == model.layers else [*mlps, moe]
    largest: F64 = np.stack(mlps).max(axis=0)
    inputs: F64 = (4 * BF16_BYTES + (0.0 if model.gated else DROPOUT_BYTES)) / whole
    return inputs + attention / model.hidden / t + largest


def _attention_width(model: Model) -> int:
    """Width of all tensors that attention keeps of a token, beside its input."""
    if model.latent is None:
        return 2 * (model.heads + model.kv_heads) * model.head_dim
    latent = model.latent
    key = latent.nope_dim + latent.rope_dim
    compressed = 2 * (latent.q_rank or 0) + 2 * latent.kv_rank + latent.rope_dim
    return model.heads * 2 * (key + latent.v_dim) + compressed
