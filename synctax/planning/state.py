"""How much memory parameters, gradients and optimizer of a GPU take."""

from typing import Final

import numpy as np

from synctax.arrays import F64
from synctax.planning.layout import Layouts
from synctax.planning.pipeline import average_layers, fullest_layers
from synctax.planning.shape import BF16_BYTES, FP32_BYTES, Model
from synctax.planning.shards import shards
from synctax.planning.training import Sharding, Training

BYTES_PER_PARAMETER: Final[dict[Sharding, tuple[float, float]]] = {
    "none": (18.0, 0.0),
    "optimizer": (6.0, 12.0),
    "gradients": (2.0, 16.0),
    "parameters": (0.0, 18.0),
}
"""What every rank holds of a parameter, and what ranks share: 2 for BF16, 4 for its FP32
gradient, 12 for Adam (FP32 copy and two moments). Megatron-Core, distributed optimizer:
18, and 6 + 12/d; the others follow Rajbhandari et al. 2020 (ZeRO)."""

GATHERED_LAYERS: Final = 2
"""Layers whose sharded parameters are whole at a time: the one at work and the next."""


def state_bytes(model: Model, training: Training, layouts: Layouts) -> F64:
    """Compute what the average stage holds: of routed experts and of all else.

    Where parameters are sharded, those of two layers are whole at a time.

    Returns
    -------
    (k,) float64
        Bytes of one GPU.
    """
    held = shards(model, training, layouts)
    return _bytes(training, held.dense, held.dense_ranks, layouts, model) + _bytes(
        training, held.experts, held.expert_ranks, layouts, model
    )


def fullest_state_bytes(model: Model, training: Training, layouts: Layouts) -> F64:
    """Compute what the first or the last stage holds, if it has most layers, too.

    That is L/p layers rounded up, with experts as far as there are such layers. The first
    stage has the embedding, the last the output layer (where both are tied, a copy).

    Returns
    -------
    (k,) float64
        Bytes of one GPU, gradients that are not sharded yet included.
    """
    held = shards(model, training, layouts)
    p, layers = layouts.pp, fullest_layers(model, layouts)
    matrix = float(model.vocabulary * model.hidden)
    matrices = matrix if model.tied_embeddings else 2 * matrix
    whole = held.dense * layouts.tp * p
    of_layers = np.maximum(whole - matrices, 0.0) / model.layers * layers
    moe = np.minimum(layers, model.moe_layers)
    experts = held.experts * p * moe / max(model.moe_layers, 1)
    dense = (of_layers + np.where(p == 1, matrices, matrix)) / layouts.tp
    return (
        _bytes(training, dense, held.dense_ranks, layouts, model)
        + _bytes(training, experts, held.expert_ranks, layouts, model)
        + _not_yet_reduced(training, dense, held.dense_ranks, layouts, model)
        + _not_yet_reduced(training, experts, held.expert_ranks, layouts, model)
    )


def _bytes(
    training: Training, parameters: F64, ranks: F64, layouts: Layouts, model: Model
) -> F64:
    own, shared = BYTES_PER_PARAMETER[training.sharding]
    held = parameters * (own + shared / ranks)
    if training.sharding != "parameters":
        return held
    return held + BF16_BYTES * _at_work(parameters, ranks, layouts, model)


def _at_work(parameters: F64, ranks: F64, layouts: Layouts, model: Model) -> F64:
    """Parameters of the layers at work that are other ranks' part."""
    layers = average_layers(model, layouts)
    return parameters * np.minimum(GATHERED_LAYERS / layers, 1.0) * (1 - 1 / ranks)


def _not_yet_reduced(
    training: Training, parameters: F64, ranks: F64, layouts: Layouts, model: Model
) -> F64:
    """Bytes of gradients that are whole until they are reduced."""
    if training.sharding not in ("gradients", "parameters"):
        return np.zeros(len(layouts))
    of_layers = _at_work(parameters, ranks, layouts, model)
    if training.sharding == "parameters":
        return FP32_BYTES * of_layers
    # a chunk piles them up over the microbatches that it works off in a row
    of_chunk = parameters / layouts.virtual_stages * (1 - 1 / ranks)
    return FP32_BYTES * np.where(layouts.virtual_stages > 1, of_chunk, of_layers)
