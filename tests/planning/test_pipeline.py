"""The bubble, what is in flight and how layers fall on stages, against played schedules."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from synctax.planning.inputs.named import read_model
from synctax.planning.layout import Layout, Layouts
from synctax.planning.pipeline import (
    bubble,
    fullest_layers,
    imbalance,
    in_flight,
    in_flight_last,
    microbatches,
    output_work,
    split_layers,
    stage_layers,
)
from synctax.planning.training import Training
from synctax.planning.volumes import stage_pp_bytes
from tests.planning.made import DEEPSEEK_V3, LLAMA_3, LLAMA_405B, table
from tests.planning.schedules import BACKWARD, FORWARD, play

LLAMA_8B = read_model("llama3-8b")
STEP = Training(batch=2_048, sequence=8_192)

stages = st.integers(1, 6)
chunks = st.integers(2, 3)


def of(p: int, v: int, m: int) -> tuple[Training, Layouts]:
    return Training(batch=m, sequence=8), Layouts.of([Layout(1, p, 1, virtual_stages=v)])


def played_bubble(p: int, v: int, m: int) -> Fraction:
    return Fraction(play(p, v, m).ends, m * v * (FORWARD + BACKWARD)) - 1


@given(stages, st.integers(1, 14))
def test_bubble_of_1f1b_is_as_played(p, m):
    assert_allclose(bubble(*of(p, 1, m)), [float(played_bubble(p, 1, m))], atol=1e-12)


@given(stages, chunks, st.integers(1, 4))
def test_bubble_of_interleaved_1f1b_is_as_played(p, v, rounds):
    m = p * rounds
    assert_allclose(bubble(*of(p, v, m)), [float(played_bubble(p, v, m))], atol=1e-12)


@given(stages, st.integers(1, 14))
def test_microbatches_in_flight_of_1f1b_are_as_played(p, m):
    held = play(p, 1, m).held
    assert in_flight(*of(p, 1, m)) == [held[0]]
    assert in_flight_last(*of(p, 1, m)) == [held[-1]]
    assert max(held) == held[0]


@given(stages, chunks, st.integers(1, 4))
def test_microbatches_in_flight_of_interleaved_1f1b_are_as_played(p, v, rounds):
    m = p * rounds
    held = play(p, v, m).held
    assert_allclose(in_flight(*of(p, v, m)) * v, [held[0]], rtol=1e-14)
    assert_allclose(in_flight_last(*of(p, v, m)) * v, [held[-1]], rtol=1e-14)
    assert max(held) == held[0]


@given(stages, st.integers(1, 3), st.integers(1, 4))
def test_stages_send_as_many_messages_as_played(p, v, rounds):
    m = p * rounds
    game = play(p, v, m)
    training, layouts = of(p, v, m)
    message = training.sequence * LLAMA_405B.hidden * 2
    between, at_an_end = stage_pp_bytes(LLAMA_405B, training, layouts)
    for rank in range(p):
        own = at_an_end if rank in (0, p - 1) else between
        assert own == [game.sent[rank] * message]
        assert game.sent[rank] == game.received[rank]


@given(st.integers(1, 6), st.integers(1, 3), st.integers(2, 6))
def test_more_microbatches_or_chunks_shrink_the_bubble_in_proportion(v, scale, p):
    m = 6 * p
    more, wider = of(p, v, m * scale), of(p, v * scale, m)
    assert_allclose(bubble(*more) * scale, bubble(*of(p, v, m)), rtol=1e-12)
    assert_allclose(bubble(*wider) * scale, bubble(*of(p, v, m)), rtol=1e-12)


def test_no_more_microbatches_are_in_flight_than_there_are():
    training = Training(batch=16, sequence=8)
    layouts = table("pp16,dp1", "pp16,dp1,v2", "pp16,dp2", "pp4,dp1,v2")
    assert_array_equal(in_flight(training, layouts), [16, 16, 8, 5.5])


def test_microbatches_are_a_fraction_where_the_batch_does_not_divide():
    training = Training(batch=10, sequence=8, microbatch=2)
    assert_allclose(microbatches(training, table("dp1", "dp2", "dp4")), [5, 2.5, 1.25])


@given(st.integers(1, 200), st.integers(1, 64))
def test_layers_are_split_evenly_but_for_the_ends(layers, p):
    split = stage_layers(layers, p)
    assert sum(split) == layers
    assert len(split) == p
    assert max(split) - min(split) <= 1
    fullest = [stage for stage, held in enumerate(split) if held == max(split)]
    assert fullest == list(range(fullest[0], fullest[-1] + 1))
    assert abs(fullest[0] - (p - 1 - fullest[-1])) <= 1
    assert p - 1 - fullest[-1] >= fullest[0]


@settings(max_examples=200)
@given(st.integers(1, 16), st.integers(1, 4), st.integers(1, 200))
def test_the_fullest_stage_has_the_average_rounded_up_with_chunks_too(p, v, layers):
    split = stage_layers(layers, p * v)
    held = [sum(split[stage::p]) for stage in range(p)]
    layouts = Layouts.of([Layout(1, p, 1, virtual_stages=v)])
    model = replace(LLAMA_405B, layers=layers, vocabulary=0)
    assert split_layers(model, p, v) == split
    assert fullest_layers(model, layouts) == [max(held)]
    assert_allclose(imbalance(model, STEP, layouts), [max(held) / (layers / p)])


models = st.builds(
    lambda model, layers, vocabulary: replace(model, layers=layers, vocabulary=vocabulary),
    st.sampled_from([LLAMA_405B, LLAMA_8B, DEEPSEEK_V3]),
    st.integers(4, 100),
    st.integers(1, 1_000_000),
)


def played_work(model, split, p):
    """Add up what stages multiply of a token, weight by weight."""
    dense, moe = weights(model)
    of_layers = [dense] * (model.layers - model.moe_layers) + [moe] * model.moe_layers
    work, layer = [0] * p, 0
    for chunk, count in enumerate(split):
        work[chunk % p] += sum(of_layers[layer : layer + count])
        layer += count
    work[-1] += model.vocabulary * model.hidden
    return work


def weights(model):
    """Count a layer's weights, of a model of this module."""
    h, a = model.hidden, model.heads
    if model.experts is None:
        dense = 2 * h * (a + model.kv_heads) * model.head_dim + 3 * h * model.ffn
        return dense, dense
    # DeepSeek-V3: queries over 1,536, keys and values over 512, rotary keys of 64
    attention = (
        1_536 * (h + a * 192 + 1) + h * (512 + 64) + 512 * (a * 256 + 1) + a * 128 * h
    )
    return attention + 3 * h * 18_432, attention + 3 * h * 9 * 2_048 + h * 256


@settings(max_examples=200)
@given(models, st.integers(1, 16), st.integers(1, 4))
def test_the_pace_is_that_of_the_stage_with_most_weights(model, p, v):
    split = split_layers(model, p, v)
    layouts = Layouts.of([Layout(1, p, 1, virtual_stages=v)])
    work = played_work(model, split, p)
    assert len(split) == p * v
    assert sum(split) == model.layers
    assert min(split) >= 0
    expected = max(work) / (sum(work) / p)
    assert_allclose(imbalance(model, STEP, layouts), [expected])
    assert imbalance(model, STEP, layouts)[0] >= 1 - 1e-12
    held = [sum(split[stage::p]) for stage in range(p)]
    assert fullest_layers(model, layouts) == [max(held)]


@given(models, st.integers(2, 16), st.integers(1, 4))
def test_a_lighter_last_chunk_is_no_slower_and_never_without_need(model, p, v):
    even, split = stage_layers(model.layers, p * v), split_layers(model, p, v)
    before, after = (max(played_work(model, one, p)) for one in (even, split))
    assert after <= before * (1 + 1e-9)
    if split != even:
        assert after < before
        assert split[-1] < even[-1]
        assert max(split[:-1]) - min(split[:-1]) <= 1


@pytest.mark.parametrize(
    ("model", "p", "v", "split", "pace"),
    [
        (LLAMA_8B, 4, 1, (8, 9, 9, 6), 9 / (34.40865 / 4)),
        (LLAMA_8B, 4, 2, (4, 4, 5, 5, 5, 4, 4, 1), 9 / (34.40865 / 4)),
        # the output layer alone is more than any other stage
        (LLAMA_8B, 32, 1, (*[1] * 15, 2, *[1] * 15, 0), 2.40865 / (34.40865 / 32)),
        (LLAMA_405B, 9, 1, (14,) * 9, 14.65921 / (126.65921 / 9)),
        (LLAMA_405B, 1, 1, (126,), 1),
    ],
)
def test_output_layers_are_worth_layers(model, p, v, split, pace):
    assert split_layers(model, p, v) == split
    layouts = Layouts.of([Layout(1, p, 1, virtual_stages=v)])
    assert_allclose(imbalance(model, STEP, layouts), [pace], rtol=5e-6)


def test_scores_of_attention_make_an_output_layer_worth_less():
    long = Training(256, 131_072)
    counting = replace(long, count_attention=True)
    before, after = (output_work(LLAMA_8B, how) for how in (long, counting))
    scores = 131_072 * 32 * 128
    assert before / after == pytest.approx(1 + scores / weights(LLAMA_8B)[1])
    layouts = table("pp4", "pp8", "pp1")
    assert (imbalance(LLAMA_8B, counting, layouts) >= 1).all()
    assert imbalance(LLAMA_8B, counting, layouts)[2] == pytest.approx(1)
    works = 9 / ((32 + after) / 4)
    assert imbalance(LLAMA_8B, counting, layouts)[0] == pytest.approx(works)


def test_stages_beyond_all_layers_have_the_output_layer_alone():
    layouts = table("pp2000000", "pp128")
    found = imbalance(LLAMA_405B, STEP, layouts) / [2_000_000, 128]
    assert_allclose(found, [1 / 126.65921] * 2, rtol=1e-6)


def test_the_last_stage_is_the_first_to_have_one_layer_less():
    assert stage_layers(7, 4) == (2, 2, 2, 1)
    assert stage_layers(6, 4) == (1, 2, 2, 1)
    assert stage_layers(2, 4) == (0, 1, 1, 0)


@pytest.mark.parametrize(("layers", "p"), [(0, 4), (4, 0), (-1, 1)])
def test_no_layers_or_stages_are_a_wrong_call(layers, p):
    with pytest.raises(ValueError, match=f"{layers} layers over {p} stages"):
        stage_layers(layers, p)


def test_llama_takes_a_layer_from_both_ends():
    assert stage_layers(126, 16) == (7, *[8] * 14, 7)
    layouts = table("tp8,pp16,dp8", "tp8,pp9,dp14", "tp8,pp16,dp8,v2")
    assert split_layers(LLAMA_405B, 16) == stage_layers(126, 16)
    whole = 126 + 128_256 * 16_384 / weights(LLAMA_405B)[0]
    fullest = np.array([8 * 16, (whole - 126 + 14) * 9, 8 * 16])
    assert_allclose(imbalance(LLAMA_405B, STEP, layouts), fullest / whole)


def test_pipelines_are_computed_row_by_row():
    layouts = table("pp1", "pp4,dp2", "pp16,dp2,v2", "tp8,pp3,dp4")
    alone = [Layouts.of([layouts[row]]) for row in range(len(layouts))]
    for of_layouts in (microbatches, bubble, in_flight, in_flight_last):
        rows = np.concatenate([of_layouts(LLAMA_3, one) for one in alone])
        assert_array_equal(of_layouts(LLAMA_3, layouts), rows)
