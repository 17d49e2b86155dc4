"""How many parameters a GPU holds, and over how many ranks the rest of them is spread."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64
from synctax.planning.layout import Layouts
from synctax.planning.shape import Model
from synctax.planning.training import Training


@dataclass(frozen=True, slots=True, eq=False)
class Shards:
    """Parameters of a GPU, the average over stages.

    Parameters
    ----------
    dense : (k,) float64
        What is not of routed experts: (P - P_e)/(t·p).
    dense_ranks : (k,) float64
        g: ranks that hold the same of it, and share its state and reduce its gradients.
    experts : (k,) float64
        Of routed experts: P_e/(e·t·p), or P_e/(e·p) where TP does not shard them.
    expert_ranks : (k,) float64
        d·c/e, or t·d·c/e; at least 1.
    """

    dense: F64
    dense_ranks: F64
    experts: F64
    expert_ranks: F64


def shards(model: Model, training: Training, layouts: Layouts) -> Shards:
    """Spread the parameters of a model over the GPUs of each layout.

    Ranks of context parallelism hold the same parameters as those of data parallelism, so
    Megatron-Core reduces over both (`dp_cp_group`); `Training.shard_over` tells whether
    these count in g. Experts always spread over all of d·c: expert parallelism takes its
    ranks from there.

    References
    ----------
    Megatron-Core, parallel_state.py: data-parallel, expert-parallel and
    expert-data-parallel groups.
    """
    t, p, e = layouts.tp, layouts.pp, layouts.ep
    every = layouts.dp * layouts.cp
    across = t if training.expert_tp else np.ones_like(t)
    routed = model.expert_parameters
    return Shards(
        (model.parameters - routed) / (t * p),
        (layouts.dp if training.shard_over == "d" else every).astype(np.float64),
        routed / (e * across * p),
        np.maximum(t * every / (e * across), 1.0),
    )
