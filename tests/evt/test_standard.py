"""Mean and spread of blocks, and z-scores of their maxima."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from synctax.errors import FitError
from synctax.evt.cut import cut
from synctax.evt.model import Block
from synctax.evt.standard import standardise
from tests.evt.made import block_times, normal_times


@given(st.floats(0.01, 100), st.floats(-1e4, 1e4), st.integers(0, 9))
def test_z_does_not_depend_on_the_unit_or_the_origin(scale, shift, seed):
    times = normal_times(12, 3, seed=seed)
    moved = block_times(times.us * scale + shift)
    one, other = standardise(times), standardise(moved)
    assert_allclose(other.z, one.z, atol=1e-6)
    assert_allclose(other.b_us, one.b_us * scale, rtol=1e-6)
    assert_allclose(other.a_us, one.a_us * scale + shift, rtol=1e-9, atol=1e-6)


def test_spread_is_taken_over_ranks_and_instances_together():
    times = normal_times(15, 4, common=3.0)
    standard = standardise(times)
    assert_allclose(standard.a_us, [times.us.mean()])
    assert_allclose(standard.b_us, [times.us.std(ddof=1)])
    assert_allclose(standard.z, (times.us.max(axis=1) - times.us.mean()) / standard.b_us)


def test_blocks_count_by_their_instances():
    us = np.vstack([normal_times(10, 4).us, 3 * normal_times(30, 4, seed=1).us])
    standard = standardise(block_times(us, block=np.repeat([0, 1], [10, 30])))
    assert_array_equal(standard.instances, [10, 30])
    assert standard.mean_a_us == pytest.approx((standard.a_us @ [10, 30]) / 40)
    assert standard.mean_b_us == pytest.approx((standard.b_us @ [10, 30]) / 40)


def test_blocks_of_few_instances_or_no_spread_are_left_out_and_counted():
    us = np.vstack([normal_times(9, 2).us, np.full((11, 2), 5.1), normal_times(10, 2).us])
    block = np.repeat([0, 1, 2], [9, 11, 10])
    standard = standardise(block_times(us, block=block))
    assert [b.name for b in standard.times.blocks] == ["block 2"]
    assert_array_equal(standard.kept, [2])
    assert_array_equal(standard.times.block, np.zeros(10))
    assert [(n.reason, n.count) for n in standard.notes] == [
        ("too_few_instances", 9),
        ("no_spread", 11),
    ]
    assert [n.detail for n in standard.notes] == [
        "instances of 1 block with fewer than 10",
        "instances of 1 block whose times are equal",
    ]


def test_a_block_without_instances_is_not_counted_as_left_out():
    times = normal_times(12, 2)
    unseen = replace(times, blocks=(*times.blocks, Block("never")))
    assert standardise(unseen).notes == ()


def test_groups_cut_from_one_instance_are_one_instance():
    small, _ = cut(normal_times(6, 8), 4)
    with pytest.raises(FitError, match="needs 10 instances"):
        standardise(small)
    assert_array_equal(standardise(small, min_instances=6).instances, [6])


@pytest.mark.parametrize(
    ("times", "says"),
    [
        (block_times(np.zeros((0, 4))), "no instance of any compute block"),
        (normal_times(9, 4), "the most frequent of 1 block has 9; profile more steps"),
        (block_times(np.full((12, 4), 7.3)), "all times of a block are equal"),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_what_would_help(times, says):
    with pytest.raises(FitError, match=says):
        standardise(times)
