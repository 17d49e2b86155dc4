"""Whether a short series has a trend or a break, by ranks: no law is assumed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64
from synctax.comparison.options import DEFAULT_LEVEL, DEFAULT_RESAMPLES
from synctax.comparison.trend_slopes import Slope, shifted

MIN_FOR_TREND = 5
"""Four points in a row up are chance too often to be told from a trend."""

MIN_FOR_BREAK = 8
"""With fewer points no place of a break is rarer than one in twenty."""

MIN_SIDES = 4
"""From so many points on a level is one of two points at least."""

DRAWS = DEFAULT_RESAMPLES - 1
"""Orders that are drawn for a p-value, beside the one that is."""

_CELLS = 2_000_000
"""So many sums are held at a time."""


@dataclass(frozen=True, slots=True)
class Break:
    """Where the values of a series change most.

    `first` is the first point after the change; `shift`, `low`, `high` how much the values
    change there if the change is where it is said to be, the ends NaN where there is no
    interval.
    """

    first: int
    shift: float
    low: float
    high: float


def largest_break(y: F64, level: float = DEFAULT_LEVEL, inflation: float = 1.0) -> Break:
    """Find the place where a series changes most.

    Parameters
    ----------
    y : (n,) float64
        In order; at least two.
    level, inflation : float, optional
        Of the interval, as for `trend_slopes.shifted`.

    Returns
    -------
    Break

    References
    ----------
    The shift is that of Hodges and Lehmann (1963).

    Examples
    --------
    >>> found = largest_break(np.array([1.0, 2, 1, 2, 1, 7, 8, 7, 8, 7]))
    >>> found.first, found.shift
    (5, 6.0)
    """
    first = place_of_break(y)
    return Break(first, *shifted(y[:first], y[first:], level, inflation))


def standard_ranks(y: F64) -> F64:
    """Ranks of each series, ties in the middle, with mean 0 and variance 1 (or all 0).

    Parameters
    ----------
    y : (k, n) float64
    """
    result = np.empty(y.shape)
    for row, values in enumerate(y):
        _known, place, count = np.unique(values, return_inverse=True, return_counts=True)
        middle = np.cumsum(count) - (count - 1) / 2
        ranks = middle[place] - (values.size + 1) / 2
        spread = float(ranks.std())
        result[row] = ranks / spread if spread else 0.0
    return result


def place_of_break(y: F64) -> int:
    """Return the first point after the change of level that describes a series best.

    Two levels, each of two points at least where there are four, so that their medians
    leave the least absolute distances. (The place of Pettitt's statistic leans to the
    middle.)

    References
    ----------
    Bai (1995), Econometric Theory 11.

    Examples
    --------
    >>> place_of_break(np.array([1.0, 2, 1, 9, 8, 9]))
    3
    """
    edge = _edge(y.size)
    splits = range(edge, y.size - edge + 1)
    rest = [_spread(y[:first]) + _spread(y[first:]) for first in splits]
    return splits[int(np.argmin(rest))]


def _edge(size: int) -> int:
    """Least points of a level."""
    return 2 if size >= MIN_SIDES else 1


def _spread(values: F64) -> float:
    return float(np.abs(values - np.median(values)).sum())


def break_sizes(centred: F64, orders: I64) -> F64:
    """Size of the largest break of each series with its points in given orders.

    Parameters
    ----------
    centred : (k, n) float64
        Series with mean 0; with `standard_ranks` the size is Pettitt's statistic, each sum
        over its standard deviation, so that breaks off the middle are found as well.
    orders : (b, n) int64

    Returns
    -------
    (k, b) float64

    References
    ----------
    Pettitt (1979), Applied Statistics 28.
    """
    k, n = centred.shape
    result = np.empty((k, len(orders)))
    edge = _edge(n)
    first = np.arange(edge, n - edge + 1)
    scale = np.sqrt(first * (n - first) / n)
    rows = max(1, _CELLS // (k * n))
    for start in range(0, len(orders), rows):
        sums = np.cumsum(centred[:, orders[start : start + rows]], axis=2)
        inner = np.abs(sums[:, :, edge - 1 : n - edge]) / scale
        result[:, start : start + rows] = inner.max(axis=2)
    # equal sums may differ in their last digits
    return result.round(9)


def trend_sizes(ranks: F64, orders: I64) -> F64:
    """Size of the trend of a series with its points in given orders, (b,) float64.

    Spearman's correlation of value and order but for a factor.

    References
    ----------
    Daniels (1950), J. Royal Stat. Soc. B 12.
    """
    place = np.arange(ranks.size) - (ranks.size - 1) / 2
    result: F64 = np.abs(ranks[orders] @ place).round(9)
    return result


def random_orders(n: int, *, block: int = 1, draws: int = DRAWS, seed: int = 0) -> I64:
    """Return the order in which n points are, then so many random ones; (1 + draws, n).

    Parameters
    ----------
    n : int
    block : int
        So many neighbouring points are kept together; they are counted from a random
        point, round the end.
    draws, seed : int
    """
    orders = np.tile(np.arange(n), (1 + draws, 1))
    rng = np.random.default_rng(seed)
    if block <= 1:
        rng.permuted(orders[1:], axis=1, out=orders[1:])
        return orders
    count = -(-n // block)
    turned = (np.arange(n) + rng.integers(n, size=(draws, 1))) % n
    places = rng.permuted(np.tile(np.arange(count), (draws, 1)), axis=1)
    by_place = np.argsort(places[:, np.arange(n) * count // n], axis=1, kind="stable")
    orders[1:] = np.take_along_axis(turned, by_place, axis=1)
    return orders


def among(orders: I64, chosen: I64) -> I64:
    """Orders of some of the points, as numbers of these; (b, len(chosen)) int64.

    Examples
    --------
    >>> among(np.array([[0, 1, 2], [2, 0, 1]]), np.array([0, 2]))
    array([[0, 1],
           [1, 0]])
    """
    number = np.full(orders.shape[1], -1)
    number[chosen] = np.arange(chosen.size)
    named = number[orders]
    return named[named >= 0].reshape(len(orders), chosen.size)


def adjusted(sizes: Sequence[F64]) -> list[float]:
    """Return p-values that hold for all questions together.

    Parameters
    ----------
    sizes : sequence of (1 + b,) float64
        What each question is decided by, first with the points as they are, then in random
        orders, the same for all questions.

    Returns
    -------
    list of float
        Any of those of questions where the order of the points means nothing is below α
        with a chance of α at most, however the questions hang together. Step by step: the
        surest is held against all, the next against those that are left.

    References
    ----------
    Westfall and Young, Resampling-Based Multiple Testing (1993), algorithm 2.8.

    Examples
    --------
    The order as it is is the most extreme of four, for both questions:

    >>> adjusted([np.array([9.0, 1, 2, 3]), np.array([9.0, 3, 2, 1])])
    [0.25, 0.25]
    """
    if not sizes:
        return []
    own = np.array([float((one >= one[0]).mean()) for one in sizes])
    order = np.argsort(own, kind="stable")
    steps = np.empty(order.size)
    left = np.full(sizes[0].size, np.inf)
    # from the least sure on, so that one array holds the least of all that are left
    for place in range(order.size - 1, -1, -1):
        np.minimum(left, _own_p(sizes[order[place]]), out=left)
        steps[place] = (left <= own[order[place]] + 1e-12).mean()
    result = np.empty(order.size)
    result[order] = np.maximum.accumulate(steps)
    return [float(one) for one in result]


def least_attainable(sizes: Sequence[F64], clear: F64) -> float:
    """Return the adjusted p-value of an answer that is as clear as can be.

    Parameters
    ----------
    sizes : sequence of (1 + b,) float64
        As `adjusted` takes them.
    clear : (1 + b,) float64
        The same of the clearest answer.
    """
    least = _own_p(clear)
    clearest = float(least[0])
    for one in sizes:
        np.minimum(least, _own_p(one), out=least)
    return float((least <= clearest + 1e-12).mean())


def points_needed(questions: int, alpha: float) -> int:
    """Return how many points tell a clean break in the middle for so many questions.

    Two of all orders of its points have no value of one level within the other.

    Examples
    --------
    >>> points_needed(1, 0.05), points_needed(12, 0.05)
    (8, 12)
    """
    n = MIN_FOR_BREAK
    while questions * 2 / math.comb(n, n // 2) > alpha:
        n += 1
    return n


def _own_p(sizes: F64) -> F64:
    """Share of the orders in which the size is at least that of each."""
    ordered = np.sort(sizes)
    result: F64 = (sizes.size - np.searchsorted(ordered, sizes)) / sizes.size
    return result


def step_fits_better(x: F64, y: F64, line: Slope, found: Break) -> bool:
    """Tell whether two levels describe a series better than a straight line does.

    Compared by the sum of absolute distances, from the medians of both sides and from
    the line of Theil and Sen.
    """
    step = _spread(y[: found.first]) + _spread(y[found.first :])
    return step < _spread(y - line.slope * x)
