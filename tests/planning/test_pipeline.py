"""The bubble, what is in flight and how layers fall on stages, against played schedules."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from synctax.planning.layout import Layout, Layouts
from synctax.planning.pipeline import (
    bubble,
    fullest_layers,
    imbalance,
    in_flight,
    in_flight_last,
    microbatches,
    stage_layers,
)
from synctax.planning.training import Training
from synctax.planning.volumes import stage_pp_bytes
from tests.planning.made import LLAMA_3, LLAMA_405B, table
from tests.planning.schedules import BACKWARD, FORWARD, play

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
    model = replace(LLAMA_405B, layers=layers)
    assert fullest_layers(model, layouts) == [max(held)]
    assert_allclose(imbalance(model, layouts), [max(held) / (layers / p)])


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
    assert_allclose(imbalance(LLAMA_405B, layouts), [8 / 7.875, 1, 8 / 7.875])


def test_pipelines_are_computed_row_by_row():
    layouts = table("pp1", "pp4,dp2", "pp16,dp2,v2", "tp8,pp3,dp4")
    alone = [Layouts.of([layouts[row]]) for row in range(len(layouts))]
    for of_layouts in (microbatches, bubble, in_flight, in_flight_last):
        rows = np.concatenate([of_layouts(LLAMA_3, one) for one in alone])
        assert_array_equal(of_layouts(LLAMA_3, layouts), rows)
