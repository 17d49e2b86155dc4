"""What models, machines, steps and assumptions can be: said by key and value otherwise."""

from dataclasses import fields, replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.errors import SynctaxError
from synctax.planning import platform as platforms
from synctax.planning import shape
from synctax.planning import training as steps
from synctax.planning.inputs.named import (
    model_names,
    platform_names,
    read_model,
    read_platform,
)
from synctax.planning.platform import Tier
from synctax.planning.possible import LARGEST_COUNT, ImpossibleError
from synctax.planning.search import plan
from synctax.planning.training import Assumptions, Exposed, Training

LLAMA = read_model("llama3-405b")
DEEPSEEK = read_model("deepseek-v3")
H100 = read_platform("dgx-h100")
STEP = Training(2_048, 8_192)

NO_COUNTS = st.one_of(
    st.integers(max_value=0),
    st.integers(min_value=LARGEST_COUNT + 1),
    st.floats(),
    st.text(max_size=3),
    st.booleans(),
    st.none(),
)
NO_RATES = st.one_of(
    st.floats(max_value=0.0),
    st.floats(min_value=1e14),
    st.sampled_from((nan, inf, "400", True, None)),
)


def refused(check: Any, value: object) -> str:
    with pytest.raises(ImpossibleError) as caught:
        check(value)
    return caught.value.key


def test_what_is_built_in_is_possible():
    for name in model_names():
        shape.check(read_model(name))
    for name in platform_names():
        platforms.check(read_platform(name))
    steps.check(STEP)
    steps.check_assumptions(Assumptions())


@given(
    st.sampled_from(
        ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocabulary")
    ),
    NO_COUNTS,
)
def test_a_shape_is_of_whole_numbers(name, value):
    assert refused(shape.check, replace(LLAMA, **{name: value})) == name


@given(st.sampled_from(("batch", "sequence", "microbatch")), NO_COUNTS)
def test_a_step_is_of_whole_numbers(name, value):
    assert refused(steps.check, replace(STEP, **{name: value})) == name


@given(st.sampled_from(("domain", "gpus_per_host")), NO_COUNTS)
def test_a_machine_has_a_whole_number_of_gpus(name, value):
    assert refused(platforms.check, replace(H100, **{name: value})) == name


@given(
    st.sampled_from(("nvlink_gb_per_s", "nic_gb_per_s", "memory_bytes", "bf16_tflops")),
    NO_RATES,
)
def test_rates_and_memory_are_above_nothing_and_in_their_unit(name, value):
    assert refused(platforms.check, replace(H100, **{name: value})) == name


@given(st.sampled_from([field.name for field in fields(Training)]), st.text(max_size=12))
def test_no_other_word_is_taken_for_a_way_to_train(name, text):
    if text not in ("none", "optimizer", "gradients", "parameters", "d", "d*c", "full"):
        assert refused(steps.check, replace(STEP, **{name: text})) == name


@given(
    st.sampled_from(("mfu", "nvlink_efficiency", "nic_efficiency")),
    st.one_of(st.floats(max_value=0.0), st.floats(min_value=1.001), st.just(nan)),
)
def test_efficiencies_are_shares(name, value):
    assumed = replace(Assumptions(), **{name: value})
    assert refused(steps.check_assumptions, assumed) == name


MODELS = [
    (replace(LLAMA, kv_heads=6), "kv_heads is 6; expected a number that divides the 128"),
    (replace(LLAMA, gated="yes"), "gated is 'yes'; expected True or False"),
    (replace(LLAMA, parameters=nan), "parameters is nan; expected a number above 0"),
    (replace(LLAMA, parameters=1e19), "parameters is 1e+19; expected at most 1e+18"),
    (
        replace(LLAMA, active_parameters=1e9),
        "active_parameters is 1e+09; expected 4.05e",
    ),
    (replace(LLAMA, active_parameters=9e11), "at most the parameters (4.05e+11)"),
    (
        replace(DEEPSEEK, experts=replace(DEEPSEEK.experts, top_k=257)),
        "experts.top_k is 257; expected at most the 256 of experts.count",
    ),
    (
        replace(DEEPSEEK, experts=replace(DEEPSEEK.experts, dense_layers=61)),
        "experts.dense_layers is 61; expected fewer than the 61 layers",
    ),
    (
        replace(DEEPSEEK, experts=replace(DEEPSEEK.experts, shared=-1)),
        "experts.shared is -1; expected a whole number of 0 or more",
    ),
    (
        replace(DEEPSEEK, parameters=1e9, active_parameters=1e9),
        "parameters is 1e+09; expected more than the",
    ),
    (
        replace(DEEPSEEK, latent=replace(DEEPSEEK.latent, v_dim=0)),
        "latent.v_dim is 0; expected a whole number of 1 or more",
    ),
    (
        replace(DEEPSEEK, latent=replace(DEEPSEEK.latent, q_rank=-3)),
        "latent.q_rank is -3; expected a whole number of 1 or more",
    ),
]


@pytest.mark.parametrize(("model", "says"), MODELS)
def test_a_shape_that_no_model_has_is_refused(model, says):
    with pytest.raises(SynctaxError) as caught:
        shape.check(model)
    assert says in str(caught.value)


def test_queries_need_not_be_compressed():
    shape.check(replace(DEEPSEEK, latent=replace(DEEPSEEK.latent, q_rank=None)))


PLATFORMS = [
    (replace(H100, gpus_per_host=3), "gpus_per_host is 3; expected a number that divides"),
    (
        replace(H100, memory_bytes=80e18),
        "expected at most 1e+13: it is in bytes of one GPU",
    ),
    (replace(H100, nic_gb_per_s=50e9), "expected at most 1e+06: it is in 10^9 bytes a"),
    (replace(H100, tiers=(Tier(8, 7),)), "tiers[0].gpus is 8; expected more than the 8"),
    (replace(H100, tiers=(Tier(500, 7),)), "tiers[0].gpus is 500; expected a multiple of"),
    (
        replace(H100, tiers=(Tier(96, 2), Tier(96, 2))),
        "tiers[1].gpus is 96; expected more than the 96 of the tier below",
    ),
    (replace(H100, tiers=(Tier(0, 7),)), "tiers[0].gpus is 0; expected a whole number"),
    (
        replace(H100, tiers=(Tier(96, 0.5),)),
        "tiers[0].oversubscription is 0.5; expected a number of 1 or more",
    ),
    (replace(H100, tiers=(Tier(96, inf),)), "tiers[0].oversubscription is inf"),
]


@pytest.mark.parametrize(("platform", "says"), PLATFORMS)
def test_a_machine_that_cannot_be_is_refused(platform, says):
    with pytest.raises(SynctaxError) as caught:
        platforms.check(platform)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("training", "says"),
    [
        (
            replace(STEP, recompute="Full"),
            "recompute is 'Full'; expected one of 'none', 'selective', 'full', 'fit'",
        ),
        (replace(STEP, shard_over="dp-cp"), "shard_over is 'dp-cp'; expected one of 'd', "),
        (replace(STEP, sharding="optimiser"), "sharding is 'optimiser'; expected one of"),
        (replace(STEP, order="tp-pp"), "order is 'tp-pp'; expected one of None, "),
        (replace(STEP, batch=2**40), "at most 2,147,483,647"),
    ],
)
def test_a_word_that_says_no_way_to_train_is_refused_by_a_search(training, says):
    with pytest.raises(SynctaxError) as caught:
        plan(LLAMA, H100, 1_024, training)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("assumptions", "says"),
    [
        (Assumptions(exposed=Exposed(tp=2.0)), "exposed.tp is 2; expected a share from 0"),
        (Assumptions(reserve_bytes=-1.0), "reserve_bytes is -1; expected a number of 0 or"),
        (Assumptions(pooled_nics=1), "pooled_nics is 1; expected True or False"),
    ],
)
def test_assumptions_that_cannot_be_are_refused(assumptions, says):
    with pytest.raises(SynctaxError) as caught:
        steps.check_assumptions(assumptions)
    assert says in str(caught.value)


def test_numbers_of_numpy_are_numbers():
    steps.check(replace(STEP, batch=np.int64(2_048)))
    platforms.check(replace(H100, nic_gb_per_s=np.float64(50)))
    steps.check_assumptions(Assumptions(exposed=Exposed(dp=0)))
