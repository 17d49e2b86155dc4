"""Chance or a sick rank: the tests of the straggler."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from synctax.collectives.stragglers import longest_run, run_p, uniform_p


def test_many_counts_give_the_p_value_of_the_chi_square_test():
    counts = np.array([30, 12, 25, 17])
    assert uniform_p([counts]) == pytest.approx(chisquare(counts).pvalue)


def test_sibling_groups_are_judged_together():
    one, two = np.array([30, 12, 25, 17]), np.array([10, 20])
    statistic = chisquare(one).statistic + chisquare(two).statistic
    from scipy.stats import chi2

    assert uniform_p([one, two]) == pytest.approx(chi2.sf(statistic, 4))


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


def test_a_run_of_one_rank_alone_says_nothing():
    assert np.isnan(run_p(3, 10, 1))


def test_ties_end_a_run():
    assert longest_run(np.array([1, 1, -1, 1, 1, 1], np.int32)) == 3
    assert longest_run(np.array([-1, -1], np.int32)) == 0
    assert longest_run(np.array([], np.int32)) == 0
