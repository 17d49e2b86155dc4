"""Tell whether the straggler is a matter of chance, or always the same rank."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from synctax.arrays import F64, I32, I64

ENOUGH_EXPECTED = 5.0
"""Below this expected count the χ² distribution is replaced by drawing."""

DRAWS = 9_999


def uniform_p(counts: Sequence[I64]) -> float:
    """Return how probable counts as uneven as these are if every rank were equally likely.

    χ² against the uniform distribution, summed over sibling groups. Where a rank is
    expected fewer than five times, its distribution is drawn (9,999 times, fixed seed).

    Parameters
    ----------
    counts : sequence of (n,) int64
        Per group, how often each of its ranks was the last to arrive.

    Returns
    -------
    float
        p-value; NaN without a single decided collective.

    References
    ----------
    Synchronization-tax paper, section 3.3 (the straggler shifts).

    Examples
    --------
    >>> round(uniform_p([np.array([10, 10, 10, 10])]), 3)
    1.0
    >>> uniform_p([np.array([40, 0, 0, 0])]) < 1e-20
    True
    """
    groups = [count for count in counts if count.size > 1 and count.sum() > 0]
    if not groups:
        return float("nan")
    statistic = sum(_chi2(count[None, :])[0] for count in groups)
    if min(count.sum() / count.size for count in groups) >= ENOUGH_EXPECTED:
        return _chi2_sf(sum(count.size - 1 for count in groups), float(statistic))
    draw = np.random.default_rng(0)
    drawn = np.zeros(DRAWS)
    for count in groups:
        even = np.full(count.size, 1 / count.size)
        drawn += _chi2(draw.multinomial(int(count.sum()), even, size=DRAWS))
    # Equal statistics differ in their last bits by the order of summation.
    return float((1 + (drawn >= statistic - 1e-9).sum()) / (1 + DRAWS))


def _chi2(counts: np.ndarray) -> np.ndarray:
    expected = counts.sum(axis=1, keepdims=True) / counts.shape[1]
    result: np.ndarray = ((counts - expected) ** 2 / expected).sum(axis=1)
    return result


def _chi2_sf(df: int, chi2: float) -> float:
    """Return how probable a χ² of `df` degrees of freedom above this is.

    Finite sums of positive terms (Abramowitz and Stegun, 26.4.4 and 26.4.5): to import
    scipy.special takes longer than everything else that is done with a trace's stragglers.
    """
    half = chi2 / 2
    if half <= 0:
        return 1.0
    # k of even df: 0, 1, …, df / 2 - 1; of odd: 1/2, 3/2, …, df / 2 - 1
    powers = (df % 2 / 2 + k for k in range(df // 2))
    terms = (math.exp(k * math.log(half) - half - math.lgamma(k + 1)) for k in powers)
    first = math.erfc(math.sqrt(half)) if df % 2 else 0.0
    return min(math.fsum((first, *terms)), 1.0)


def longest_run(straggler: I32) -> int:
    """Return for how many collectives in a row the same rank was last.

    Ties (-1) end a run.

    Examples
    --------
    >>> longest_run(np.array([2, 2, 2, 0, -1, 0], np.int32))
    3
    """
    return int(run_lengths(straggler).max(initial=0))


def run_lengths(straggler: I32) -> I64:
    """Return the lengths of all runs of collectives in which the same rank was last.

    Parameters
    ----------
    straggler : (m,) int32
        Who was last, in order of time; -1 where ranks tie: that ends a run and is none.

    Returns
    -------
    (r,) int64
        In order of time.

    Examples
    --------
    >>> run_lengths(np.array([2, 2, 2, 0, -1, 0], np.int32))
    array([3, 1, 1])
    """
    start, length = _stretches(straggler)
    return length[straggler[start] >= 0]


def expected_runs(straggler: I32, ranks: int, length: I64) -> F64:
    """Return how many runs at least so long there are in the mean of equal ranks.

    Exact, for as many collectives, with ties where they were. Of d draws in a row from n
    ranks a run of k or more begins at the first with probability (1/n)^(k - 1), and at each
    of the d - k next ones with (1 - 1/n) (1/n)^(k - 1): lengths are geometric but for the
    end of the draws.

    Parameters
    ----------
    straggler : (m,) int32
        Who was last; of it only where ranks tie (-1) is used.
    ranks : int
        Of the group.
    length : (k,) int64
        At least 1.

    Returns
    -------
    (k,) float64

    Examples
    --------
    Three draws from two ranks have two runs in the mean; in every fourth all are one:

    >>> expected_runs(np.array([0, 1, 0], np.int32), 2, np.array([1, 2, 3]))
    array([2.  , 0.75, 0.25])
    """
    start, size = _stretches(np.where(straggler < 0, -1, 0).astype(np.int32))
    draws, times = np.unique(size[straggler[start] >= 0], return_counts=True)
    again = 1 / ranks
    begins = 1 + (draws[:, None] - length) * (1 - again)
    each: F64 = (times[:, None] * np.where(draws[:, None] >= length, begins, 0.0)).sum(
        axis=0
    )
    return each * again ** (length - 1.0)


def _stretches(values: I32) -> tuple[I64, I64]:
    """Start and length of each stretch of equal values."""
    change = np.ones(values.size, np.bool_)
    change[1:] = values[1:] != values[:-1]
    start = np.flatnonzero(change)
    return start, np.diff(np.append(start, values.size))


@lru_cache(maxsize=1 << 10)  # siblings have as many ranks, and about as many collectives
def run_p(length: int, draws: int, ranks: int) -> float:
    """Return the probability of a run at least this long if every rank were equally likely.

    Exact, by the recurrence over the number of draws; it adds up probabilities and takes
    no difference of close ones, so that the rarest run has its digits too.

    Parameters
    ----------
    length : int
        Longest run that was seen.
    draws : int
        Collectives in a row.
    ranks : int
        Ranks of the group.

    Returns
    -------
    float
        p-value; NaN for fewer than two ranks or no collective.

    Examples
    --------
    Two equal in two draws from four:

    >>> run_p(2, 2, 4)
    0.25
    """
    if ranks < 2 or draws < 1 or length < 1:
        return float("nan")
    if length == 1:
        return 1.0
    # seen[t]: such a run within t draws. The first is complete at draw t if no run was
    # complete k draws before, and a change and k - 1 repetitions followed.
    again = 1 / ranks
    all_equal = again ** (length - 1)
    complete = (1 - again) * all_equal
    seen = [0.0] * min(length, draws + 1) + [all_equal]
    for draw in range(length + 1, draws + 1):
        seen.append(seen[-1] + complete * (1 - seen[draw - length]))
    return min(seen[draws], 1.0)
