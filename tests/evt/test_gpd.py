"""Laws of the generalized Pareto fit and what it refuses."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from synctax.errors import FitError
from synctax.evt.gpd import GpdFit, fit_gpd, gpd_objective
from tests.evt.samples import seeds
from tests.laws import examples

shapes = st.floats(-0.3, 0.6)
scales = st.floats(-12, 12).map(lambda power: 10.0**power)
near_zero = st.sampled_from([0.0, 1e-12, -1e-9, 1e-5, -1e-4, 1e-3])


def made(shape, scale=0.6):
    return GpdFit(scale, shape, None, 0.0, 10)


def excesses(seed, shape, n=150):
    return made(shape, 1.0).isf(np.random.default_rng(seed).random(n))


def loglik(y, scale, shape):
    shape = 0.0 if abs(shape) < 1e-12 else shape  # scipy divides by it
    return stats.genpareto.logpdf(y, shape, 0, scale).sum()


@settings(max_examples=examples(30))
@given(seeds, shapes, scales)
def test_the_fit_stretches_with_its_sample(seed, shape, unit):
    y = excesses(seed, shape)
    one, other = fit_gpd(y), fit_gpd(unit * y)
    assert_allclose(other.scale, unit * one.scale, rtol=1e-7)
    assert_allclose(other.shape, one.shape, atol=1e-7)
    assert_allclose(
        other.loglik, one.loglik - y.size * math.log(unit), rtol=1e-9, atol=1e-6
    )


@settings(max_examples=examples(20))
@given(seeds, shapes)
def test_the_order_of_the_sample_means_nothing(seed, shape):
    y = excesses(seed, shape)
    one, other = fit_gpd(y), fit_gpd(np.random.default_rng(seed).permutation(y))
    assert (one.scale, one.shape, one.loglik) == (other.scale, other.shape, other.loglik)


@settings(max_examples=examples(40))
@given(seeds, st.one_of(shapes, near_zero), st.floats(0.2, 0.8))
def test_derivatives_are_those_of_the_likelihood(seed, shape, log_scale):
    objective = gpd_objective(np.sort(excesses(seed, max(shape, 0.0))))
    at, h = np.array([log_scale, shape]), 1e-5
    here = objective(at)
    ends = [(objective(at + h * e), objective(at - h * e)) for e in np.eye(2)]
    if not all(np.isfinite([up.value, down.value]).all() for up, down in ends):
        return  # beside the end of the support
    size = np.abs(here.hessian).max()
    gradient = [(up.value - down.value) / (2 * h) for up, down in ends]
    hessian = [(up.gradient - down.gradient) / (2 * h) for up, down in ends]
    assert_allclose(here.gradient, gradient, atol=1e-6 * size)
    assert_allclose(here.hessian, hessian, atol=1e-5 * size)


@settings(max_examples=examples(30))
@given(seeds, shapes, st.floats(-0.3, 0.3), st.floats(-0.3, 0.3))
def test_no_other_parameters_are_more_likely(seed, shape, a, b):
    y = excesses(seed, shape)
    fit = fit_gpd(y)
    assert fit.loglik == pytest.approx(loglik(y, fit.scale, fit.shape), abs=1e-7)
    assert fit.loglik >= loglik(y, 1.0, shape) - 1e-9
    assert fit.loglik >= loglik(y, fit.scale * math.exp(a), fit.shape + b) - 1e-9


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.2, 0.6])
def test_scipy_started_there_finds_nothing_better(shape):
    y = excesses(3, shape, 300)
    fit = fit_gpd(y)
    found, _, scale = stats.genpareto.fit(y, fit.shape, floc=0, scale=fit.scale)
    assert fit.loglik >= loglik(y, scale, found) - 1e-7
    assert_allclose([scale, found], [fit.scale, fit.shape], atol=1e-3)


def test_errors_are_those_of_the_book():
    # Smith (1984): (1 + ξ)/n times [[2σ², -σ], [-σ, 1 + ξ]]
    n, shape = 20_000, 0.2
    fit = fit_gpd(made(shape).isf((np.arange(n) + 0.5) / n))
    known = (1 + shape) / n * np.array([[2 * 0.36, -0.6], [-0.6, 1 + shape]])
    assert_allclose(fit.cov, known, rtol=0.03)
    assert fit.scale_se == pytest.approx(math.sqrt(known[0, 0]), rel=0.02)
    assert fit.shape_se == pytest.approx(math.sqrt(known[1, 1]), rel=0.02)


def test_a_start_changes_the_way_and_not_the_fit():
    y = excesses(4, 0.2)
    fit = fit_gpd(y)
    for start in (made(0.1, 1.2), made(0.9, 1e-12)):
        again = fit_gpd(y, start=start)
        assert_allclose([again.scale, again.shape], [fit.scale, fit.shape], atol=1e-6)


@pytest.mark.parametrize("shape", [-0.4, 0.0, 0.3])
def test_density_distribution_and_quantiles_are_scipy_s(shape):
    law, theirs = made(shape), stats.genpareto(shape, 0, 0.6)
    y = np.linspace(-1, 4, 60)
    assert_allclose(law.pdf(y), theirs.pdf(y), rtol=1e-9, atol=1e-300)
    assert_allclose(law.cdf(y), theirs.cdf(y), rtol=1e-9, atol=1e-15)
    q = np.linspace(0.01, 0.99, 30)
    assert_allclose(law.ppf(q), theirs.ppf(q), rtol=1e-9)
    assert_allclose(law.isf(np.array([1e-20])), theirs.isf([1e-20]), rtol=1e-9)
    assert law.mean == pytest.approx(float(theirs.mean()))


@given(near_zero)
def test_a_vanishing_shape_is_an_exponential_distribution(shape):
    law, y = made(shape), np.linspace(0.01, 6, 30)
    assert_allclose(law.pdf(y), np.exp(-y / 0.6) / 0.6, atol=60 * abs(shape) + 1e-12)
    assert_allclose(law.isf(np.exp(-y)), 0.6 * y, atol=60 * abs(shape) + 1e-12)


def test_a_heavy_tail_has_no_mean():
    assert made(1.0).mean == math.inf


def test_a_tail_that_ends_too_abruptly_has_no_errors():
    fit = fit_gpd(made(-0.7).isf((np.arange(200) + 0.5) / 200))
    assert fit.shape < -0.5
    assert fit.cov is None
    assert np.isnan([fit.scale_se, fit.shape_se]).all()


def test_a_shape_that_runs_to_its_bound_is_refused():
    with pytest.raises(FitError, match="runs to its bound -1"):
        fit_gpd(np.linspace(0, 1, 50) ** 0.1)


def test_a_negative_excess_is_a_wrong_call():
    with pytest.raises(ValueError, match="not negative, got -1"):
        fit_gpd(np.arange(-1.0, 30))


def test_too_few_equal_or_infinite_excesses_are_refused():
    for y, words in (
        (np.arange(19.0), "20 distinct excesses, got 19"),
        (np.ones(40), "all 40 excesses are equal"),
        (np.r_[np.arange(30.0), math.inf], "1 of 31 excesses are not finite"),
    ):
        with pytest.raises(FitError, match=words):
            fit_gpd(y)
    assert fit_gpd(excesses(1, 0.1, 12), min_distinct=10).n == 12


def test_the_threshold_itself_may_be_among_the_excesses():
    y = np.r_[0.0, excesses(5, 0.1)]
    fit = fit_gpd(y)
    assert fit.n == y.size
    assert_array_equal(fit.cdf(np.array([0.0])), [0])
