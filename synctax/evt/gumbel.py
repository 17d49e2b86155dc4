"""The Gumbel distribution of block maxima, fitted by maximum likelihood."""

import math
from dataclasses import dataclass
from typing import overload

import numpy as np

from synctax.arrays import F64
from synctax.evt.sample import MIN_DISTINCT_VALUES, checked, dot

_MAX_STEPS = 100
_STEP_OF_SCALE = 1e-9  # Newton squares what is left of it


@dataclass(frozen=True, slots=True)
class GumbelFit:
    """A Gumbel distribution and how well a sample tells it.

    Parameters
    ----------
    loc, scale : float
        μ and σ, in the unit of the sample.
    cov : (2, 2) float64
        Covariance of their estimates.
    loglik : float
        Log-likelihood of the sample, natural logarithm.
    n : int
        Values in the sample.
    """

    loc: float
    scale: float
    cov: F64
    loglik: float
    n: int

    @property
    def loc_se(self) -> float:
        """Standard error of the location."""
        return math.sqrt(self.cov[0, 0])

    @property
    def scale_se(self) -> float:
        """Standard error of the scale."""
        return math.sqrt(self.cov[1, 1])

    @overload
    def mean_z(self, k: float) -> float: ...
    @overload
    def mean_z(self, k: F64) -> F64: ...
    def mean_z(self, k: F64 | float) -> F64 | float:
        """Expect the maximum over k groups: μ + σ(γ + ln k).

        Parameters
        ----------
        k : float or array of float64
            Groups of as many ranks as the fit was made on, n/m; at least 1.

        Returns
        -------
        float or array of float64
            In the unit of the sample.

        Raises
        ------
        ValueError
            If k < 1: below the size of the fit there is nothing to extrapolate.

        References
        ----------
        Synchronization-tax paper, section 5.2; the maximum of k Gumbel(μ, σ) is
        Gumbel(μ + σ ln k, σ).
        """
        return self.loc + self.scale * (np.euler_gamma + log_groups(k))

    @overload
    def mean_se(self, k: float) -> float: ...
    @overload
    def mean_se(self, k: F64) -> F64: ...
    def mean_se(self, k: F64 | float) -> F64 | float:
        """Standard error of `mean_z` by the delta method.

        Parameters
        ----------
        k : float or array of float64
            Groups, at least 1.

        Returns
        -------
        float or array of float64
            In the unit of the sample.
        """
        slope = np.euler_gamma + log_groups(k)
        (ll, ls), (_, ss) = self.cov.tolist()
        variance: F64 | float = ll + slope * (2 * ls + slope * ss)
        return np.sqrt(variance)

    def return_level(self, period: F64 | float) -> F64:
        """What one block maximum in `period` exceeds, on average; `period` > 1."""
        y = -np.log(-np.log1p(-1 / np.asarray(period, np.float64)))
        return self.loc + self.scale * y

    def pdf(self, z: F64) -> F64:
        """Probability density at z."""
        t = (np.asarray(z) - self.loc) / self.scale
        with np.errstate(over="ignore"):  # far below the location the density is 0
            return np.exp(-t - np.exp(-t)) / self.scale

    def cdf(self, z: F64) -> F64:
        """Probability of a value up to z."""
        with np.errstate(over="ignore"):
            return np.exp(-np.exp(-(np.asarray(z) - self.loc) / self.scale))

    def ppf(self, q: F64) -> F64:
        """Quantile of probability q."""
        with np.errstate(divide="ignore"):  # 0 and 1 lie at the infinite ends
            return self.loc - self.scale * np.log(-np.log(np.asarray(q)))


@overload
def log_groups(k: float) -> float: ...
@overload
def log_groups(k: F64) -> F64: ...
def log_groups(k: F64 | float) -> F64 | float:
    """Logarithm of the number of groups; refuse fewer than one."""
    if not np.all(np.asarray(k) >= 1):
        raise ValueError(f"an extrapolation goes to at least the fitted size, got k = {k}")
    return np.log(k) if isinstance(k, np.ndarray) else math.log(k)


def fit_gumbel(z: F64, *, min_distinct: int = MIN_DISTINCT_VALUES) -> GumbelFit:
    """Fit a Gumbel distribution by maximum likelihood.

    Parameters
    ----------
    z : (n,) float64
        Block maxima, in any order and unit.
    min_distinct : int, optional
        Distinct values below which the fit is refused.

    Returns
    -------
    GumbelFit
        With the inverse of the observed information as covariance.

    Raises
    ------
    FitError
        If the sample has too few distinct values, no spread, or values that are not
        finite.

    References
    ----------
    Synchronization-tax paper, section 5.2. Johnson, Kotz and Balakrishnan, Continuous
    Univariate Distributions, volume 2, section 22.9.3: the likelihood equation of the
    scale alone, whose left side is monotone.

    Examples
    --------
    >>> fit = fit_gumbel(-np.log(-np.log((np.arange(1000) + 0.5) / 1000)))
    >>> round(fit.loc, 2), round(fit.scale, 2), round(fit.mean_z(4), 2)
    (0.0, 1.0, 1.96)
    """
    ordered = checked(z, what="block maxima", min_distinct=min_distinct)
    lowest = float(ordered[0])
    x = ordered - lowest
    mean = float(x.mean())
    scale = _scale(x, mean)
    weight = np.exp(x / -scale)
    mean_weight = float(weight.mean())
    loc = -scale * math.log(mean_weight)
    t = (x - loc) / scale
    first = dot(weight, t) / mean_weight  # Σ t exp(-t); Σ exp(-t) is n
    second = dot(weight, t * t) / mean_weight
    n = x.size
    loglik = -n * (math.log(scale) + (mean - loc) / scale + 1)
    return GumbelFit(lowest + loc, scale, _covariance(n, first, second, scale), loglik, n)


def _covariance(n: int, first: float, second: float, scale: float) -> F64:
    """Inverse of the observed information [[n, first], [first, n + second]] / scale²."""
    # positive by Cauchy and Schwarz: first² <= n second
    factor = scale * scale / (n * (n + second) - first * first)
    return np.array([[n + second, -first], [-first, n]]) * factor


def _scale(x: F64, mean: float) -> float:
    """Solve scale = mean(x) - Σ x exp(-x/scale) / Σ exp(-x/scale) for values from 0 up."""
    low, high = 0.0, mean  # the right side lies between 0 and the mean
    scale = min(math.sqrt(6 * float(x.var())) / math.pi, mean)
    squares = x * x
    for _ in range(_MAX_STEPS):
        weight = np.exp(x / -scale)
        total = float(weight.sum())
        weighted = dot(weight, x) / total
        excess = scale - mean + weighted
        if excess > 0:
            high = scale
        else:
            low = scale
        spread = dot(weight, squares) / total - weighted * weighted
        step = excess / (1 + spread / (scale * scale))
        following = scale - step
        if not low <= following <= high:
            following = (low + high) / 2
        scale, before = following, scale
        if abs(scale - before) <= _STEP_OF_SCALE * scale:
            break
    return scale  # as many halvings of the bracket leave no doubt either
