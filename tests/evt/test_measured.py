"""The measured wait among every number of ranks."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from synctax.evt.measured import measured_us, subset_weights
from tests.evt.made import block_times, normal_times


@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 99))
def test_it_is_the_mean_over_all_subsets(m, instances, seed):
    times = normal_times(instances, m, seed=seed)
    for k, measured in enumerate(measured_us(times), start=1):
        subsets = [
            row[list(chosen)].max()
            for row in times.us
            for chosen in combinations(range(m), k)
        ]
        assert measured == pytest.approx(np.mean(subsets) - times.us.mean(), abs=1e-9)


@given(st.integers(2, 40), st.integers(0, 99))
def test_more_ranks_never_wait_less(m, seed):
    waits = measured_us(normal_times(3, m, seed=seed))
    assert waits[0] == 0
    assert (np.diff(waits) >= -1e-9).all()


@given(st.sets(st.integers(1, 9), min_size=1))
def test_sizes_that_are_asked_for_are_measured_as_all_are(sizes):
    times, n = normal_times(5, 9), np.array(sorted(sizes))
    assert_allclose(measured_us(times, n), measured_us(times)[n - 1])


def test_of_all_ranks_it_is_the_mean_wait():
    times = normal_times(7, 5)
    mean_wait = (times.us.max(axis=1) - times.us.mean(axis=1)).mean()
    assert measured_us(times)[-1] == pytest.approx(mean_wait)


def test_thousands_of_ranks_are_averaged_without_loss():
    # the mean maximum of k out of 1 ... m is k (m + 1)/(k + 1)
    m = 2_000
    waits = measured_us(block_times(np.arange(1.0, m + 1)[None, :]))
    k = np.arange(1, m + 1)
    assert_allclose(waits, k * (m + 1) / (k + 1) - (m + 1) / 2, rtol=1e-9, atol=1e-6)


def test_each_subset_has_one_largest_rank():
    assert_allclose(subset_weights(50, np.arange(1.0, 51)).sum(axis=1), 1)


def test_nothing_cannot_be_measured():
    with pytest.raises(ValueError, match="no instance"):
        measured_us(block_times(np.zeros((0, 3))))
