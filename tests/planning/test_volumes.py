"""Bytes and barriers of each dimension: what holds of any layout, and closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from synctax.planning.barriers import BARRIER_GROUPS, barriers
from synctax.planning.flop import attention_flop, step_flop
from synctax.planning.layout import Layout, Layouts
from synctax.planning.shape import Experts
from synctax.planning.training import Training
from synctax.planning.volumes import stage_pp_bytes, volumes
from tests.planning.made import DEEPSEEK_V3, LLAMA_3, LLAMA_405B, MIXTURE, table
from tests.planning.schedules import ring_all_gather

NAMES = ("tp_bytes", "pp_bytes", "dp_bytes", "cp_bytes", "ep_bytes")
MODELS = (LLAMA_405B, DEEPSEEK_V3, MIXTURE)

powers = st.integers(0, 4).map(lambda k: 2**k)
models = st.sampled_from(MODELS)
layouts_of = st.builds(Layout, powers, powers, powers, powers, powers, st.integers(1, 3))
trainings = st.builds(
    Training,
    batch=st.sampled_from([256, 2_048]),
    sequence=st.sampled_from([4_096, 131_072]),
    microbatch=st.sampled_from([1, 2]),
    sequence_parallel=st.booleans(),
    sharding=st.sampled_from(["none", "optimizer", "gradients", "parameters"]),
    shard_over=st.sampled_from(["d", "d*c"]),
    scatter_gather=st.booleans(),
    expert_tp=st.booleans(),
)


def found(model, training, *layouts, **more):
    """Tell all volumes of layouts, in GB."""
    of = volumes(model, training, Layouts.of(layouts), **more)
    return {name: getattr(of, name) / 1e9 for name in NAMES}


def sent(model, training, text, **more):
    """Tell the volumes of one layout, in GB."""
    of = volumes(model, training, table(text), **more)
    return {name: getattr(of, name)[0] / 1e9 for name in NAMES}


@given(models, trainings, st.lists(layouts_of, min_size=1, max_size=6))
def test_many_layouts_at_once_are_as_each_alone(model, training, layouts):
    together = found(model, training, *layouts)
    stop = barriers(model, training, Layouts.of(layouts))
    for row, layout in enumerate(layouts):
        alone = found(model, training, layout)
        assert all(together[name][row] == alone[name][0] for name in NAMES)
        one = barriers(model, training, Layouts.of([layout]))
        assert (one.count, one.n, one.group) == (
            stop.count[row],
            stop.n[row],
            stop.group[row],
        )


@given(models, trainings, layouts_of)
def test_no_volume_is_negative_and_a_dimension_of_one_rank_sends_nothing(
    model, training, layout
):
    of = found(model, training, layout)
    assert all(of[name] >= 0 for name in NAMES)
    assert (of["tp_bytes"] > 0) == (layout.tp > 1)
    assert (of["pp_bytes"] > 0) == (layout.pp > 1)
    assert (of["cp_bytes"] > 0) == (layout.cp > 1)
    assert (of["ep_bytes"] > 0) == (layout.ep > 1 and model.experts is not None)


@given(trainings, layouts_of)
def test_tp_bytes_depend_on_t_and_the_gpus_alone(training, layout):
    """16·L·B·s·h·(t-1)/n, whatever p, d, c and b (placement paper)."""
    t, shape = layout.tp, LLAMA_405B
    all_bytes = 16 * shape.layers * training.batch * training.sequence * shape.hidden
    expected = all_bytes * (t - 1) / layout.gpus
    assert_allclose(
        found(shape, training, layout)["tp_bytes"] * 1e9, [expected], rtol=1e-12
    )


@given(trainings, layouts_of, st.integers(2, 5))
def test_volumes_grow_with_the_batch_but_for_what_is_reduced_once(training, layout, times):
    training = replace(training, sharding="optimizer")
    larger = replace(training, batch=training.batch * times)
    for model in MODELS:
        before, after = found(model, training, layout), found(model, larger, layout)
        assert_array_equal(after.pop("dp_bytes"), before.pop("dp_bytes"))
        for name, value in after.items():
            assert_allclose(value, before[name] * times, rtol=1e-12)


@given(models, trainings, layouts_of)
def test_reducing_over_cp_too_sends_no_less(model, training, layout):
    d, dc = (
        found(model, replace(training, shard_over=over), layout)["dp_bytes"]
        for over in ("d", "d*c")
    )
    assert dc >= d


@given(models, trainings, layouts_of)
def test_barriers_double_with_t_and_with_c_at_the_same_gpus(model, training, layout):
    """4·L·B·t·c/(b·n): bytes do not change with c, barriers do."""
    layout = replace(layout, tp=layout.tp * 2, dp=layout.dp * 2)
    wider = replace(layout, tp=layout.tp * 2, dp=layout.dp // 2)
    longer = replace(layout, cp=layout.cp * 2, dp=layout.dp // 2)
    count = barriers(model, training, Layouts.of([layout, wider, longer])).count
    assert_allclose(count[1:], 2 * count[0], rtol=1e-12)
    expected = 4 * model.layers * training.batch * layout.tp * layout.cp
    assert_allclose(count[0], expected / (training.microbatch * layout.gpus), rtol=1e-12)


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_ring_collectives_send_the_share_that_formulas_take(ranks):
    """The shards that each rank sends and receives are (n-1)/n of a buffer of n."""
    per_rank, received = ring_all_gather(ranks)
    assert per_rank == received == [ranks - 1] * ranks
    # a model of one parameter a rank, reduced in FP32 and gathered in BF16
    tiny = replace(LLAMA_405B, parameters=float(ranks))
    of = volumes(tiny, LLAMA_3, table(f"dp{ranks}"))
    assert_allclose(of.dp_bytes, [per_rank[0] * (4 + 2)])


@pytest.mark.parametrize("e", [2, 4, 16])
def test_tokens_that_experts_receive_are_those_that_ranks_send(e):
    """Spread e·16 tokens of 2 copies over e ranks of 16/e experts each, by turns."""
    experts, copies, tokens = 16, 2, 16
    boxes = np.zeros((e, e), int)
    for rank in range(e):
        for copy in range(tokens * copies):
            boxes[rank, copy % experts * e // experts] += 1
    sends = boxes.sum(axis=1) - np.diag(boxes)
    assert_array_equal(sends, boxes.sum(axis=0) - np.diag(boxes))
    training = Training(batch=e, sequence=tokens)
    of = volumes(MIXTURE, training, table(f"dp{e},ep{e}")).ep_bytes
    passes, layers = 4, MIXTURE.layers
    assert_allclose(of, [passes * layers * sends[0] * MIXTURE.hidden * 2])


def test_keys_and_values_are_smaller_with_fewer_heads():
    """GQA: 8 heads of 128, and one copy at least on each rank of TP."""
    training = replace(LLAMA_3, batch=16)
    many = replace(LLAMA_405B, kv_heads=128)
    few, all_heads = (sent(model, training, "tp8,cp2") for model in (LLAMA_405B, many))
    assert all_heads["cp_bytes"] == 16 * few["cp_bytes"]
    eight, sixteen = (sent(LLAMA_405B, training, f"tp{t},cp2") for t in (8, 16))
    assert eight["cp_bytes"] == sixteen["cp_bytes"]
    four = sent(LLAMA_405B, training, "tp4,cp2")
    assert four["cp_bytes"] == 2 * eight["cp_bytes"]


def test_latent_attention_is_expanded_before_it_is_exchanged():
    """128 heads of 192 for keys and 128 for values, over 4 ranks of TP."""
    training = Training(batch=8, sequence=4_096)
    width = 128 / 4 * (192 + 128)
    expected = 2 * 4_096 * width * 0.5 * 61 * 8 * 2
    assert sent(DEEPSEEK_V3, training, "tp4,cp2")["cp_bytes"] == expected / 1e9


def test_keys_and_values_go_round_twice():
    found = sent(LLAMA_405B, LLAMA_3, "tp8,pp8,dp8,cp2")["cp_bytes"]
    assert found == pytest.approx(2 * 8.4557, rel=1e-4)


def test_stages_send_whole_tensors_without_scatter_gather():
    apart = replace(LLAMA_3, scatter_gather=False)
    parts, whole = (
        sent(LLAMA_405B, training, "tp8,pp16,dp8")["pp_bytes"]
        for training in (LLAMA_3, apart)
    )
    assert whole == 8 * parts


def test_stages_at_the_ends_send_half_without_chunks():
    between, ends = stage_pp_bytes(
        LLAMA_405B, LLAMA_3, table("tp8,pp16,dp8", "pp16,dp64,v2")
    )
    assert_allclose(ends / between, [1 / 2, 3 / 4])


def test_two_stages_are_both_at_an_end():
    layouts = table("pp2", "pp3", "pp1")
    between, ends = stage_pp_bytes(LLAMA_405B, LLAMA_3, layouts)
    of = volumes(LLAMA_405B, LLAMA_3, layouts).pp_bytes
    assert_array_equal(of, [ends[0], between[1], 0])


@pytest.mark.parametrize(
    ("sharding", "layout", "bytes_per_parameter"),
    [
        ("none", "tp8,pp16,dp8", 8),
        ("optimizer", "tp8,pp16,dp8", 6),
        ("gradients", "tp8,pp16,dp8", 4 * 256 + 2),
        ("gradients", "tp8,pp16,dp8,v2", 4 * 16 + 2),
        ("gradients", "tp8,pp16,dp128,v2", 4 + 2),
        ("gradients", "tp8,pp16,dp256,v2", 4 + 2),
        ("gradients", "dp2048", 4 + 2),
        ("parameters", "tp8,pp16,dp8", 256 * 8),
        ("parameters", "dp2048", 8),
    ],
)
def test_what_is_sharded_tells_how_often_it_is_sent(sharding, layout, bytes_per_parameter):
    layouts = table(layout)
    one = layouts[0]
    held = 405 / (one.tp * one.pp) * (one.dp - 1) / one.dp
    of = sent(LLAMA_405B, replace(LLAMA_3, sharding=sharding), layout)["dp_bytes"]
    assert of == pytest.approx(held * bytes_per_parameter, rel=1e-12)


def test_experts_reduce_over_fewer_ranks_than_the_rest():
    """P_e over e·t·p, reduced over d·c/e; without TP of experts over e·p and t·d·c/e."""
    routed = MIXTURE.expert_parameters / 1e9
    dense = 1_000 - routed
    of_dense = dense / (8 * 4) * 31 / 32 * 6
    over_tp = sent(MIXTURE, LLAMA_3, "tp8,pp4,dp32,ep8")["dp_bytes"]
    assert over_tp == pytest.approx(of_dense + routed / (8 * 8 * 4) * 3 / 4 * 6)
    apart = replace(LLAMA_3, expert_tp=False)
    not_over_tp = sent(MIXTURE, apart, "tp8,pp4,dp32,ep8")["dp_bytes"]
    assert not_over_tp == pytest.approx(of_dense + routed / (8 * 4) * 31 / 32 * 6)


def test_experts_on_more_ranks_than_there_are_reduce_over_themselves():
    of = sent(MIXTURE, LLAMA_3, "tp8,pp4,dp2,ep16")["dp_bytes"]
    dense = 1_000 - MIXTURE.expert_parameters / 1e9
    assert of == pytest.approx(dense / 32 / 2 * 6)


def tensors(model, **changes):
    """Tell how many tensors of a microbatch and layer TP moves."""
    training = replace(Training(batch=4, sequence=4_096), **changes)
    per_tensor = 4 * 4_096 * model.hidden * 7 / 8 * 2 * model.layers
    return sent(model, training, "tp8")["tp_bytes"] * 1e9 / per_tensor


def test_experts_over_tp_gather_a_token_for_each_expert_that_it_visits():
    """Attention 4; a MLP 4, of experts 4·k; what every token visits 4 more."""
    assert tensors(LLAMA_405B) == pytest.approx(8)
    assert tensors(MIXTURE) == pytest.approx(4 + 4 * 2)
    assert tensors(MIXTURE, expert_tp=False) == pytest.approx(4)
    assert tensors(DEEPSEEK_V3) == pytest.approx((3 * 8 + 58 * (4 + 4 * 8 + 4)) / 61)
    assert tensors(DEEPSEEK_V3, expert_tp=False) == pytest.approx(8)


def test_deepseek_sends_each_token_to_eight_experts():
    """58 layers over 16 stages, 64 ranks of EP, 4 passes of 7,168 x 8 copies in BF16."""
    training = Training(batch=15_360, sequence=4_096)
    tokens = 15_360 * 4_096 / 128
    expected = 4 * tokens * 8 * 7_168 * 63 / 64 * 2 * 58 / 16
    of = sent(DEEPSEEK_V3, training, "pp16,dp128,ep64")
    assert of["ep_bytes"] == pytest.approx(expected / 1e9, rel=1e-12)


def test_tokens_are_sent_by_each_rank_of_tp_without_sequence_parallelism():
    apart = replace(LLAMA_3, sequence_parallel=False)
    with_it, without = (
        sent(MIXTURE, training, "tp8,pp4,dp32,ep8") for training in (LLAMA_3, apart)
    )
    assert without.pop("ep_bytes") == 8 * with_it.pop("ep_bytes")
    assert without == with_it


def test_layers_computed_again_repeat_their_forward_collectives():
    text = "tp8,pp16,dp4,cp2,ep4"
    layers = 61 / 16
    before = sent(DEEPSEEK_V3, LLAMA_3, text)
    all_layers = sent(DEEPSEEK_V3, LLAMA_3, text, recomputed=np.array([layers]))
    ratio = {name: all_layers[name] / before[name] for name in NAMES}
    assert ratio == pytest.approx(
        {"tp_bytes": 1.5, "pp_bytes": 1, "dp_bytes": 1, "cp_bytes": 1.5, "ep_bytes": 1.5}
    )
    half = sent(DEEPSEEK_V3, LLAMA_3, text, recomputed=np.array([layers / 2]))
    assert half["tp_bytes"] == pytest.approx(1.25 * before["tp_bytes"])


GROUPS = ("tp8,pp16,dp8", "pp16,dp8,ep8", "pp16,dp4,cp2", "pp16,dp8", "pp16")


def test_barriers_are_those_of_the_innermost_dimension_with_several_ranks():
    of = barriers(MIXTURE, LLAMA_3, table(*GROUPS))
    assert [BARRIER_GROUPS[group] for group in of.group] == ["tp", "ep", "cp", "dp", "none"]
    assert_array_equal(of.n, [8, 8, 2, 8, 1])
    layers, m = 126 / 16, 2_048
    assert_allclose(
        of.count, [4 * layers * m / 8, 4 * layers * m / 8, 2 * layers * m / 4, 1, 0]
    )
    assert of.count.dtype == np.float64
    assert of.n.dtype == np.int64
    assert of.group.dtype == np.int8


@given(models, trainings, layouts_of)
def test_all_ranks_of_a_layer_are_no_fewer_than_the_innermost_and_no_more_than_there_are(
    model, training, layout
):
    layouts = Layouts.of([layout])
    inner = barriers(model, training, layouts)
    every = barriers(model, training, layouts, joined="layer")
    assert every.count == inner.count
    assert every.group == inner.group
    assert every.n >= inner.n
    if layout.ep <= layout.dp * layout.cp:
        assert every.n <= layout.gpus


@pytest.mark.parametrize(
    ("model", "training", "text", "n"),
    [
        (LLAMA_405B, LLAMA_3, "tp2,pp32,dp2,cp8", 16),
        (LLAMA_405B, LLAMA_3, "tp8,pp16,dp8", 8),
        (LLAMA_405B, LLAMA_3, "pp16,dp8", 8),
        (LLAMA_405B, LLAMA_3, "pp16,dp8,cp2", 2),
        (LLAMA_405B, replace(LLAMA_3, sharding="parameters"), "tp2,dp8,cp4", 64),
        (MIXTURE, LLAMA_3, "tp2,dp8,cp2,ep16", 32),
        (MIXTURE, LLAMA_3, "tp2,dp8,cp8,ep4", 16),
        (MIXTURE, replace(LLAMA_3, expert_tp=False), "tp2,dp8,ep16", 16),
        (MIXTURE, LLAMA_3, "dp16,ep4", 4),
        # no layer has experts to spread
        (LLAMA_405B, LLAMA_3, "tp2,dp8,ep8", 2),
    ],
)
def test_all_that_a_layer_joins_wait_for_its_last_rank(model, training, text, n):
    of = barriers(model, training, table(text), joined="layer")
    assert of.n.tolist() == [n]


def test_experts_of_a_model_that_has_none_stop_nobody():
    of = barriers(LLAMA_405B, LLAMA_3, table("pp16,dp8,ep8"))
    assert [BARRIER_GROUPS[group] for group in of.group] == ["dp"]


def test_gathering_sharded_parameters_stops_ranks_at_each_layer():
    fsdp = replace(LLAMA_3, sharding="parameters")
    of = barriers(LLAMA_405B, fsdp, table("pp16,dp8", "tp8,dp8"))
    assert_allclose(of.count, [2 * 126 / 16 * 256, 4 * 126 * 256])


def test_layers_computed_again_stop_ranks_again():
    again = np.full(len(GROUPS), 126 / 16)
    before = barriers(MIXTURE, LLAMA_3, table(*GROUPS))
    after = barriers(MIXTURE, LLAMA_3, table(*GROUPS), again)
    assert_allclose(after.count, before.count * [1.5, 1.5, 1.5, 1, 1])


def test_only_layers_with_experts_have_barriers_of_experts():
    training = Training(batch=16, sequence=4_096)
    of = barriers(DEEPSEEK_V3, training, table("dp4,ep4"))
    assert_allclose(of.count, [4 * 58 * 4])


def test_operations_are_those_of_parameters_that_a_token_meets():
    training = Training(batch=15_360, sequence=4_096)
    assert step_flop(DEEPSEEK_V3, training) == pytest.approx(6 * 37e9 * 62_914_560)
    twice = replace(DEEPSEEK_V3, experts=Experts(count=512, top_k=8, ffn=2_048))
    assert step_flop(twice, training) == step_flop(DEEPSEEK_V3, training)


def test_scores_of_attention_are_those_of_every_pair_of_tokens_that_may_meet():
    short = Training(1, 64, count_attention=True)
    # a pair costs a product over the head width, and a value of as much, forward
    pairs, heads, width = 64 * 64 / 2, LLAMA_405B.heads, LLAMA_405B.head_dim
    forward = 2 * pairs * heads * width * 2 * LLAMA_405B.layers
    assert attention_flop(LLAMA_405B, short) == 3 * forward
    without = replace(short, count_attention=False)
    assert step_flop(LLAMA_405B, short) == step_flop(LLAMA_405B, without) + 3 * forward
    # Llama 3's last stage: two thirds more
    long = Training(128, 131_072)
    share = attention_flop(LLAMA_405B, long) / step_flop(LLAMA_405B, long)
    assert share == pytest.approx(0.668, abs=1e-3)
