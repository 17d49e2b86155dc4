"""Trends and breaks of a short series, by ranks of its values: no law is assumed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64

MIN_FOR_TREND = 5
"""Four points in a row up are chance too often to be told from a trend."""

MIN_FOR_BREAK = 8
"""With fewer points no place of a break is rarer than one in twenty."""

DRAWS = 1_999
"""Orders that are drawn for a p-value."""

CONFIDENCE = 0.95
Z_95 = 1.959963984540054
"""97.5 % quantile of the normal distribution."""

_EXACT_UP_TO = 40
"""Points up to which the distribution of Kendall's statistic is counted out."""

_CELLS = 2_000_000
"""So many sums are held at a time."""


@dataclass(frozen=True, slots=True)
class Slope:
    """What Mann-Kendall and Theil-Sen say of a series.

    `slope`, `low` and `high` are in units of y a unit of x, 95 %; `tau` is -1 (ever
    falling) to 1 (ever rising); `p` two-sided.
    """

    slope: float
    low: float
    high: float
    tau: float
    p: float


def slope(x: F64, y: F64) -> Slope:
    """Tell whether a series rises or falls, and how fast.

    Parameters
    ----------
    x : (n,) float64
        Ascending, no two equal; at least two.
    y : (n,) float64

    Returns
    -------
    Slope
        The median of the slopes of all pairs of points. Its p-value is exact for up to
        40 points that do not tie.

    References
    ----------
    Mann (1945), Econometrica 13; Sen (1968), J. Am. Stat. Assoc. 63; Hollander and Wolfe,
    Nonparametric Statistical Methods (1999), sections 8.1 and 9.3.

    Examples
    --------
    >>> found = slope(np.arange(6.0), 3 * np.arange(6.0))
    >>> found.slope, found.tau, round(found.p, 4)
    (3.0, 1.0, 0.0028)
    """
    n = x.size
    early, late = np.triu_indices(n, 1)
    rise = y[late] - y[early]
    slopes = np.sort(rise / (x[late] - x[early]))
    statistic = int(np.sign(rise).sum())
    ties = np.unique(y, return_counts=True)[1]
    sd = math.sqrt(_variance(n, ties))
    reach = Z_95 * sd
    below = max(math.floor((slopes.size - reach) / 2), 0)
    above = min(math.ceil((slopes.size + reach) / 2), slopes.size - 1)
    pairs = n * (n - 1) / 2
    tied = float((ties * (ties - 1) / 2).sum())
    among = math.sqrt(pairs * (pairs - tied))
    return Slope(
        float(np.median(slopes)),
        float(slopes[below]),
        float(slopes[above]),
        statistic / among if among else 0.0,
        _kendall_p(n, statistic, sd, exact=not tied and n <= _EXACT_UP_TO),
    )


def _variance(n: int, ties: I64) -> float:
    whole = n * (n - 1) * (2 * n + 5)
    return max(float(whole - (ties * (ties - 1) * (2 * ties + 5)).sum()) / 18, 0.0)


def _kendall_p(n: int, statistic: int, sd: float, *, exact: bool) -> float:
    if not sd or not statistic:
        return 1.0
    if not exact:
        # pairs come in twos: the next smaller statistic is two less
        return math.erfc((abs(statistic) - 1) / sd / math.sqrt(2))
    # share of orders of k values with so many inversions, for k = 1 ... n
    share = np.ones(1)
    for k in range(2, n + 1):
        share = np.convolve(share, np.full(k, 1 / k))
    inversions = (n * (n - 1) // 2 - abs(statistic)) // 2
    return min(2 * float(share[: inversions + 1].sum()), 1.0)


@dataclass(frozen=True, slots=True)
class Break:
    """Where the values of a series change most.

    `at` is the first point after the change, `p` how often points in any order would show
    one as large anywhere; `shift`, `low`, `high` (95 %) how much the values change there
    if the change is where it is said to be.
    """

    at: int
    p: float
    shift: float
    low: float
    high: float


def largest_break(y: F64, *, draws: int = DRAWS, seed: int = 0) -> Break:
    """Find the place where a series changes most, and whether that is chance.

    Parameters
    ----------
    y : (n,) float64
        In order; at least two.
    draws, seed : int
        Orders that are drawn for the p-value.

    Returns
    -------
    Break

    References
    ----------
    Pettitt (1979), Applied Statistics 28, with drawn orders instead of its asymptotic
    p-value. The shift is that of Hodges and Lehmann (1963).

    Examples
    --------
    >>> found = largest_break(np.array([1.0, 2, 1, 2, 1, 7, 8, 7, 8, 7]))
    >>> found.at, found.shift
    (5, 6.0)
    """
    at, p = breaks(y[None, :], draws=draws, seed=seed)
    shift, low, high = shifted(y[: at[0]], y[at[0] :])
    return Break(int(at[0]), float(p[0]), shift, low, high)


def breaks(y: F64, *, draws: int = DRAWS, seed: int = 0) -> tuple[I64, F64]:
    """Find the largest break of each of several series of the same points.

    Parameters
    ----------
    y : (k, n) float64
    draws, seed : int
        As for `largest_break`.

    Returns
    -------
    at : (k,) int64
        First point after each series' break.
    p : (k,) float64
        How often the largest of all k breaks would be as large with the points in any
        order: with however many series, one of them is below 0.05 by chance in 5 %.

    References
    ----------
    Pettitt (1979); Westfall and Young, Resampling-Based Multiple Testing (1993), for the
    largest of k.
    """
    k, n = y.shape
    ranked = _standard_ranks(y)
    own = np.abs(np.cumsum(ranked, axis=1))[:, :-1]
    at = own.argmax(axis=1) + 1
    size = own.max(axis=1)
    rng = np.random.default_rng(seed)
    largest = np.empty(draws)
    rows = max(1, _CELLS // (k * n))
    for start in range(0, draws, rows):
        stop = min(start + rows, draws)
        order = rng.permuted(np.tile(np.arange(n), (stop - start, 1)), axis=1)
        sums = np.cumsum(ranked[:, order], axis=2)
        largest[start:stop] = np.abs(sums[:, :, :-1]).max(axis=(0, 2))
    reached = (largest[None, :] >= size[:, None] - 1e-9).sum(axis=1)
    return at, (1 + reached) / (1 + draws)


def _standard_ranks(y: F64) -> F64:
    """Ranks of each series, ties in the middle, with mean 0 and variance 1 (or all 0)."""
    result = np.empty(y.shape)
    for row, values in enumerate(y):
        _known, place, count = np.unique(values, return_inverse=True, return_counts=True)
        middle = np.cumsum(count) - (count - 1) / 2
        ranks = middle[place] - (values.size + 1) / 2
        spread = float(ranks.std())
        result[row] = ranks / spread if spread else 0.0
    return result


def shifted(before: F64, after: F64) -> tuple[float, float, float]:
    """Return by how much values of two samples differ, with a 95 % interval.

    Parameters
    ----------
    before, after : (m,) and (n,) float64
        At least one each.

    Returns
    -------
    shift, low, high : float
        The median of all differences, and the order statistics of them that the test of
        Mann and Whitney does not reject (its normal approximation).

    References
    ----------
    Hollander and Wolfe, Nonparametric Statistical Methods (1999), section 4.2 and 4.3.
    """
    differences = np.sort((after[:, None] - before[None, :]).ravel())
    m, n = before.size, after.size
    out = math.floor(m * n / 2 - Z_95 * math.sqrt(m * n * (m + n + 1) / 12))
    place = min(max(out, 0), differences.size - 1)
    return (
        float(np.median(differences)),
        float(differences[place]),
        float(differences[-1 - place]),
    )


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values that hold for all questions together.

    Parameters
    ----------
    p : sequence of float
        NaN stands for a question that was not asked.

    Returns
    -------
    list of float
        With each below α with a chance of α at most, however many there are and however
        they hang together.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, float("nan")])
    [0.03, 0.06, 0.06, nan]
    """
    asked = sorted((value, place) for place, value in enumerate(p) if value == value)
    result = [float("nan")] * len(p)
    highest = 0.0
    for done, (value, place) in enumerate(asked):
        highest = max(highest, min(value * (len(asked) - done), 1.0))
        result[place] = highest
    return result


def step_fits_better(x: F64, y: F64, line: Slope, found: Break) -> bool:
    """Tell whether two levels describe a series better than a straight line does.

    Compared by the sum of absolute distances, from the medians of both sides and from
    the line of Theil and Sen.
    """
    sides = (y[: found.at], y[found.at :])
    step = sum(float(np.abs(side - np.median(side)).sum()) for side in sides)
    rest = y - line.slope * x
    return step < float(np.abs(rest - np.median(rest)).sum())
