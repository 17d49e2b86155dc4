"""Laws of the GEV fit, its likelihood and means, and what it refuses."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from synctax.errors import FitError
from synctax.evt.gev import GevFit, fit_gev
from synctax.evt.growth import level_growth, mean_growth
from synctax.evt.gumbel import GumbelFit, fit_gumbel
from synctax.evt.likelihood import gev_objective
from synctax.evt.moments import standardise
from synctax.evt.optimum import climb
from tests.evt.samples import gev_sample, seeds, shapes, sizes
from tests.laws import examples

scales = st.floats(-12, 12).map(lambda power: 10.0**power)
near_zero = st.sampled_from([0.0, 1e-15, -1e-12, 1e-9, -1e-7, 1e-5, -1e-4, 1e-3, 3e-3])


def made(shape, loc=0.7, scale=0.6):
    return GevFit(loc, scale, shape, None, 0.0, 10)


def loglik(z, loc, scale, shape):
    shape = 0.0 if abs(shape) < 1e-12 else shape  # scipy divides by it
    return stats.genextreme.logpdf(z, -shape, loc, scale).sum()


def fitted(seed, n, shape):
    """Fit a sample that has a fit: short tails of small samples may not."""
    z = gev_sample(seed, max(n, 60), shape)
    return z, fit_gev(z)


@settings(max_examples=examples(25))
@given(seeds, sizes, shapes, scales, st.floats(-100, 100))
def test_the_fit_moves_and_stretches_with_its_sample(seed, n, shape, unit, shift):
    z, one = fitted(seed, n, shape)
    other = fit_gev(unit * (z + shift))
    assert_allclose(other.loc, unit * (one.loc + shift), atol=1e-7 * unit)
    assert_allclose(other.scale, unit * one.scale, rtol=1e-7)
    assert_allclose(other.shape, one.shape, atol=1e-7)
    assert_allclose(
        other.loglik, one.loglik - z.size * math.log(unit), rtol=1e-9, atol=1e-6
    )
    if one.cov is not None:
        rescale = np.array([unit, unit, 1])
        assert_allclose(other.cov / np.outer(rescale, rescale), one.cov, rtol=1e-5)


@settings(max_examples=examples(15))
@given(seeds, sizes, shapes)
def test_the_order_of_the_sample_means_nothing(seed, n, shape):
    z, one = fitted(seed, n, shape)
    other = fit_gev(np.random.default_rng(seed).permutation(z))
    assert (one.loc, one.scale, one.shape) == (other.loc, other.scale, other.shape)


@settings(max_examples=examples(25))
@given(seeds, sizes, st.one_of(shapes, near_zero), st.floats(-0.3, 0.3), st.floats(0, 0.3))
def test_derivatives_are_those_of_the_likelihood(seed, n, shape, loc, log_scale):
    objective = gev_objective(np.sort(gev_sample(seed, n)))
    at = np.array([loc, log_scale, shape])
    here, h = objective(at), 1e-5
    ends = [(objective(at + h * e), objective(at - h * e)) for e in np.eye(3)]
    if not all(np.isfinite([up.value, down.value]).all() for up, down in ends):
        return  # beside the end of the support
    gradient = [(up.value - down.value) / (2 * h) for up, down in ends]
    hessian = [(up.gradient - down.gradient) / (2 * h) for up, down in ends]
    size = np.abs(here.hessian).max()
    assert_allclose(here.gradient, gradient, atol=1e-6 * size)
    # beside the end of the support higher derivatives spoil the differences
    assert_allclose(here.hessian, hessian, atol=1e-4 * size)


@settings(max_examples=examples(40))
@given(seeds, sizes, st.one_of(shapes, near_zero))
def test_the_likelihood_is_scipy_s(seed, n, shape):
    z = gev_sample(seed, n, shape)
    found = gev_objective(np.sort(z))(np.array([-0.1, 0.2, shape])).value
    with np.errstate(all="ignore"):
        theirs = loglik(z, -0.1, math.exp(0.2), shape)
    if abs(shape) > 1e-3 or shape == 0:  # between, theirs loses digits
        assert found == pytest.approx(theirs, rel=1e-9)
    else:
        gumbel = loglik(z, -0.1, math.exp(0.2), 0)
        assert found == pytest.approx(
            gumbel, abs=2 * abs(shape) * (np.abs(z) ** 3 + 9).sum() + 1e-9
        )


@settings(max_examples=examples(25))
@given(seeds, sizes, shapes)
def test_the_score_vanishes_at_the_fit(seed, n, shape):
    z, fit = fitted(seed, n, shape)
    sample = standardise(np.sort(z))
    at = np.array(
        [
            (fit.loc - sample.centre) / sample.unit,
            math.log(fit.scale / sample.unit),
            fit.shape,
        ]
    )
    point = gev_objective(sample.x)(at)
    assert point.gradient @ np.linalg.solve(-point.hessian, point.gradient) < 1e-12


@settings(max_examples=examples(25))
@given(seeds, sizes, shapes)
def test_neither_the_truth_nor_the_gumbel_fit_is_more_likely(seed, n, shape):
    z, fit = fitted(seed, n, shape)
    assert fit.loglik == pytest.approx(loglik(z, fit.loc, fit.scale, fit.shape), abs=1e-7)
    assert fit.loglik >= loglik(z, 0, 1, shape) - 1e-9
    assert fit.loglik >= fit_gumbel(z).loglik - 1e-9


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.15, 0.5])
def test_scipy_started_there_finds_nothing_better(shape):
    z, fit = fitted(4, 150, shape)
    c, loc, scale = stats.genextreme.fit(z, -fit.shape, loc=fit.loc, scale=fit.scale)
    assert fit.loglik >= loglik(z, loc, scale, -c) - 1e-7
    assert_allclose([loc, scale, -c], [fit.loc, fit.scale, fit.shape], atol=1e-3)


@settings(max_examples=examples(20))
@given(seeds, shapes)
def test_a_start_changes_the_way_and_not_the_fit(seed, shape):
    z, fit = fitted(seed, 100, shape)
    start = GevFit(fit.loc + 0.2, 1.3 * fit.scale, 0.8 * fit.shape, None, 0.0, 0)
    again = fit_gev(z, start=start)
    assert_allclose(
        [again.loc, again.scale, again.shape], [fit.loc, fit.scale, fit.shape], atol=1e-6
    )


def test_a_useless_start_is_left_for_others():
    z = gev_sample(6, 100)
    start = GevFit(1e9, 1e-9, 0.9, None, 0.0, 0)
    assert fit_gev(z, start=start).loglik == pytest.approx(fit_gev(z).loglik, abs=1e-9)


def test_the_higher_of_two_maxima_is_taken():
    rng = np.random.default_rng(3)
    kept = 0
    for _ in range(25):
        z = np.r_[rng.normal(size=10), rng.normal(8, 1, 10)]
        try:
            fit = fit_gev(z)
        except FitError:
            continue
        kept += 1
        sample = standardise(np.sort(z))
        objective = gev_objective(sample.x)
        for shape in (-0.4, 0.0, 0.4, 1.0):
            peak = climb(objective, np.array([-1.0, 0.8, shape]))
            if peak.is_maximum:
                found = peak.point.value - z.size * math.log(sample.unit)
                assert fit.loglik >= found - 1e-7
    assert kept > 5


def test_errors_are_those_of_many_samples():
    rng = np.random.default_rng(6)
    fits = [fit_gev(made(0.1).ppf(rng.random(300))) for _ in range(300)]
    spread = np.cov([[fit.loc, fit.scale, fit.shape] for fit in fits], rowvar=False)
    claimed = np.mean([fit.cov for fit in fits], axis=0)
    assert_allclose(np.diag(claimed), np.diag(spread), rtol=0.3)


def test_a_large_sample_is_fitted_as_its_pieces_add_up():
    z = np.sort(gev_sample(8, 10_000, 0.1))
    at = np.array([0.05, -0.02, 0.12])
    whole = gev_objective(z)(at)
    parts = [
        gev_objective(z[first : first + 2_500])(at) for first in range(0, 10_000, 2_500)
    ]
    assert whole.value == pytest.approx(sum(part.value for part in parts), rel=1e-12)
    assert_allclose(whole.gradient, sum(part.gradient for part in parts), rtol=1e-9)
    assert_allclose(whole.hessian, sum(part.hessian for part in parts), rtol=1e-9)
    assert gev_objective(np.r_[z, 1e9])(np.array([0.0, 0.0, -0.2])).value == -math.inf


@pytest.mark.parametrize("shape", [-0.9, -0.4, -0.0299, -1e-6, 0.0, 1e-4, 0.0301, 0.3, 0.9])
@pytest.mark.parametrize("k", [1, 4, 128])
def test_the_mean_is_the_integral_over_the_maximum_of_k(shape, k):
    law = made(shape)
    # E[max of k] = ∫ Q(exp(-e/k)) exp(-e) de
    mean, _ = integrate.quad(
        lambda s: (
            float(law._quantile(np.asarray(math.log(k) + s))) * math.exp(-s - math.exp(-s))
        ),
        -6,
        700 if shape > 0.5 else 60,
        points=[0, 5, 40],
        limit=500,
    )
    assert law.mean_z(k) == pytest.approx(mean, rel=1e-6)


@given(st.floats(-0.9, 0.95), st.floats(1, 5e3))
def test_derivatives_of_the_growth_are_those_of_its_value(shape, k):
    growths = [mean_growth(k)] + ([level_growth(k)] if k > 1 else [])
    for growth in growths:
        h = 1e-5 * (1 - shape)
        g, g1, g2 = growth(shape)
        up, down = growth(shape + h), growth(shape - h)
        assert g1 == pytest.approx((up[0] - down[0]) / (2 * h), rel=1e-4, abs=1e-6)
        assert g2 == pytest.approx((up[1] - down[1]) / (2 * h), rel=1e-3, abs=1e-5)
        assert down[0] <= g <= up[0]


def test_the_growth_of_a_level_is_its_quantile():
    for shape in (-0.3, 0.0, 0.01, 0.4):
        law = made(shape, 0.0, 1.0)
        assert level_growth(50)(shape)[0] == pytest.approx(float(law.return_level(50)))
        assert mean_growth(8)(shape)[0] == pytest.approx(law.mean_z(8))


@given(near_zero, st.floats(1, 1e4))
def test_a_vanishing_shape_is_a_gumbel_distribution(shape, k):
    law, gumbel = made(shape), GumbelFit(0.7, 0.6, np.eye(2), 0.0, 10)
    near = 200 * abs(shape)
    assert law.mean_z(k) == pytest.approx(gumbel.mean_z(k), abs=near + 1e-12)
    z = np.linspace(-1, 5, 30)
    assert_allclose(law.pdf(z), gumbel.pdf(z), atol=near + 1e-12)
    assert_allclose(law.cdf(z), gumbel.cdf(z), atol=near + 1e-12)
    q = np.linspace(0.01, 0.99, 30)
    assert_allclose(law.ppf(q), gumbel.ppf(q), atol=near + 1e-12)


def test_many_k_at_once_are_each_k():
    k = np.array([1.0, 2.0, 64.0])
    for shape in (-0.2, 0.0, 0.01, 0.3):
        law = made(shape)
        assert_allclose(law.mean_z(k), [law.mean_z(one) for one in k.tolist()], rtol=1e-14)
        assert type(law.mean_z(4)) is float


@pytest.mark.parametrize("shape", [-0.3, -0.029, 0.0, 0.029, 0.031, 0.4])
def test_errors_of_many_k_at_once_are_those_of_each(shape):
    root = np.random.default_rng(7).normal(size=(3, 3))
    law = replace(made(shape), cov=root @ root.T)
    k = np.array([1.0, 2.0, 64.0, 2.0**20])
    errors = law.mean_se(k)
    assert_allclose(errors, [law.mean_se(one) for one in k.tolist()], rtol=1e-13)
    assert type(law.mean_se(4)) is float
    gradients = np.array(
        [(1.0, g, law.scale * g1) for g, g1, _ in (mean_growth(x)(shape) for x in k)]
    )
    assert_allclose(errors**2, np.einsum("ki,ij,kj->k", gradients, law.cov, gradients))


@pytest.mark.parametrize("shape", [-0.4, 0.0, 0.3])
def test_density_distribution_and_quantiles_are_scipy_s(shape):
    law, theirs = made(shape), stats.genextreme(-shape, 0.7, 0.6)
    z = np.linspace(-4, 8, 60)
    assert_allclose(law.pdf(z), theirs.pdf(z), rtol=1e-9, atol=1e-300)
    assert_allclose(law.cdf(z), theirs.cdf(z), rtol=1e-9, atol=1e-300)
    q = np.linspace(0.01, 0.99, 30)
    assert_allclose(law.ppf(q), theirs.ppf(q), rtol=1e-9)
    assert_allclose(law.return_level(np.array([10.0, 50.0])), theirs.isf([0.1, 0.02]))


def test_ends_of_the_support_are_quantiles_zero_and_one():
    assert_allclose(made(0.5).ppf(np.array([0.0, 1.0])), [0.7 - 0.6 / 0.5, math.inf])
    assert_allclose(made(-0.5).ppf(np.array([0.0, 1.0])), [-math.inf, 0.7 + 0.6 / 0.5])
    assert_array_equal(made(-0.5).cdf(np.array([2.0, 3.0])), [1, 1])


def test_an_infinite_mean_is_refused():
    for ask in (made(1.0).mean_z, made(1.2).mean_se):
        with pytest.raises(FitError, match="no finite mean"):
            ask(4)


def test_fewer_ranks_than_were_fitted_are_no_extrapolation():
    with pytest.raises(ValueError, match="at least the fitted size"):
        made(0.1).mean_z(0.5)
    with pytest.raises(ValueError, match="at least the fitted size"):
        made(0.1).mean_se(0.5)


def test_the_error_of_the_mean_is_that_of_the_gradient():
    fit = fit_gev(gev_sample(9, 300, 0.1))
    assert fit.cov is not None
    h = 1e-6
    at = np.array([fit.loc, fit.scale, fit.shape])

    def mean(parameters):
        return made(parameters[2], parameters[0], parameters[1]).mean_z(16)

    slope = np.array([(mean(at + h * e) - mean(at - h * e)) / (2 * h) for e in np.eye(3)])
    assert fit.mean_se(16) == pytest.approx(math.sqrt(slope @ fit.cov @ slope), rel=1e-6)


def test_a_tail_that_ends_too_abruptly_has_no_errors():
    fit = fit_gev(made(-0.7).ppf((np.arange(300) + 0.5) / 300))
    assert fit.shape < -0.5
    assert fit.cov is None
    found = (fit.loc_se, fit.scale_se, fit.shape_se, fit.mean_se(4))
    assert np.isnan(found).all()


def test_a_shape_that_runs_to_its_bound_is_refused():
    with pytest.raises(FitError, match="runs to its bound -1"):
        fit_gev(np.linspace(0, 1, 50) ** 0.1)


def test_a_likelihood_without_a_maximum_is_refused():
    # half of the values are one value: a peak ever higher the closer the support comes
    z = np.r_[np.zeros(200), np.arange(1, 30)]
    with pytest.raises(FitError, match="has no maximum"):
        fit_gev(z)


def test_too_few_equal_or_infinite_values_are_refused():
    for z, words in (
        (np.arange(19.0), "20 distinct"),
        (np.ones(40), "all 40 block maxima are equal"),
        (np.r_[np.arange(30.0), math.nan], "1 of 31 block maxima are not finite"),
    ):
        with pytest.raises(FitError, match=words):
            fit_gev(z)


def test_a_spread_below_what_numbers_hold_is_refused():
    z = np.arange(30) * 1e-120
    with pytest.raises(FitError, match="another unit"):
        fit_gev(z)
