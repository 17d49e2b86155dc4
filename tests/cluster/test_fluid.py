"""The reference itself: what it must do before a model is held against it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.cluster.fluid import share

times_s = st.floats(0.01, 10)
phases = st.floats(0, 1, exclude_max=True)


@st.composite
def links(draw, most=4):
    """One link with some jobs: (compute, network, rate, phase), rates of a link of 1."""
    m = draw(st.integers(1, most))
    some = [draw(st.tuples(times_s, times_s, st.floats(0.05, 1), phases)) for _ in range(m)]
    return np.array(some).T[:, None, :]


@given(times_s, times_s, st.floats(0.01, 1), phases)
def test_a_job_alone_takes_its_computation_and_its_bytes_over_its_rate(
    compute_s, network_s, rate, phase
):
    one = np.array([[1.0]])
    seen = share(
        compute_s * one, network_s * one, rate * one, capacity=1, phase=phase * one
    )
    assert_allclose(seen.iteration_s, compute_s + network_s, rtol=1e-9)


@given(links())
def test_the_link_carries_what_the_jobs_sent_and_never_more_than_it_can(link):
    compute, network, rate, phase = link
    seen = share(compute, network, rate, capacity=1, phase=phase, iterations=10)
    assert_allclose(seen.sent_bytes.sum(axis=1), seen.carried_bytes, rtol=1e-9)
    assert seen.carried_bytes <= seen.now_s * (1 + 1e-9)


@given(links())
def test_a_job_sends_the_bytes_of_its_iterations(link):
    compute, network, rate, phase = link
    seen = share(compute, network, rate, capacity=1, phase=phase, iterations=10, warm_up=2)
    iterations = seen.sent_bytes / (rate * network)
    # the one at the beginning and the one at the end are parts
    assert np.all(np.abs(iterations - seen.iterations - 2) <= 1 + 1e-6)


@given(links())
def test_others_never_speed_a_job_up_nor_take_more_than_their_rates(link):
    compute, network, rate, phase = link
    seen = share(compute, network, rate, capacity=1, phase=phase, iterations=10)
    alone = compute + network
    worst = compute + network * max(1, rate.sum())
    assert np.all(seen.iteration_s >= alone * (1 - 1e-9))
    assert np.all(seen.iteration_s <= worst * (1 + 1e-9))


@given(links(most=3), st.floats(0.1, 10))
def test_only_the_rates_over_the_capacity_count(link, times):
    compute, network, rate, phase = link
    one = share(compute, network, rate, capacity=1, phase=phase, iterations=4)
    other = share(compute, network, rate * times, capacity=times, phase=phase, iterations=4)
    assert_allclose(one.iteration_s, other.iteration_s, rtol=1e-6)


@pytest.mark.parametrize("m", [1, 2, 3, 8])
def test_jobs_that_always_send_get_equal_shares(m):
    row = np.ones((1, m))
    phase = np.arange(m)[None] / m
    seen = share(0 * row, row, row, capacity=1, phase=phase)
    assert_allclose(seen.iteration_s, m, rtol=1e-9)


def test_jobs_that_together_ask_for_no_more_than_the_link_has_do_not_meet():
    row = np.ones((1, 2))
    seen = share(row, row, row / 2, capacity=1, phase=np.array([[0, 0.1]]))
    assert_allclose(seen.iteration_s, 2, rtol=1e-12)


@pytest.mark.parametrize(
    ("apart_s", "iteration_s"), [(0, 3), (0.25, 2.75), (0.5, 2.5), (1, 2)]
)
def test_two_jobs_alike_keep_how_far_they_are_apart_and_lose_their_overlap(
    apart_s, iteration_s
):
    # 1 s of each, alone; of what both would send at once each waits for the other's
    row = np.ones((1, 2))
    seen = share(row, row, row, capacity=1, phase=np.array([[0, apart_s / 2]]))
    assert_allclose(seen.iteration_s, iteration_s, rtol=1e-9)
