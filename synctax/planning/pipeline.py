"""What a pipeline of stages costs: its bubble, microbatches in flight, uneven stages."""

from collections.abc import Callable
from functools import cache
from math import ceil
from typing import Final

import numpy as np

from synctax.arrays import F64, I64
from synctax.planning.flop import FLOP_PER_PARAMETER_AND_TOKEN, attention_flop
from synctax.planning.inputs.counted import layer_products
from synctax.planning.layout import Layouts
from synctax.planning.shape import Model
from synctax.planning.training import Training

TWO_STAGES: Final = 2
"""Pipelines of no more stages have none between others."""

_SAME: Final = 1e-9
"""Works that differ by no larger share are alike."""


def microbatches(training: Training, layouts: Layouts) -> F64:
    """Count the microbatches of a step that a pipeline works off: m = B/(b·d).

    Returns
    -------
    (k,) float64
        A fraction where B does not divide; such a layout cannot run.
    """
    return training.batch / (training.microbatch * layouts.dp)


def bubble(training: Training, layouts: Layouts) -> F64:
    """Say how long stages idle, as a share of the time that they compute: (p-1)/(v·m).

    Of equal stages, and before anything is waited for: one forward and one backward pass of
    a chunk for each other stage, of v·m. Of the whole step it is (p-1)/(v·m + p-1).

    References
    ----------
    Narayanan et al. 2021 (arXiv 2104.04473), section 2.2; Llama 3 (arXiv 2407.21783),
    section 3.3.2.
    """
    return (layouts.pp - 1) / (layouts.virtual_stages * microbatches(training, layouts))


def in_flight(training: Training, layouts: Layouts) -> F64:
    """Count the microbatches whose activations the first stage holds at most.

    1F1B: min(p, m). Interleaved: 2(p-1) + (v-1)·p chunks are passed forward before the
    first comes back, and one more then, which is p + (p-1)/v microbatches of all chunks;
    never more than the m there are.

    Returns
    -------
    (k,) float64
        Microbatches of a whole stage (all of its chunks).

    References
    ----------
    Korthikanti et al. 2022 (arXiv 2205.05198), section 4.2.3: p·(1 + (p-1)/(p·v)), which
    leaves out that m may be less. Schedule: Megatron-Core, pipeline_parallel/schedules.py.
    """
    p, v = layouts.pp, layouts.virtual_stages
    chunks = np.where(v > 1, p * v + p - 1, p)
    return np.minimum(chunks / v, microbatches(training, layouts))


def in_flight_last(training: Training, layouts: Layouts) -> F64:
    """Count the microbatches whose activations the last stage holds at most.

    1F1B: one. Interleaved: (v-1)·p + 1 chunks.

    Returns
    -------
    (k,) float64
    """
    p, v = layouts.pp, layouts.virtual_stages
    return np.minimum(((v - 1) * p + 1) / v, microbatches(training, layouts))


def average_layers(model: Model, layouts: Layouts) -> F64:
    """Divide layers by stages: l = L/p, a fraction where they do not divide."""
    return model.layers / layouts.pp


def fullest_layers(model: Model, layouts: Layouts) -> F64:
    """Count the layers of the stage that has most of them.

    L/p rounded up, with chunks too: chunks that have a layer more stand in a row, and so
    they fall on stages in turn. More where the last chunk has fewer (`split_layers`).
    """

    def most(p: int, v: int) -> float:
        _, counts = np.unique(_chunk_of(model, p, v) % p, return_counts=True)
        return float(counts.max())

    return _by_pipeline(most, layouts)


def output_work(model: Model, training: Training) -> float:
    """Tell how much the output layer computes: V·h products a token, in layers of a model.

    In its last layers, one with experts counted as what a token visits. The input embedding
    is looked up and computes nothing.
    """
    return _works(model, training)[1]


def fullest_work(model: Model, training: Training, layouts: Layouts) -> F64:
    """Tell what the stage computes that has most to do, the last one with the output layer.

    Returns
    -------
    (k,) float64
        In layers of the model, of those it ends with; the first ones may have no experts
        (`Experts.dense_layers`) and count as what they compute. With the scores of
        attention where `Training.count_attention` says so.
    """
    layers, output = _works(model, training)
    return _by_pipeline(
        lambda p, v: _fullest(layers, output, _chunk_of(model, p, v) % p, p), layouts
    )


def whole_work(model: Model, training: Training) -> float:
    """Tell what all layers and the output layer compute, in layers as `fullest_work`."""
    layers, output = _works(model, training)
    return float(layers.sum() + output)


def imbalance(model: Model, training: Training, layouts: Layouts) -> F64:
    """Divide what the fullest stage computes by the average: 1 where all do the same.

    The fullest stage sets the pace of all. It may be the last one for its output layer,
    which is 0.66 layers of Llama 3 405B, and 2.4 of Llama 3 8B.
    """
    average = whole_work(model, training) / layouts.pp
    return fullest_work(model, training, layouts) / average


def split_layers(model: Model, stages: int, chunks: int = 1) -> tuple[int, ...]:
    """Split the layers of a model over stages of a pipeline, in one or more chunks each.

    As `stage_layers`; where the output layer makes the last stage the fullest, the last
    chunk is lighter by as many layers as keep the fullest stage least.

    Parameters
    ----------
    model : Model
    stages, chunks : int
        p and v.

    Returns
    -------
    tuple of int
        Of each chunk, in the order of the layers; a stage holds every p-th of them.

    Raises
    ------
    ValueError
        If there is no layer or no stage.

    References
    ----------
    Llama 3 (arXiv 2407.21783), section 3.3.2; Megatron-LM counts the output layer as one
    layer with --account-for-loss-in-pipeline-split.

    Examples
    --------
    >>> from synctax.planning.inputs.named import read_model
    >>> split_layers(read_model("llama3-8b"), 4)
    (8, 9, 9, 6)
    """
    lighter = _lighter(model, stages, chunks)
    split = stage_layers(model.layers + lighter, stages * chunks)
    return (*split[:-1], split[-1] - lighter)


def tensors_passed(stages: int, chunks: int) -> int:
    """Count the tensors of a microbatch that the busiest stage sends.

    Parameters
    ----------
    stages, chunks : int
        p and v.

    Returns
    -------
    int
        2·v of a stage between others, 2·v - 1 where there is none.

    Examples
    --------
    >>> tensors_passed(2, 1), tensors_passed(16, 2)
    (1, 4)
    """
    return 2 * chunks - (stages <= TWO_STAGES)


def _by_pipeline(of: Callable[[int, int], float], layouts: Layouts) -> F64:
    """Compute what depends on p and v alone once for each pair of them."""
    if not len(layouts):
        return np.zeros(0)
    # one number for both sorts many times as fast as rows do
    base = int(layouts.virtual_stages.max()) + 1
    pairs, at = np.unique(layouts.pp * base + layouts.virtual_stages, return_inverse=True)
    each = [of(*divmod(pair, base)) for pair in pairs.tolist()]
    return np.array(each, np.float64)[at]


def _works(model: Model, training: Training | None = None) -> tuple[F64, float]:
    """Work of each layer and of the output layer, in layers that a model ends with."""
    dense, last = layer_products(model)
    scores = 0.0
    if training is not None and training.count_attention:
        tokens = training.batch * training.sequence * model.layers
        once = attention_flop(model, training) / FLOP_PER_PARAMETER_AND_TOKEN
        scores = once / tokens
    works = np.full(model.layers, last + scores)
    if model.experts is not None:
        works[: model.experts.dense_layers] = dense + scores
    one = last + scores
    return works / one, model.vocabulary * model.hidden / one


def _fullest(layers: F64, output: float, stage_of: I64, p: int) -> float:
    """Work of the stage that has most; of each layer its stage is told."""
    # stages may be far more than layers
    stages, at = np.unique(np.append(stage_of, p - 1), return_inverse=True)
    return float(np.bincount(at, np.append(layers, output), len(stages)).max())


def _chunk_of(model: Model, p: int, v: int) -> I64:
    """Tell the chunk of each layer, as `split_layers` has it."""
    return _chunks(model.layers, p * v, _lighter(model, p, v))


def _chunks(layers: int, chunks: int, lighter: int) -> I64:
    full, more = divmod(layers + lighter, chunks)
    front = (chunks - more) // 2
    before, behind = front * full, front * full + more * (full + 1)
    layer = np.arange(layers)
    few = max(full, 1)
    found = np.where(layer < before, layer // few, front + (layer - before) // (full + 1))
    return np.where(layer < behind, found, front + more + (layer - behind) // few)


@cache
def _lighter(model: Model, p: int, v: int) -> int:
    """Layers that the last chunk has less so that the fullest stage has least to do."""
    works, output = _works(model)
    best, least = 0, np.inf
    for lighter in range(ceil(output) + 1):
        if lighter > (model.layers + lighter) // (p * v):
            break
        most = _fullest(works, output, _chunks(model.layers, p * v, lighter) % p, p)
        if most < least * (1 - _SAME):
            best, least = lighter, most
    return best


def stage_layers(layers: int, stages: int) -> tuple[int, ...]:
    """Split layers over stages: where they do not divide, stages at the ends have one less.

    The last stage first, as it has the logits to compute, then the first, which has the
    embedding to hold, and so on inwards.

    Parameters
    ----------
    layers, stages : int
        `stages` counts chunks where a rank of the pipeline has several.

    Returns
    -------
    tuple of int
        Of each stage, in order. 0 where there are more stages than layers.

    Raises
    ------
    ValueError
        If there is no layer or no stage.

    References
    ----------
    Llama 3 (arXiv 2407.21783), section 3.3.2: one layer less on the first and on the last
    stage each.

    Examples
    --------
    >>> stage_layers(126, 16)
    (7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7)
    """
    if layers < 1 or stages < 1:
        raise ValueError(f"{layers} layers over {stages} stages")
    full, more = divmod(layers, stages)
    at_the_front = (stages - more) // 2
    return tuple(
        full + (at_the_front <= stage < at_the_front + more) for stage in range(stages)
    )
