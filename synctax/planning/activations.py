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
    likely, low, high : (k,) float64
        By the published coefficients, and by the smallest and the largest of three counts.
        With experts or latent attention, which these coefficients know nothing of, by
        tensors: of the kind of layer that keeps most, the average, and the first again.
    recomputed : (k,) float64
        Of a layer that is computed again in full.
    """

    likely: F64
    low: F64
    high: F64
    recomputed: F64


def layer_bytes(model: Model, training: Training, layouts: Layouts) -> LayerBytes:
    """Compute what a layer keeps: most likely, at least and at most.

    See `layer_counts`.
    """
    whole = layouts.tp if training.sequence_parallel else np.ones_like(layouts.tp)
    unit = training.microbatch * training.sequence / layouts.cp * model.hidden
    again = unit * KEPT_OF_A_RECOMPUTED_LAYER / whole
    if by_tensors_alone(model):
        average, most = _kinds(model, training, layouts)
        return LayerBytes(most, average, most, again)
    counts = layer_counts(model, training, layouts)
    return LayerBytes(counts[0], counts.min(axis=0), counts.max(axis=0), again)


def by_tensors_alone(model: Model) -> bool:
    """Tell whether only the count by tensors says something of a model.

    The published coefficients, and the count by width, are of a dense layer with plain
    attention: experts read k copies of a token, and latent attention keeps keys and values
    of all heads and the latents beside them.
    """
    return model.experts is not None or model.latent is not None


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

    f is the width of the MLP, q that of all query heads and kv that of keys and values
    together. The first two are of a dense layer with plain attention. The last count has no
    dropout where there is a gate, as such models have none, has for f with experts the
    width that a token visits, and adds what is particular to

    - latent attention: keys and values expanded to all heads, and both latents before and
      after their norm;
    - experts: the k copies of a token that they read, which are whole on each rank of TP
      where TP shards experts.

    Of a MLP of width 4h without gate and as many heads of keys as of queries, all three are
    34; Llama 3 405B: 34, 31 and 31.75. Where some layers are dense and some have experts,
    the third count is that of the larger kind.
    """
    t = layouts.tp
    whole = t if training.sequence_parallel else np.ones_like(t)
    by_width = SHARDED_BESIDE_MLP + MLP_BYTES * model.ffn / model.hidden
    counts = np.stack([REPLICATED / whole + SHARDED / t, REPLICATED / whole + by_width / t])
    most = _kinds(model, training, layouts)[1]
    return np.vstack([_in_bytes(counts, model, training, layouts), most])


def _in_bytes(counts: F64, model: Model, training: Training, layouts: Layouts) -> F64:
    """Turn counts in b·(s/c)·h into bytes, with attention scores if they are kept."""
    scores = np.zeros(len(layouts))
    if training.recompute == "none":
        scores = (
            SCORES_BYTES * model.heads * training.sequence / (model.hidden * layouts.tp)
        )
    unit = training.microbatch * training.sequence / layouts.cp * model.hidden
    return np.asarray(unit * (counts + scores))


def _kinds(model: Model, training: Training, layouts: Layouts) -> tuple[F64, F64]:
    """Bytes of a layer by its tensors: the average, and of the kind that keeps most."""
    dense, moe = _by_tensors(model, training, layouts)
    share = model.moe_layers / model.layers
    most = {0.0: dense, 1.0: moe}.get(share, np.maximum(dense, moe))
    # no more than the largest by a rounding error either
    average = np.minimum(dense * (1 - share) + moe * share, most)
    average, most = _in_bytes(np.stack([average, most]), model, training, layouts)
    return average, most


def _by_tensors(model: Model, training: Training, layouts: Layouts) -> tuple[F64, F64]:
    """Tell what a layer without and one with experts keep, in b·(s/c)·h bytes."""
    t = layouts.tp
    whole = t if training.sequence_parallel else np.ones_like(t)
    inner = GATED_MLP_BYTES if model.gated else MLP_BYTES
    attention = _attention_width(model) * BF16_BYTES
    inputs: F64 = (4 * BF16_BYTES + (0.0 if model.gated else DROPOUT_BYTES)) / whole
    beside = inputs + attention / model.hidden / t
    dense = beside + inner * model.ffn / model.hidden / t
    if model.experts is None:
        return dense, dense
    copies = BF16_BYTES * model.experts.top_k / (1 if training.expert_tp else t)
    visited = (model.experts.top_k + model.experts.shared) * model.experts.ffn
    return dense, beside + copies + inner * visited / model.hidden / t


def _attention_width(model: Model) -> int:
    """Width of all tensors that attention keeps of a token, beside its input."""
    if model.latent is None:
        return 2 * (model.heads + model.kv_heads) * model.head_dim
    latent = model.latent
    key = latent.nope_dim + latent.rope_dim
    compressed = 2 * (latent.q_rank or 0) + 2 * latent.kv_rank + latent.rope_dim
    return model.heads * 2 * (key + latent.v_dim) + compressed
