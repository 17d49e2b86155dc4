"""How many parameters a shape has, and what a stated number is compared with."""

from dataclasses import replace
from typing import Final

from synctax.notes import Note
from synctax.planning.shape import Model

LARGEST_DEVIATION: Final = 0.05
"""Stated parameters may differ from counted ones by this share: makers round, and count or
leave out embeddings, biases and modules of their own."""

WIDEST_HEADS: Final = 4.0
"""Heads of a model that is known are together 1 to 2 times as wide as the model."""


def counted(model: Model) -> Model:
    """Count the parameters, in all and for one token, of a model's shape.

    Weights of attention, MLP, experts, routers, norms and embeddings; biases, position
    embeddings and norms inside attention are less than 0.1 % and left out. A token of a
    model with experts meets those that it visits, and the output embedding; of the input
    embedding it meets one row, which makers do not count. Without experts it meets all.

    Parameters
    ----------
    model : Model
        `parameters` and `active_parameters` are not looked at.

    Returns
    -------
    Model
        The same with both counted.

    References
    ----------
    Llama 3 (arXiv 2407.21783), table 3; DeepSeek-V2 (arXiv 2405.04434), section 2.1.
    """
    every = model.layers * (_attention(model) + _norms(model))
    mlp = _matrices(model) * model.hidden * model.ffn
    table = model.vocabulary * model.hidden
    embeddings = table if model.tied_embeddings else 2 * table
    rest = every + (model.layers - model.moe_layers) * mlp + _norms(model) // 2
    if model.experts is None:
        total = float(rest + embeddings)
        return replace(model, parameters=total, active_parameters=total)
    one = _matrices(model) * model.hidden * model.experts.ffn
    router = model.hidden * model.experts.count
    shared = model.experts.shared * one + router
    held = model.moe_layers * (model.experts.count * one + shared)
    visited = model.moe_layers * (model.experts.top_k * one + shared)
    return replace(
        model,
        parameters=float(rest + held + embeddings),
        active_parameters=float(rest + visited + table),
    )


def layer_products(model: Model) -> tuple[float, float]:
    """Count the weights of a layer that one token is multiplied by.

    Norms and embeddings are multiplied by none to speak of.

    Parameters
    ----------
    model : Model

    Returns
    -------
    dense, moe : float
        Of a layer without experts and of one with them; the same where there are none.
    """
    matrix = _matrices(model) * model.hidden
    attention = float(_attention(model))
    dense = attention + matrix * model.ffn
    if model.experts is None:
        return dense, dense
    visited = (model.experts.top_k + model.experts.shared) * model.experts.ffn
    return dense, attention + matrix * visited + model.hidden * model.experts.count


def doubts(model: Model) -> tuple[Note, ...]:
    """Say what is odd about a model, though it may be meant.

    Parameters
    ----------
    model : Model

    Returns
    -------
    tuple of Note
    """
    shape = counted(model)
    notes = []
    both = model.parameters, shape.parameters
    for reason, name, stated, count in (
        ("parameters", "parameters", model.parameters, shape.parameters),
        (
            "active_parameters",
            "active parameters",
            model.active_parameters,
            shape.active_parameters,
        ),
    ):
        if reason == "active_parameters" and (stated, count) == both:
            continue
        share = stated / count - 1
        if abs(share) > LARGEST_DEVIATION:
            detail = (
                f"stated number of {name} that is not the shape's: {stated:.4g} of "
                f"{model.name}, whose shape has {count:.4g} ({share:+.1%}); what is stated "
                "is used"
            )
            notes.append(Note(f"{reason}_not_of_the_shape", 1, detail))
    width = model.heads * model.head_dim / model.hidden
    if not 1 / WIDEST_HEADS <= width <= WIDEST_HEADS:
        detail = (
            f"{model.heads} heads of {model.head_dim} are {width:.3g} times as wide as "
            f"{model.name} ({model.hidden})"
        )
        notes.append(Note("width_of_heads_unusual", 1, detail))
    return tuple(notes)


def _matrices(model: Model) -> int:
    return 3 if model.gated else 2


def _norms(model: Model) -> int:
    # a layer has two; LayerNorm (without a gate, as GPT-3) has a bias beside the weight
    return 2 * model.hidden * (1 if model.gated else 2)


def _attention(model: Model) -> int:
    h, a = model.hidden, model.heads
    latent = model.latent
    if latent is None:
        return 2 * h * (a + model.kv_heads) * model.head_dim
    query = a * (latent.nope_dim + latent.rope_dim)
    queries = h * query if latent.q_rank is None else latent.q_rank * (h + query + 1)
    down = h * (latent.kv_rank + latent.rope_dim) + latent.kv_rank
    up = latent.kv_rank * a * (latent.nope_dim + latent.v_dim)
    return queries + down + up + a * latent.v_dim * h
