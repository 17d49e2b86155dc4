"""Models, layouts and trainings that tests of planning are about."""

from dataclasses import replace

from synctax.planning.layout import Layouts, parse_layout
from synctax.planning.shape import Experts, LatentAttention, Model
from synctax.planning.training import Training

LLAMA_405B = Model(
    name="llama3-405b",
    layers=126,
    hidden=16_384,
    heads=128,
    kv_heads=8,
    ffn=53_248,
    vocabulary=128_256,
    parameters=405e9,
    active_parameters=405e9,
    gated=True,
    tied_embeddings=False,
    head_dim=128,
    source="Llama 3 (arXiv 2407.21783), table 3",
)

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

DEEPSEEK_V3 = Model(
    name="deepseek-v3",
    layers=61,
    hidden=7_168,
    heads=128,
    kv_heads=128,
    ffn=18_432,
    vocabulary=129_280,
    parameters=671e9,
    active_parameters=37e9,
    gated=True,
    tied_embeddings=False,
    head_dim=128,
    experts=Experts(count=256, top_k=8, ffn=2_048, shared=1, dense_layers=3),
    latent=LatentAttention(q_rank=1_536, kv_rank=512, nope_dim=128, rope_dim=64, v_dim=128),
    source="DeepSeek-V3 (arXiv 2412.19437), section 4.2",
)

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
