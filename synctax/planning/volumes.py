"""How many bytes a GPU sends in a step, for each parallel dimension."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import F64
from synctax.planning.layout import Layouts
from synctax.planning.pipeline import TWO_STAGES, average_layers, microbatches
from synctax.planning.shape import BF16_BYTES, FP32_BYTES, Model
from synctax.planning.shards import shards
from synctax.planning.training import Training

TP_TENSORS: Final = 4
"""Tensors of b·s·h elements that TP moves for attention, and as many for a MLP: an
all-reduce forward and one backward, each of them a reduce-scatter and an all-gather
(Narayanan et al. 2021, arXiv 2104.04473, section 3.2: 8bsh(t-1)/t a layer)."""

CP_PASSES: Final = 2.0
"""How often keys and values go round: the all-gather of the forward pass, and the
reduce-scatter of their gradients. 3 where the backward pass gathers them again instead of
keeping all of them, as ring attention does (its ring carries keys, values and both
gradients backwards)."""

EP_PASSES: Final = 4
"""All-to-alls of a layer: dispatch and combine, forward and backward."""


@dataclass(frozen=True, slots=True, eq=False)
class Volumes:
    """Bytes that a GPU sends in a step; it receives as many.

    Parameters
    ----------
    tp_bytes, pp_bytes, dp_bytes, cp_bytes, ep_bytes : (k,) float64
    """

    tp_bytes: F64
    pp_bytes: F64
    dp_bytes: F64
    cp_bytes: F64
    ep_bytes: F64


def volumes(
    model: Model,
    training: Training,
    layouts: Layouts,
    recomputed: F64 | None = None,
) -> Volumes:
    """Compute what each dimension sends, for the average stage of L/p layers.

    Parameters
    ----------
    recomputed : (k,) float64, optional
        Layers of a stage that the backward pass computes again in full: the collectives of
        their forward pass run once more.

    Notes
    -----
    **TP**: 16·b·(s/c)·h·(t-1)/t·l·m bytes, with or without sequence parallelism: a ring
    all-reduce is a reduce-scatter and an all-gather. That is 16·L·B·s·h·(t-1)/n, for any
    p, d and c. Not counted: the second all-gather of a sharded input for the gradient of
    weights, which Megatron-Core hides behind that of the input (a quarter more), and the
    embedding and the logits (about one layer more, on the end stages).

    **TP of experts**, as Megatron-Core's all-to-all dispatcher with sequence parallelism:
    a rank routes its own part of the sequence and sends k copies of each token to the ranks
    of EP. Where experts are sharded over TP as well, what came in is then all-gathered over
    TP, computed, and reduce-scattered: as a MLP of k times the tokens, so 4·k tensors
    instead of 4. Where they are not, no rank of TP has to meet for them: 0. Experts that
    every token visits are an ordinary MLP of TP: 4 more. (The all-gather dispatcher gathers
    tokens before they are copied and would send less for k > e.)

    **PP**: the largest of all stages, see `stage_pp_bytes`.

    **DP**, with g as `Training.shard_over` tells and gradients in FP32: an all-reduce (8 B
    a parameter) where nothing is sharded; reduce-scatter and BF16 all-gather (4 + 2 B) of
    Megatron's distributed optimizer. Where gradients are sharded they cannot pile up in
    full: they are reduced after each microbatch, or, with interleaving, once for the p
    microbatches that a chunk works off in a row (once a step for m = p, as Llama 3 ran it),
    and parameters gathered once. Where parameters are sharded and freed after use: 2 + 2 B
    of all-gather, forward and backward, and 4 B of reduce-scatter for each microbatch.

    **CP**: 2·b·s·h_kv/t·(c-1)/c·l·m elements a pass. Ranks of TP beyond the heads of keys
    and values hold a copy. Latent attention is expanded to all heads first, as
    Megatron-Core does: widths of keys and values differ then, and a latent alone would be
    less.

    **EP**: 4·(tokens of a GPU)·k·h·(e-1)/e elements for each layer with experts, of tokens
    spread evenly; tokens of a GPU are B·s/(d·c·t) with sequence parallelism and B·s/(d·c)
    without. Sending a token once to a host that has several of its experts saves some.

    References
    ----------
    Placement paper, section "Communication volume per parallel dimension".
    """
    layers = average_layers(model, layouts)
    again = np.zeros(len(layouts)) if recomputed is None else recomputed / layers
    return Volumes(
        _tp_bytes(model, training, layouts) * (1 + again / 2),
        largest_pp_bytes(model, training, layouts),
        _dp_bytes(model, training, layouts),
        _cp_bytes(model, training, layouts) * (CP_PASSES + again),
        _ep_bytes(model, training, layouts) * (1 + again / 2),
    )


def stage_pp_bytes(model: Model, training: Training, layouts: Layouts) -> tuple[F64, F64]:
    """Compute what a stage between others sends, and what the first or the last one does.

    A stage between others passes each microbatch on for each of its v chunks, and its
    gradient back: 2·m·v tensors of b·(s/c)·h/t elements, of b·(s/c)·h where ranks of TP do
    not each send their part. The first stage has nothing to pass back for its first chunk,
    the last nothing to pass on for its last: (2v-1)/2v of it, which is half for v = 1.

    Returns
    -------
    between, at_an_end : (k,) float64
        Bytes; 0 where p = 1. With p = 2 there is no stage between others.

    References
    ----------
    Narayanan et al. 2021 (arXiv 2104.04473), sections 3.2 and 4.1 (scatter/gather).
    """
    parts = layouts.tp if training.scatter_gather else np.ones_like(layouts.tp)
    tokens = training.microbatch * training.sequence / layouts.cp
    one = tokens * model.hidden / parts * BF16_BYTES * microbatches(training, layouts)
    one = np.where(layouts.pp > 1, one, 0.0)
    return 2 * layouts.virtual_stages * one, (2 * layouts.virtual_stages - 1) * one


def largest_pp_bytes(model: Model, training: Training, layouts: Layouts) -> F64:
    """Compute what the stage that sends most sends: one between others, if there is one."""
    between, at_an_end = stage_pp_bytes(model, training, layouts)
    return np.where(layouts.pp > TWO_STAGES, between, at_an_end)


def _tp_bytes(model: Model, training: Training, layouts: Layouts) -> F64:
    t = layouts.tp
    tokens = training.microbatch * training.sequence / layouts.cp
    elements = tokens * model.hidden * (t - 1) / t * tp_tensors(model, training)
    passed = average_layers(model, layouts) * microbatches(training, layouts)
    return elements * passed * BF16_BYTES


def tp_tensors(model: Model, training: Training) -> float:
    """Tell how many tensors of b·s/c·h elements TP moves for a layer, on average."""
    if model.experts is None:
        return 2.0 * TP_TENSORS
    routed = model.experts.top_k if training.expert_tp else 0
    of_experts = routed + (model.experts.shared > 0)
    dense = model.layers - model.moe_layers
    mlps = (dense + model.moe_layers * of_experts) / model.layers
    return TP_TENSORS * (1 + mlps)


def _dp_bytes(model: Model, training: Training, layouts: Layouts) -> F64:
    held = shards(model, training, layouts)
    g, g_experts = held.dense_ranks, held.expert_ranks
    sent = held.dense * (g - 1) / g + held.experts * (g_experts - 1) / g_experts
    return sent * dp_bytes_per_parameter(training, layouts)


def reductions(training: Training, layouts: Layouts) -> F64:
    """Count how often a step reduces gradients, see `volumes`.

    Returns
    -------
    (k,) float64
    """
    m = microbatches(training, layouts)
    if training.sharding == "parameters":
        return m
    if training.sharding == "gradients":
        in_a_row = np.where(layouts.virtual_stages > 1, np.minimum(layouts.pp, m), 1.0)
        return m / in_a_row
    return np.ones(len(layouts))


def dp_bytes_per_parameter(training: Training, layouts: Layouts) -> F64:
    """Tell what a step sends of each parameter of a GPU, but for (g-1)/g of a ring.

    Parameters
    ----------
    training : Training
    layouts : Layouts
        k of them.

    Returns
    -------
    (k,) float64
        Bytes.
    """
    reduced = reductions(training, layouts)
    if training.sharding == "parameters":
        return reduced * (2 * BF16_BYTES + FP32_BYTES)
    if training.sharding == "gradients":
        return reduced * FP32_BYTES + BF16_BYTES
    once = 2 * FP32_BYTES if training.sharding == "none" else FP32_BYTES + BF16_BYTES
    return np.full(len(layouts), float(once))


def _cp_bytes(model: Model, training: Training, layouts: Layouts) -> F64:
    c = layouts.cp
    tokens = training.microbatch * training.sequence
    passed = average_layers(model, layouts) * microbatches(training, layouts)
    elements = tokens * key_value_width(model, layouts) * (c - 1) / c
    return elements * passed * BF16_BYTES


def key_value_width(model: Model, layouts: Layouts) -> F64:
    """Tell the width of a token's keys and values together, on one rank of TP.

    What is copied where TP has more ranks than there are KV heads counts on each; keys and
    values of latent attention are expanded to all heads before they are gathered.

    Returns
    -------
    (k,) float64
        Elements.

    References
    ----------
    Megatron-Core, attention.py and multi_latent_attention.py.
    """
    t = layouts.tp
    if model.latent is not None:
        key = model.latent.nope_dim + model.latent.rope_dim
        return model.heads / t * (key + model.latent.v_dim)
    return 2 * np.maximum(model.kv_heads / t, 1.0) * model.head_dim


def _ep_bytes(model: Model, training: Training, layouts: Layouts) -> F64:
    if model.experts is None:
        return np.zeros(len(layouts))
    e = layouts.ep
    parts = layouts.tp if training.sequence_parallel else np.ones_like(layouts.tp)
    tokens = training.batch * training.sequence / (layouts.dp * layouts.cp * parts)
    elements = EP_PASSES * tokens * model.experts.top_k * model.hidden * (e - 1) / e
    return elements * BF16_BYTES * model.moe_layers / layouts.pp
