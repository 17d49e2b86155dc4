"""Which model of contention is near fluids that share a link, and which is not.

`python -m tests.bench.contention` writes the tables of docs/contention.md, and
test_contention_page.py holds that page together.
"""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from synctax.cluster.pairs_run import together
from synctax.cluster.settings import Contention
from tests.cluster.populations import (
    MODELS,
    NIC_BYTES_PER_S,
    Population,
    drawn,
    errors,
    intervals,
    modelled,
    pairs,
    reference,
)


@cache
def off(name: str, model: str) -> np.ndarray:
    """Error of a model for each set of a population."""
    return errors(modelled(population(name), MODELS[model]), truth(name))


@cache
def population(name: str) -> Population:
    two = pairs()
    return {
        "pairs": two,
        "pairs that fit": two.where(two.demand <= 1),
        "pairs that do not fit": two.where(two.demand > 1),
        "pairs at 60 %": pairs(0.6),
        "drawn pairs": drawn(2, duty=(0.1, 0.9), sets=150),
        "three": drawn(3, duty=(0.1, 0.9), sets=25),
        "eight": drawn(8, duty=(0.1, 0.9), sets=8),
        "eight, light": drawn(8, duty=(0.02, 0.2), sets=8),
    }[name]


@cache
def truth(name: str) -> np.ndarray:
    true, doubt = reference(population(name))
    assert doubt.max() < 0.06
    return true


def surely_above_zero(values: np.ndarray) -> bool:
    _mean, low, _high = intervals(values)
    return low > 0


@pytest.mark.parametrize("name", ["pairs", "pairs that do not fit", "three"])
def test_shares_are_nearer_than_a_fixed_penalty_which_is_nearer_than_none(name):
    mosim, pollux = off(name, "mosim, iteration"), off(name, "pollux, time")
    assert surely_above_zero(pollux - mosim)
    assert surely_above_zero(off(name, "tiresias") - pollux)


@pytest.mark.parametrize("name", ["pairs that fit", "eight, light"])
def test_where_average_demands_fit_a_fixed_penalty_is_nearer_than_average_shares(name):
    mosim, pollux = off(name, "mosim, iteration"), off(name, "pollux, time")
    assert surely_above_zero(mosim - pollux)


def test_among_pairs_drawn_evenly_average_shares_and_a_fixed_penalty_do_not_differ():
    name = "drawn pairs"
    mosim, pollux = off(name, "mosim, iteration"), off(name, "pollux, time")
    assert not surely_above_zero(pollux - mosim)
    assert not surely_above_zero(mosim - pollux)
    assert surely_above_zero(off(name, "tiresias") - pollux)


@pytest.mark.parametrize(
    "name", ["pairs", "drawn pairs", "pairs at 60 %", "three", "eight"]
)
def test_expected_overlap_is_nearer_than_a_fixed_penalty(name):
    assert surely_above_zero(off(name, "pollux, time") - off(name, "mosim, overlap"))


def test_below_line_rate_a_penalty_on_network_time_can_be_nearer_than_expected_overlap():
    name = "pairs at 60 %"
    assert surely_above_zero(off(name, "mosim, overlap") - off(name, "pollux, network"))


def test_where_average_demands_fit_average_shares_see_no_contention():
    assert_allclose(
        off("pairs that fit", "mosim, iteration"), off("pairs that fit", "tiresias")
    )


def test_where_jobs_send_below_line_rate_a_fixed_penalty_is_too_much():
    assert (
        off("pairs at 60 %", "tiresias").mean()
        < off("pairs at 60 %", "pollux, time").mean()
    )


@pytest.mark.parametrize("name", ["pairs", "pairs at 60 %", "three"])
def test_expected_overlap_is_the_nearest_of_the_shares(name):
    for basis in ("iteration", "network"):
        assert surely_above_zero(off(name, f"mosim, {basis}") - off(name, "mosim, overlap"))


def test_expected_overlap_is_exact_for_two_jobs_at_line_rate_and_far_off_for_eight():
    assert off("pairs", "mosim, overlap").max() < 0.01
    assert off("eight", "mosim, overlap").mean() > 0.2


def test_sending_all_at_once_is_nearest_where_a_link_is_flooded_only():
    network, overlap = "mosim, network", "mosim, overlap"
    assert surely_above_zero(off("eight", overlap) - off("eight", network))
    assert surely_above_zero(off("eight, light", network) - off("eight, light", "tiresias"))


duty = st.floats(0.05, 0.95)
period_s = st.floats(0.05, 5)


@given(st.lists(st.tuples(period_s, duty, st.floats(0.3, 1)), min_size=2, max_size=2))
def test_two_jobs_side_by_side_are_the_equations_in_closed_form(two):
    period, sends, rate = np.array(two).T
    network_s = period * sends
    for basis, others in (
        ("iteration", rate[1] * sends[1]),
        ("network", rate[1]),
        ("overlap", rate[1] * sends[1]),
    ):
        own = rate[0] * (sends[0] if basis == "iteration" else 1)
        factor = max(1.0, own / max(own * min(1.0, 1 / (own + others)), 0.01))
        told = together(
            (period - network_s)[None],
            network_s[None],
            (rate * NIC_BYTES_PER_S * network_s)[None],
            gpus=8,
            nic_bytes_per_s=NIC_BYTES_PER_S,
            contention=Contention(basis=basis),
        )
        assert_allclose(told.factor, factor, rtol=1e-9)
        assert_allclose(told.iteration_change, 1 + sends[0] * (factor - 1), rtol=1e-9)


@pytest.mark.parametrize("gpus", [0, 1, 7])
def test_jobs_that_have_no_two_equal_halves_are_refused(gpus):
    row = np.ones((1, 2))
    with pytest.raises(ValueError, match="equal halves"):
        together(row, row, row, gpus=gpus, nic_bytes_per_s=1, contention=Contention())
