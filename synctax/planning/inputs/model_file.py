"""What a YAML file says of a model."""

from dataclasses import replace
from math import nan
from typing import Final

from synctax.planning.inputs.counted import counted
from synctax.planning.inputs.yaml_values import Section
from synctax.planning.possible import ImpossibleError
from synctax.planning.rule import divisors
from synctax.planning.shape import Experts, LatentAttention, Model, check

KEYS: Final = (
    "name",
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "head_dim",
    "ffn",
    "vocabulary",
    "gated",
    "tied_embeddings",
    "parameters",
    "active_parameters",
    "experts",
    "latent",
    "source",
)
EXPERT_KEYS: Final = ("count", "top_k", "ffn", "shared", "dense_layers")
LATENT_KEYS: Final = ("q_rank", "kv_rank", "nope_dim", "rope_dim", "v_dim")

ANOTHER_SCALE: Final = 1000.0
"""Times what a shape has that a stated number of parameters cannot be: 8 for 8 billion."""

_MOST_HEADS: Final = 4096

SYNONYMS: Final = {
    "num_hidden_layers": "layers",
    "num_layers": "layers",
    "n_layers": "layers",
    "hidden_size": "hidden",
    "dim": "hidden",
    "d_model": "hidden",
    "num_attention_heads": "heads",
    "n_heads": "heads",
    "num_key_value_heads": "kv_heads",
    "num_query_groups": "kv_heads",
    "n_kv_heads": "kv_heads",
    "kv_channels": "head_dim",
    "intermediate_size": "ffn",
    "ffn_hidden_size": "ffn",
    "vocab_size": "vocabulary",
    "vocab": "vocabulary",
    "swiglu": "gated",
    "tie_word_embeddings": "tied_embeddings",
    "params": "parameters",
    "moe": "experts",
    "num_experts": "experts.count",
    "num_local_experts": "experts.count",
    "n_routed_experts": "experts.count",
    "num_experts_per_tok": "experts.top_k",
    "moe_router_topk": "experts.top_k",
    "top_k": "experts.top_k",
    "topk": "experts.top_k",
    "moe_intermediate_size": "experts.ffn",
    "moe_ffn_hidden_size": "experts.ffn",
    "n_shared_experts": "experts.shared",
    "first_k_dense_replace": "experts.dense_layers",
    "dense_layers": "experts.dense_layers",
    "mla": "latent",
    "q_lora_rank": "latent.q_rank",
    "kv_lora_rank": "latent.kv_rank",
    "qk_nope_head_dim": "latent.nope_dim",
    "qk_head_dim": "latent.nope_dim",
    "qk_rope_head_dim": "latent.rope_dim",
    "qk_pos_emb_head_dim": "latent.rope_dim",
    "v_head_dim": "latent.v_dim",
}
"""Names of configs of Hugging Face, Megatron-LM and torchtitan."""


def model_of(section: Section, *, name: str) -> Model:
    """Make a model of what a file says.

    Parameters
    ----------
    section : Section
        The whole file.
    name : str
        Of the model, where the file does not tell.

    Raises
    ------
    BadInputError
        If a key is unknown or missing, a value is no such value, or values contradict each
        other.
    """
    section.allow(KEYS, SYNONYMS)
    layers = section.count("layers")
    hidden = section.count("hidden")
    heads = section.count("heads")
    experts = _experts(section)
    latent = _latent(section)
    model = Model(
        name=section.text("name", name) or name,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=section.count("kv_heads", heads),
        ffn=_ffn(section, experts),
        vocabulary=section.count("vocabulary"),
        parameters=nan,
        active_parameters=nan,
        gated=section.flag("gated", default=True),
        tied_embeddings=section.flag("tied_embeddings", default=False),
        head_dim=_head_dim(section, hidden, heads, latent),
        experts=experts,
        latent=latent,
        source=section.text("source", ""),
    )
    return _with_parameters(section, counted(model))


def _ffn(section: Section, experts: Experts | None) -> int:
    if experts is not None and not experts.dense_layers:
        # no layer has this MLP; a token visits experts of this width
        return section.count("ffn", (experts.top_k + experts.shared) * experts.ffn)
    return section.count("ffn")


def _head_dim(
    section: Section, hidden: int, heads: int, latent: LatentAttention | None
) -> int:
    if latent is not None:
        return section.count("head_dim", latent.v_dim)
    if not section.has("head_dim") and hidden % heads:
        raise section.wrong(
            "heads",
            f"a number that divides hidden = {hidden} ({_largest_divisors(hidden)}), or "
            "head_dim beside it",
        )
    return section.count("head_dim", hidden // heads)


def _experts(section: Section) -> Experts | None:
    if not section.has("experts"):
        return None
    part = section.section("experts", "{count: 64, top_k: 6, ffn: 1408}")
    part.allow(EXPERT_KEYS, _within("experts."))
    return Experts(
        count=part.count("count"),
        top_k=part.count("top_k"),
        ffn=part.count("ffn"),
        shared=part.count("shared", 0, least=0),
        dense_layers=part.count("dense_layers", 0, least=0),
    )


def _latent(section: Section) -> LatentAttention | None:
    if not section.has("latent"):
        return None
    part = section.section(
        "latent", "{kv_rank: 512, nope_dim: 128, rope_dim: 64, v_dim: 128}"
    )
    part.allow(LATENT_KEYS, _within("latent."))
    return LatentAttention(
        q_rank=part.count("q_rank") if part.has("q_rank") else None,
        kv_rank=part.count("kv_rank"),
        nope_dim=part.count("nope_dim"),
        rope_dim=part.count("rope_dim"),
        v_dim=part.count("v_dim"),
    )


def _with_parameters(section: Section, shape: Model) -> Model:
    parameters = section.number("parameters", shape.parameters)
    default = shape.active_parameters if shape.experts is not None else parameters
    active = section.number("active_parameters", min(default, parameters))
    found = replace(shape, parameters=parameters, active_parameters=active)
    try:
        check(found)
    except ImpossibleError as error:
        raise section.impossible(error.key, error.expected) from error
    _check_scale(section, "parameters", parameters, shape.parameters)
    _check_scale(section, "active_parameters", active, shape.active_parameters)
    return found


def _check_scale(section: Section, key: str, stated: float, counted: float) -> None:
    if not counted / ANOTHER_SCALE < stated < counted * ANOTHER_SCALE:
        raise section.wrong(key, f"about {counted:.4g}, as its shape has")


def _within(path: str) -> dict[str, str]:
    return {key: name for key, name in SYNONYMS.items() if name.startswith(path)}


def _largest_divisors(number: int) -> str:
    # the largest ones are those that somebody can have meant
    few = divisors(number)
    return "such as " + ", ".join(map(str, few[few <= _MOST_HEADS][-4:]))
