"""By how much a short series rises, or changes its level: no law is assumed.

Intervals are between order statistics of slopes or differences. Where all of them together
do not reach the level, there is none.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from synctax.arrays import F64
from synctax.comparison.options import DEFAULT_LEVEL

_EXACT = 2_500
"""Up to so many pairs of values intervals are exact, then by the normal distribution."""


@dataclass(frozen=True, slots=True)
class Slope:
    """How fast a series rises.

    `slope`, `low` and `high` are in units of y a unit of x, the ends NaN where there is no
    interval; `tau` is Kendall's, -1 (ever falling) to 1 (ever rising).
    """

    slope: float
    low: float
    high: float
    tau: float


def slope(x: F64, y: F64, level: float = DEFAULT_LEVEL, inflation: float = 1.0) -> Slope:
    """Tell how fast a series rises or falls: the median of the slopes of all pairs.

    Parameters
    ----------
    x : (n,) float64
        Ascending, no two equal; at least two.
    y : (n,) float64
    level : float, optional
        Of the interval. At 95 % there is none of fewer than 5 points.
    inflation : float, optional
        Of variances of sums, where neighbours are correlated (`trend_memory.inflation`).

    Returns
    -------
    Slope

    References
    ----------
    Theil (1950) and Sen (1968), J. Am. Stat. Assoc. 63; Hollander and Wolfe, Nonparametric
    Statistical Methods (1999), sections 8.1 and 9.3. Yue and Wang, Water Resources
    Management 18 (2004), 201-218, for neighbours that are correlated.

    Examples
    --------
    >>> slope(np.arange(6.0), 3 * np.arange(6.0))
    Slope(slope=3.0, low=3.0, high=3.0, tau=1.0)
    >>> slope(np.arange(4.0), 3 * np.arange(4.0)).low
    nan
    """
    n = x.size
    early, late = np.triu_indices(n, 1)
    rise = y[late] - y[early]
    slopes = np.sort(rise / (x[late] - x[early]))
    ties = np.unique(y, return_counts=True)[1]
    low, high = _ends(slopes, _pairs_outside(n, level, inflation))
    pairs = n * (n - 1) / 2
    among = math.sqrt(pairs * (pairs - float((ties * (ties - 1) / 2).sum())))
    return Slope(
        float(np.median(slopes)),
        low,
        high,
        float(np.sign(rise).sum()) / among if among else 0.0,
    )


def shifted(
    before: F64, after: F64, level: float = DEFAULT_LEVEL, inflation: float = 1.0
) -> tuple[float, float, float]:
    """Return by how much values of two samples differ, with an interval.

    Parameters
    ----------
    before, after : (m,) and (n,) float64
        At least one each.
    level : float, optional
        Of the interval.
    inflation : float, optional
        As for `slope`.

    Returns
    -------
    shift, low, high : float
        The median of all differences, and the order statistics of them that the test of
        Mann and Whitney does not reject. NaN where it can reject nothing: at 95 % with 2
        values against up to 7, or 3 against 3 or 4.

    References
    ----------
    Hollander and Wolfe, Nonparametric Statistical Methods (1999), section 4.2 and 4.3.
    """
    differences = np.sort((after[:, None] - before[None, :]).ravel())
    outside = _differences_outside(before.size, after.size, level, inflation)
    low, high = _ends(differences, outside)
    return float(np.median(differences)), low, high


def _ends(ordered: F64, outside: int) -> tuple[float, float]:
    """Leave out one less than are outside at each end; NaN where none is."""
    if outside < 1:
        return math.nan, math.nan
    return float(ordered[outside - 1]), float(ordered[-outside])


def _pairs_outside(n: int, level: float, inflation: float = 1.0) -> int:
    """How many slopes of pairs lie outside of the interval at each end.

    Of points without a trend, the number of pairs that fall is one of inversions.
    """
    pairs = n * (n - 1) // 2
    if pairs > _EXACT or inflation > 1:
        return _normal_outside(pairs, inflation * n * (n - 1) * (2 * n + 5) / 72, level)
    share = np.ones(1)
    for size in range(2, n + 1):
        share = np.convolve(share, np.full(size, 1 / size))
    return _exact_outside(share, level)


def _differences_outside(m: int, n: int, level: float, inflation: float) -> int:
    """How many differences lie outside of the interval at each end."""
    if m * n > _EXACT or inflation > 1:
        return _normal_outside(m * n, inflation * m * n * (m + n + 1) / 12, level)
    # how many of the choices of m of m + n places have each value of the statistic
    ways = np.zeros((m + 1, m * n + 1))
    ways[0, 0] = 1.0
    for place in range(m + n):
        for chosen in range(min(place + 1, m), 0, -1):
            before = place - chosen + 1
            if before <= n:
                ways[chosen, before:] += ways[chosen - 1, : m * n + 1 - before]
    return _exact_outside(ways[m] / math.comb(m + n, m), level)


def _exact_outside(share: F64, level: float) -> int:
    return int((np.cumsum(share) <= (1 - level) / 2 + 1e-12).sum())


def _normal_outside(count: int, variance: float, level: float) -> int:
    reach = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance)
    return max(math.floor((count - 1) / 2 - reach), 0)
