"""Steps drawn anew within each size of delay, for intervals that few steps can carry."""

from collections.abc import Iterator

import numpy as np

from synctax.arrays import F64, I64

_AT_ONCE = 2_000_000
"""Numbers held at a time while resampling."""


def strata(level: F64, step: I64) -> I64:
    """Sort steps by the size of their delays: among those alike one is drawn for another.

    A step counts for its least size: larger ones are sums of several delays. A size that
    one step has is put together with the nearest, as from one step nothing is drawn.

    Parameters
    ----------
    level : (c,) float64
        Size of delay of each collective.
    step : (c,) int64
        Step of each, numbered 0, 1, ... without gaps.

    Returns
    -------
    (s,) int64
        Stratum of each step, numbered 0, 1, ... in order of size.

    References
    ----------
    Cochran, Sampling Techniques (1977), section 5A.12, on collapsed strata.

    Examples
    --------
    Two steps without a delay and two of 5 µs, and one of 9:

    >>> strata(np.array([0.0, 5.0, 9.0, 0.0, 5.0]), np.arange(5))
    array([0, 1, 1, 0, 1])
    """
    size = np.full(int(step.max(initial=-1)) + 1, np.inf)
    np.minimum.at(size, step, level)
    sizes, stratum = np.unique(size, return_inverse=True)
    stratum = stratum.astype(np.int64)
    while True:
        count = np.bincount(stratum)
        single = np.flatnonzero(count == 1)
        if not single.size or count.size == 1:
            return stratum
        one = int(single[0])
        apart = np.abs(sizes - sizes[one])
        apart[one] = np.inf
        other = int(apart.argmin())
        low, high = min(one, other), max(one, other)
        # numbers stay without gaps; the size of both is that in their middle
        stratum = np.where(stratum == high, low, stratum - (stratum > high))
        sizes[low] = (sizes[low] + sizes[high]) / 2
        sizes = np.delete(sizes, high)


def resampled(
    rng: np.random.Generator, stratum: I64, resamples: int, width: int
) -> Iterator[tuple[I64, F64]]:
    """Draw, from the n steps of each stratum, n - 1 with replacement.

    Parameters
    ----------
    rng : Generator
    stratum : (s,) int64
        Of each step, none with a single one.
    resamples, width : int
        How many sets; how many numbers are made of each, by some sets at a time.

    Yields
    ------
    ((k, s) int64, (k, s) float64)
        How often each step is drawn, and its weight, that as often times n / (n - 1): so
        the variance of means is not too small by (n - 1) / n.

    References
    ----------
    Rao and Wu, Journal of the American Statistical Association 83 (1988), 231-241.
    """
    counts = np.bincount(stratum)
    times = np.zeros((resamples, stratum.size), np.int64)
    for one, n in enumerate(counts.tolist()):
        drawn = rng.multinomial(n - 1, np.full(n, 1 / n), size=resamples)
        times[:, stratum == one] = drawn
    factor = counts / (counts - 1)
    each = max(1, _AT_ONCE // max(width, stratum.size))
    for begin in range(0, resamples, each):
        some = times[begin : begin + each]
        yield some, some * factor[stratum]
