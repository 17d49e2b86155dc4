"""How much memory the fullest GPU of a layout needs, and what recomputation would save."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import F64
from synctax.planning.activations import layer_bytes
from synctax.planning.flop import attention_flop, step_flop
from synctax.planning.layout import Layouts
from synctax.planning.pipeline import (
    average_layers,
    fullest_layers,
    in_flight,
    in_flight_last,
)
from synctax.planning.shape import Model
from synctax.planning.state import fullest_state_bytes, state_bytes
from synctax.planning.training import Training

LOGITS_BYTES: Final = 4.0
"""Bytes per token and word: logits in FP32 for the loss (Korthikanti et al. 2022,
section 4.3)."""

FINAL_NORM_BYTES: Final = 4.0
"""Bytes per token and width: inputs of the last norm and of the output layer (same)."""

EMBEDDING_BYTES: Final = 1.0
"""Bytes per token and width that the first stage keeps: a dropout mask (same)."""

FORWARD_SHARE: Final = 1 / 3
"""Of a step's operations, what the forward pass has."""


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """What the first stage of a layout needs, bytes of one GPU.

    Parameters
    ----------
    state_bytes : (k,) float64
        Parameters, gradients and optimizer.
    activation_bytes : (k,) float64
        Of all microbatches in flight, by the published coefficients; with experts or
        latent attention by the tensors of a layer.
    memory_bytes : (k,) float64
        Both, for the average stage of L/p layers.
    memory_lo_bytes, memory_hi_bytes : (k,) float64
        By the smallest count of what a layer keeps; by the largest one, for the fullest
        stage, and with embedding, logits and gradients that are not sharded yet.
    recomputed_layers : (k,) float64
        Layers of a stage that are computed again in full.
    recompute_flop_share : (k,) float64
        What that adds to the operations of a step.
    """

    state_bytes: F64
    activation_bytes: F64
    memory_bytes: F64
    memory_lo_bytes: F64
    memory_hi_bytes: F64
    recomputed_layers: F64
    recompute_flop_share: F64


def memory(
    model: Model, training: Training, layouts: Layouts, budget_bytes: float
) -> Memory:
    """Compute what each layout needs.

    Parameters
    ----------
    budget_bytes : float
        Memory of a GPU that may be used; matters for `recompute="fit"` only: as few layers
        as make it fit are recomputed in full, and all of them where that is not enough.

    Notes
    -----
    The first stage has the most microbatches in flight (`in_flight`), so with l layers it
    keeps about the activations of L layers however many stages there are. Selective
    recomputation counts operations where the scores of attention are counted at all, those
    of one more forward pass; fused kernels do the same inside.
    Buffers of communication, a fragmented allocator and what the backward pass of one layer
    needs for a moment are not counted.

    References
    ----------
    Korthikanti et al. 2022 (arXiv 2205.05198), table 2 and equation 5; placement paper,
    section "Sequence parallelism and activation memory".
    """
    layers, fullest = average_layers(model, layouts), fullest_layers(model, layouts)
    again = _recomputed(model, training, layouts, budget_bytes)
    of_fullest = np.where(again < layers, again, fullest)
    one = layer_bytes(model, training, layouts)
    held = in_flight(training, layouts)
    state = state_bytes(model, training, layouts)

    activations = _stage(layers, again, one.likely, one.recomputed, held)
    low = _stage(layers, again, one.low, one.recomputed, held)
    first, last = (
        _stage(fullest, of_fullest, one.high, one.recomputed, microbatches)
        for microbatches in (held, in_flight_last(training, layouts))
    )
    embedding, logits = _end_activations(model, training, layouts)
    alone = layouts.pp == 1
    high = np.maximum(
        first + embedding * held + np.where(alone, logits, 0.0), last + logits
    )
    return Memory(
        state,
        activations,
        state + activations,
        state + low,
        fullest_state_bytes(model, training, layouts) + high,
        again,
        _recompute_flop_share(model, training, again / layers),
    )


def _recompute_flop_share(model: Model, training: Training, in_full: F64) -> F64:
    """Tell what is computed again over what is computed once, for shares of layers."""
    scores = 0.0
    if training.count_attention and training.recompute in ("selective", "fit"):
        scores = attention_flop(model, training) / step_flop(model, training)
    return FORWARD_SHARE * (in_full + (1 - in_full) * scores)


def full_recompute_to_fit(
    model: Model, training: Training, layouts: Layouts, budget_bytes: float
) -> F64:
    """Count the layers of a stage to recompute in full so that `memory_bytes` fits.

    The others keep what `training.recompute` lets them keep, all but the scores of
    attention unless it is "none".

    Returns
    -------
    (k,) float64
        Whole layers, or all L/p of the average stage; 0 where it fits as it is, NaN where
        not even all are enough.
    """
    layers = average_layers(model, layouts)
    one = layer_bytes(model, training, layouts)
    kept, kept_again, held = one.likely, one.recomputed, in_flight(training, layouts)
    state = state_bytes(model, training, layouts)

    def needs(again: F64) -> F64:
        return state + _stage(layers, again, kept, kept_again, held)

    none = np.zeros(len(layouts))
    # the layer at work is there in full, too
    over = needs(none) + kept - budget_bytes
    needed = np.minimum(np.ceil(over / ((kept - kept_again) * held)), layers)
    # a quotient rounded down to a whole number is one layer short
    one_more = np.minimum(needed + 1, layers)
    needed = np.where(needs(needed) <= budget_bytes, needed, one_more)
    needed = np.where(needs(needed) <= budget_bytes, needed, np.nan)
    return np.where(needs(none) <= budget_bytes, 0.0, needed)


def _recomputed(
    model: Model, training: Training, layouts: Layouts, budget_bytes: float
) -> F64:
    layers = average_layers(model, layouts)
    if training.recompute == "full":
        return layers
    if training.recompute == "fit":
        needed = full_recompute_to_fit(model, training, layouts, budget_bytes)
        return np.where(np.isnan(needed), layers, needed)
    return np.zeros(len(layouts))


def _stage(layers: F64, again: F64, kept: F64, kept_again: F64, held: F64) -> F64:
    """Bytes of a stage's activations, with the layer that is being computed again."""
    at_work = np.where(again > 0, kept, 0.0)
    return ((layers - again) * kept + again * kept_again) * held + at_work


def _end_activations(model: Model, training: Training, layouts: Layouts) -> tuple[F64, F64]:
    """Bytes beside layers: of the embedding, a microbatch, and of the logits, once."""
    tokens = training.microbatch * training.sequence / (layouts.cp * layouts.tp)
    embedding = EMBEDDING_BYTES * tokens * model.hidden
    logits = FINAL_NORM_BYTES * model.hidden + LOGITS_BYTES * model.vocabulary
    return embedding, tokens * logits
