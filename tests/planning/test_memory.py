"""What layouts need: what holds of any of them, closed forms, and where counts differ."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from synctax.planning.activations import layer_bytes
from synctax.planning.flop import attention_flop, step_flop
from synctax.planning.layout import Layouts
from synctax.planning.memory import Memory, full_recompute_to_fit, memory
from synctax.planning.pipeline import average_layers, in_flight
from synctax.planning.shards import shards
from synctax.planning.state import fullest_state_bytes, state_bytes
from synctax.planning.training import Training
from tests.planning.made import DEEPSEEK_V3, GPT_128, LLAMA_3, LLAMA_405B, MIXTURE, table
from tests.planning.test_volumes import layouts_of, trainings

MODELS = (LLAMA_405B, GPT_128, DEEPSEEK_V3, MIXTURE)
H100_BYTES = 80e9
UNIT = 8_192 * 16_384
"""b·s·h of the worked example."""

models = st.sampled_from(MODELS)
kept = st.sampled_from(["none", "selective", "full", "fit"])
trained = st.builds(lambda how, kept: replace(how, recompute=kept), trainings, kept)
budgets = st.floats(1e9, 1e13)


def needs(model, training, *layouts, budget=H100_BYTES):
    return memory(model, training, Layouts.of(layouts), budget)


def one(model, training, text, budget=H100_BYTES):
    """Tell what one layout needs, GB."""
    of = memory(model, training, table(text), budget)
    return {name: float(getattr(of, name)[0]) / 1e9 for name in Memory.__slots__}


@given(models, trained, st.lists(layouts_of, min_size=1, max_size=6), budgets)
def test_many_layouts_at_once_are_as_each_alone(model, training, layouts, budget):
    together = needs(model, training, *layouts, budget=budget)
    for row, layout in enumerate(layouts):
        alone = needs(model, training, layout, budget=budget)
        for name in Memory.__slots__:
            assert getattr(together, name)[row] == getattr(alone, name)[0]


@given(models, trained, layouts_of, budgets)
def test_the_range_holds_what_is_published(model, training, layout, budget):
    of = needs(model, training, layout, budget=budget)
    assert of.memory_lo_bytes <= of.memory_bytes <= of.memory_hi_bytes
    assert of.memory_bytes == of.state_bytes + of.activation_bytes
    assert min(of.state_bytes, of.activation_bytes) > 0


@given(models, trainings, layouts_of)
def test_sharding_over_cp_too_needs_no_more_state(model, training, layout):
    d, dc = (
        needs(model, replace(training, shard_over=over), layout) for over in ("d", "d*c")
    )
    assert dc.state_bytes <= d.state_bytes * (1 + 1e-12)
    assert dc.activation_bytes == d.activation_bytes


@given(models, trainings, layouts_of)
def test_more_data_parallel_ranks_need_no_more_state(model, training, layout):
    wider = replace(layout, dp=layout.dp * 2)
    of = needs(model, training, layout, wider).state_bytes
    assert of[1] <= of[0] * (1 + 1e-12)


@given(models, trainings, layouts_of)
def test_each_stage_of_zero_needs_no_more_than_the_one_before(model, training, layout):
    of = [
        needs(model, replace(training, sharding=sharding), layout).state_bytes[0]
        for sharding in ("none", "optimizer", "gradients")
    ]
    assert of == sorted(of, reverse=True)


@given(models, trained, layouts_of)
def test_sequence_parallelism_needs_no_more_and_nothing_changes_without_tp(
    model, training, layout
):
    apart, together = (
        needs(model, replace(training, sequence_parallel=on, recompute="selective"), layout)
        for on in (False, True)
    )
    assert together.activation_bytes <= apart.activation_bytes
    assert together.memory_hi_bytes <= apart.memory_hi_bytes
    if layout.tp == 1:
        assert together.memory_hi_bytes == apart.memory_hi_bytes


@given(models, trainings, layouts_of)
def test_context_parallelism_halves_activations_and_no_state(model, training, layout):
    longer = replace(layout, cp=layout.cp * 2)
    training = replace(training, shard_over="d")
    dense = replace(model, experts=None)
    of = needs(dense, training, layout, longer)
    assert_allclose(of.activation_bytes[1] * 2, of.activation_bytes[0])
    assert of.state_bytes[0] == of.state_bytes[1]


@given(models, trainings, layouts_of)
def test_the_first_stage_holds_as_much_as_all_layers_of_one_microbatch(
    model, training, layout
):
    """L/p layers of p microbatches, for any p (Korthikanti et al. 2022, equation 5)."""
    layout = replace(layout, virtual_stages=1)
    training = replace(training, batch=layout.dp * layout.pp * training.microbatch)
    layouts = Layouts.of([layout])
    expected = layer_bytes(model, training, layouts).likely * model.layers
    assert_allclose(needs(model, training, layout).activation_bytes, expected)


@given(models, trainings, layouts_of, budgets)
def test_recomputation_to_fit_is_as_little_as_fits(model, training, layout, budget):
    layouts = Layouts.of([layout])
    needed = full_recompute_to_fit(model, training, layouts, budget)
    every = average_layers(model, layouts)
    fitted = memory(model, replace(training, recompute="fit"), layouts, budget)
    full = memory(model, replace(training, recompute="full"), layouts, budget)
    if np.isnan(needed[0]):
        assert fitted.recomputed_layers == every
        assert fitted.memory_bytes == full.memory_bytes > budget
        return
    assert fitted.memory_bytes <= budget
    assert fitted.recomputed_layers == needed <= every
    exactly = float(fitted.memory_bytes[0])
    assert full_recompute_to_fit(model, training, layouts, exactly) in (needed, needed + 1)
    less = full_recompute_to_fit(model, training, layouts, float(np.nextafter(exactly, 0)))
    assert np.isnan(less) == (full.memory_bytes[0] >= exactly)
    if needed > 0:
        fewer = np.ceil(needed) - 1
        per_layer = layer_bytes(model, training, layouts)
        stored = (every - fewer) * per_layer.likely + fewer * per_layer.recomputed
        at_work = per_layer.likely if fewer > 0 else 0
        held = in_flight(training, layouts)
        assert fitted.state_bytes + stored * held + at_work > budget * (1 - 1e-12)


def test_recomputation_of_all_layers_keeps_their_inputs_and_the_layer_at_work():
    of = one(LLAMA_405B, replace(LLAMA_3, recompute="full"), "tp8,pp16,dp8")
    layers = 126 / 16
    expected = 16 * layers * 2 * UNIT / 8 + 34 * UNIT / 8
    assert of["activation_bytes"] == pytest.approx(expected / 1e9)
    assert of["recomputed_layers"] * 1e9 == pytest.approx(layers)
    assert of["recompute_flop_share"] * 1e9 == pytest.approx(1 / 3)


def test_the_upper_end_recomputes_all_layers_of_the_fullest_stage():
    text = "tp8,pp16,dp8"
    of = one(LLAMA_405B, replace(LLAMA_3, recompute="full"), text)
    state = float(fullest_state_bytes(LLAMA_405B, LLAMA_3, table(text))[0])
    expected = state + 16 * (8 * 2 * UNIT / 8 + UNIT / 8) + 34 * UNIT / 8
    assert of["memory_hi_bytes"] == pytest.approx(expected / 1e9)


@pytest.mark.parametrize("kept", ["selective", "full"])
def test_what_is_needed_exactly_fits(kept):
    layouts = table("tp8,pp16,dp8", "tp8,pp8,dp8,cp2", "tp4,pp16,dp16")
    how = replace(LLAMA_3, recompute=kept)
    exactly = memory(LLAMA_405B, how, layouts, H100_BYTES)
    for row, budget in enumerate(exactly.memory_bytes):
        layout = Layouts.of([layouts[row]])
        needed = full_recompute_to_fit(LLAMA_405B, LLAMA_3, layout, float(budget))
        assert needed == exactly.recomputed_layers[row]
        less = float(np.nextafter(budget, 0))
        needed = full_recompute_to_fit(LLAMA_405B, LLAMA_3, layout, less)
        assert not needed <= exactly.recomputed_layers[row]


def test_recomputation_of_two_layers_makes_the_published_layout_fit():
    of = one(LLAMA_405B, replace(LLAMA_3, recompute="fit"), "tp8,pp16,dp8")
    assert of["recomputed_layers"] * 1e9 == pytest.approx(2)
    assert of["recompute_flop_share"] * 1e9 == pytest.approx(2 / 7.875 / 3)
    saved = 2 * 16 * 32 * UNIT / 8 - 34 * UNIT / 8
    assert of["memory_bytes"] == pytest.approx(95.6041 - saved / 1e9, abs=1e-4)
    assert of["memory_bytes"] < 80


def test_nothing_is_recomputed_where_it_fits_or_was_not_asked_for():
    for kept in ("fit", "selective", "none"):
        of = memory(
            LLAMA_405B, replace(LLAMA_3, recompute=kept), table("tp16,pp8,dp8"), 500e9
        )
        assert_array_equal(of.recomputed_layers, [0])
        assert_array_equal(of.recompute_flop_share, [0])


def test_no_recomputation_makes_state_fit_that_does_not():
    assert np.isnan(full_recompute_to_fit(LLAMA_405B, LLAMA_3, table("tp8,dp8"), 80e9))


@pytest.mark.parametrize(
    ("changes", "tp", "coefficient"),
    [
        ({}, 8, 34 / 8),
        ({}, 1, 34),
        ({"recompute": "none"}, 8, 34 / 8 + 5 * 128 * 8_192 / (16_384 * 8)),
        ({"sequence_parallel": False}, 8, 10 + 24 / 8),
        ({"sequence_parallel": False}, 1, 34),
        (
            {"sequence_parallel": False, "recompute": "none"},
            4,
            10 + 24 / 4 + 5 * 128 * 8_192 / (16_384 * 4),
        ),
    ],
)
def test_a_layer_keeps_what_table_2_says(changes, tp, coefficient):
    """Korthikanti et al. 2022, table 2, in b·s·h bytes."""
    of = layer_bytes(LLAMA_405B, replace(LLAMA_3, **changes), table(f"tp{tp},dp8"))
    assert_allclose(of.likely / UNIT, [coefficient])


@given(trained, layouts_of)
def test_all_counts_agree_of_the_shape_that_table_2_is_about(training, layout):
    of = layer_bytes(GPT_128, training, Layouts.of([layout]))
    assert_allclose([of.low, of.high], [of.likely] * 2)


def counts(model, tp=1, **changes):
    """Tell the smallest and largest count of a layer, in b·s·h bytes."""
    training = replace(Training(batch=64, sequence=4_096), **changes)
    of = layer_bytes(model, training, table(f"tp{tp},dp8"))
    unit = 4_096 * model.hidden
    return of.low[0] / unit, of.high[0] / unit


def test_fewer_heads_and_a_gate_change_what_is_kept():
    """Norms, inputs 8; queries and output 4; keys and values 4·8/128; MLP 6·3.25."""
    low, high = counts(LLAMA_405B)
    assert (low, high) == (18 + 4 * 3.25, 34)
    wide = replace(LLAMA_405B, ffn=4 * 16_384)
    assert counts(wide)[1] == pytest.approx(8 + 4 + 0.25 + 24)


def test_heads_wider_than_the_model_are_counted():
    """Qwen3 32B: 64 heads of 128 in a width of 5,120."""
    qwen = replace(
        LLAMA_405B, layers=64, hidden=5_120, heads=64, kv_heads=8, ffn=25_600, head_dim=128
    )
    q, kv = 64 * 128 / 5_120, 8 * 128 / 5_120
    assert counts(qwen)[1] == pytest.approx(8 + 4 * q + 4 * kv + 6 * 5)


@pytest.mark.parametrize(
    ("tp", "expert_tp", "copies"), [(1, True, 16), (8, True, 16), (8, False, 2)]
)
def test_latents_and_copies_of_tokens_are_counted(tp, expert_tp, copies):
    """DeepSeek-V3: keys of 192, values of 128 of 128 heads, twice; 8 copies of 2 bytes."""
    latents = 2 * 1_536 + 2 * 512 + 64
    attention = 2 * (128 * 2 * (192 + 128) + latents) / 7_168
    mlp = 6 * 9 * 2_048 / 7_168
    high = counts(DEEPSEEK_V3, tp, expert_tp=expert_tp)[1]
    assert high == pytest.approx((8 + attention + mlp) / tp + copies)


def test_a_layer_with_experts_is_judged_by_its_tensors():
    """Two experts of 8,192 and their copies of a token: not 34, nor 18 + 4·f/h."""
    every = 8 + 4 + 0.25 + 2 * 2 + 6 * 2 * 8_192 / 16_384
    assert counts(MIXTURE) == pytest.approx((every, every))
    training = Training(batch=64, sequence=4_096)
    likely = layer_bytes(MIXTURE, training, table("tp1,dp8")).likely[0]
    assert likely / (4_096 * MIXTURE.hidden) == pytest.approx(every)


def test_dense_layers_among_those_with_experts_lower_the_lower_end_only():
    """58 of 61 layers of DeepSeek-V3 read 8 copies of a token, and compute as much."""
    low, high = counts(DEEPSEEK_V3)
    training = Training(batch=64, sequence=4_096)
    likely = layer_bytes(DEEPSEEK_V3, training, table("dp8")).likely[0]
    assert likely / (4_096 * DEEPSEEK_V3.hidden) == high == pytest.approx(63.45, abs=0.01)
    assert high - low == pytest.approx(3 / 61 * 16)


def test_latent_attention_alone_is_judged_by_its_tensors_too():
    model = replace(DEEPSEEK_V3, experts=None)
    low, high = counts(model)
    assert low == high == pytest.approx(63.45 - 16, abs=0.01)


def test_a_wide_dense_layer_may_keep_more_than_one_with_experts():
    model = replace(DEEPSEEK_V3, ffn=100_000)
    assert counts(model)[1] > counts(DEEPSEEK_V3)[1]


@pytest.mark.parametrize(
    ("sharding", "per_parameter"),
    [("none", 18), ("optimizer", 6 + 12 / 8), ("gradients", 2 + 16 / 8)],
)
def test_a_parameter_takes_what_is_not_sharded_of_it(sharding, per_parameter):
    how = replace(LLAMA_3, sharding=sharding)
    of = state_bytes(LLAMA_405B, how, table("tp8,pp16,dp8"))
    assert_allclose(of, [405e9 / 128 * per_parameter])


def test_two_layers_of_sharded_parameters_are_whole_at_a_time():
    how = replace(LLAMA_3, sharding="parameters")
    of = state_bytes(LLAMA_405B, how, table("tp8,dp8", "tp8,pp126,dp8", "tp8"))
    layer = 405e9 / 126 / 8
    expected = [
        126 * layer * 18 / 8 + 2 * layer * 2 * 7 / 8,
        layer * 18 / 8 + layer * 2 * 7 / 8,
        126 * layer * 18,
    ]
    assert_allclose(of, expected)


def test_experts_are_spread_over_other_ranks_than_the_rest():
    how = replace(LLAMA_3, shard_over="d*c")
    routed = MIXTURE.expert_parameters
    dense = (1e12 - routed) / 32 * (6 + 12 / 64)
    over_tp, not_over_tp = (
        state_bytes(MIXTURE, replace(how, expert_tp=on), table("tp8,pp4,dp32,cp2,ep16"))[0]
        for on in (True, False)
    )
    assert over_tp == pytest.approx(dense + routed / (16 * 8 * 4) * (6 + 12 / 4))
    assert not_over_tp == pytest.approx(dense + routed / (16 * 4) * (6 + 12 / 32))


@given(models, trainings, layouts_of)
def test_all_ranks_together_hold_every_parameter_as_often_as_it_is_replicated(
    model, training, layout
):
    """P - P_e over t·p, times d·c copies; P_e in as many copies as reduce it."""
    held = shards(model, training, Layouts.of([layout]))
    routed = model.expert_parameters
    copies = layout.gpus / (layout.tp * layout.pp)
    assert_allclose(held.dense * layout.gpus, (model.parameters - routed) * copies)
    if held.expert_ranks > 1:
        assert_allclose(held.experts * layout.gpus, routed * held.expert_ranks)


def test_the_fullest_stage_has_an_embedding_beside_its_layers():
    layouts = table("tp8,pp16,dp8", "tp8,dp8")
    matrix = 128_256 * 16_384
    layer = (405e9 - 2 * matrix) / 126
    expected = np.array([8 * layer + matrix, 405e9]) / 8 * 7.5
    assert_allclose(fullest_state_bytes(LLAMA_405B, LLAMA_3, layouts), expected)
    tied = replace(LLAMA_405B, tied_embeddings=True)
    layer = (405e9 - matrix) / 126
    expected = np.array([8 * layer + matrix, 405e9]) / 8 * 7.5
    assert_allclose(fullest_state_bytes(tied, LLAMA_3, layouts), expected)


def test_experts_of_the_fullest_stage_are_those_of_its_layers():
    """58 layers with experts over 16 stages of up to 4; over 1 stage, all 58."""
    layouts = table("pp16,dp64,ep64", "dp64,ep64")
    of = fullest_state_bytes(DEEPSEEK_V3, LLAMA_3, layouts)
    routed = DEEPSEEK_V3.expert_parameters / 64 * np.array([4 / 58, 1]) * 18
    matrix = 129_280 * 7_168
    layer = (671e9 - DEEPSEEK_V3.expert_parameters - 2 * matrix) / 61
    dense = np.array([4 * layer + matrix, 61 * layer + 2 * matrix]) * (6 + 12 / 64)
    assert_allclose(of, routed + dense)


def test_gradients_are_whole_until_they_are_reduced():
    layouts = table("tp8,pp16,dp8", "tp8,pp16,dp8,v2")
    parameters = 8 * (405e9 - 2 * 128_256 * 16_384) / 126 + 128_256 * 16_384
    for sharding, layers, of_chunk in (("gradients", 2, 1 / 2), ("parameters", 2, None)):
        how = replace(LLAMA_3, sharding=sharding)
        of = fullest_state_bytes(LLAMA_405B, how, layouts)
        shared = 2 + 16 / 8 if sharding == "gradients" else 18 / 8
        at_work = layers / 7.875
        gathered = 2 * at_work * 7 / 8 if sharding == "parameters" else 0
        whole = np.array([at_work, of_chunk or at_work]) * 4 * 7 / 8
        assert_allclose(of, parameters / 8 * (shared + gathered + whole))


def test_the_upper_end_has_the_fullest_stage_and_the_embedding():
    of = one(LLAMA_405B, LLAMA_3, "tp8,pp16,dp8")
    state = float(fullest_state_bytes(LLAMA_405B, LLAMA_3, table("tp8,pp16,dp8"))[0])
    expected = state + 16 * (8 * 34 * UNIT / 8 + UNIT / 8)
    assert of["memory_hi_bytes"] == pytest.approx(expected / 1e9)


@pytest.mark.parametrize(
    ("text", "held", "stages"), [("dp8", 1, 1), ("pp2,dp8,v2", 1.5, 2)]
)
def test_logits_count_where_the_last_stage_needs_most(text, held, stages):
    """A small model of a large vocabulary: 4·V + 4·h bytes a token beside its layers."""
    model = replace(LLAMA_405B, layers=2, hidden=64, heads=4, kv_heads=4, ffn=128,
                    head_dim=16, parameters=2 * 128_256 * 64 + 1e5)  # fmt: skip
    of = one(model, LLAMA_3, text)
    high = max(34, 18 + 4 * 2, 8 + 4 + 4 + 6 * 2)
    tokens = 8_192
    state = float(fullest_state_bytes(model, LLAMA_3, table(text))[0])
    expected = (
        state
        + tokens * (4 * 64 + 4 * 128_256)
        + 2 / stages * high * held * tokens * 64
        + (tokens * 64 if stages == 1 else 0)
    )
    assert of["memory_hi_bytes"] == pytest.approx(expected / 1e9)


def test_interleaving_holds_more_microbatches():
    before, after = (
        one(LLAMA_405B, LLAMA_3, text)["activation_bytes"]
        for text in ("tp8,pp16,dp8", "tp8,pp16,dp8,v2")
    )
    assert after / before == pytest.approx(1 + 15 / (16 * 2))


def test_few_microbatches_hold_little():
    layouts = table("tp8,pp16,dp2048", "tp8,pp16,dp256")
    of = memory(LLAMA_405B, LLAMA_3, layouts, H100_BYTES).activation_bytes
    assert_allclose(of, [7.875 * 34 * UNIT / 8, 8 * 7.875 * 34 * UNIT / 8])


@given(layouts_of)
def test_the_budget_matters_only_where_something_has_to_fit(layout):
    for kept in ("none", "selective", "full"):
        how = replace(LLAMA_3, recompute=kept)
        small, large = (
            needs(LLAMA_405B, how, layout, budget=budget) for budget in (1.0, 1e15)
        )
        for name in Memory.__slots__:
            assert getattr(small, name) == getattr(large, name)


def test_scores_that_are_computed_again_cost_a_forward_pass_of_them_where_they_count():
    long = replace(LLAMA_3, sequence=131_072, count_attention=True)
    scores = attention_flop(LLAMA_405B, long) / step_flop(LLAMA_405B, long)

    def again(**changes):
        found = memory(LLAMA_405B, replace(long, **changes), table("tp8,pp14,dp8"), 80e9)
        return float(found.recompute_flop_share[0])

    assert again(recompute="selective") == pytest.approx(scores / 3)
    assert again(recompute="none") == 0
    # all of a layer is all: its scores are not added once more
    assert again(recompute="full") == pytest.approx(1 / 3)
    assert again(recompute="selective", count_attention=False) == 0
