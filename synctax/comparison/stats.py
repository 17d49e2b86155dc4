"""Differences of two sides with intervals, out of weights of resamples."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.comparison.quantiles import resampled_quantiles
from synctax.comparison.resample import CELLS, Drawn

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
    units : int, optional
        How many were drawn from, such as steps, or whole runs; 0 where that is not known.
    """

    value: float
    error: float
    freedom: float
    units: int = 0


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

    Student's t with standard errors of the bootstrap, and Welch's degrees of freedom, but
    no more of them than two sides have whose units differ alike: where the error of a
    short side is small by chance, Welch would count on the units of the long one. Sides of
    one length lose nothing by that. Units are what is drawn: of runs that are drawn whole
    it does not count how long they are.

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
    freedom = min(variance**2 / parts, _alike(a, b))
    error = float(np.sqrt(variance))
    half = float(t.ppf((1 + level) / 2, freedom)) * error
    p = float(2 * t.sf(abs(apart) / error, freedom))
    return Difference(a.value, b.value, apart, apart - half, apart + half, p)


def _alike(a: Estimate, b: Estimate) -> float:
    """Welch's degrees of freedom of two sides whose units differ alike."""
    known = a.units and b.units
    one, two = (a.units, b.units) if known else (a.freedom + 1, b.freedom + 1)
    whole = one + two
    return 1 / ((two / whole) ** 2 / a.freedom + (one / whole) ** 2 / b.freedom)


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
    drawn : Drawn
        As `resample.draw` returns it.
    blocks : float
        As `resample.freedom`.
    strata : int, optional
        As `resample.strata`.
    """

    drawn: Drawn
    blocks: float
    strata: int = 1

    @property
    def units(self) -> int:
        """How many units there are."""
        return self.drawn.lot.size

    def estimate(self, value: float, resampled: F64) -> Estimate:
        """Make an estimate of a value and those of its resamples, as `estimate` does.

        Parameters
        ----------
        value : float
        resampled : (r,) float64
        """
        found = estimate(value, resampled, self.blocks, self.strata)
        return replace(found, units=self.drawn.scale.size)

    def ratio(self, unit: I64, over: F64, under: F64) -> Estimate:
        """Estimate one sum over another, such as a mean or a share.

        Parameters
        ----------
        unit : (k,) int64
        over, under : (k,) float64
        """
        top, bottom = (self.drawn.summed(unit, values) for values in (over, under))
        return self.ratios(top[:, None], bottom[:, None])[0]

    def ratios(self, over: F64, under: F64) -> list[Estimate]:
        """Estimate many ratios of sums.

        Parameters
        ----------
        over : (l, n) float64
            Of each lot (`Drawn.summed`).
        under : (l, n) or (l, 1) float64
        """
        found = []
        # resamples of so many columns at a time
        each = max(CELLS // len(self.drawn.counts), 1)
        for begin in range(0, over.shape[1], each):
            top = over[:, begin : begin + each]
            bottom = under if under.shape[1] == 1 else under[:, begin : begin + each]
            tops, bottoms = self.drawn.sums(top), self.drawn.sums(bottom)
            nothing = np.full(tops.shape, np.nan)
            share = np.divide(tops, bottoms, out=nothing, where=bottoms > 0)
            whole = np.broadcast_to(bottom.sum(axis=0), (top.shape[1],))
            for value, under_it, resampled in zip(
                top.sum(axis=0).tolist(), whole.tolist(), share.T, strict=True
            ):
                found.append(
                    self.estimate(value / under_it if under_it else np.nan, resampled)
                )
        return found

    def mean(self, unit: I64, values: F64) -> Estimate:
        """Estimate a mean; NaN values are left out.

        Parameters
        ----------
        unit : (k,) int64
        values : (k,) float64
        """
        known = ~np.isnan(values)
        return self.ratio(unit[known], values[known], np.ones(int(known.sum())))

    def means(self, unit: I64, values: F64, part: I64) -> list[Estimate]:
        """Estimate the mean of each part, such as of each rank.

        Parameters
        ----------
        unit : (k,) int64
        values : (k,) float64
        part : (k,) int64
            Numbered 0, 1, ...
        """
        parts, lots = int(part.max(initial=-1)) + 1, self.drawn.scale.size
        cell = self.drawn.lot[unit] * parts + part
        over, under = (
            np.bincount(cell, of, lots * parts).astype(np.float64).reshape(lots, parts)
            for of in (values, np.ones(values.size))
        )
        return self.ratios(over, under)

    def share(self, unit: I64, holds: Bool) -> Estimate:
        """Estimate how often something holds, as `shares` does."""
        return self.shares(unit, holds, np.zeros(unit.size, np.int64))[0]

    def shares(self, unit: I64, holds: Bool, part: I64) -> list[Estimate]:
        """Estimate how often something holds in each part; never or always is not for sure.

        Where resamples do not vary, the error is that of one more unit that is otherwise.

        Parameters
        ----------
        unit : (k,) int64
        holds : (k,) bool
        part : (k,) int64
            Numbered 0, 1, ...
        """
        found = self.means(unit, holds.astype(np.float64), part)
        met = np.bincount(np.unique(part * self.units + unit) // max(self.units, 1))
        drawn = np.minimum(self.blocks, met).tolist()
        return [
            replace(one, error=1 / (drawn[at] + 1))
            if one.error == 0 and one.value in (0.0, 1.0)
            else one
            for at, one in enumerate(found)
        ]

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
        resampled = resampled_quantiles(self.drawn, unit, values, q)
        return [
            self.estimate(float(np.quantile(values, one)), again)
            for one, again in zip(q, resampled, strict=True)
        ]


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
    adjusted, order = _ascending(p)
    raised = p[order] * order.size / np.arange(1, order.size + 1)
    adjusted[order] = np.minimum.accumulate(raised[::-1])[::-1].clip(max=1.0)
    return adjusted


def holm(p: F64) -> F64:
    """Adjust p-values so that hardly any of those below a bound is false.

    Parameters
    ----------
    p : (k,) float64
        NaN where a test could not be made; these do not count.

    Returns
    -------
    (k,) float64
        The probability that any of the differences that are none is called real at a bound
        is at most the bound, however tests depend on each other.

    References
    ----------
    Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6 (1979), 65-70.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03, np.nan]))
    array([0.03, 0.06, 0.06,  nan])
    """
    adjusted, order = _ascending(p)
    raised = p[order] * np.arange(order.size, 0, -1)
    adjusted[order] = np.maximum.accumulate(raised).clip(max=1.0)
    return adjusted


def _ascending(p: F64) -> tuple[F64, I64]:
    """Make room for adjusted p-values, and put those that are known in order."""
    known = np.flatnonzero(~np.isnan(p))
    return np.full(p.size, np.nan), known[np.argsort(p[known], kind="stable")]
