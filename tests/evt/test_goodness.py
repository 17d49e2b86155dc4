"""Goodness of fit: sizes of the tests, effects, rounding."""

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from synctax.errors import FitError
from synctax.evt.gev import GevFit, fit_gev
from synctax.evt.goodness import (
    gev_goodness,
    gumbel_goodness,
    jittered,
    shape_test,
)
from synctax.evt.gumbel import fit_gumbel
from tests.evt.samples import gev_sample


def test_distances_are_scipy_s():
    z = gev_sample(1, 200)
    fit = fit_gumbel(z)
    found = gumbel_goodness(z, fit)
    assert found.d == found.ks.statistic
    assert found.d == pytest.approx(stats.kstest(z, fit.cdf).statistic)
    u = np.sort(fit.cdf(z))
    i = np.arange(1, 201)
    a2 = -200 - ((2 * i - 1) * (np.log(u) + np.log1p(-u[::-1]))).mean()
    assert found.ad.statistic == pytest.approx(a2)
    assert found.mean_error == pytest.approx(fit.mean_z(1.0) / z.mean() - 1)


def test_one_in_ten_gumbel_samples_is_rejected_at_ten_percent():
    rng = np.random.default_rng(2)
    found = [gumbel_goodness(z, fit_gumbel(z)) for z in rng.gumbel(size=(1000, 100))]
    for level, of in ((0.1, "ks"), (0.1, "ad"), (0.05, "ad"), (0.05, "ks")):
        rejected = np.mean([getattr(one, of).p_hi <= level for one in found])
        assert rejected == pytest.approx(level, abs=0.025)


def test_normal_ranks_and_heavy_tails_are_rejected():
    rng = np.random.default_rng(3)
    for z in (rng.normal(size=500), rng.standard_t(2, 500)):
        found = gumbel_goodness(z, fit_gumbel(z))
        assert (found.ad.p_lo, found.ad.p_hi) == (0, 0.01)


def test_a_gev_describes_its_own_samples():
    z = gev_sample(4, 150, 0.2)
    found = gev_goodness(z, fit_gev(z), bootstraps=49)
    assert found.ad.p_hi > 0.05
    assert found.left_out == 0
    assert found == gev_goodness(z, fit_gev(z), bootstraps=49)
    assert found != gev_goodness(z, fit_gev(z), bootstraps=49, seed=1)


def test_a_gev_describes_no_two_modes():
    rng = np.random.default_rng(5)
    z = np.r_[rng.normal(size=150), rng.normal(6, 1, 150)]
    found = gev_goodness(z, fit_gev(z), bootstraps=49)
    assert found.ad.p_hi == 1 / (50 - found.left_out)
    assert found.ks.p_lo == found.ks.p_hi


def test_bootstrap_samples_without_a_fit_are_counted_or_refused():
    z = gev_sample(1, 25)
    short = GevFit(0.0, 1.0, -0.95, None, 0.0, 25)
    found = gev_goodness(z, short, bootstraps=12)
    assert 0 < found.left_out < 12
    with pytest.raises(FitError, match="none of 1 samples"):
        # two values carry no fit
        gev_goodness(z[:2], short, bootstraps=1)


def test_the_ratio_of_likelihoods_rejects_one_gumbel_sample_in_twenty():
    rng = np.random.default_rng(6)
    p = [shape_test(fit_gumbel(z), fit_gev(z)).p_hi for z in rng.gumbel(size=(250, 100))]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.045)
    assert np.mean(p) == pytest.approx(0.5, abs=0.06)


def test_the_ratio_of_likelihoods_is_chi_square():
    z = gev_sample(7, 300, 0.1)
    gumbel, gev = fit_gumbel(z), fit_gev(z)
    found = shape_test(gumbel, gev)
    assert found.statistic == 2 * (gev.loglik - gumbel.loglik)
    assert found.p_lo == pytest.approx(stats.chi2.sf(found.statistic, 1))
    with pytest.raises(ValueError, match="300 and of 299"):
        shape_test(gumbel, fit_gev(z[1:]))


def test_the_error_of_a_mean_of_zero_is_unknown():
    z = np.r_[-np.arange(1.0, 21), np.arange(1.0, 21)]
    assert math.isnan(gumbel_goodness(z, fit_gumbel(z)).mean_error)


def test_an_infinite_mean_is_infinitely_wrong():
    z = gev_sample(9, 60, 1.3)
    assert gev_goodness(z, fit_gev(z), bootstraps=3).mean_error == math.copysign(
        math.inf, z.mean()
    )


def test_values_far_outside_are_far_and_not_infinite():
    z = gev_sample(10, 50)
    found = gumbel_goodness(np.r_[z, 1e4], fit_gumbel(z))
    assert math.isfinite(found.ad.statistic)
    assert found.ad.p_hi == 0.01


def test_exact_times_stay_as_they_are():
    z = gev_sample(11, 50)
    assert_array_equal(jittered(z, 0.0, np.random.default_rng(0)), z)


@pytest.mark.parametrize("step", [0.05, 0.3])
def test_steps_are_undone_within_half_a_step(step):
    rng = np.random.default_rng(1)
    z = np.round(gev_sample(12, 500) / step) * step
    found = jittered(z, step, rng)
    assert np.abs(found - z).max() <= step / 2
    assert np.unique(found).size == 500


def test_noise_restores_the_size_of_the_test():
    rng = np.random.default_rng(13)
    rounded, moved = [], []
    for z in rng.gumbel(size=(60, 2000)):
        steps = np.round(z / 0.1) * 0.1
        for kept, sample in ((rounded, steps), (moved, jittered(steps, 0.1, rng))):
            kept.append(gumbel_goodness(sample, fit_gumbel(sample)).ks.p_hi <= 0.05)
    assert np.mean(moved) < 0.2
    assert np.mean(rounded) > 0.5


def test_steps_beyond_half_of_the_scale_are_refused():
    z = np.round(gev_sample(15, 500))
    with pytest.raises(FitError, match=r"more than 0\.5; a profiler"):
        jittered(z, 1.0, np.random.default_rng(0))


@pytest.mark.parametrize("resolution", [-1.0, math.nan, math.inf])
def test_a_resolution_is_a_size(resolution):
    with pytest.raises(ValueError, match="resolution"):
        jittered(gev_sample(1, 30), resolution, np.random.default_rng(0))
