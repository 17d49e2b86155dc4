"""Models, layouts and trainings that tests of planning are about."""

from dataclasses import replace

from synctax.planning.inputs.named import read_model
from synctax.planning.layout import Layouts, parse_layout
from synctax.planning.shape import Experts, Model
from synctax.planning.training import Training

LLAMA_405B = read_model("llama3-405b")

GPT_128 = Model(
    name="gpt-128",
    layers=128,
    hidden=16_384,
    heads=128,
    kv_heads=128,
    ffn=4 * 16_384,
    vocabulary=51_200,
    parameters=128 * 12 * 16_384.0**2,
    active_parameters=128 * 12 * 16_384.0**2,
    gated=False,
    tied_embeddings=True,
    head_dim=128,
    source="made up: 4h MLP, multi-head attention",
)

DEEPSEEK_V3 = read_model("deepseek-v3")

MIXTURE = replace(
    LLAMA_405B,
    name="mixture",
    parameters=1e12,
    experts=Experts(count=16, top_k=2, ffn=8_192),
)
"""No dense layer and no shared expert."""

LLAMA_3 = Training(batch=2_048, sequence=8_192, shard_over="d")
"""As the worked example of the placement paper."""


def table(*texts: str) -> Layouts:
    """Read layouts into a table."""
    return Layouts.of([parse_layout(text) for text in texts])
