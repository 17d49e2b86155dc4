"""Figures as columns: what they sum to, and that bands hold what they say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from synctax.errors import FitError
from synctax.evt.gev import fit_gev
from synctax.evt.gumbel import GumbelFit, fit_gumbel
from synctax.evt.points import (
    MAX_BINS,
    empirical_levels,
    histogram,
    positions,
    quantile_points,
    return_levels,
)
from synctax.evt.profile import profile_level
from tests.evt.samples import gev_sample

LAW = GumbelFit(0.0, 1.0, np.eye(2), 0.0, 10)


@pytest.mark.parametrize("n", [20, 300, 5000])
def test_a_histogram_holds_every_value_once(n):
    z = gev_sample(1, n)
    found = histogram(z)
    assert found.count.sum() == n
    assert_allclose((found.density * (found.right - found.left)).sum(), 1)
    assert_array_equal(found.right[:-1], found.left[1:])
    assert (found.left[0], found.right[-1]) == (z.min(), z.max())
    assert found.count.size <= MAX_BINS


def test_a_histogram_of_mostly_one_value_has_all_its_bins():
    found = histogram(np.r_[np.zeros(90), np.arange(10.0)])
    assert found.count.size == MAX_BINS
    assert found.count[0] == 91


def test_plotting_positions_are_unbiased_for_the_largest_of_gumbel_values():
    n = 50
    largest = np.random.default_rng(3).gumbel(size=(20_000, n)).max(axis=1).mean()
    assert LAW.ppf(positions(n)[-1:])[0] == pytest.approx(largest, abs=0.05)
    assert_allclose(positions(n) + positions(n)[::-1], 1)


def test_bands_hold_nineteen_of_twenty_order_statistics():
    z = np.random.default_rng(4).gumbel(size=(400, 60))
    inside = []
    for sample in z:
        found = quantile_points(sample, LAW)
        inside.append((found.lo <= found.empirical) & (found.empirical <= found.hi))
    assert_allclose(np.mean(inside, axis=0), 0.95, atol=0.045)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.01)


def test_quantile_points_are_sorted_values_against_quantiles():
    z = gev_sample(5, 40)
    fit = fit_gev(z)
    found = quantile_points(z, fit)
    assert_array_equal(found.empirical, np.sort(z))
    assert_array_equal(found.fitted, fit.ppf(found.p))
    narrow = quantile_points(z, fit, level=0.5)
    assert (found.lo < narrow.lo).all()
    assert (narrow.lo < found.fitted).all()
    assert (found.fitted < narrow.hi).all()
    assert (narrow.hi < found.hi).all()


def test_return_levels_are_quantiles_with_profile_intervals():
    z = gev_sample(6, 100)
    for fit in (fit_gumbel(z), fit_gev(z)):
        found = return_levels(z, fit, periods=(2.0, 50.0))
        assert_allclose(found.level, fit.ppf(1 - 1 / found.period))
        assert (found.lo < found.level).all()
        assert (found.level < found.hi).all()
        assert_array_equal([found.lo[1], found.hi[1]], profile_level(z, fit, 50.0))


def test_no_period_no_level():
    z = gev_sample(6, 100)
    assert return_levels(z, fit_gumbel(z), periods=()).lo.size == 0


def test_empirical_levels_are_the_sorted_sample():
    z = gev_sample(7, 30)
    found = empirical_levels(z)
    assert_array_equal(found.level, np.sort(z))
    assert_allclose(1 - 1 / found.period, positions(30))


@pytest.mark.parametrize("figure", [histogram, empirical_levels])
def test_equal_values_have_no_figure(figure):
    with pytest.raises(FitError, match="equal"):
        figure(np.ones(30))
