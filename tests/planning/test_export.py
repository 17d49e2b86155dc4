"""A layout in the words of Megatron-LM and torchtitan, checked against their own names."""

import re
import shlex
import sys
import tomllib
from dataclasses import replace
from math import ceil, nan
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from synctax.errors import SynctaxError
from synctax.planning.export import megatron_flags, torchtitan_recipe, torchtitan_toml
from synctax.planning.inputs.named import model_names, read_model, read_platform
from synctax.planning.layout import Layout
from synctax.planning.pipeline import split_layers
from synctax.planning.search import plan
from synctax.planning.shape import Experts, Model
from synctax.planning.training import ORDERS, Sharding, Training

# Megatron-LM d98e8a6. Written out in megatron/training/arguments.py:
MEGATRON_ARGUMENTS = {
    "--decoder-first-pipeline-num-layers",
    "--decoder-last-pipeline-num-layers",
    "--pipeline-model-parallel-layout",
    "--num-virtual-stages-per-pipeline-rank",
    "--use-distributed-optimizer",
    "--data-parallel-sharding-strategy",
    "--seq-length",
    "--max-position-embeddings",
    "--group-query-attention",
    "--swiglu",
    "--untie-embeddings-and-output-weights",
    "--num-experts",
    "--moe-layer-freq",
    "--q-lora-rank",
    "--kv-lora-rank",
    "--qk-head-dim",
    "--qk-pos-emb-head-dim",
    "--v-head-dim",
}
# Made there of the fields of TransformerConfig (megatron/core/transformer) and its base
# ModelParallelConfig (megatron/core):
MEGATRON_MODEL = {
    "--tensor-model-parallel-size",
    "--pipeline-model-parallel-size",
    "--context-parallel-size",
    "--expert-model-parallel-size",
    "--expert-tensor-parallel-size",
    "--sequence-parallel",
    "--bf16",
    "--num-layers",
    "--hidden-size",
    "--ffn-hidden-size",
    "--num-attention-heads",
    "--num-query-groups",
    "--kv-channels",
    "--multi-latent-attention",
    "--recompute-granularity",
    "--recompute-method",
    "--recompute-num-layers",
    "--moe-router-topk",
    "--moe-ffn-hidden-size",
    "--moe-shared-expert-intermediate-size",
    "--moe-token-dispatcher-type",
}
# And of TrainingConfig, CheckpointConfig, TokenizerConfig and DistributedInitConfig
# (megatron/training/config):
MEGATRON_TRAINING = {
    "--micro-batch-size",
    "--global-batch-size",
    "--ckpt-format",
    "--vocab-size",
    "--use-tp-pp-dp-mapping",
    "--use-megatron-fsdp",
}
MEGATRON = MEGATRON_ARGUMENTS | MEGATRON_MODEL | MEGATRON_TRAINING

# torchtitan v0.2.2, torchtitan/config/job_config.py
TOML_KEYS = {
    "model": {"name", "flavor"},
    "training": {"local_batch_size", "global_batch_size", "seq_len"},
    "parallelism": {
        "data_parallel_replicate_degree",
        "data_parallel_shard_degree",
        "fsdp_reshard_after_forward",
        "tensor_parallel_degree",
        "pipeline_parallel_degree",
        "module_fqns_per_model_part",
        "pipeline_parallel_first_stage_less_layers",
        "pipeline_parallel_last_stage_less_layers",
        "pipeline_parallel_layers_per_stage",
        "pipeline_parallel_schedule",
        "pipeline_parallel_microbatch_size",
        "context_parallel_degree",
        "context_parallel_rotate_method",
        "expert_parallel_degree",
        "expert_tensor_parallel_degree",
    },
    "activation_checkpoint": {"mode", "selective_ac_option"},
}
# torchtitan b5bcd76, torchtitan/config/configs.py
RECIPE_KEYS = {
    "training": {
        "max_context_length",
        "num_tokens_per_microbatch_per_dp_rank",
        "num_tokens_per_train_step",
        "disable_cuda_graphs",
    },
    "parallelism": (
        TOML_KEYS["parallelism"]
        - {
            "pipeline_parallel_microbatch_size",
            "context_parallel_rotate_method",
            "expert_tensor_parallel_degree",
        }
    )
    | {"num_pp_microbatches", "enable_sequence_parallel"},
}

LLAMA = read_model("llama3-405b")
DEEPSEEK = read_model("deepseek-v3")
STEP = Training(2048, 8192)
SHARDED = replace(STEP, sharding="gradients")

Run = tuple[Model, Training, Layout]


@st.composite
def runs(draw: st.DrawFn, shardings: tuple[Sharding, ...]) -> Run:
    """Draw what most frameworks run; what one of them refuses is left to the tests."""
    model = read_model(draw(st.sampled_from(model_names())))
    pp, dp = draw(st.integers(1, 8)), draw(st.sampled_from((8, 16)))
    layout = Layout(
        tp=draw(st.sampled_from((1, 2, 8))),
        pp=pp,
        dp=dp,
        cp=draw(st.sampled_from((1, 2))),
        ep=1 if model.experts is None else draw(st.sampled_from((1, 2, 8))),
        virtual_stages=1 if pp == 1 else draw(st.integers(1, 3)),
    )
    split = draw(st.booleans())
    training = Training(
        batch=2 * dp * pp * draw(st.integers(1, 4)),
        sequence=4096,
        microbatch=draw(st.sampled_from((1, 2))),
        sequence_parallel=split,
        recompute=draw(st.sampled_from(("none", "selective", "full"))),
        sharding=draw(st.sampled_from(shardings)),
        order=draw(st.sampled_from((None, None, *ORDERS))),
        scatter_gather=split,
        expert_tp=draw(st.booleans()),
    )
    return model, training, layout


def arguments(flags: tuple[str, ...]) -> dict[str, str]:
    """Read flags as a shell and argparse do."""
    parsed: dict[str, str] = {}
    for word in shlex.split(" ".join(flags)):
        if word.startswith("--"):
            name = word
            assert name not in parsed
            parsed[name] = ""
        else:
            assert parsed[name] == ""
            parsed[name] = word
    return parsed


def chunk_sizes(chain: str) -> list[int]:
    """Count the layers of chunks in a layout such as `Et*2|(t|)*3tL`."""
    for pattern in (r"\(([^)]*)\)\*(\d+)", r"(.)\*(\d+)"):
        chain = re.sub(pattern, lambda found: found[1] * int(found[2]), chain)
    parts = chain.split("|")
    assert parts[0][0] == "E"
    assert parts[-1][-1] == "L"
    assert set(chain[1:-1]) <= {"t", "|"}
    return [part.count("t") for part in parts]


def megatron_chunks(given: dict[str, str]) -> list[int]:
    """Split layers over chunks as Megatron-LM does with these arguments."""
    layers = int(given["--num-layers"])
    stages = int(given["--pipeline-model-parallel-size"])
    if "--pipeline-model-parallel-layout" in given:
        return chunk_sizes(given["--pipeline-model-parallel-layout"])
    if "--decoder-first-pipeline-num-layers" in given:
        first = int(given["--decoder-first-pipeline-num-layers"])
        last = int(given["--decoder-last-pipeline-num-layers"])
        each, over = divmod(layers - first - last, stages - 2) if stages > 2 else (0, 0)
        assert over == 0
        return [first] + [each] * (stages - 2) + [last]
    chunks = stages * int(given.get("--num-virtual-stages-per-pipeline-rank", 1))
    assert layers % chunks == 0
    return [layers // chunks] * chunks


def torchtitan_chunks(given: dict[str, object], layers: int) -> list[int]:
    """Split layers over chunks as torchtitan does with these keys."""
    listed = given.get("module_fqns_per_model_part")
    if listed is not None:
        modules = [name for part in listed for name in part]
        numbered = [f"layers.{layer}" for layer in range(layers)]
        assert modules[:-2] == ["tok_embeddings", *numbered]
        assert modules[-2] == "norm"
        return [sum(name.startswith("layers.") for name in part) for part in listed]
    first = given["pipeline_parallel_first_stage_less_layers"]
    last = given["pipeline_parallel_last_stage_less_layers"]
    total = layers + first + last
    stages = given["pipeline_parallel_degree"]
    stages *= 1 if given["pipeline_parallel_schedule"] == "1F1B" else 2
    if "pipeline_parallel_layers_per_stage" in given:
        stages = ceil(total / given["pipeline_parallel_layers_per_stage"])
    chunks = [total // stages + (stage < total % stages) for stage in range(stages)]
    chunks[0] -= first
    chunks[-1] -= last
    return chunks


def refusal(export, *args, **kwargs) -> str:
    with pytest.raises(SynctaxError) as caught:
        export(*args, **kwargs)
    return str(caught.value)


def run_recipe(text: str, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Run a recipe on a bare config, with stand-ins for what it imports."""
    policies = ModuleType("torchtitan.distributed.activation_checkpoint")
    for name in ("SelectiveAC", "FullAC"):
        config = SimpleNamespace(Config=lambda name=name: name)
        setattr(policies, name, config)
    for name in ("torchtitan", "torchtitan.distributed"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, policies.__name__, policies)
    names: dict[str, object] = {}
    exec(compile(text, "recipe", "exec"), names)
    (function,) = (value for key, value in names.items() if key.startswith("tp"))
    config = SimpleNamespace(training=SimpleNamespace(), parallelism=SimpleNamespace())
    assert function(config) is config
    return config


@given(runs(("none", "optimizer")))
def test_flags_are_those_of_megatron_and_say_the_layout(run):
    model, training, layout = run
    try:
        given_ = arguments(megatron_flags(model, training, layout))
    except SynctaxError:
        assume(False)
    assert set(given_) <= MEGATRON
    degrees = ("tensor-model", "pipeline-model", "context", "expert-model")
    said = [int(given_.get(f"--{name}-parallel-size", 1)) for name in degrees]
    assert said == [layout.tp, layout.pp, layout.cp, layout.ep]
    chunks = split_layers(model, layout.pp, layout.virtual_stages)
    assert megatron_chunks(given_) == list(chunks)
    assert ("--use-tp-pp-dp-mapping" in given_) == (training.order == ORDERS[1])
    assert int(given_["--num-attention-heads"]) == model.heads


@given(runs(("gradients", "parameters")))
def test_toml_has_keys_of_torchtitan_and_says_the_layout(run):
    model, training, layout = run
    try:
        text = torchtitan_toml(model, training, layout)
    except SynctaxError:
        assume(False)
    sections = tomllib.loads(text)
    assert set(sections) == set(TOML_KEYS)
    assert all(set(keys) <= TOML_KEYS[name] for name, keys in sections.items())
    degrees = sections["parallelism"]
    ranks = (
        degrees["data_parallel_replicate_degree"] * degrees["data_parallel_shard_degree"]
    )
    assert ranks == layout.dp
    assert degrees["tensor_parallel_degree"] == layout.tp
    assert degrees["pipeline_parallel_degree"] == layout.pp
    assert degrees["context_parallel_degree"] == layout.cp
    assert degrees["expert_parallel_degree"] == layout.ep
    if layout.pp > 1:
        chunks = split_layers(model, layout.pp, layout.virtual_stages)
        assert torchtitan_chunks(degrees, model.layers) == list(chunks)
    local = sections["training"]["local_batch_size"]
    pieces = degrees.get("pipeline_parallel_microbatch_size", local)
    assert pieces == training.microbatch
    assert training.batch % (local * layout.dp) == 0


@given(runs(("gradients", "parameters")))
def test_a_recipe_sets_fields_of_torchtitan_to_the_layout(run):
    model, training, layout = run
    try:
        text = torchtitan_recipe(model, training, layout)
    except SynctaxError:
        assume(False)
    with pytest.MonkeyPatch.context() as patch:
        config = run_recipe(text, patch)
    degrees = vars(config.parallelism)
    assert set(degrees) <= RECIPE_KEYS["parallelism"]
    assert set(vars(config.training)) <= RECIPE_KEYS["training"]
    if layout.pp > 1:
        chunks = split_layers(model, layout.pp, layout.virtual_stages)
        assert torchtitan_chunks(degrees, model.layers) == list(chunks)
    step = config.training.num_tokens_per_train_step
    each = config.training.num_tokens_per_microbatch_per_dp_rank
    assert step == training.batch * training.sequence
    assert each == training.microbatch * training.sequence
    assert step % (each * degrees.get("num_pp_microbatches", 1) * layout.dp) == 0


@given(st.integers(2, 130), st.integers(2, 16), st.integers(1, 4))
def test_uneven_stages_are_said_exactly_to_both(layers, pp, v):
    assume(pp * v <= layers + 2)
    model = replace(LLAMA, layers=layers)
    layout = Layout(8, pp, 8, virtual_stages=v)
    training = replace(SHARDED, batch=8 * pp, sharding="none")
    chunks = list(split_layers(model, pp, v))
    assert megatron_chunks(arguments(megatron_flags(model, training, layout))) == chunks
    sharded = replace(training, sharding="gradients")
    degrees = tomllib.loads(torchtitan_toml(model, sharded, layout))["parallelism"]
    assert torchtitan_chunks(degrees, layers) == chunks


def test_llama_405b_has_one_layer_less_at_both_ends():
    given_ = arguments(megatron_flags(LLAMA, STEP, Layout(8, 16, 8)))
    assert given_["--decoder-first-pipeline-num-layers"] == "7"
    assert given_["--decoder-last-pipeline-num-layers"] == "7"
    degrees = tomllib.loads(torchtitan_toml(LLAMA, SHARDED, Layout(8, 16, 8)))[
        "parallelism"
    ]
    assert degrees["pipeline_parallel_first_stage_less_layers"] == 1
    assert degrees["pipeline_parallel_last_stage_less_layers"] == 1


def test_chunks_of_an_interleaved_pipeline_are_one_chain_of_layers():
    given_ = arguments(megatron_flags(LLAMA, STEP, Layout(8, 16, 8, virtual_stages=2)))
    assert given_["--pipeline-model-parallel-layout"] == "Et*3|(t*4|)*30t*3L"
    even = replace(LLAMA, layers=128)
    given_ = arguments(megatron_flags(even, STEP, Layout(8, 16, 8, virtual_stages=2)))
    assert given_["--num-virtual-stages-per-pipeline-rank"] == "2"


def test_ends_of_a_pipeline_may_hold_no_layer_as_llama_405b_ran_it():
    training = replace(SHARDED, batch=128, sharding="none")
    layout = Layout(8, 16, 8, virtual_stages=8)
    given_ = arguments(megatron_flags(LLAMA, training, layout))
    assert given_["--pipeline-model-parallel-layout"] == "E|(t|)*126L"
    degrees = tomllib.loads(
        torchtitan_toml(LLAMA, replace(training, sharding="gradients"), layout)
    )["parallelism"]
    assert torchtitan_chunks(degrees, 126) == [0, *[1] * 126, 0]
    layout = Layout(8, 128, 8)
    given_ = arguments(megatron_flags(LLAMA, replace(training, batch=1024), layout))
    assert given_["--pipeline-model-parallel-layout"] == "E|(t|)*126L"


def test_the_shape_of_deepseek_is_what_megatron_ships_for_it():
    # examples/megatron_fsdp/sbatch_mfsdp_deepseek_v3.sh
    given_ = arguments(megatron_flags(DEEPSEEK, STEP, Layout(2, 16, 32, ep=32)))
    shipped = """--num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432
        --num-attention-heads 128 --kv-channels 128 --swiglu --multi-latent-attention
        --untie-embeddings-and-output-weights --num-experts 256 --moe-ffn-hidden-size 2048
        --moe-layer-freq ([0]*3+[1]*58) --moe-shared-expert-intermediate-size 2048
        --moe-router-topk 8 --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128
        --qk-pos-emb-head-dim 64 --v-head-dim 128"""
    for name, value in arguments(
        (shipped.replace("([0]*3+[1]*58)", "'([0]*3+[1]*58)'"),)
    ).items():
        assert given_[name] == value
    assert "--group-query-attention" not in given_
    assert given_["--moe-token-dispatcher-type"] == "alltoall"


def test_gpt_3_has_neither_gate_nor_groups_nor_a_second_embedding():
    given_ = set(arguments(megatron_flags(read_model("gpt3-175b"), STEP, Layout(8, 16, 8))))
    for name in ("--swiglu", "--num-query-groups", "--untie-embeddings-and-output-weights"):
        assert name not in given_


def test_experts_in_every_layer_need_no_pattern():
    every = replace(DEEPSEEK, experts=Experts(count=8, top_k=2, ffn=14336))
    given_ = arguments(megatron_flags(every, STEP, Layout(8, 1, 8)))
    assert (given_["--num-experts"], given_["--moe-router-topk"]) == ("8", "2")
    assert "--moe-layer-freq" not in given_
    assert "--moe-shared-expert-intermediate-size" not in given_


@pytest.mark.parametrize(
    ("training", "flags"),
    [
        (replace(STEP, recompute="none"), set()),
        (STEP, {"--recompute-granularity": "selective"}.items()),
        (
            replace(STEP, recompute="full"),
            {
                "--recompute-granularity": "full",
                "--recompute-method": "uniform",
                "--recompute-num-layers": "1",
            }.items(),
        ),
    ],
)
def test_recomputation_is_said_to_megatron(training, flags):
    given_ = arguments(megatron_flags(LLAMA, training, Layout(8, 16, 8)))
    assert {item for item in given_.items() if "recompute" in item[0]} == set(flags)


def test_layers_that_are_recomputed_to_fit_are_counted_in_each_chunk():
    fit = replace(STEP, recompute="fit")
    layout = Layout(8, 16, 8, virtual_stages=2)
    given_ = arguments(megatron_flags(LLAMA, fit, layout, recomputed_layers=2.2))
    assert given_["--recompute-method"] == "block"
    assert given_["--recompute-num-layers"] == "2"
    given_ = arguments(megatron_flags(LLAMA, fit, layout, recomputed_layers=0.0))
    assert given_["--recompute-granularity"] == "selective"
    with pytest.raises(ValueError, match="recomputed_layers is not given"):
        megatron_flags(LLAMA, fit, layout)
    message = refusal(megatron_flags, LLAMA, fit, layout, recomputed_layers=nan)
    assert message == f"{layout} does not fit even where every layer is recomputed in full"


def test_sharding_is_said_to_megatron():
    flat = Layout(8, 1, 128)
    none = arguments(megatron_flags(LLAMA, replace(STEP, sharding="none"), flat))
    assert "--use-distributed-optimizer" not in none
    given_ = arguments(megatron_flags(LLAMA, SHARDED, flat))
    assert given_["--data-parallel-sharding-strategy"] == "optim_grads"
    assert given_["--ckpt-format"] == "fsdp_dtensor"
    whole = arguments(megatron_flags(LLAMA, replace(STEP, sharding="parameters"), flat))
    assert whole["--data-parallel-sharding-strategy"] == "optim_grads_params"


def test_recomputation_is_said_to_torchtitan(monkeypatch):
    layout = Layout(8, 16, 8)
    for how, policy in (("none", None), ("selective", "SelectiveAC"), ("full", "FullAC")):
        training = replace(SHARDED, recompute=how)
        sections = tomllib.loads(torchtitan_toml(LLAMA, training, layout))
        assert sections["activation_checkpoint"]["mode"] == how
        config = run_recipe(torchtitan_recipe(LLAMA, training, layout), monkeypatch)
        assert config.activation_checkpoint == policy


def test_sharding_is_said_to_torchtitan():
    def degrees(sharding, layout):
        model = read_model("llama3-8b")
        text = torchtitan_toml(model, replace(STEP, sharding=sharding), layout)
        return tomllib.loads(text)["parallelism"]

    flat = Layout(1, 1, 8)
    assert degrees("none", flat)["data_parallel_replicate_degree"] == 8
    assert degrees("gradients", flat)["fsdp_reshard_after_forward"] == "never"
    assert degrees("parameters", flat)["fsdp_reshard_after_forward"] == "always"
    # one rank shards nothing
    assert degrees("optimizer", Layout(8, 1, 1))["data_parallel_shard_degree"] == 1


def test_a_model_is_named_as_torchtitan_names_it():
    def named(model):
        return tomllib.loads(torchtitan_toml(model, SHARDED, Layout(8, 4, 8)))["model"]

    assert named(LLAMA) == {"name": "llama3", "flavor": "405B"}
    assert named(DEEPSEEK) == {"name": "deepseek_v3", "flavor": "671B"}
    assert named(replace(LLAMA, name="mine")) == {}


def test_torchtitan_learns_of_experts_and_of_rotated_keys():
    training = replace(SHARDED, batch=64)
    text = torchtitan_toml(DEEPSEEK, training, Layout(2, 1, 32, 2, 64))
    degrees = tomllib.loads(text)["parallelism"]
    assert degrees["expert_tensor_parallel_degree"] == 2
    assert degrees["context_parallel_rotate_method"] == "allgather"
    alone = replace(training, expert_tp=False)
    text = torchtitan_toml(DEEPSEEK, alone, Layout(2, 1, 32, 2, 64))
    assert tomllib.loads(text)["parallelism"]["expert_tensor_parallel_degree"] == 1


def test_a_recipe_says_what_else_main_needs(monkeypatch):
    plain = replace(SHARDED, sequence_parallel=False)
    text = torchtitan_recipe(LLAMA, plain, Layout(8, 8, 8, 2))
    assert "# needs a model_spec with flex attention" in text
    config = run_recipe(text, monkeypatch)
    assert config.parallelism.enable_sequence_parallel is False
    assert config.training.disable_cuda_graphs is True
    assert config.parallelism.num_pp_microbatches == 256
    bare = torchtitan_recipe(LLAMA, SHARDED, Layout(8, 1, 8))
    assert "cuda_graphs" not in bare
    assert "flex" not in bare


BOTH = (megatron_flags, torchtitan_toml, torchtitan_recipe)


@pytest.mark.parametrize("export", BOTH)
@pytest.mark.parametrize(
    ("model", "training", "layout", "says"),
    [
        (
            LLAMA,
            SHARDED,
            Layout(8, 1, 3),
            "batch 2,048 mod b·d = 1·3 is 2",
        ),
        (LLAMA, SHARDED, Layout(3, 1, 8), "128 heads mod tp 3 = 2"),
        (LLAMA, SHARDED, Layout(7, 1, 8), "MLP width 53,248 mod tp 7 = 6"),
        (LLAMA, SHARDED, Layout(8, 129, 8), "126 layers for pp·v = 129 chunks"),
        (
            LLAMA,
            SHARDED,
            Layout(8, 1, 8, 1, 1, 2),
            "v 2 with pp 1: there are no stages to interleave",
        ),
        (LLAMA, SHARDED, Layout(8, 1, 8, 1, 2), "ep 2, and llama3-405b has no experts"),
        (DEEPSEEK, SHARDED, Layout(1, 1, 8, 1, 3), "256 experts mod ep 3 = 1"),
        (
            DEEPSEEK,
            SHARDED,
            Layout(2, 1, 8, 1, 16),
            "dp·cp = 8 mod ep 16 = 8",
        ),
        (
            LLAMA,
            replace(SHARDED, shard_over="d"),
            Layout(8, 1, 8, 2),
            "state is sharded over dp and cp, not over dp alone",
        ),
    ],
)
def test_what_no_framework_runs_is_refused_with_the_reason(
    export, model, training, layout, says
):
    message = refusal(export, model, training, layout)
    assert says in message
    assert f"cannot run {layout}: " in message


@pytest.mark.parametrize(
    ("training", "layout", "says"),
    [
        (
            STEP,
            Layout(12, 4, 8),
            "8 KV heads mod tp 12 = 8, and tp mod 8 = 4",
        ),
        (
            replace(STEP, batch=8 * 21),
            Layout(8, 16, 8, virtual_stages=2),
            "21 microbatches mod pp 16 = 5, and v is 2",
        ),
        (SHARDED, Layout(8, 16, 8), "is its FSDP, which is neither documented nor tested"),
        (
            replace(STEP, order=ORDERS[1]),
            Layout(8, 8, 8, 2),
            "experts have to be replicated dp = 8 times, which they are not, even",
        ),
        (
            replace(STEP, scatter_gather=False),
            Layout(8, 16, 8),
            "a TP rank sends its own part to the next stage with sequence parallelism",
        ),
        (
            replace(STEP, sequence_parallel=False),
            Layout(8, 16, 8),
            "a TP rank sends the whole tensor to the next stage without sequence par",
        ),
    ],
)
def test_what_megatron_does_not_run_is_refused_with_the_reason(training, layout, says):
    assert says in refusal(megatron_flags, LLAMA, training, layout)


def test_megatron_copies_kv_heads_where_there_are_fewer_than_ranks():
    assert megatron_flags(LLAMA, STEP, Layout(16, 8, 8))[0].endswith(" 16")
    assert "tp 16 does not divide the 8 KV" in refusal(
        torchtitan_toml, LLAMA, SHARDED, Layout(16, 8, 8)
    )


def test_experts_of_one_rank_are_said_without_expert_parallelism_too():
    alone = replace(STEP, expert_tp=False)
    given_ = arguments(megatron_flags(DEEPSEEK, alone, Layout(2, 1, 8)))
    assert given_["--expert-tensor-parallel-size"] == "1"
    given_ = arguments(megatron_flags(DEEPSEEK, STEP, Layout(2, 1, 8)))
    assert "--expert-tensor-parallel-size" not in given_


def test_the_order_that_a_plan_chooses_is_one_that_megatron_runs():
    found = plan(LLAMA, read_platform("gb200-nvl72"), 1_152, STEP)
    for at in np.flatnonzero(found.feasible)[:40].tolist():
        training = replace(STEP, order=found.order(at))
        assert megatron_flags(LLAMA, training, found.layouts[at])


def test_the_other_order_of_ranks_is_said_where_megatron_can_run_it():
    other = replace(STEP, order=ORDERS[1])
    assert "--use-tp-pp-dp-mapping" in megatron_flags(LLAMA, other, Layout(8, 16, 8))
    assert "--use-tp-pp-dp-mapping" in megatron_flags(LLAMA, other, Layout(8, 1, 8, 2))
    assert "--use-tp-pp-dp-mapping" in megatron_flags(
        DEEPSEEK, other, Layout(2, 4, 8, 2, 2)
    )


@pytest.mark.parametrize("export", [torchtitan_toml, torchtitan_recipe])
@pytest.mark.parametrize(
    ("training", "layout", "says"),
    [
        (STEP, Layout(8, 16, 8), "there is no sharding of the optimizer alone"),
        (replace(STEP, sharding="none"), Layout(8, 16, 8), "(DDP) stands alone"),
        (
            replace(SHARDED, recompute="fit"),
            Layout(8, 1, 8),
            "recomputes all layers or none",
        ),
        (
            replace(SHARDED, order=ORDERS[1]),
            Layout(8, 16, 8),
            "pp is always the outermost dimension, and the order is tp-cp-ep-pp-dp",
        ),
        (
            replace(SHARDED, batch=8 * 37),
            Layout(8, 16, 8, virtual_stages=2),
            "37 microbatches are not 2 equal rounds of 16 or more",
        ),
        (
            replace(SHARDED, scatter_gather=False),
            Layout(8, 16, 8),
            "a TP rank sends its own part to the next stage",
        ),
    ],
)
def test_what_torchtitan_does_not_run_is_refused_with_the_reason(
    export, training, layout, says
):
    assert says in refusal(export, LLAMA, training, layout)


def test_torchtitan_keeps_tied_embeddings_on_one_stage():
    tied = replace(LLAMA, tied_embeddings=True)
    message = refusal(torchtitan_toml, tied, SHARDED, Layout(8, 16, 8))
    assert "llama3-405b ties its embeddings, which a pipeline takes apart" in message
    assert torchtitan_toml(tied, SHARDED, Layout(8, 1, 8))


def test_only_releases_of_torchtitan_bring_sequence_parallelism_along():
    plain = replace(SHARDED, sequence_parallel=False)
    message = refusal(torchtitan_toml, LLAMA, plain, Layout(8, 16, 8))
    assert "tp brings sequence parallelism along" in message


def test_only_releases_of_torchtitan_shard_experts_over_tp():
    layout = Layout(2, 1, 32, ep=32)
    assert torchtitan_toml(DEEPSEEK, SHARDED, layout)
    message = refusal(torchtitan_recipe, DEEPSEEK, SHARDED, layout)
    assert "experts are not sharded over tp" in message
    assert torchtitan_recipe(DEEPSEEK, replace(SHARDED, expert_tp=False), layout)


def test_all_reasons_are_given_at_once():
    message = refusal(megatron_flags, LLAMA, STEP, Layout(8, 7, 9, 3, 4, 2))
    assert message == (
        "Megatron-LM cannot run tp8,pp7,dp9,cp3,ep4,v2: batch 2,048 mod b·d = 1·9 is 5; "
        "sequence 8,192 mod 2·cp = 2·3 is 2; ep 4, and llama3-405b has no experts"
    )
