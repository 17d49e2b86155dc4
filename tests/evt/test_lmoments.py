"""L-moments against their definition, and the fits by them."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate

from synctax.errors import FitError
from synctax.evt.gev import GevFit
from synctax.evt.gumbel import fit_gumbel
from synctax.evt.lmoments import (
    LOC_SCALE_COVARIANCE,
    LOC_VARIANCE,
    SCALE_VARIANCE,
    gumbel_lmoments,
)
from synctax.evt.moments import gev_parameters, gev_shape, of_sorted
from tests.evt.samples import gev_sample, seeds, sizes
from tests.laws import examples

scales = st.floats(-12, 12).map(lambda power: 10.0**power)


def gev_of_moments(z):
    """The GEV distribution that has the first three L-moments of a sample."""
    moments = of_sorted(np.sort(z))
    shape = gev_shape(moments.t3)
    return GevFit(*gev_parameters(moments, shape), shape, None, math.nan, z.size)


@settings(max_examples=examples(25))
@given(seeds, st.integers(4, 12))
def test_moments_are_means_over_all_subsets(seed, n):
    z = np.sort(np.random.default_rng(seed).normal(size=n))
    found = of_sorted(z)

    def mean(weights):
        chosen = combinations(z.tolist(), len(weights))
        return np.mean([np.dot(weights, subset) for subset in chosen]) / len(weights)

    l2 = mean([-1, 1])
    assert found.l1 == pytest.approx(z.mean(), abs=1e-12)
    assert found.l2 == pytest.approx(l2)
    assert found.t3 == pytest.approx(mean([1, -2, 1]) / l2, abs=1e-9)
    assert found.t4 == pytest.approx(mean([-1, 3, -3, 1]) / l2, abs=1e-9)


def test_two_values_have_two_moments():
    found = of_sorted(np.array([1.0, 3.0]))
    assert (found.l1, found.l2) == (2, 1)
    assert math.isnan(found.t3)
    assert math.isnan(found.t4)


def test_a_far_location_costs_no_digits():
    z = np.arange(40.0) ** 2
    near, far = of_sorted(z), of_sorted(z + 2.0**40)
    assert far.l2 == pytest.approx(near.l2, rel=1e-12)
    assert far.t3 == pytest.approx(near.t3, rel=1e-12)


@settings(max_examples=examples(25))
@given(seeds, sizes, scales, st.floats(-100, 100))
def test_fits_move_and_stretch_with_their_sample(seed, n, unit, shift):
    z = gev_sample(seed, n)
    one, other = gumbel_lmoments(z), gumbel_lmoments(unit * (z + shift))
    assert_allclose(other.loc, unit * (one.loc + shift), atol=1e-9 * unit)
    assert_allclose(other.scale, unit * one.scale, rtol=1e-9)
    assert_allclose(other.cov, unit**2 * one.cov, rtol=1e-8)


@settings(max_examples=examples(25))
@given(seeds, sizes)
def test_the_gumbel_fit_has_the_moments_of_the_sample(seed, n):
    z = gev_sample(seed, n)
    fit = gumbel_lmoments(z)
    assert fit.mean_z(1.0) == pytest.approx(z.mean(), abs=1e-9)
    # half of the expected difference of two
    assert (fit.mean_z(2.0) - fit.mean_z(1.0)) == pytest.approx(of_sorted(np.sort(z)).l2)
    assert fit.loglik <= fit_gumbel(z).loglik + 1e-9
    assert fit.loglik == pytest.approx(np.log(fit.pdf(z)).sum(), rel=1e-9)


@settings(max_examples=examples(25))
@given(seeds, sizes)
def test_the_gev_distribution_of_moments_has_them(seed, n):
    z = gev_sample(seed, n)
    fit, moments = gev_of_moments(z), of_sorted(np.sort(z))
    one, two, three = (fit.mean_z(float(k)) for k in (1, 2, 3))
    assert one == pytest.approx(moments.l1, abs=1e-9)
    assert two - one == pytest.approx(moments.l2, rel=1e-9)
    # 6 b2 - 6 b1 + b0, with b = mean of the maximum of k, over k
    t3 = (2 * three - 3 * two + one) / moments.l2
    assert t3 == pytest.approx(moments.t3, abs=1e-8)


@given(st.floats(-0.95, 0.95))
def test_the_shape_of_a_skewness_has_that_skewness(t3):
    shape = gev_shape(t3)
    assert shape < 1
    if shape == 0:
        return
    ratio = math.expm1(shape * math.log(3)) / math.expm1(shape * math.log(2))
    assert 2 * ratio - 3 == pytest.approx(t3, abs=1e-9)


def test_the_skewness_of_a_gumbel_distribution_has_shape_zero():
    assert gev_shape(2 * math.log(3) / math.log(2) - 3) == pytest.approx(0, abs=1e-12)


def test_the_covariance_is_that_of_linear_functions_of_order_statistics():
    def covariance(one, two):
        # ∫∫ over x < y of (J1(x)J2(y) + J2(x)J1(y)) F(x)(1 - F(y)), over u = F
        def inner(v):
            slope = 1 / (-v * math.log(v))
            value, _ = integrate.quad(
                lambda u: (one(u) * two(v) + two(u) * one(v)) / -math.log(u), 0, v
            )
            return slope * (1 - v) * value

        return integrate.quad(inner, 0, 1)[0]

    def flat(u):
        return 1.0

    def rising(u):
        return 2 * u - 1

    moments = np.array(
        [
            [covariance(flat, flat), covariance(flat, rising)],
            [covariance(flat, rising), covariance(rising, rising)],
        ]
    )
    ln2 = math.log(2)
    to_parameters = np.array([[1, -np.euler_gamma / ln2], [0, 1 / ln2]])
    known = [[LOC_VARIANCE, LOC_SCALE_COVARIANCE], [LOC_SCALE_COVARIANCE, SCALE_VARIANCE]]
    assert_allclose(to_parameters @ moments @ to_parameters.T, known, atol=2e-6)
    assert_allclose(gumbel_lmoments(gev_sample(1, 50)).cov[0, 0] * 50, LOC_VARIANCE, rtol=1)


def test_a_sample_of_quantiles_gives_its_law_back():
    law = GevFit(3.0, 2.0, 0.2, None, 0.0, 0)
    fit = gev_of_moments(law.ppf((np.arange(20_000) + 0.5) / 20_000))
    assert_allclose([fit.loc, fit.scale, fit.shape], [3, 2, 0.2], atol=0.01)


def test_too_few_or_equal_values_are_refused():
    with pytest.raises(FitError, match="20 distinct"):
        gumbel_lmoments(np.arange(19.0))
    with pytest.raises(FitError, match="equal"):
        gumbel_lmoments(np.ones(30))
