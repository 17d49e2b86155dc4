"""Intervals of a positive estimate from its resamples."""

import math
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64
from synctax.evt.tax import DEFAULT_LEVEL

MIN_REFITTED_SHARE = 0.8
"""With fewer resamples that can be fitted a method has no interval."""


@dataclass(frozen=True, slots=True)
class LogErrors:
    """What fits know of their own errors: the scale of an interval, and that of each draw.

    Parameters
    ----------
    own : (k,) float64
        Standard error of the logarithm of the estimate.
    resampled : (r, k) float64
        The same of r resamples; NaN where a fit tells none.
    """

    own: F64
    resampled: F64


def interval(
    point: F64,
    resampled: F64,
    *,
    level: float = DEFAULT_LEVEL,
    blocks: float = math.inf,
    errors: LogErrors | None = None,
) -> tuple[F64, F64]:
    """Make an interval of a positive estimate from its resamples.

    Without errors it is symmetric in the logarithm. A GEV estimate that is too low also
    varies less, so the truth would lie above such an interval too often; resamples in
    units of their own errors know of that (bootstrap-t).

    At 95 %, for 1 to 128 times the ranks of the fit, it held the truth in 91 to 95 % of
    the cases for Gumbel and L-moment fits to Gumbel maxima; percentiles of the same
    resamples in 86 to 94 %. (295 cases of 50 and of 200 instances, half over 4 and half
    over 8 ranks, so each share is known to 1 or 2 points; 59 cases of 1,000 instances: 90
    to 98 %.) Deviations of ranks as skewed as these are biased: their intervals hold the
    truth in 60 to 95 % at the size of the fit, and in 30 to 90 % beyond. GEV fits to 480
    instances over 4 ranks, Gumbel or with ξ = 0.15, held it in 91 to 96 % of 360 cases of
    each at 2 to 128 times as many, with the truth above in 2 to 6 %; without errors in 90
    to 94 %, above in 4 to 9 %. Of 50 instances they held it in 90 to 95 % (108 cases).
    All of these are of one block. Where 480 instances are of six blocks, whose spreads are
    each known from 80 of them, all three held it in 91 to 93 % of 200 cases.
    `python -m tests.bench.evt_intervals` and `tests.bench.evt_synth` measure it.

    Parameters
    ----------
    point : (k,) float64
        Estimates, positive.
    resampled : (r, k) float64
        The same of r resamples; NaN where one failed.
    level : float
        Probability that it holds what is true.
    blocks : float
        Blocks of instances that a resample consists of, at least 2: few of them vary
        less than the data do, and tell their own spread less well.
    errors : LogErrors, optional
        Of the estimates, to studentise with.

    Returns
    -------
    lo, hi : (k,) float64
        Estimate over and times exp(w · q · s): s is the standard deviation of the
        logarithm over the resamples, q the normal quantile, and w = √(blocks/(blocks - 1))
        times the quantile of Student's t with blocks - 1 degrees of freedom over q. NaN
        where fewer than 80 % of the resamples are known.

        With errors, estimate times exp(-w · t · e) with the error e of the estimate and
        the upper and lower quantile t of (ln resampled - ln estimate)/(error of the
        resample), and the estimate within in any case. If e is below s, what it misses
        (spreads of blocks, memory) is added to all errors: √(s² - e²), by squares; t of
        errors that are far too small would have no bound. Where the resamples are too
        few for such quantiles, or too many tell no error, it is as without errors.

    References
    ----------
    Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 12.
    """
    spread = _spread(resampled)
    widening = _widening(level, blocks)
    wide = np.exp(_normal(level) * widening * spread)
    lo, hi = np.asarray(point / wide), np.asarray(point * wide)
    if errors is None:
        return lo, hi
    missed = np.maximum(spread**2 - errors.own**2, 0)
    whole = LogErrors(
        np.sqrt(errors.own**2 + missed), np.sqrt(errors.resampled**2 + missed)
    )
    studentised = _studentised(point, resampled, level, whole, widening)
    better = np.isfinite(lo) & np.isfinite(studentised).all(axis=0)
    return np.where(better, studentised[0], lo), np.where(better, studentised[1], hi)


def _spread(resampled: F64) -> F64:
    """Take the standard deviation of the logarithm; NaN where too few are known."""
    known = np.isfinite(resampled) & (resampled > 0)
    count = known.sum(axis=0)
    enough = count >= max(MIN_REFITTED_SHARE * len(resampled), 2)
    logs = np.log(np.where(known, resampled, 1.0))
    mean = logs.sum(axis=0) / np.maximum(count, 1)
    squares = np.where(known, (logs - mean) ** 2, 0.0).sum(axis=0)
    return np.where(enough, np.sqrt(squares / np.maximum(count - 1, 1)), np.nan)


def _studentised(
    point: F64, resampled: F64, level: float, errors: LogErrors, widening: float
) -> F64:
    """Bound by quantiles of t, (2, k); not finite where there are none."""
    tail = (1 - level) / 2
    known = np.isfinite(resampled) & (resampled > 0)
    enough = tail * (known.sum(axis=0) + 1) >= 1  # else they lie beyond all that is known
    bounds = np.full((2, point.size), np.nan)
    if not enough.any():
        return bounds
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        t = np.log(resampled / point) / errors.resampled
        # errors are lost where ξ is lowest, as is the estimate
        t = np.where(known, np.where(np.isfinite(t), t, -np.inf), np.nan)[:, enough]
        ends = np.nanquantile(t, [1 - tail, tail], axis=0, method="weibull")
        bounds[:, enough] = -widening * ends * errors.own[enough]
        return point * np.exp([bounds[0].clip(max=0), bounds[1].clip(min=0)])


def _normal(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def _widening(level: float, blocks: float) -> float:
    """Quantile for the spread of few blocks over that for a spread that is known."""
    from scipy.special import stdtrit

    if math.isinf(blocks):
        return 1.0
    blocks = max(blocks, 2.0)
    student = stdtrit(blocks - 1, (1 + level) / 2) * math.sqrt(blocks / (blocks - 1))
    return float(student / _normal(level))
