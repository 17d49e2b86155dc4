"""Cutting instances into smaller groups, and pooling sets."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from synctax.evt.cut import cut, join, keep_blocks, select, units
from synctax.notes import Note
from tests.evt.made import block_times, normal_times


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 5), st.integers(0, 99))
def test_every_group_is_a_part_of_its_instance(m0, m, instances, seed):
    times = normal_times(instances, m0)
    if m > m0:
        with pytest.raises(ValueError, match=f"cannot cut {m0} ranks into groups of {m}"):
            cut(times, m)
        return
    small, notes = cut(times, m, seed=seed)
    groups = m0 // m
    assert small.us.shape == (instances * groups, m)
    assert sum(note.count for note in notes) == instances * (m0 - groups * m)
    at_rank = small.rank.reshape(instances, groups * m)
    assert_array_equal(
        np.take_along_axis(times.us, at_rank, 1), small.us.reshape(at_rank.shape)
    )
    assert all(np.unique(row).size == groups * m for row in at_rank)
    assert_array_equal(small.instance, np.repeat(times.instance, groups))


def test_left_over_ranks_are_counted():
    _, notes = cut(normal_times(5, 7), 3)
    assert notes == (Note("left_over_rank", 5, "7 ranks make 2 groups of 3"),)


def test_what_a_smaller_group_waited_is_not_known():
    times = normal_times(3, 4)
    assert np.isnan(cut(times, 2)[0].measured_us).all()
    assert cut(times, 4)[0] is times


def test_each_rank_meets_each_other_one():
    small, _ = cut(normal_times(400, 4), 2)
    pairs = {tuple(sorted(row)) for row in small.rank.tolist()}
    assert len(pairs) == 6


def test_groups_do_not_follow_times_that_were_drawn_with_the_same_seed():
    drawn = np.random.default_rng(0).random((200, 8))
    small, _ = cut(block_times(drawn), 4, seed=0)
    spread = small.us.reshape(200, 2, 4).mean(axis=2)
    assert abs(float((spread[:, 0] - spread[:, 1]).mean())) < 0.1


def test_a_seed_gives_the_same_groups_again():
    times = normal_times(20, 8)
    assert_array_equal(cut(times, 4, seed=3)[0].rank, cut(times, 4, seed=3)[0].rank)
    assert (cut(times, 4, seed=3)[0].rank != cut(times, 4, seed=4)[0].rank).any()


def test_pooled_sets_keep_their_blocks_and_series_apart():
    one = block_times(np.ones((3, 2)), block=[0, 1, 0], series=[0, 0, 2])
    other = replace(block_times(np.ones((2, 2)) * 2), resolution_us=1.0)
    both = join([one, other, one])
    assert_array_equal(both.block, [0, 1, 0, 2, 2, 3, 4, 3])
    assert_array_equal(both.series, [0, 0, 2, 3, 3, 4, 4, 6])
    assert len(both.blocks) == 5
    assert both.resolution_us == 1.0
    assert_array_equal(both.us[:, 0], [1, 1, 1, 2, 2, 1, 1, 1])


def test_one_set_joined_is_itself():
    times = normal_times(4, 3)
    assert_array_equal(join([times]).us, times.us)


def test_sets_over_different_numbers_of_ranks_are_not_pooled():
    with pytest.raises(ValueError, match=r"\[2, 3\] ranks"):
        join([normal_times(2, 2), normal_times(2, 3)])


def test_nothing_is_not_pooled():
    with pytest.raises(ValueError, match="no block times"):
        join([])


def test_groups_of_one_instance_are_one_unit():
    times = block_times(np.ones((4, 4)), block=[0, 0, 1, 1], series=[0, 1, 1, 1])
    assert_array_equal(units(cut(times, 2)[0]), [0, 0, 1, 1, 2, 2, 3, 3])


def test_blocks_that_stay_keep_their_rows_and_their_order():
    times = block_times(np.arange(10.0).reshape(5, 2), block=[2, 0, 1, 2, 3])
    kept = keep_blocks(times, np.array([True, False, True, False]))
    assert kept.blocks == (times.blocks[0], times.blocks[2])
    assert_array_equal(kept.block, [1, 0, 1])
    assert_array_equal(kept.us, times.us[[0, 1, 3]])


def test_selected_rows_come_in_the_order_asked_for():
    times = normal_times(4, 3)
    assert_array_equal(select(times, np.array([2, 0])).instance, [2, 0])
    assert_array_equal(select(times, times.instance > 1).us, times.us[2:])
