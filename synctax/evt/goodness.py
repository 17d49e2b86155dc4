"""How well a Gumbel or GEV distribution describes block maxima: effects, then tests."""

import math
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64
from synctax.errors import FitError
from synctax.evt.gev import GevFit, fit_gev
from synctax.evt.gumbel import GumbelFit
from synctax.evt.moments import gumbel_parameters, of_sorted
from synctax.evt.sample import checked
from synctax.evt.streams import stream

BOOTSTRAPS = 199
"""Samples drawn from a fitted GEV distribution, whose statistics its own is among."""

MAX_FINE_RESOLUTION = 0.1
"""Up to this share of the scale, rounding is undone by noise without loss."""

MAX_RESOLUTION = 0.5
"""Above this share of the scale, rounded values tell no distribution."""

_P_LEVELS = (0.10, 0.05, 0.01)
_A2_AT = (0.637, 0.757, 1.038)  # of A²(1 + 0.2/√n)
_D_AT = (0.81, 0.88, 1.02)  # of D√n
_SMALLEST_P = 1e-300


@dataclass(frozen=True, slots=True)
class Test:
    """A statistic and what is known of its p-value.

    Parameters
    ----------
    statistic : float
        As its name says; untransformed.
    p_lo, p_hi : float
        The p-value lies between them; equal where it is known.
    """

    __test__ = False  # no class of tests

    statistic: float
    p_lo: float
    p_hi: float


@dataclass(frozen=True, slots=True)
class Goodness:
    """How far a fitted distribution is from its sample.

    Parameters
    ----------
    d : float
        Largest difference of the two distribution functions.
    mean_error : float
        Fitted mean over the mean of the sample, minus 1: the relative error of the wait
        at the fitted size. NaN where the sample's mean is 0, infinite for ξ >= 1.
    ks : Test
        Kolmogorov and Smirnov, statistic D.
    ad : Test
        Anderson and Darling, statistic A²: looks at the tails.
    left_out : int
        Bootstrap samples that carried no fit.
    """

    d: float
    mean_error: float
    ks: Test
    ad: Test
    left_out: int = 0


def shape_test(gumbel: GumbelFit, gev: GevFit) -> Test:
    """Test ξ = 0 by the ratio of likelihoods, two-sided.

    Parameters
    ----------
    gumbel, gev : GumbelFit, GevFit
        Maximum-likelihood fits of one sample.

    Returns
    -------
    Test
        Twice the difference of the log-likelihoods, against χ² with one degree of freedom.

    Raises
    ------
    ValueError
        If the fits are of samples of different sizes.

    References
    ----------
    Coles, An Introduction to Statistical Modeling of Extreme Values (2001), section 3.4.
    """
    if gumbel.n != gev.n:
        raise ValueError(f"fits of {gumbel.n} and of {gev.n} values are not comparable")
    statistic = max(2 * (gev.loglik - gumbel.loglik), 0.0)
    p = math.erfc(math.sqrt(statistic / 2))
    return Test(statistic, p, p)


def gumbel_goodness(z: F64, fit: GumbelFit) -> Goodness:
    """Compare a sample with the Gumbel distribution fitted to it.

    Parameters
    ----------
    z : (n,) float64
        The block maxima that were fitted.
    fit : GumbelFit
        Their maximum-likelihood fit.

    Returns
    -------
    Goodness
        With p-values bracketed by the tables for fitted parameters.

    Raises
    ------
    FitError
        If values are not finite, or all are equal.

    References
    ----------
    Stephens, Biometrika 64 (1977), for A²; Chandra, Singpurwalla and Stephens, J. Am.
    Stat. Assoc. 76 (1981), for D.
    """
    ordered = checked(z, what="block maxima", min_distinct=2)
    d, a2 = _distances(ordered, fit)
    root = math.sqrt(ordered.size)
    return Goodness(
        d,
        _mean_error(ordered, fit),
        _bracketed(d, d * root, _D_AT),
        _bracketed(a2, a2 * (1 + 0.2 / root), _A2_AT),
    )


def gev_goodness(
    z: F64, fit: GevFit, *, bootstraps: int = BOOTSTRAPS, seed: int = 0
) -> Goodness:
    """Compare a sample with the GEV distribution fitted to it.

    No table knows the law of D and A² for a fitted shape, so they are compared with those
    of samples drawn from the fit and fitted again.

    Parameters
    ----------
    z : (n,) float64
        The block maxima that were fitted.
    fit : GevFit
        Their maximum-likelihood fit.
    bootstraps : int, optional
        How many samples to draw.
    seed : int, optional
        Of the random numbers.

    Returns
    -------
    Goodness
        p = (1 + how many are at least as far)/(1 + how many could be fitted).

    Raises
    ------
    FitError
        If values are not finite, or all are equal, or no drawn sample carries a fit.

    References
    ----------
    Stute, Manteiga and Quindimil, Metrika 40 (1993).
    """
    ordered = checked(z, what="block maxima", min_distinct=2)
    d, a2 = _distances(ordered, fit)
    rng = stream(seed, "goodness")
    drawn = [
        found
        for _ in range(bootstraps)
        if (found := _drawn_distances(fit, ordered.size, rng)) is not None
    ]
    if not drawn:
        raise FitError(
            f"none of {bootstraps} samples from a GEV with shape {fit.shape:.3g} carries a "
            "fit; more block maxima would help"
        )
    at_least = (np.array(drawn) >= (d, a2)).sum(axis=0)
    p_d, p_a2 = ((1 + at_least) / (1 + len(drawn))).tolist()
    return Goodness(
        d,
        _mean_error(ordered, fit),
        Test(d, p_d, p_d),
        Test(a2, p_a2, p_a2),
        bootstraps - len(drawn),
    )


def jittered(z: F64, resolution: float, rng: np.random.Generator) -> F64:
    """Undo the rounding of times with uniform noise of half a resolution to each side.

    Ties make the tests reject any distribution; given a rounded value, the true one is
    about uniform around it while the resolution is small beside the scale. Up to a tenth
    of the Gumbel scale nothing is lost; from there to a half the noise is put on as well,
    but shape and tests are in doubt (`checks.rounding` says so).

    Parameters
    ----------
    z : (n,) float64
        Block maxima.
    resolution : float
        Step of the times they come from, in the unit of `z`; 0 if not rounded.
    rng : numpy.random.Generator
        Source of the noise.

    Returns
    -------
    (n,) float64
        The maxima with noise, in the order of the input.

    Raises
    ------
    FitError
        If the resolution exceeds half of the scale.
    ValueError
        If the resolution is negative or not finite.

    References
    ----------
    Sheppard's correction, Kendall's Advanced Theory of Statistics, volume 1, section 3.18.
    """
    if not 0 <= resolution < math.inf:
        raise ValueError(f"a resolution is a positive number or 0, got {resolution}")
    if resolution == 0:
        return z
    ordered = checked(z, what="block maxima", min_distinct=2)
    _, scale = gumbel_parameters(of_sorted(ordered))
    share = resolution / scale
    if share > MAX_RESOLUTION:
        raise FitError(
            f"times are told in steps of {share:.2g} times the scale of the block maxima, "
            f"more than {MAX_RESOLUTION:g}; a profiler that tells fractions of a µs would "
            "help"
        )
    return z + rng.uniform(-resolution / 2, resolution / 2, z.size)


def _drawn_distances(
    fit: GevFit, n: int, rng: np.random.Generator
) -> tuple[float, float] | None:
    sample = np.sort(fit.ppf(rng.random(n)))
    try:
        again = fit_gev(sample, start=fit, min_distinct=2)
    except FitError:  # counted as left out
        return None
    return _distances(sample, again)


def _distances(ordered: F64, fit: GumbelFit | GevFit) -> tuple[float, float]:
    """D and A² of a sorted sample."""
    n = ordered.size
    below = fit.cdf(ordered)
    i = np.arange(1, n + 1)
    d = max(float((i / n - below).max()), float((below - (i - 1) / n).max()))
    log_below = np.log(np.maximum(below, _SMALLEST_P))
    # 1 - F from its logarithm: a far tail keeps its digits
    log_above = np.log(np.maximum(-np.expm1(log_below), _SMALLEST_P))
    a2 = -n - float(((2 * i - 1) * (log_below + log_above[::-1])).sum()) / n
    return d, a2


def _mean_error(ordered: F64, fit: GumbelFit | GevFit) -> float:
    mean = float(ordered.mean())
    if mean == 0:
        return math.nan
    if isinstance(fit, GevFit) and fit.shape >= 1:
        return math.copysign(math.inf, mean)
    return fit.mean_z(1.0) / mean - 1


def _bracketed(statistic: float, scaled: float, critical: tuple[float, ...]) -> Test:
    """Find the levels of a table between which a p-value lies."""
    levels = (1.0, *_P_LEVELS, 0.0)
    place = sum(scaled >= value for value in critical)
    return Test(statistic, levels[place + 1], levels[place])
