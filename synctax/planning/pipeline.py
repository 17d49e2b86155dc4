"""What a pipeline of stages costs: its bubble, microbatches in flight, uneven stages."""

import numpy as np

from synctax.arrays import F64
from synctax.planning.layout import Layouts
from synctax.planning.shape import Model
from synctax.planning.training import Training


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
    they fall on stages in turn.
    """
    return np.ceil(model.layers / layouts.pp)


def imbalance(model: Model, layouts: Layouts) -> F64:
    """Divide the layers of the fullest stage by the average: 1 where L/p is whole.

    The fullest stage sets the pace of all.
    """
    return fullest_layers(model, layouts) / average_layers(model, layouts)


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
