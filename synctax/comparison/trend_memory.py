"""How long neighbouring points of a trend hang together."""

import math

import numpy as np

from synctax.arrays import F64
from synctax.comparison.trend_numbers import MIN_FOR_BREAK, place_of_break, standard_ranks

MOST_MISSED = 0.15
"""Blocks are so long that the variance of their means lacks no larger share of what
neighbouring blocks have in common."""

MOST_CORRELATION = 0.95

# what two fitted levels take from the correlation of independent points, and from one of 1
_LOST, _LOST_OF_IT = 3.5, 8.5


def correlation(y: F64) -> float:
    """Return by how much ranks of neighbouring points are correlated, 0 to 0.95.

    Around the two levels that fit best, for a break is no memory; what fitting them takes
    away is given back (by simulation of autoregressive series of 24 to 200 points).

    Parameters
    ----------
    y : (n,) float64
        In order; at least two. Of fewer than `MIN_FOR_BREAK` what is given back outweighs
        what can be measured: mostly they pass for correlated, and nothing is said of them.
    """
    first = place_of_break(y)
    rest = np.concatenate([one - np.median(one) for one in (y[:first], y[first:])])
    z = standard_ranks(rest[None, :])[0]
    power = float(z @ z)
    if not power:
        return 0.0
    found = float(z[1:] @ z[:-1]) / power
    whole = max(1 - _LOST_OF_IT / y.size, 0.5)
    return min(max((found + _LOST / y.size) / whole, 0.0), MOST_CORRELATION)


def block_for(r: float) -> int:
    """Return how many neighbouring points to keep together where they are correlated by r.

    Of an autoregressive series the variance of the mean of a block of length b lacks
    2 r / (1 - r²) / b of its limit.

    References
    ----------
    Priestley, Spectral Analysis and Time Series (1981), section 5.3.

    Examples
    --------
    >>> block_for(0.0), block_for(0.6)
    (1, 13)
    """
    return max(math.ceil(2 * r / (1 - r * r) / MOST_MISSED), 1)


def inflation(r: float) -> float:
    """By how much sums of points vary more where neighbours are correlated by r.

    Variances are so many times those of independent points; of an autoregressive series.

    Examples
    --------
    >>> inflation(0.0), round(inflation(0.6), 6)
    (1.0, 4.0)
    """
    return (1 + r) / (1 - r)


def enough(points: int, block: int) -> bool:
    """Tell whether there are blocks enough to place a break among them."""
    return block == 1 or points // block >= MIN_FOR_BREAK
