"""Transformers as `plan` knows them, trained data-parallel only."""

from typing import Final

from synctax.cluster.characterize.gpus import Precision
from synctax.cluster.characterize.workloads import Workload
from synctax.planning.flop import step_flop
from synctax.planning.shape import FP32_BYTES, Model
from synctax.planning.training import Training

DTYPE: Final[Precision] = "bf16"
"""What plans compute in."""


def from_shape(model: Model, *, sequence: int, batch_per_gpu: int) -> Workload:
    """Make a workload of the shape of a transformer.

    Every GPU holds all of the model. Operations are six for each parameter that a token
    meets, and those of causal attention's scores; gradients are reduced in FP32, as plans
    have them. What else a layer does counts in the share of the peak that is reached.

    Parameters
    ----------
    model : Model
    sequence : int
        Tokens of a sample.
    batch_per_gpu : int
        Sequences of a GPU in an iteration.

    Returns
    -------
    Workload

    Examples
    --------
    >>> from synctax.planning.inputs.named import read_model
    >>> from_shape(read_model("llama3-8b"), sequence=8192, batch_per_gpu=1).gradient_bytes
    32121044992.0
    """
    training = Training(batch=1, sequence=sequence, count_attention=True)
    return Workload(
        name=model.name,
        dataset=f"{sequence:,} tokens",
        batch_per_gpu=batch_per_gpu,
        parameters=model.parameters,
        gradient_bytes=FP32_BYTES * model.parameters,
        flop_per_sample=step_flop(model, training),
        dtype=DTYPE,
        source=model.source or "shape",
    )
