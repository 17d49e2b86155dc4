"""Laws of the Gumbel fit, its closed forms, and what it refuses."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from synctax.errors import FitError
from synctax.evt.gumbel import GumbelFit, fit_gumbel
from tests.evt.samples import gev_sample, seeds, shapes, sizes
from tests.laws import examples

scales = st.floats(-12, 12).map(lambda power: 10.0**power)
FIT = GumbelFit(0.7, 0.6, np.array([[0.02, 0.005], [0.005, 0.01]]), -1.0, 100)


def loglik(z, loc, scale):
    return stats.gumbel_r.logpdf(z, loc, scale).sum()


@settings(max_examples=examples(25))
@given(seeds, sizes, scales, st.floats(-100, 100))
def test_the_fit_moves_and_stretches_with_its_sample(seed, n, unit, shift):
    z = gev_sample(seed, n)
    one, other = fit_gumbel(z), fit_gumbel(unit * (z + shift))
    assert_allclose(other.loc, unit * (one.loc + shift), atol=1e-9 * unit)
    assert_allclose(other.scale, unit * one.scale, rtol=1e-9)
    assert_allclose(other.cov, unit**2 * one.cov, rtol=1e-8)
    assert_allclose(other.loglik, one.loglik - n * math.log(unit), rtol=1e-9, atol=1e-7)


@settings(max_examples=examples(25))
@given(seeds, sizes)
def test_the_order_of_the_sample_means_nothing(seed, n):
    z = gev_sample(seed, n)
    one, other = fit_gumbel(z), fit_gumbel(np.random.default_rng(seed).permutation(z))
    assert (one.loc, one.scale, one.loglik) == (other.loc, other.scale, other.loglik)
    assert_array_equal(one.cov, other.cov)


@settings(max_examples=examples(25))
@given(seeds, sizes, shapes)
def test_the_score_vanishes_at_the_fit(seed, n, shape):
    z = gev_sample(seed, n, shape)
    fit = fit_gumbel(z)
    t = (z - fit.loc) / fit.scale
    assert np.exp(-t).sum() == pytest.approx(n, rel=1e-12)
    assert (t - t * np.exp(-t)).sum() == pytest.approx(n, rel=1e-9)


@settings(max_examples=examples(25))
@given(seeds, sizes, st.floats(-1, 1), st.floats(-1, 1))
def test_no_other_parameters_are_more_likely(seed, n, a, b):
    z = gev_sample(seed, n)
    fit = fit_gumbel(z)
    assert fit.loglik == pytest.approx(loglik(z, fit.loc, fit.scale), abs=1e-9)
    assert fit.loglik >= loglik(z, fit.loc + a, fit.scale * math.exp(b)) - 1e-9


@settings(max_examples=examples(25))
@given(seeds, sizes)
def test_the_covariance_is_the_inverse_curvature(seed, n):
    z = gev_sample(seed, n)
    fit = fit_gumbel(z)
    h = 1e-3 * fit.scale
    at = np.array([fit.loc, fit.scale])
    steps = h * np.eye(2)
    information = np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            corners = [
                s * t * loglik(z, *(at + s * steps[i] + t * steps[j]))
                for s in (1, -1)
                for t in (1, -1)
            ]
            information[i, j] = -sum(corners) / (4 * h * h)
    assert_allclose(fit.cov @ information, np.eye(2), atol=2e-4)
    assert fit.loc_se == math.sqrt(fit.cov[0, 0])
    assert fit.scale_se == math.sqrt(fit.cov[1, 1])


def test_errors_are_those_of_many_samples():
    rng = np.random.default_rng(5)
    fits = [fit_gumbel(rng.gumbel(size=100)) for _ in range(1000)]
    spread = np.cov([[fit.loc, fit.scale] for fit in fits], rowvar=False)
    claimed = np.mean([fit.cov for fit in fits], axis=0)
    assert_allclose(np.diag(claimed), np.diag(spread), rtol=0.15)


@settings(max_examples=examples(25))
@given(st.floats(1, 1e6), st.floats(1, 1e6))
def test_maxima_of_groups_of_groups_are_maxima_of_groups(k, more):
    wider = GumbelFit(FIT.loc + FIT.scale * math.log(k), FIT.scale, FIT.cov, 0, 1)
    assert wider.mean_z(more) == pytest.approx(FIT.mean_z(k * more), rel=1e-12)


@pytest.mark.parametrize("k", [1, 4, 128])
def test_the_mean_is_the_integral_over_the_maximum_of_k(k):
    mean, _ = integrate.quad(
        lambda z: z * k * FIT.pdf(z) * FIT.cdf(z) ** (k - 1),
        -5,
        40,
        points=[0, 5],
        limit=200,
    )
    assert FIT.mean_z(k) == pytest.approx(mean, rel=1e-8)


def test_many_k_at_once_are_each_k():
    k = np.array([1.0, 2.0, 64.0])
    assert_allclose(FIT.mean_z(k), [FIT.mean_z(one) for one in k.tolist()], rtol=1e-15)
    assert_allclose(FIT.mean_se(k), [FIT.mean_se(one) for one in k.tolist()], rtol=1e-15)
    assert type(FIT.mean_z(4)) is float


def test_the_error_of_the_mean_is_that_of_the_sum():
    slope = np.array([1, np.euler_gamma + math.log(8)])
    assert FIT.mean_se(8.0) == pytest.approx(math.sqrt(slope @ FIT.cov @ slope))


def test_density_distribution_and_quantiles_are_scipy_s():
    z = np.linspace(-3, 8, 50)
    theirs = stats.gumbel_r(FIT.loc, FIT.scale)
    assert_allclose(FIT.pdf(z), theirs.pdf(z), rtol=1e-12)
    assert_allclose(FIT.cdf(z), theirs.cdf(z), rtol=1e-12)
    assert_allclose(FIT.ppf(FIT.cdf(z[10:])), z[10:], rtol=1e-9)
    assert_allclose(FIT.return_level(50.0), theirs.isf(1 / 50), rtol=1e-12)


def test_ends_of_the_axis_have_no_density():
    far = np.array([-1e6, 1e6])
    assert_array_equal(FIT.pdf(far), [0, 0])
    assert_array_equal(FIT.cdf(far), [0, 1])
    assert_array_equal(FIT.ppf(np.array([0.0, 1.0])), [-math.inf, math.inf])


@pytest.mark.parametrize("k", [0.5, 0, -1, math.nan])
def test_fewer_ranks_than_were_fitted_are_no_extrapolation(k):
    with pytest.raises(ValueError, match="at least the fitted size"):
        FIT.mean_z(k)


def test_nineteen_values_are_too_few_and_twenty_are_not():
    z = gev_sample(0, 20)
    assert fit_gumbel(z).n == 20
    with pytest.raises(FitError, match="20 distinct block maxima, got 19 among 40"):
        fit_gumbel(np.r_[z[:19], z[:19], z[:2]])
    assert fit_gumbel(z[:5], min_distinct=5).n == 5


def test_no_value_is_too_few():
    with pytest.raises(FitError, match="got 0 among 0"):
        fit_gumbel(np.array([]))


def test_equal_values_have_no_spread():
    with pytest.raises(FitError, match=r"all 30 block maxima are equal to 2\.5"):
        fit_gumbel(np.full(30, 2.5))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused_with_its_count(bad):
    z = gev_sample(1, 30)
    z[[3, 7]] = bad
    with pytest.raises(FitError, match="2 of 30 block maxima are not finite"):
        fit_gumbel(z)


def test_a_table_is_no_sample():
    with pytest.raises(ValueError, match="one dimension, got 2"):
        fit_gumbel(np.ones((5, 5)))


def test_one_value_far_out_still_has_a_fit():
    z = np.r_[gev_sample(2, 200), 1e6]
    fit = fit_gumbel(z)
    t = (z - fit.loc) / fit.scale
    assert np.exp(-t).mean() == pytest.approx(1, rel=1e-9)
    assert fit.loglik >= loglik(z, *stats.gumbel_r.fit(z)) - 1e-6
