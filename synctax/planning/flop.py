"""How many floating-point operations a training step takes."""

from synctax.planning.shape import Model
from synctax.planning.training import Training

FLOP_PER_PARAMETER_AND_TOKEN = 6
"""Two of the forward pass, four of the backward pass (Kaplan et al. 2020, section 2.1).
The scores of attention, which no parameter stands for, are not among them."""

CAUSAL_SHARE = 0.5
"""Of all pairs of tokens, those that causal attention computes."""


def step_flop(model: Model, training: Training) -> float:
    """Count the operations of a step, of all GPUs together: 6·P·B·s.

    P is what one token meets: of routed experts, those that it visits. Whatever is computed
    twice, because its activations were not kept, comes on top; so do the scores of
    attention where `Training.count_attention` says so.

    References
    ----------
    Placement paper, worked example: 6 x P x tokens.
    """
    tokens = training.batch * training.sequence
    of_parameters = FLOP_PER_PARAMETER_AND_TOKEN * model.active_parameters * tokens
    return of_parameters + (attention_flop(model, training) * training.count_attention)


def attention_flop(model: Model, training: Training) -> float:
    """Count the operations of a step that attention takes beyond its parameters.

    Scores and their products with values: 2·s²·a·(width of a key + width of a value) of a
    sequence and layer forward, twice that backward, and half of it where a token sees only
    those before it: 6·L·B·s²·a·(head width) in all.

    References
    ----------
    Narayanan et al. 2021 (arXiv 2104.04473), appendix: 4·B·s²·h a layer forward, without
    the half.
    """
    widths = 2 * model.head_dim
    if model.latent is not None:
        latent = model.latent
        widths = latent.nope_dim + latent.rope_dim + latent.v_dim
    passes = FLOP_PER_PARAMETER_AND_TOKEN * CAUSAL_SHARE
    tokens = training.batch * training.sequence
    return passes * model.layers * tokens * training.sequence * model.heads * widths
