"""The generalized Pareto distribution of excesses, fitted by maximum likelihood."""

import math
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64
from synctax.errors import FitError
from synctax.evt.likelihood import (
    AT_MIN_SHAPE,
    INSIDE,
    MAX_START_SHAPE,
    MIN_REGULAR_SHAPE,
    MIN_SHAPE,
    ZERO_BELOW,
    reduced,
)
from synctax.evt.optimum import Objective, Peak, Point, infeasible, inverse, search
from synctax.evt.sample import MIN_DISTINCT_VALUES, checked, dot

START_SHAPES = (0.0, 0.2, -0.2)
"""Shapes at which the search starts beside that of the moments."""


@dataclass(frozen=True, slots=True)
class GpdFit:
    """A generalized Pareto distribution and how well a sample tells it.

    Parameters
    ----------
    scale : float
        σ, in the unit of the excesses.
    shape : float
        ξ, positive for a heavy tail.
    cov : (2, 2) float64 or None
        Covariance of their estimates; None for ξ <= -0.5, where there is none.
    loglik : float
        Log-likelihood of the sample, natural logarithm.
    n : int
        Values in the sample.
    """

    scale: float
    shape: float
    cov: F64 | None
    loglik: float
    n: int

    @property
    def scale_se(self) -> float:
        """Standard error of the scale; NaN without covariance."""
        return math.nan if self.cov is None else math.sqrt(self.cov[0, 0])

    @property
    def shape_se(self) -> float:
        """Standard error of the shape; NaN without covariance."""
        return math.nan if self.cov is None else math.sqrt(self.cov[1, 1])

    @property
    def mean(self) -> float:
        """Mean excess σ/(1 - ξ); infinite for ξ >= 1."""
        return self.scale / (1 - self.shape) if self.shape < 1 else math.inf

    def pdf(self, y: F64) -> F64:
        """Probability density at y; 0 outside of the support."""
        t = np.asarray(y, np.float64) / self.scale
        density = np.exp(-(1 + self.shape) * self._reduced(t)) / self.scale
        return np.where((t >= 0) & (self.shape * t > -1), density, 0.0)

    def cdf(self, y: F64) -> F64:
        """Probability of an excess up to y."""
        return -np.expm1(-self._reduced(np.asarray(y, np.float64) / self.scale))

    def ppf(self, q: F64) -> F64:
        """Quantile of probability q."""
        return self.isf(1 - np.asarray(q, np.float64))

    def isf(self, p: F64) -> F64:
        """What an excess is larger than with probability p, exact for the smallest p."""
        with np.errstate(divide="ignore", over="ignore"):
            y = -np.log(np.asarray(p, np.float64))
            if abs(self.shape) < ZERO_BELOW:
                return self.scale * y
            return self.scale * np.expm1(self.shape * y) / self.shape

    def _reduced(self, t: F64) -> F64:
        inside = np.maximum(t, 0.0)
        if abs(self.shape) < ZERO_BELOW:
            return inside
        with np.errstate(divide="ignore"):
            return np.log1p(np.maximum(self.shape * inside, -1.0)) / self.shape


def fit_gpd(
    excess: F64, *, start: GpdFit | None = None, min_distinct: int = MIN_DISTINCT_VALUES
) -> GpdFit:
    """Fit a generalized Pareto distribution by maximum likelihood, ξ > -1.

    Parameters
    ----------
    excess : (n,) float64
        By how much values exceed a threshold, none negative; in any order and unit.
    start : GpdFit, optional
        Where to start alone, as for a resample of the data that it was fitted to; the
        other starts follow only where it leads nowhere.
    min_distinct : int, optional
        Distinct values below which the fit is refused.

    Returns
    -------
    GpdFit
        With the inverse of the observed information as covariance.

    Raises
    ------
    FitError
        If the sample has too few distinct values, no spread or values that are not
        finite; if ξ runs to -1; if no maximum with a curvature is found.
    ValueError
        If an excess is negative.

    References
    ----------
    Coles (2001), section 4.3; Grimshaw, Technometrics 35 (1993), on the shape of this
    likelihood.
    """
    ordered = checked(excess, what="excesses", min_distinct=min_distinct)
    if ordered[0] < 0:
        raise ValueError(f"an excess is not negative, got {ordered[0]:g}")
    unit = float(ordered.mean())
    x = ordered / unit
    peak = _peak(
        x, None if start is None else _feasible(x, start.scale / unit, start.shape)
    )
    log_scale, shape = peak.point.at.tolist()
    scale = unit * math.exp(log_scale)
    cov: F64 | None = None
    if shape > MIN_REGULAR_SHAPE:
        rescale = np.array([scale, 1.0])
        cov = inverse(-peak.point.hessian) * np.outer(rescale, rescale)
    loglik = peak.point.value - x.size * math.log(unit)
    return GpdFit(scale, shape, cov, loglik, int(x.size))


def gpd_objective(x: F64) -> Objective:
    """Make the log-likelihood of excesses as a function of (log σ, ξ).

    Parameters
    ----------
    x : (n,) float64
        Excesses in ascending order, of mean 1.

    Returns
    -------
    callable
        Not feasible for ξ <= -1 and where a value lies beyond the end of the support.
    """

    def objective(at: F64) -> Point:
        log_scale, shape = at.tolist()
        t = x * math.exp(-log_scale)
        if not (shape > MIN_SHAPE and 1 + shape * float(t[-1]) > 0):
            return infeasible(at)
        y, w, y1, y2 = reduced(t, shape)
        factor, tw = 1 + shape, t * w
        total = float(y.sum())
        value = -t.size * log_scale - factor * total
        gradient = np.array(
            [-t.size + factor * float(tw.sum()), -total - factor * float(y1.sum())]
        )
        mixed = float(tw.sum()) - factor * dot(tw, tw)
        hessian = np.array(
            [
                [-factor * dot(tw, w), mixed],
                [mixed, -2 * float(y1.sum()) - factor * float(y2.sum())],
            ]
        )
        return Point(at, value, gradient, hessian)

    return objective


def _peak(x: F64, near: F64 | None) -> Peak:
    """Find the highest maximum, or say why there is none."""
    best = search(gpd_objective(x), near, lambda: _starts(x))
    if best.is_maximum:
        return best
    shape = float(best.point.at[1])
    if shape < MIN_SHAPE + AT_MIN_SHAPE:
        raise FitError(
            f"the tail shape of {x.size} excesses runs to its bound -1: they end abruptly "
            "at their largest value; a higher threshold or more instances would help"
        )
    raise FitError(
        f"the tail likelihood of {x.size} excesses has no maximum (shape {shape:.3g} at "
        "last); a lower threshold or more instances would help"
    )


def _starts(x: F64) -> list[F64]:
    # mean σ/(1 - ξ) = 1, variance 1/(1 - 2ξ)
    moments = (1 - 1 / float(x.var())) / 2
    starts = []
    for shape in (moments, *START_SHAPES):
        bounded = min(max(shape, -MAX_START_SHAPE), MAX_START_SHAPE)
        starts.append(_feasible(x, 1 - bounded, bounded))
    return starts


def _feasible(x: F64, scale: float, shape: float) -> F64:
    """Pull a negative shape towards 0 until all values lie within the support."""
    return np.array([math.log(scale), max(shape, -INSIDE * scale / float(x[-1]))])
