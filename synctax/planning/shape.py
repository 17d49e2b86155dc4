"""The shape of a transformer: what volumes, memory and FLOP of a step follow from."""

from dataclasses import dataclass
from typing import Final

from synctax.planning.possible import ImpossibleError, counts, flags, positive

BF16_BYTES = 2
"""Bytes of an activation or parameter on the wire."""

FP32_BYTES = 4
"""Bytes of a gradient, before it is reduced and on the wire."""

MOST_PARAMETERS: Final = 1e18
"""Far beyond any model: what is larger is a slip."""


@dataclass(frozen=True, slots=True)
class Experts:
    """The mixture of experts of a model.

    Parameters
    ----------
    count : int
        Routed experts of a layer.
    top_k : int
        Routed experts that a token visits.
    ffn : int
        Width of one expert.
    shared : int
        Experts of the same width that every token visits.
    dense_layers : int
        Layers, the first ones, that have no experts.
    """

    count: int
    top_k: int
    ffn: int
    shared: int = 0
    dense_layers: int = 0


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek-V2 report, section 2.1): ranks and widths.

    Parameters
    ----------
    q_rank : int or None
        Rank that queries are compressed to; None where they are not.
    kv_rank : int
        Rank that keys and values are compressed to.
    nope_dim, rope_dim, v_dim : int
        Width of a head's key without and with rotary position, and of its value.
    """

    q_rank: int | None
    kv_rank: int
    nope_dim: int
    rope_dim: int
    v_dim: int


@dataclass(frozen=True, slots=True)
class Model:
    """A decoder-only transformer.

    Parameters
    ----------
    name : str
    layers : int
        L.
    hidden : int
        h.
    heads, kv_heads : int
        a and kv: query heads, and heads of keys and values (fewer with GQA).
    ffn : int
        Width of the MLP of dense layers.
    vocabulary : int
    parameters : float
        P, as stated by its makers, else counted from the shape.
    active_parameters : float
        Of these, what one token meets: P itself where there are no experts.
    gated : bool
        Whether the MLP has a gate (SwiGLU): three matrices instead of two.
    tied_embeddings : bool
        Whether input and output share one embedding.
    head_dim : int
        Width of a head; hidden / heads unless stated.
    experts : Experts or None
    latent : LatentAttention or None
    source : str
        Where the numbers are from.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    vocabulary: int
    parameters: float
    active_parameters: float
    gated: bool
    tied_embeddings: bool
    head_dim: int
    experts: Experts | None = None
    latent: LatentAttention | None = None
    source: str = ""

    @property
    def moe_layers(self) -> int:
        """Layers with experts."""
        return 0 if self.experts is None else self.layers - self.experts.dense_layers

    @property
    def expert_parameters(self) -> float:
        """P_e: parameters of routed experts, which expert parallelism shards."""
        if self.experts is None:
            return 0.0
        matrices = 3 if self.gated else 2
        one = matrices * self.hidden * self.experts.ffn
        return float(self.moe_layers * self.experts.count * one)


def check(model: Model) -> None:
    """Refuse a shape that no model has.

    Parameters
    ----------
    model : Model

    Raises
    ------
    ImpossibleError
        Naming the number and its value.
    """
    counts(
        model,
        ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocabulary"),
    )
    flags(model, ("gated", "tied_embeddings"))
    if model.heads % model.kv_heads:
        raise ImpossibleError(
            "kv_heads", model.kv_heads, f"a number that divides the {model.heads} heads"
        )
    if model.experts is not None:
        _check_experts(model.experts, model.layers)
    if model.latent is not None:
        _check_latent(model.latent)
    _check_parameters(model)


def _check_experts(experts: Experts, layers: int) -> None:
    counts(experts, ("count", "top_k", "ffn"), path="experts.")
    counts(experts, ("shared", "dense_layers"), path="experts.", least=0)
    if experts.top_k > experts.count:
        raise ImpossibleError(
            "experts.top_k", experts.top_k, f"at most the {experts.count} of experts.count"
        )
    if experts.dense_layers >= layers:
        raise ImpossibleError(
            "experts.dense_layers", experts.dense_layers, f"fewer than the {layers} layers"
        )


def _check_latent(latent: LatentAttention) -> None:
    counts(latent, ("kv_rank", "nope_dim", "rope_dim", "v_dim"), path="latent.")
    if latent.q_rank is not None:
        counts(latent, ("q_rank",), path="latent.")


def _check_parameters(model: Model) -> None:
    names = ("parameters", "active_parameters")
    positive(model, names, most=MOST_PARAMETERS, what="parameters")
    stated, active = model.parameters, model.active_parameters
    routed = model.expert_parameters
    if stated <= routed:
        raise ImpossibleError(
            "parameters", stated, f"more than the {routed:.4g} that the experts alone have"
        )
    if active > stated:
        raise ImpossibleError(
            "active_parameters", active, f"at most the parameters ({stated:.4g})"
        )
    if model.experts is None and active != stated:
        raise ImpossibleError(
            "active_parameters",
            active,
            f"{stated:.6g}, as all of them where there are no experts",
        )
