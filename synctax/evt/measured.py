"""How long ranks wait for the last among every number of them that was observed."""

import numpy as np

from synctax.arrays import F64, I64
from synctax.evt.model import BlockTimes

ROWS_AT_ONCE = 256
"""Sizes of group whose weights are held at once: memory, not the result, depends on it."""


def mean_known(values: F64) -> float:
    """Average what is known.

    Parameters
    ----------
    values : (i,) float64
        NaN where it is not known.

    Returns
    -------
    float
        NaN where nothing is.

    Examples
    --------
    >>> mean_known(np.array([1.0, np.nan, 3.0]))
    2.0
    """
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def measured_us(times: BlockTimes, n: I64 | None = None) -> F64:
    """Measure the mean wait in groups of n ranks, over all subsets exactly.

    e_k = Σᵢ C(i-1, k-1)/C(m, k) · mean X₍ᵢ₎ - mean X, where X₍ᵢ₎ is the i-th smallest time
    of an instance: in C(i-1, k-1) of the C(m, k) subsets it is the largest.

    Parameters
    ----------
    times : BlockTimes
        i instances over m ranks, at least one.
    n : (k,) int64, optional
        Sizes of groups, each from 1 to m; all of these if absent.

    Returns
    -------
    (k,) float64
        Mean wait of a rank for each size, in µs; 0 for one rank, never falling.

    Raises
    ------
    ValueError
        If there is no instance.

    Examples
    --------
    Of ranks that take 0, 1 and 2 µs, the slower of two takes 5/3 µs on average:

    >>> from synctax.evt.model import Block
    >>> one = np.zeros(1, np.int64)
    >>> times = BlockTimes(
    ...     (Block("x"),), one, one, one, np.arange(3)[None, :],
    ...     np.array([[2.0, 0.0, 1.0]]), np.full(1, np.nan),
    ... )
    >>> measured_us(times).round(6)
    array([0.      , 0.666667, 1.      ])
    """
    if not len(times):
        raise ValueError("no instance to measure")
    ordered = np.sort(times.us, axis=1).mean(axis=0)
    above = ordered - ordered.mean()
    sizes = np.arange(1, times.m + 1) if n is None else n
    result = np.empty(sizes.size)
    for start in range(0, sizes.size, ROWS_AT_ONCE):
        k = sizes[start : start + ROWS_AT_ONCE].astype(np.float64)
        result[start : start + k.size] = subset_weights(times.m, k) @ above
    result[sizes == 1] = 0.0
    return result


def subset_weights(m: int, k: F64) -> F64:
    """Return in what share of subsets of k out of m each order statistic is the largest.

    Parameters
    ----------
    m : int
        Ranks.
    k : (s,) float64
        Sizes of subsets, whole numbers from 1 to m.

    Returns
    -------
    (s, m) float64
        C(i-1, k-1)/C(m, k) for i = 1 ... m; each row sums to 1.
    """
    from scipy.special import gammaln

    i = np.arange(1.0, m + 1)[None, :]
    k = k[:, None]
    among = i - k
    log = (
        gammaln(i) - gammaln(np.maximum(among, 0) + 1)
        - gammaln(m + 1.0) + gammaln(m - k + 1) + np.log(k)
    )  # fmt: skip
    return np.where(among >= 0, np.exp(log), 0.0)
