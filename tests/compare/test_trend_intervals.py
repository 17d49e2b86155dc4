"""Intervals of the points of a trend: they hold, or there is none."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import synctax
from synctax.comparison.options import Options
from synctax.comparison.stats import Estimate
from synctax.comparison.trend_intervals import (
    NO_MEAN,
    NO_QUANTILE,
    least_values,
    mean_interval,
    order_places,
)
from tests.compare.windows import windows

NAMES = ("mean", "median", "p90")
TRUE_US = {"mean": 5.0, "median": 5 * math.log(2), "p90": 5 * math.log(10)}


def told(taxes_us, steps, **asked):
    """The trend of a job of which each window has these taxes, the first of no account."""
    delays = [np.stack([np.zeros_like(one), one], axis=1) for one in taxes_us]
    options = Options(**({"resamples": 300} | asked))
    return synctax.trend(synctax.measure(windows(delays, steps=steps)), options=options)


def ends(found, name):
    frame = found.to_frame()
    return [frame[f"tax_max_{name}_us_{end}"].to_numpy(float) for end in ("lo", "hi")]


def exponential(count, size, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.exponential(5, size) for _ in range(count)]


@given(st.integers(1, 300), st.sampled_from([0.5, 0.9]), st.floats(0.5, 0.9999))
def test_a_quantile_is_beyond_each_end_no_more_often_than_it_may(count, q, level):
    places = order_places(count, q, level)
    if places is None:
        assert count < least_values(q, level)
        return
    low, high = places
    assert 1 <= low <= high <= count
    outside = (1 - level) / 2 + 1e-9
    assert binom.cdf(low - 1, count, q) <= outside
    assert binom.sf(high - 1, count, q) <= outside
    # no place further in would do
    assert binom.cdf(low, count, q) > outside - 2e-9
    assert binom.sf(high - 2, count, q) > outside - 2e-9


@pytest.mark.parametrize("size", [6, 24])
def test_a_few_values_have_no_interval_of_a_90_percent_quantile(size):
    found = told(exponential(3, size), steps=size)
    assert np.isnan(ends(found, "p90")).all()
    note = next(one for one in found.notes if one.reason == NO_QUANTILE)
    assert note.count == 3 + int(np.isnan(ends(found, "median")[0]).sum())
    assert "these take 6 and 36 independent collectives at least" in note.detail


def test_a_single_step_tells_nothing_of_others_and_so_it_is_said():
    found = told(exponential(4, 60), steps=1)
    assert all(np.isnan(ends(found, name)).all() for name in NAMES)
    assert {one.reason: one.count for one in found.notes}[NO_MEAN] == 4
    whole = synctax.trend(found.tax, by="step")
    assert np.isnan(ends(whole, "mean")).all()


@pytest.mark.parametrize(
    ("steps", "each", "least"),
    # of 240: beyond 3 standard deviations below 95 %
    [(3, 20, 0.9), (10, 10, 0.9), (60, 1, 0.9)],
)
def test_intervals_hold_the_truth_as_often_as_they_say(steps, each, least):
    found = told(exponential(240, steps * each + 1, seed=steps), steps=steps)
    for name in NAMES:
        low, high = ends(found, name)
        known = ~np.isnan(low)
        assert name != "mean" or known.all()
        if known.sum() > 100:
            held = (low <= TRUE_US[name]) & (TRUE_US[name] <= high)
            assert held[known].mean() >= least, name


def test_what_steps_share_is_in_the_intervals():
    rng = np.random.default_rng(0)
    alone = exponential(40, 201)
    shared = [
        np.concatenate([[5.0], np.repeat(rng.exponential(5, 10), 20)]) for _ in range(40)
    ]
    widths = []
    for taxes in (alone, shared):
        low, high = ends(told(taxes, steps=10), "mean")
        widths.append(float(np.median(np.log(high / low))))
    assert widths[1] > 2 * widths[0]


def test_a_higher_level_has_wider_intervals_and_a_seed_is_one_draw():
    taxes = exponential(5, 401)
    at_95 = told(taxes, steps=20)
    for name in NAMES:
        low, high = ends(at_95, name)
        lower, higher = ends(told(taxes, steps=20, level=0.99, resamples=600), name)
        narrow, close = ends(told(taxes, steps=20, level=0.8), name)
        assert (lower <= low).all()
        assert (high <= higher).all()
        assert (low <= narrow).all()
        assert (close <= high).all()
    assert at_95.to_frame().equals(told(taxes, steps=20).to_frame())
    other = told(taxes, steps=20, seed=1)
    assert not (ends(other, "mean")[0] == ends(at_95, "mean")[0]).all()


@pytest.mark.parametrize(("steps", "known"), [(3, False), (30, True)])
def test_values_that_are_all_alike_prove_something_where_there_are_enough(steps, known):
    found = told([np.full(10 * steps, 7.0)] * 2, steps=steps)
    for name in ("mean", "median"):
        low, high = ends(found, name)
        assert np.isnan(low).all() != known
        if known:
            assert low == pytest.approx([7.0] * 2)
            assert high == pytest.approx([7.0] * 2)


def test_an_interval_without_end_is_none():
    assert np.isnan(mean_interval(Estimate(1.0, 5.0, 1.0), 0.9999)).all()
    assert np.isnan(mean_interval(Estimate(1.0, 0.5, 0.5), 0.95)).all()
    assert mean_interval(Estimate(0.0, 0.0, 9.0), 0.95) == (0.0, 0.0)


def test_resamples_too_few_for_a_level_are_refused():
    with pytest.raises(ValueError, match="it takes 5,000 or more"):
        told(exponential(2, 9), steps=3, level=0.999)
