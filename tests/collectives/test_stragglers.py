"""Chance or a sick rank: the tests of the straggler."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import chdtrc

from synctax.collectives.stragglers import (
    expected_runs,
    longest_run,
    run_lengths,
    run_p,
    uniform_p,
)


def statistic(counts):
    return float(((counts - counts.mean()) ** 2 / counts.mean()).sum())


@given(st.lists(st.integers(30, 90), min_size=2, max_size=6))
def test_many_counts_give_the_p_value_of_the_chi_square_test(counts):
    counts = np.array(counts)
    expected = chdtrc(counts.size - 1, statistic(counts))
    assert uniform_p([counts]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("ranks", [2, 3, 64, 1024, 4096, 8191])
@pytest.mark.parametrize("sigma", [0, -6, -2, 3, 30])
def test_so_do_many_ranks(ranks, sigma):
    # one rank is last more often, the others equally often, by so much that the statistic
    # is about `sigma` standard deviations from its mean
    aim = max(ranks - 1 + sigma * (2 * (ranks - 1)) ** 0.5, 0)
    counts = np.full(ranks, 1000)
    counts[0] += round((1000 * aim) ** 0.5)
    expected = chdtrc(ranks - 1, statistic(counts))
    assert uniform_p([counts]) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_sibling_groups_are_judged_together():
    one, two = np.array([30, 12, 25, 17]), np.array([10, 20])
    expected = chdtrc(4, statistic(one) + statistic(two))
    assert uniform_p([one, two]) == pytest.approx(expected, rel=1e-12)


def test_few_counts_are_judged_by_drawing_and_agree_with_enumeration():
    # 4 of 4 by one of three ranks: the exact probability is 3 / 3**4.
    assert uniform_p([np.array([4, 0, 0])]) == pytest.approx(3 / 81, abs=0.01)


def test_without_a_decided_collective_there_is_no_p_value():
    assert np.isnan(uniform_p([np.array([0, 0])]))
    assert np.isnan(uniform_p([np.array([7])]))


@pytest.mark.parametrize(("draws", "ranks"), [(1, 2), (4, 2), (5, 3), (6, 3)])
def test_the_probability_of_a_run_is_that_of_enumeration(draws, ranks):
    runs = [
        max(len(list(same)) for _, same in itertools.groupby(one))
        for one in itertools.product(range(ranks), repeat=draws)
    ]
    for length in range(1, draws + 2):
        share = sum(run >= length for run in runs) / len(runs)
        assert run_p(length, draws, ranks) == pytest.approx(share)


def test_a_rare_run_has_its_digits():
    # the union bound over where it begins is exact but for two runs in a row
    assert run_p(12, 100, 1000) == pytest.approx(1e-33 * (1 + 88 * 0.999), rel=1e-9)


def test_a_run_of_one_rank_alone_says_nothing():
    assert np.isnan(run_p(3, 10, 1))


def test_ties_end_a_run():
    assert longest_run(np.array([1, 1, -1, 1, 1, 1], np.int32)) == 3
    assert longest_run(np.array([-1, -1], np.int32)) == 0
    assert longest_run(np.array([], np.int32)) == 0


@given(st.lists(st.integers(-1, 3), max_size=30))
def test_runs_are_those_of_groupby_without_ties(last):
    runs = [(who, len(list(same))) for who, same in itertools.groupby(last)]
    lengths = run_lengths(np.array(last, np.int32))
    assert lengths.tolist() == [length for who, length in runs if who >= 0]
    assert longest_run(np.array(last, np.int32)) == max(lengths, default=0)


@pytest.mark.parametrize(("pattern", "ranks"), [("xxxxx", 3), ("xx-xxx", 2), ("-x--x", 4)])
def test_the_expected_number_of_runs_is_that_of_enumeration(pattern, ranks):
    places = [i for i, sign in enumerate(pattern) if sign == "x"]
    last = np.full(len(pattern), -1, np.int32)
    at_least = np.zeros(6)
    for one in itertools.product(range(ranks), repeat=len(places)):
        last[places] = one
        at_least += (run_lengths(last)[:, None] >= np.arange(1, 7)).sum(axis=0)
    expected = expected_runs(last, ranks, np.arange(1, 7))
    np.testing.assert_allclose(expected, at_least / ranks ** len(places), atol=1e-12)
