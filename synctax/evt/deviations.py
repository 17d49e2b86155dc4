"""The law of one rank's deviation from its instance, and the maximum of n such ranks.

Deviations from the mean of the instance hold nothing that all ranks share, so variation
common to all ranks does not enter the prediction.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from synctax.arrays import F64, I64
from synctax.errors import FitError
from synctax.evt.gpd import GpdFit, fit_gpd
from synctax.evt.model import LEAST_RANKS, BlockTimes
from synctax.evt.sample import dot
from synctax.notes import Note

TAIL_QUANTILE = 0.95
"""Deviations above this quantile are the tail that the generalized Pareto law replaces."""

MIN_TAIL_VALUES = 20
"""With fewer distinct values in the tail the observed deviations stand for themselves."""

_NEAR_ZERO_SHAPE = 1e-4  # below, 1/ξ would cancel; between its two ends h is straight

_NEVER = -45.0  # log of a probability that adds nothing to a sum of doubles


@dataclass(frozen=True, slots=True)
class TailLaw:
    """A law with observed values as its body and a generalized Pareto tail.

    Parameters
    ----------
    body : (v,) float64
        Ascending observed values up to the threshold, all equally probable.
    share : float
        Probability of a value above the threshold; 0 without a tail.
    threshold : float
        Where the tail begins.
    tail : GpdFit or None
        The law of the excesses over the threshold.
    """

    body: F64
    share: float = 0.0
    threshold: float = float("nan")
    tail: GpdFit | None = None

    def mean_max(self, n: F64) -> F64:
        """Expect the maximum of n independent values: ∫ Q(1 - p), p = 1 - exp(-E/n).

        Exact: a sum over the body, and incomplete beta integrals over the tail.

        Parameters
        ----------
        n : (k,) float64
            How many values, at least 1; any real number.

        Returns
        -------
        (k,) float64
            In the unit of the values.

        Examples
        --------
        The larger of two throws of a coin:

        >>> TailLaw(np.array([0.0, 1.0])).mean_max(np.array([1.0, 2.0]))
        array([0.5 , 0.75])
        """
        # a whole number, up to the rounding of its parts: all values, the tail's among them
        total = round(self.body.size / (1 - self.share), 6)
        steps, last = np.diff(self.body), self.body.size - 1
        result, reached = np.zeros(n.size), np.ones(n.size)
        for at, (begin, powers) in enumerate(_powers(total, tuple(n.tolist()))):
            if begin > last:  # every maximum lies in the tail
                continue
            below = powers[: last - begin + 1]
            # Abel's sum: each step, times the probability of a maximum below it
            result[at] = self.body[-1] * below[-1] - dot(below[:-1], steps[begin:])
            reached[at] = 1 - below[-1]
        return result + self._beyond(self.tail, n, reached) if self.tail else result

    def _beyond(self, tail: GpdFit, n: F64, reached: F64) -> F64:
        """What the tail adds; `reached` is the probability that a maximum lies in it."""
        if abs(tail.shape) > _NEAR_ZERO_SHAPE:
            excess = self._mean_excess(n, reached, tail.shape)
        else:
            low, high = (
                self._mean_excess(n, reached, s)
                for s in (-_NEAR_ZERO_SHAPE, _NEAR_ZERO_SHAPE)
            )
            at = (tail.shape / _NEAR_ZERO_SHAPE + 1) / 2
            excess = low + at * (high - low)
        return self.threshold * reached + tail.scale * excess

    def _mean_excess(self, n: F64, reached: F64, shape: float) -> F64:
        """∫ ((p/share)^-ξ - 1)/ξ dF over the tail: p is the exceedance of the maximum."""
        from scipy.special import betaincc, gamma, poch

        # n B(n, 1 - ξ) as a ratio of gammas: their logarithms lose digits that 1/ξ needs
        whole = gamma(1 - shape) * poch(n + 1 - shape, shape) * self.share**shape
        power = whole * betaincc(n, 1 - shape, 1 - self.share)
        result: F64 = (power - reached) / shape
        return result

    def cdf(self, x: F64) -> F64:
        """Probability of a value up to x, linear between observed values.

        Parameters
        ----------
        x : float64 array of any shape

        Returns
        -------
        float64 array of that shape
        """
        middle = (np.arange(self.body.size) + 0.5) * ((1 - self.share) / self.body.size)
        top = 1 - self.share
        # the ends: the least value has all mass up to it, the last all up to the tail
        below = np.interp(x, self.body, middle, left=0.0, right=top)
        if self.tail is None:
            return np.asarray(below)
        beyond = 1 - self.share * (1 - self.tail.cdf(x - self.threshold))
        return np.where(x > self.threshold, beyond, below)

    def quantile(self, q: F64) -> F64:
        """Value that is exceeded with probability q in the tail, or in the body.

        Parameters
        ----------
        q : (k,) float64
            Probabilities of exceedance, in (0, 1].

        Returns
        -------
        (k,) float64
        """
        at = np.ceil((1 - q) * self.body.size / (1 - self.share)) - 1
        inside = self.body[np.clip(at, 0, self.body.size - 1).astype(np.int64)]
        if self.tail is None:
            return np.asarray(inside)
        beyond = self.threshold + self.tail.isf(np.minimum(q / self.share, 1.0))
        return np.where(q < self.share, beyond, inside)


@lru_cache(maxsize=2)
def _powers(total: float, n: tuple[float, ...]) -> tuple[tuple[int, F64], ...]:
    """Probability that a maximum of n is at most the i-th of `total` values, for each n.

    Of each n: the first i (from 0) for which it is not negligible, and the probabilities
    from there on. Kept, since all resamples of one set of data ask for the same.
    """
    log_edges = np.log(np.arange(1, int(total) + 1) / total)
    found = []
    for count in n:
        begin = int(np.searchsorted(log_edges[:-1], _NEVER / count))
        found.append((begin, np.exp(count * log_edges[begin:])))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class DeviationsFit:
    """Deviations of ranks from their instances, on one scale.

    Parameters
    ----------
    law : TailLaw
        Of standardised deviations.
    scale_us : float
        Mean over instances of the blocks' standard deviations of a deviation, in µs.
    n : int
        Deviations in the sample.
    notes : tuple of Note
        Where the tail has too few values for a law of its own, or none that fits.
    """

    law: TailLaw
    scale_us: float
    n: int
    notes: tuple[Note, ...] = ()

    def tau_us(self, n: F64) -> F64:
        """Predict the mean wait of n ranks, in µs.

        Parameters
        ----------
        n : (k,) float64
            Ranks, at least 1.

        Returns
        -------
        (k,) float64
        """
        return self.scale_us * self.law.mean_max(n)


def deviations_us(times: BlockTimes) -> F64:
    """Return what each rank deviates from the mean of its instance, unbiased in spread.

    Parameters
    ----------
    times : BlockTimes
        i rows over m > 1 ranks.

    Returns
    -------
    (i, m) float64
        (X - mean of the row) · √(m/(m - 1)), in µs.

    Raises
    ------
    FitError
        For a single rank, which deviates from nothing.
    """
    if times.m < LEAST_RANKS:
        raise FitError("deviations from the mean of an instance need at least 2 ranks")
    off = times.us - times.us.mean(axis=1, keepdims=True)
    return np.asarray(off * math.sqrt(times.m / (times.m - 1)))


def fit_deviations(
    d_us: F64,
    block: I64,
    weight: F64,
    *,
    start: GpdFit | None = None,
    tail_quantile: float = TAIL_QUANTILE,
    min_tail_values: int = MIN_TAIL_VALUES,
) -> DeviationsFit:
    """Fit the law of deviations: each block on its own scale, then pooled.

    Parameters
    ----------
    d_us : (i, m) float64
        Deviations in µs, see `deviations_us`.
    block : (i,) int64
        Block of each row.
    weight : (c,) float64
        Instances of each block; blocks without rows have none.
    start : GpdFit, optional
        Tail of similar deviations: where the search begins.
    tail_quantile : float
        Where the tail begins.
    min_tail_values : int
        Distinct values in the tail that its fit needs; with fewer there is no tail.

    Returns
    -------
    DeviationsFit

    Raises
    ------
    FitError
        If ranks never differ within an instance, or the tail has no mean (shape >= 1).
    """
    spread_us = spreads_us(d_us, block, weight.size)
    if not (spread_us > 0).any():
        raise FitError("ranks do not differ within any instance: there is no wait to fit")
    with np.errstate(divide="ignore", invalid="ignore"):
        d = d_us / spread_us[block, None]
    d = np.sort(d[spread_us[block] > 0], axis=None)
    law, notes = _law(d, tail_quantile, min_tail_values, start)
    scale_us = float(np.average(spread_us, weights=weight))
    return DeviationsFit(law, scale_us, d.size, notes)


def spreads_us(d_us: F64, block: I64, count: int) -> F64:
    """Take the spread of the deviations of each block, about 0.

    Parameters
    ----------
    d_us : (i, m) float64
    block : (i,) int64
        Block of each row.
    count : int
        c, how many blocks there are.

    Returns
    -------
    (c,) float64
        In µs; 0 of blocks without rows.
    """
    values = np.bincount(block, minlength=count) * d_us.shape[1]
    squares = np.bincount(block, (d_us * d_us).sum(axis=1), count)
    return np.asarray(np.sqrt(squares / np.maximum(values, 1)))


def _law(
    d: F64, tail_quantile: float, needed: int, start: GpdFit | None
) -> tuple[TailLaw, tuple[Note, ...]]:
    threshold = float(d[math.ceil(tail_quantile * d.size) - 1])
    begin = int(np.searchsorted(d, threshold, side="right"))
    excess = d[begin:] - threshold
    distinct = int(1 + (np.diff(excess) > 0).sum()) if excess.size else 0
    if distinct < needed:
        detail = (
            f"{distinct} distinct deviations above the {100 * tail_quantile:g} % quantile, "
            f"{needed} carry a tail: no wait beyond what was observed is predicted"
        )
        return TailLaw(d), (Note("no_tail", 1, detail),)
    try:
        tail = fit_gpd(excess, start=start, min_distinct=needed)
    except FitError as error:  # what was observed can still be predicted
        detail = f"{error}: no wait beyond what was observed is predicted"
        return TailLaw(d), (Note("no_tail", 1, detail),)
    if tail.shape >= 1:
        raise FitError(
            f"the tail of the deviations has shape {tail.shape:.2f}: from 1 on it has no "
            "mean; look for outliers, or profile more steps"
        )
    share = excess.size / d.size
    return TailLaw(d[:begin], share, threshold, tail), ()
