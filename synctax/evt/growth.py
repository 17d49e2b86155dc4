"""What an extreme value law expects of several groups: E = μ + σ g(ξ)."""

import math
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64

MAX_MEAN_SHAPE = 1.0
"""From here on the mean of a GEV distribution is infinite."""

_TAYLOR_BELOW = 0.03  # of |ξ|: the series has converged to rounding
_ZETA = (
    1.6449340668482264, 1.2020569031595942, 1.0823232337111382, 1.0369277551433699,
    1.0173430619844491, 1.0083492773819228, 1.0040773561979443, 1.0020083928260822,
    1.0009945751278181, 1.0004941886041195, 1.0002460865533080, 1.0001227133475785,
    1.0000612481350587,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Growth:
    """g(ξ) = (exp(A(ξ)) - 1)/ξ of a mean or a quantile, A(ξ) = ξ·log + ln Γ(1 - ξ).

    Parameters
    ----------
    log : float
        ln k for the mean over k groups; -ln(-ln q) for the quantile of probability q.
    of_mean : bool
        Whether the term with Γ is there.
    series : tuple of float
        Coefficients of the powers of ξ in g.
    """

    log: float
    of_mean: bool
    series: tuple[float, ...]

    def __call__(self, shape: float) -> tuple[float, float, float]:
        """Compute g and its first and second derivative.

        Parameters
        ----------
        shape : float
            ξ; below 1 for a mean.

        Returns
        -------
        tuple of float
            g(ξ), g'(ξ), g''(ξ).
        """
        if abs(shape) < _TAYLOR_BELOW:
            return self._taylor(shape)
        a, a1, a2 = shape * self.log, self.log, 0.0
        if self.of_mean:
            from scipy.special import digamma, polygamma

            a += math.lgamma(1 - shape)
            a1 -= float(digamma(1 - shape))
            a2 += float(polygamma(1, 1 - shape))
        power = math.exp(a)
        g = math.expm1(a) / shape
        g1 = (power * a1 - g) / shape
        return g, g1, (power * (a1 * a1 + a2) - 2 * g1) / shape

    def _taylor(self, shape: float) -> tuple[float, float, float]:
        g = g1 = half = 0.0
        for c in reversed(self.series):
            half = half * shape + g1
            g1 = g1 * shape + g
            g = g * shape + c
        return g, g1, 2 * half


def mean_growth(k: float) -> Growth:
    """Growth of the mean over k groups."""
    log = math.log(k)
    return Growth(log, of_mean=True, series=_series(log, of_mean=True))


def level_growth(period: float) -> Growth:
    """Growth of what one group in `period` exceeds."""
    log = -math.log(-math.log1p(-1 / period))
    return Growth(log, of_mean=False, series=_series(log, of_mean=False))


def _series(log: float, *, of_mean: bool) -> tuple[float, ...]:
    return tuple(map(float, exponential_series(log, of_mean=of_mean)))


def growth_of_mean(log_k: F64 | float, shape: float) -> F64 | float:
    """Compute (k^ξ Γ(1 - ξ) - 1)/ξ for many k.

    Parameters
    ----------
    log_k : float64, any shape
        ln k.
    shape : float
        ξ, below 1.

    Returns
    -------
    float64, same shape
        γ + ln k at ξ = 0.
    """
    if abs(shape) < _TAYLOR_BELOW:
        series = exponential_series(log_k, of_mean=True)
        total: F64 | float = 0.0
        for c in reversed(series):
            total = total * shape + c
        return total
    grown: F64 = np.expm1(shape * log_k + math.lgamma(1 - shape)) / shape
    return grown if isinstance(log_k, np.ndarray) else float(grown)


def slope_of_mean(log_k: F64 | float, shape: float) -> F64 | float:
    """Differentiate `growth_of_mean` by the shape.

    Parameters
    ----------
    log_k : float64, any shape
        ln k.
    shape : float
        ξ, below 1.

    Returns
    -------
    float64, same shape
    """
    if abs(shape) < _TAYLOR_BELOW:
        series = exponential_series(log_k, of_mean=True)
        total: F64 | float = 0.0
        for power in range(len(series) - 1, 0, -1):
            total = total * shape + power * series[power]
        return total
    from scipy.special import digamma

    power_of_k = np.exp(shape * log_k + math.lgamma(1 - shape))
    grown = power_of_k * (log_k - float(digamma(1 - shape)))
    slope: F64 = (grown - (power_of_k - 1) / shape) / shape
    return slope if isinstance(log_k, np.ndarray) else float(slope)


def exponential_series(log: float | F64, *, of_mean: bool) -> list[F64 | float]:
    """Expand (exp(A(ξ)) - 1)/ξ in powers of ξ."""
    gamma = (zeta if of_mean else 0.0 for zeta in (np.euler_gamma, *_ZETA))
    # j times the coefficient of ξ^j in A
    a = [log * (j == 0) + zeta for j, zeta in enumerate(gamma)]
    c: list[F64 | float] = [1.0]
    for n in range(1, len(a) + 1):
        following: F64 | float = 0.0
        for j in range(n):
            following = following + a[j] * c[n - 1 - j]
        c.append(following / n)
    return c[1:]
