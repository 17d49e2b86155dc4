"""The figures of a fit as columns: densities, Q-Q points, return levels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64
from synctax.evt.gev import GevFit
from synctax.evt.gumbel import GumbelFit
from synctax.evt.profile import profile_level
from synctax.evt.sample import checked
from synctax.evt.tax import DEFAULT_LEVEL

MAX_BINS = 100
PERIODS = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
"""One block maximum in so many."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Density of a sample in bins.

    Parameters
    ----------
    left, right : (b,) float64
        Edges of the bins, in the unit of the sample.
    count : (b,) int64
        Values in each.
    density : (b,) float64
        Share of the values per unit.
    """

    left: F64
    right: F64
    count: I64
    density: F64


@dataclass(frozen=True, slots=True)
class QuantilePoints:
    """Quantiles of a sample against those of its fit.

    Parameters
    ----------
    p : (n,) float64
        Plotting positions.
    empirical : (n,) float64
        The sorted sample.
    fitted : (n,) float64
        Quantiles of the fit at `p`.
    lo, hi : (n,) float64
        Pointwise band in which each order statistic of a sample from the fit lies; the
        uncertainty of the fit itself is not in it.
    """

    p: F64
    empirical: F64
    fitted: F64
    lo: F64
    hi: F64


@dataclass(frozen=True, slots=True)
class ReturnLevels:
    """What one block maximum in so many exceeds.

    Parameters
    ----------
    period : (r,) float64
        One in so many, above 1.
    level : (r,) float64
        By the fit.
    lo, hi : (r,) float64
        Profile-likelihood interval.
    """

    period: F64
    level: F64
    lo: F64
    hi: F64


@dataclass(frozen=True, slots=True)
class EmpiricalLevels:
    """The points beside a curve of return levels.

    Parameters
    ----------
    period : (n,) float64
        1/(1 - p) at the plotting positions.
    level : (n,) float64
        The sorted sample.
    """

    period: F64
    level: F64


def positions(n: int) -> F64:
    """Plotting positions (i - 0.44)/(n + 0.12), close to unbiased for a Gumbel sample.

    Parameters
    ----------
    n : int
        Values.

    Returns
    -------
    (n,) float64
        Probabilities, ascending.

    References
    ----------
    Gringorten, J. Geophys. Res. 68 (1963).
    """
    return (np.arange(1, n + 1, dtype=np.float64) - 0.44) / (n + 0.12)


def histogram(z: F64) -> Histogram:
    """Bin a sample by the rule of Freedman and Diaconis.

    Parameters
    ----------
    z : (n,) float64
        Block maxima.

    Returns
    -------
    Histogram
        At most 100 bins over the whole range; densities integrate to 1.

    Raises
    ------
    FitError
        If values are not finite, or all are equal.
    """
    ordered = checked(z, what="block maxima", min_distinct=2)
    quarter, three = np.quantile(ordered, (0.25, 0.75))
    width = 2 * float(three - quarter) / ordered.size ** (1 / 3)
    spread = float(ordered[-1] - ordered[0])
    bins = MAX_BINS if width <= 0 else min(max(round(spread / width), 1), MAX_BINS)
    edges = np.linspace(ordered[0], ordered[-1], bins + 1)
    count = np.histogram(ordered, edges)[0].astype(np.int64)
    density = count / (ordered.size * np.diff(edges))
    return Histogram(edges[:-1], edges[1:], count, density)


def quantile_points(
    z: F64, fit: GumbelFit | GevFit, *, level: float = DEFAULT_LEVEL
) -> QuantilePoints:
    """Set the quantiles of a sample against those of its fit.

    Parameters
    ----------
    z : (n,) float64
        Block maxima.
    fit : GumbelFit or GevFit
        Their fit.
    level : float, optional
        Of the pointwise band.

    Returns
    -------
    QuantilePoints
        One point for each value.

    Raises
    ------
    FitError
        If values are not finite, or all are equal.
    """
    from scipy.special import betaincinv

    ordered = checked(z, what="block maxima", min_distinct=2)
    n = ordered.size
    i = np.arange(1, n + 1, dtype=np.float64)
    tail = (1 - level) / 2
    lo: F64 = betaincinv(i, n + 1 - i, tail).astype(np.float64)
    hi: F64 = betaincinv(i, n + 1 - i, 1 - tail).astype(np.float64)
    p = positions(n)
    return QuantilePoints(p, ordered, fit.ppf(p), fit.ppf(lo), fit.ppf(hi))


def return_levels(
    z: F64,
    fit: GumbelFit | GevFit,
    *,
    periods: Sequence[float] = PERIODS,
    level: float = DEFAULT_LEVEL,
) -> ReturnLevels:
    """Compute what one block maximum in so many exceeds, with intervals.

    Parameters
    ----------
    z : (n,) float64
        The block maxima that were fitted.
    fit : GumbelFit or GevFit
        Their fit.
    periods : sequence of float, optional
        One in so many, above 1.
    level : float, optional
        Confidence level.

    Returns
    -------
    ReturnLevels
        With profile-likelihood intervals.

    Raises
    ------
    FitError
        If the sample carries no such fit.
    ValueError
        If a period is not above 1.
    """
    bounds = [profile_level(z, fit, period, level=level) for period in periods]
    lo, hi = np.array(bounds, np.float64).reshape(len(bounds), 2).T
    period = np.array(periods, np.float64)
    return ReturnLevels(period, fit.return_level(period), lo, hi)


def empirical_levels(z: F64) -> EmpiricalLevels:
    """Put a sample beside the curve of return levels.

    Parameters
    ----------
    z : (n,) float64
        Block maxima.

    Returns
    -------
    EmpiricalLevels
        Sorted values and the periods of their plotting positions.

    Raises
    ------
    FitError
        If values are not finite, or all are equal.
    """
    ordered = checked(z, what="block maxima", min_distinct=2)
    return EmpiricalLevels(1 / (1 - positions(ordered.size)), ordered)
