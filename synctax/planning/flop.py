"""How many floating-point operations a training step takes."""

from synctax.planning.shape import Model
from synctax.planning.training import Training

FLOP_PER_PARAMETER_AND_TOKEN = 6
"""Two of the forward pass, four of the backward pass (Kaplan et al. 2020, section 2.1).
The scores of attention, which no parameter stands for, are not among them."""


def step_flop(model: Model, training: Training) -> float:
    """Count the operations of a step, of all GPUs together: 6·P·B·s.

    P is what one token meets: of routed experts, those that it visits. Whatever is computed
    twice, because its activations were not kept, comes on top.

    References
    ----------
    Placement paper, worked example: 6 x P x tokens.
    """
    tokens = training.batch * training.sequence
    return FLOP_PER_PARAMETER_AND_TOKEN * model.active_parameters * tokens
