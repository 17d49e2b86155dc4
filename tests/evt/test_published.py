"""The fits of Coles, An Introduction to Statistical Modeling of Extreme Values (2001)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from synctax.evt.gev import fit_gev
from synctax.evt.goodness import shape_test
from synctax.evt.gpd import fit_gpd
from synctax.evt.gumbel import fit_gumbel
from synctax.evt.profile import profile_level, profile_shape
from tests.evt.samples import coles

# what SWIG's types warn of when OpenTURNS is imported by newer Pythons
pytestmark = pytest.mark.filterwarnings("ignore:builtin type:DeprecationWarning")


def test_port_pirie_is_fitted_as_published():
    z = coles("portpirie")
    fit = fit_gev(z)
    assert fit.n == 65
    assert_allclose(
        [fit.loc, fit.scale, fit.shape], [3.87475, 0.19804, -0.05011], atol=6e-6
    )
    errors = [fit.loc_se, fit.scale_se, fit.shape_se]
    assert_allclose(errors, [0.02793, 0.02025, 0.09826], atol=6e-6)
    assert fit.loglik == pytest.approx(4.33906, abs=6e-6)
    assert_allclose(profile_shape(z, fit), [-0.2182, 0.1704], atol=6e-5)


def test_port_pirie_is_fitted_as_published_without_a_shape():
    fit = fit_gumbel(coles("portpirie"))
    assert_allclose([fit.loc, fit.scale], [3.86944, 0.19489], atol=6e-6)
    assert fit.loglik == pytest.approx(4.21768, abs=6e-6)


def test_port_pirie_s_century_level_is_the_published_one():
    z = coles("portpirie")
    fit = fit_gev(z)
    assert float(fit.return_level(100)) == pytest.approx(4.69, abs=6e-3)
    assert_allclose(profile_level(z, fit, 100), [4.50, 5.27], atol=0.02)


def test_fremantle_is_fitted_as_published():
    z = coles("fremantle", 1)
    fit = fit_gev(z)
    assert fit.n == 86
    assert_allclose(
        [fit.loc, fit.scale, fit.shape], [1.48234, 0.14127, -0.21743], atol=6e-6
    )
    assert fit.loglik == pytest.approx(43.56663, abs=6e-6)
    assert shape_test(fit_gumbel(z), fit).p_hi == pytest.approx(0.00309, abs=6e-6)


def test_venice_is_fitted_as_published():
    fit = fit_gev(coles("venice", 1))
    assert fit.n == 51
    assert_allclose([fit.loc, fit.scale], [111.098, 17.176], atol=6e-4)
    assert fit.shape == pytest.approx(-0.0767, abs=6e-5)
    assert fit.loglik == pytest.approx(-222.715, abs=6e-4)


def test_rain_over_thirty_is_fitted_as_published():
    rain = coles("rain")
    excess = rain[rain > 30] - 30
    fit = fit_gpd(excess)
    assert fit.n == 152
    assert fit.scale == pytest.approx(7.440, abs=6e-4)
    assert fit.shape == pytest.approx(0.1845, abs=6e-5)
    assert fit.loglik == pytest.approx(-485.094, abs=6e-4)


def test_an_independent_implementation_fits_the_same():
    import openturns as ot

    rng = np.random.default_rng(11)
    factory = ot.GeneralizedExtremeValueFactory()
    for z in (rng.gumbel(3, 2, 300), rng.normal(size=120), rng.logistic(size=200)):
        fit = fit_gev(z)
        sample = ot.Sample(z[:, None])
        theirs = factory.buildMethodOfLikelihoodMaximizationEstimator(sample)
        assert fit.loglik == pytest.approx(theirs.getLogLikelihood(), abs=1e-5)
        parameters = list(theirs.getDistribution().getParameter())
        unit = np.array([fit.scale, fit.scale, 1])
        assert_allclose(
            parameters / unit, np.array([fit.loc, fit.scale, fit.shape]) / unit, atol=1e-3
        )


def test_an_independent_implementation_finds_the_same_profile():
    import openturns as ot

    z = np.random.default_rng(12).gumbel(3, 2, 80)
    fit, sample = fit_gev(z), ot.Sample(z[:, None])
    factory = ot.GeneralizedExtremeValueFactory()
    shape = factory.buildMethodOfXiProfileLikelihoodEstimator(sample)
    interval = shape.getParameterConfidenceInterval()
    theirs = [interval.getLowerBound()[0], interval.getUpperBound()[0]]
    assert_allclose(profile_shape(z, fit), theirs, atol=1e-4)


def test_an_independent_implementation_fits_the_same_tails():
    import openturns as ot

    rng = np.random.default_rng(13)
    factory = ot.GeneralizedParetoFactory()
    for excess in (rng.exponential(size=200), rng.pareto(4, 300), rng.beta(1, 4, 200)):
        fit = fit_gpd(excess)
        theirs = factory.buildMethodOfLikelihoodMaximizationEstimator(
            ot.Sample(excess[:, None]), 0.0
        )
        assert fit.loglik == pytest.approx(theirs.getLogLikelihood(), abs=1e-5)
