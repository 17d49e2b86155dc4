"""Profile intervals: where the likelihood has dropped, and where it never does."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize, stats

from synctax.errors import FitError
from synctax.evt.charts import in_place_of_loc, in_place_of_shape
from synctax.evt.gev import GevFit, fit_gev
from synctax.evt.growth import level_growth, mean_growth
from synctax.evt.gumbel import fit_gumbel
from synctax.evt.likelihood import gev_objective
from synctax.evt.profile import profile_level, profile_mean, profile_shape
from tests.evt.samples import gev_sample, seeds
from tests.laws import examples

DROP = stats.chi2.ppf(0.95, 1) / 2
scales = st.floats(-12, 12).map(lambda power: 10.0**power)
ks = st.sampled_from([1.0, 4.0, 128.0])
shapes = st.floats(-0.25, 0.4)


def loglik(z, loc, scale, shape):
    shape = 0.0 if abs(shape) < 1e-12 else shape  # scipy divides by it
    return stats.genextreme.logpdf(z, -shape, loc, scale).sum()


def sampled(seed, shape, n=120):
    z = gev_sample(seed, n, shape)
    return z, fit_gev(z)


@settings(max_examples=examples(8))
@given(seeds, shapes, ks, scales, st.floats(-100, 100))
def test_intervals_move_and_stretch_with_their_sample(seed, shape, k, unit, shift):
    z, fit = sampled(seed, shape)
    moved = unit * (z + shift)
    there = fit_gev(moved)
    assert_allclose(profile_shape(moved, there), profile_shape(z, fit), atol=1e-5)
    near, far = profile_mean(z, fit, k), profile_mean(moved, there, k)
    assert_allclose(np.array(far) / unit - shift, near, rtol=1e-5, atol=1e-5)
    gumbel = fit_gumbel(z)
    near, far = profile_mean(z, gumbel, k), profile_mean(moved, fit_gumbel(moved), k)
    assert_allclose(np.array(far) / unit - shift, near, atol=1e-5)


@settings(max_examples=examples(5))
@given(seeds, shapes)
def test_at_the_bounds_of_the_shape_the_likelihood_has_dropped(seed, shape):
    z, fit = sampled(seed, shape)
    for bound in profile_shape(z, fit):
        # every value lies within the support where the search begins
        far = (z.max() if bound < 0 else z.min()) - fit.loc
        scale = max(fit.scale, -1.05 * bound * far)
        found = optimize.minimize(
            lambda p, bound=bound: np.nan_to_num(
                -loglik(z, p[0], math.exp(p[1]), bound), posinf=1e6
            ),
            [fit.loc, math.log(scale)],
            method="Nelder-Mead",
            options={"xatol": 1e-6, "fatol": 1e-9, "maxiter": 2_000},
        )
        assert fit.loglik + found.fun == pytest.approx(DROP, abs=1e-5)


@settings(max_examples=examples(15))
@given(seeds, ks)
def test_at_the_bounds_of_a_gumbel_mean_the_likelihood_has_dropped(seed, k):
    z = gev_sample(seed, 60)
    fit = fit_gumbel(z)
    growth = np.euler_gamma + math.log(k)
    for bound in profile_mean(z, fit, k):
        found = optimize.minimize_scalar(
            lambda s, bound=bound: -stats.gumbel_r.logpdf(z, bound - s * growth, s).sum(),
            bounds=(fit.scale / 5, 5 * fit.scale),
            method="bounded",
            options={"xatol": 1e-9},
        )
        assert fit.loglik + found.fun == pytest.approx(DROP, abs=1e-5)


@settings(max_examples=examples(6))
@given(seeds, shapes, ks)
def test_no_parameters_as_likely_have_a_mean_outside(seed, shape, k):
    z, fit = sampled(seed, shape)
    lo, hi = profile_mean(z, fit, k)
    assert lo < fit.mean_z(k) < hi
    rng = np.random.default_rng(seed)
    reach = 3.5 * np.linalg.cholesky(fit.cov)
    draws = (
        np.array([fit.loc, fit.scale, fit.shape]) + rng.normal(size=(150, 3)) @ reach.T / 2
    )
    extremes = []
    for loc, scale, xi in draws.tolist():
        if scale > 0 and xi < 0.99 and loglik(z, loc, scale, xi) >= fit.loglik - DROP:
            extremes.append(GevFit(loc, scale, xi, None, 0.0, 0).mean_z(k))
    assert extremes
    assert lo - 1e-6 <= min(extremes)
    assert max(extremes) <= hi + 1e-6


@pytest.mark.parametrize(("seed", "k"), [(0, 1.0), (1, 128.0), (2, 4.0)])
def test_at_the_bounds_of_a_mean_the_likelihood_has_dropped(seed, k):
    z, fit = sampled(seed, 0.25, 40)
    for bound in profile_mean(z, fit, k):

        def unlikely(p, bound=bound):
            if not -0.9 < p[1] < 0.999:
                return 1e6
            scale = math.exp(p[0])
            loc = bound - GevFit(0.0, scale, p[1], None, 0.0, 0).mean_z(k)
            return min(-loglik(z, loc, scale, p[1]), 1e6)

        best = min(
            optimize.minimize(
                unlikely,
                [math.log(fit.scale) + more, fit.shape + bent],
                method="Nelder-Mead",
                options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 4_000},
            ).fun
            for more in (-0.3, 0.0, 0.3)
            for bent in (-0.2, 0.0, 0.3)
        )
        assert fit.loglik + best == pytest.approx(DROP, abs=1e-3)


@settings(max_examples=examples(10))
@given(seeds, shapes)
def test_a_higher_level_gives_a_wider_interval(seed, shape):
    z, fit = sampled(seed, shape)
    for profile in (
        lambda level: profile_shape(z, fit, level=level),
        lambda level: profile_mean(z, fit, 4, level=level),
        lambda level: profile_level(z, fit, 50, level=level),
        lambda level: profile_mean(z, fit_gumbel(z), 4, level=level),
    ):
        (lo, hi), (wide_lo, wide_hi) = profile(0.8), profile(0.95)
        assert wide_lo < lo < hi < wide_hi


def test_large_samples_have_wald_s_intervals():
    z, fit = sampled(1, 0.1, 20_000)
    assert_allclose(
        profile_shape(z, fit),
        [fit.shape - 1.96 * fit.shape_se, fit.shape + 1.96 * fit.shape_se],
        atol=0.03 * fit.shape_se,
    )
    se = fit.mean_se(4)
    assert_allclose(
        profile_mean(z, fit, 4), [fit.mean_z(4) - 1.96 * se, fit.mean_z(4) + 1.96 * se],
        atol=0.1 * se,
    )  # fmt: skip


def test_a_shape_that_may_be_one_leaves_the_mean_without_a_bound():
    infinite = finite = 0
    for seed in range(8):
        z, fit = sampled(seed, 0.6, 30)
        if fit.shape >= 1:
            continue
        endless = profile_shape(z, fit)[1] >= 1
        infinite, finite = infinite + endless, finite + (not endless)
        for k in (1, 128):
            lo, hi = profile_mean(z, fit, k)
            assert math.isinf(hi) == endless
            assert math.isfinite(lo)
    assert infinite
    assert finite


def test_a_short_tail_s_shape_is_bounded_by_the_fit_s_bound():
    rng = np.random.default_rng(5)
    reached = False
    for _ in range(8):
        z = rng.beta(3, 0.9, 30)
        try:
            fit = fit_gev(z)
        except FitError:
            continue
        lo, hi = profile_shape(z, fit)
        assert -1 <= lo < fit.shape < hi
        reached |= lo == -1
    assert reached


def test_a_fit_of_something_else_says_only_where_to_start():
    z, fit = sampled(3, 0.1)
    near = GevFit(1.1 * fit.loc, 0.9 * fit.scale, fit.shape + 0.05, None, math.nan, z.size)
    assert_allclose(profile_mean(z, near, 4), profile_mean(z, fit, 4), rtol=1e-6)


def test_an_infinite_mean_and_a_wrong_call_are_refused():
    z, fit = sampled(0, 0.1)
    with pytest.raises(FitError, match="no finite mean"):
        profile_mean(z, GevFit(0.0, 1.0, 1.1, None, 0.0, 0), 4)
    with pytest.raises(ValueError, match="at least the fitted size"):
        profile_mean(z, fit, 0.9)
    with pytest.raises(ValueError, match="return period is above 1"):
        profile_level(z, fit, 1.0)
    with pytest.raises(ValueError, match="confidence level"):
        profile_shape(z, fit, level=95)


@settings(max_examples=examples(30))
@given(seeds, st.floats(-0.15, 0.5), ks, st.booleans())
def test_derivatives_in_other_parameters_are_those_of_the_likelihood(
    seed, shape, k, of_mean
):
    # of this shape and scale 1: within the support of any larger scale
    likelihood = gev_objective(np.sort(gev_sample(seed, 50, shape)))
    growth = mean_growth(k) if of_mean else level_growth(k + 1)
    height = math.log(3 + 0.1 + 1.4 * growth(shape)[0])
    charts = [(in_place_of_loc, [height, math.log(1.4), shape])]
    if of_mean:
        charts.append((in_place_of_shape, [0.1, math.log(1.4), height]))
    direct = likelihood(np.array([0.1, math.log(1.4), shape]))
    assert math.isfinite(direct.value)
    for chart, at in charts:
        objective, h = chart(likelihood, growth, -3.0), 1e-5
        here = objective(np.array(at))
        assert here.value == pytest.approx(direct.value, abs=1e-6)
        ends = [(objective(at + h * e), objective(at - h * e)) for e in np.eye(3)]
        size = np.abs(here.hessian).max()
        gradient = [(up.value - down.value) / (2 * h) for up, down in ends]
        hessian = [(up.gradient - down.gradient) / (2 * h) for up, down in ends]
        assert_allclose(here.gradient, gradient, atol=1e-5 * size)
        assert_allclose(here.hessian, hessian, atol=1e-4 * size)


def test_means_that_no_shape_has_are_infeasible():
    likelihood = gev_objective(np.sort(gev_sample(1, 50)))
    by_shape = in_place_of_shape(likelihood, mean_growth(1), -3.0)
    assert by_shape(np.array([5.0, 0.0, 0.0])).value == -math.inf
    by_loc = in_place_of_loc(likelihood, mean_growth(1), -3.0)
    assert by_loc(np.array([1.0, 0.0, 1.0])).value == -math.inf
