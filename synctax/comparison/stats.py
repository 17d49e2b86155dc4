"""Differences of two sides with intervals, out of weights of resamples."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64, Bool

BINS = 1_024
"""Quantiles of resamples are looked up among so many of the values."""

MOST_UNKNOWN = 0.1
"""Where a larger share of the resamples has no value, there is no interval."""

LEAST_DRAWN = 5
"""Where fewer are drawn, numbers without any spread are no proof of certainty."""

_RELATIVE_ZERO = 1e-9
"""Relative spread of resamples below which they differ by rounding alone."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number of one side.

    Parameters
    ----------
    value : float
        Of the data; NaN where there is none.
    error : float
        Its standard error; NaN where it cannot be told.
    freedom : float
        Independent draws behind it, less one.
    """

    value: float
    error: float
    freedom: float


NOTHING = Estimate(np.nan, np.nan, 0.0)
"""Of a side that does not have it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What one number changed by from A to B.

    Parameters
    ----------
    a, b : float
    difference : float
        b - a.
    low, high : float
        Interval of the difference; NaN where it cannot be told.
    p : float
        Of the hypothesis that nothing changed; NaN where it cannot be told.
    """

    a: float
    b: float
    difference: float
    low: float
    high: float
    p: float


def difference(a: Estimate, b: Estimate, level: float) -> Difference:
    """Compare two independent estimates.

    Student's t with standard errors of the bootstrap, and Welch's degrees of freedom.

    Parameters
    ----------
    a, b : Estimate
    level : float
        Of the interval.

    Returns
    -------
    Difference

    References
    ----------
    Efron and Tibshirani, An Introduction to the Bootstrap (1993), section 12.2.
    Welch, Biometrika 34 (1947), 28-35.

    Examples
    --------
    >>> one = Estimate(50.0, 1.0, 9.0)
    >>> d = difference(one, Estimate(60.0, 1.0, 9.0), 0.95)
    >>> d.difference, round(d.low, 2), round(d.high, 2), d.p < 0.001
    (10.0, 7.03, 12.97, True)
    >>> difference(one, one, 0.95).p
    1.0
    """
    apart = b.value - a.value
    variance = a.error**2 + b.error**2
    if np.isnan(apart) or np.isnan(variance):
        return Difference(a.value, b.value, apart, np.nan, np.nan, np.nan)
    scale = abs(a.value) + abs(b.value)
    if variance <= (_RELATIVE_ZERO * scale) ** 2:
        same = abs(apart) <= _RELATIVE_ZERO * scale
        return Difference(a.value, b.value, apart, apart, apart, 1.0 if same else 0.0)
    from scipy.stats import t

    parts = a.error**4 / a.freedom + b.error**4 / b.freedom
    freedom = variance**2 / parts
    error = float(np.sqrt(variance))
    half = float(t.ppf((1 + level) / 2, freedom)) * error
    p = float(2 * t.sf(abs(apart) / error, freedom))
    return Difference(a.value, b.value, apart, apart - half, apart + half, p)


def estimate(value: float, resampled: F64, blocks: float, strata: int = 1) -> Estimate:
    """Make an estimate of a value and those of its resamples.

    Parameters
    ----------
    value : float
    resampled : (r,) float64
        NaN where a resample has none.
    blocks : float
        What was drawn independently (`resample.freedom`): variances of resamples are too
        small by (n - 1) / n.
    strata : int, optional
        What they were drawn within (`resample.strata`); variances of several are right.
    """
    known = resampled[~np.isnan(resampled)]
    free = max(blocks - strata, 0.0)
    if not free or known.size < max((1 - MOST_UNKNOWN) * resampled.size, 2):
        return Estimate(value, np.nan, free)
    error = float(known.std())
    if error <= _RELATIVE_ZERO * abs(value) and blocks < LEAST_DRAWN:
        return Estimate(value, np.nan, free)
    if strata == 1:
        error *= float(np.sqrt(blocks / (blocks - 1)))
    return Estimate(value, error, free)


@dataclass(frozen=True, slots=True)
class Draws:
    """Resamples of one side.

    Parameters
    ----------
    weights : (r, u) float64
        As `resample.weights` returns them.
    blocks : float
        As `resample.freedom`.
    strata : int, optional
        As `resample.strata`.
    """

    weights: F64
    blocks: float
    strata: int = 1

    @property
    def units(self) -> int:
        """How many units there are."""
        return int(self.weights.shape[1])

    def ratio(self, unit: I64, over: F64, under: F64) -> Estimate:
        """Estimate one sum over another, such as a mean or a share.

        Parameters
        ----------
        unit : (k,) int64
        over, under : (k,) float64
        """
        whole = float(under.sum())
        top = self.weights @ np.bincount(unit, over, self.units)
        bottom = self.weights @ np.bincount(unit, under, self.units)
        found = np.divide(top, bottom, out=np.full(top.size, np.nan), where=bottom > 0)
        value = float(over.sum()) / whole if whole else np.nan
        return estimate(value, found, self.blocks, self.strata)

    def mean(self, unit: I64, values: F64) -> Estimate:
        """Estimate a mean; NaN values are left out.

        Parameters
        ----------
        unit : (k,) int64
        values : (k,) float64
        """
        known = ~np.isnan(values)
        return self.ratio(unit[known], values[known], np.ones(int(known.sum())))

    def share(self, unit: I64, holds: Bool) -> Estimate:
        """Estimate how often something holds; never or always is not for sure.

        Where resamples do not vary, the error is that of one more unit that is otherwise.

        Parameters
        ----------
        unit : (k,) int64
        holds : (k,) bool
        """
        found = self.mean(unit, holds.astype(np.float64))
        drawn = min(self.blocks, float(np.unique(unit).size))
        if found.error == 0 and found.value in (0.0, 1.0):
            return Estimate(found.value, 1 / (drawn + 1), found.freedom)
        return found

    def quantile(self, unit: I64, values: F64, q: Sequence[float]) -> list[Estimate]:
        """Estimate quantiles; NaN values are left out.

        Parameters
        ----------
        unit : (k,) int64
        values : (k,) float64
        q : sequence of float

        Returns
        -------
        list of Estimate
        """
        known = ~np.isnan(values)
        unit, values = unit[known], values[known]
        if not values.size:
            return [NOTHING for _ in q]
        order = np.argsort(values, kind="stable")
        bins = min(values.size, BINS)
        ends = (np.arange(1, bins + 1) * values.size) // bins - 1
        cell = np.searchsorted(ends, np.arange(values.size))
        counts = np.zeros((self.units, bins))
        np.add.at(counts, (unit[order], cell), 1.0)
        cumulated = np.cumsum(self.weights @ counts, axis=1)
        total = cumulated[:, -1]
        upper = values[order][ends]
        return [
            estimate(
                float(np.quantile(values, one)),
                _at(cumulated, upper, (total - 1) * one, total > 0),
                self.blocks,
                self.strata,
            )
            for one in q
        ]


def _at(cumulated: F64, upper: F64, place: F64, known: np.ndarray) -> F64:
    """Interpolate between order statistics, as numpy does."""
    low = np.floor(place)
    share = place - low
    last = cumulated[:, -1:] - 1
    # half a count apart: sums of weights are whole but for rounding
    below = (cumulated > low[:, None] + 0.5).argmax(axis=1)
    above = (cumulated > np.minimum(low[:, None] + 1, last) + 0.5).argmax(axis=1)
    found = (1 - share) * upper[below] + share * upper[above]
    return np.where(known, found, np.nan)


def benjamini_hochberg(p: F64) -> F64:
    """Adjust p-values so that few of those below a bound are false.

    Parameters
    ----------
    p : (k,) float64
        NaN where a test could not be made; these do not count.

    Returns
    -------
    (k,) float64
        The share of false alarms among all differences called real at that bound is at
        most the bound, also where tests are positively dependent. Where nothing changed,
        so is the probability of any alarm.

    References
    ----------
    Benjamini and Hochberg, Journal of the Royal Statistical Society B 57 (1995), 289-300;
    Benjamini and Yekutieli, Annals of Statistics 29 (2001), 1165-1188.

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03, np.nan]))
    array([0.03, 0.04, 0.04,  nan])
    """
    adjusted = np.full(p.size, np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known])]
    raised = p[order] * known.size / np.arange(1, known.size + 1)
    adjusted[order] = np.minimum.accumulate(raised[::-1])[::-1].clip(max=1.0)
    return adjusted
