"""Straight lines through tax against delay, with intervals by resampling whole steps."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.experiment.resample import resampled, strata
from synctax.texts import percent

DEFAULT_RESAMPLES = 999
DEFAULT_SEED = 0
LEVEL = 0.95
"""Of all intervals."""

INTERVAL = f"{percent(LEVEL)} interval"
"""What they are called."""

LEAST_SPREAD = 1e-6
"""Delays that differ by less, of their mean, are one delay: the rest is rounding."""


@dataclass(frozen=True, slots=True)
class Line:
    """A slope (without unit) and an intercept in µs, each with its interval.

    Ends of intervals are NaN where there are too few steps to draw from.
    """

    slope: float
    slope_lo: float
    slope_hi: float
    intercept_us: float
    intercept_lo_us: float
    intercept_hi_us: float


@dataclass(frozen=True, slots=True)
class Envelope:
    """How tax rises with delay.

    Parameters
    ----------
    ordinary : Line
        By least squares, as the paper's lines of best fit.
    robust : Line
        Through the medians of each size of delay.
    r2 : float
        Of least squares; NaN where all taxes are equal.
    collectives, steps : int
        What it rests on.
    """

    ordinary: Line
    robust: Line
    r2: float
    collectives: int
    steps: int


def envelope(
    x: F64,
    y: F64,
    level: F64,
    cluster: I64,
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
) -> Envelope | None:
    """Fit both lines, and draw whole steps anew, size by size, for their intervals.

    Parameters
    ----------
    x, y : (c,) float64
        Delay and tax of each collective, in µs.
    level : (c,) float64
        Size of delay that each counts for in the robust line.
    cluster : (c,) int64
        Step of each: collectives of a step are not independent, and drawn together.
    resamples : int
        Least 1.
    seed : int

    Returns
    -------
    Envelope or None
        None where there are not two sizes of delay to draw a line through. Without an
        interval (NaN) where not two sizes have two steps or more.

    References
    ----------
    Synchronization-tax paper, section 4.3 and figure 5. Weighted median of slopes: Jaeckel,
    Annals of Mathematical Statistics 43 (1972); bootstrap of clusters within strata:
    Davison and Hinkley, Bootstrap Methods and their Application (1997), sections 3.2, 3.8.
    """
    levels = _by_level(level)
    if len(levels) < 2 or np.ptp(x) <= LEAST_SPREAD * np.abs(x).max():
        return None
    steps, number = np.unique(cluster, return_inverse=True)
    once = np.ones((1, x.size), np.int64)
    best = _both(x, y, levels, (once, once.astype(np.float64)))[0]
    lo = hi = np.full(4, np.nan)
    stratum = strata(level, number)
    freedom = stratum.size - np.unique(stratum).size
    if stratum.any():
        rng = np.random.default_rng(seed)
        drawn = [
            _both(x, y, levels, (times[:, number], weight[:, number]))
            for times, weight in resampled(rng, stratum, resamples, x.size)
        ]
        lo, hi = _ends(best, np.concatenate(drawn), freedom)
    ends = np.stack([best, lo, hi], axis=1).tolist()
    return Envelope(
        ordinary=Line(*ends[0], *ends[1]),
        robust=Line(*ends[2], *ends[3]),
        r2=_r2(x, y, float(best[0]), float(best[1])),
        collectives=x.size,
        steps=steps.size,
    )


def _ends(best: F64, drawn: F64, freedom: int) -> tuple[F64, F64]:
    """Ends of the interval of each column, (4,) float64 both; NaN where none is known.

    Quantiles of what is drawn, further off as Student's law is wider than the normal one.
    """
    from scipy.special import stdtrit

    tail = (1 - LEVEL) / 2
    wider = float(stdtrit(freedom, 1 - tail)) / NormalDist().inv_cdf(1 - tail)
    low, high = (
        np.array([quantile_us(column, share) for column in drawn.T])
        for share in (tail, 1 - tail)
    )
    return best + wider * (low - best), best + wider * (high - best)


def _both(x: F64, y: F64, levels: list[I64], drawn_as: tuple[I64, F64]) -> F64:
    """Slope and intercept of both lines for each set of draws, (some, 4) float64."""
    times, weight = drawn_as
    both = np.stack([*_ordinary(x, y, weight), *_robust(x, y, levels, times)], axis=1)
    drawn = sum((times[:, rows] > 0).any(axis=1).astype(np.int64) for rows in levels)
    # within one size, what differs is how exactly it was slept
    both[drawn < 2] = np.nan
    return both


def _ordinary(x: F64, y: F64, weight: F64) -> tuple[F64, F64]:
    """Weighted least squares; NaN where all that is drawn has nearly one delay."""
    weight = weight / weight.sum(axis=1, keepdims=True)
    mean_x, mean_y = weight @ x, weight @ y
    over_x, over_y = x - mean_x[:, None], y - mean_y[:, None]
    square = (weight * over_x**2).sum(axis=1)
    square[square <= (LEAST_SPREAD * mean_x) ** 2] = np.nan
    slope = (weight * over_x * over_y).sum(axis=1) / square
    return slope, mean_y - slope * mean_x


def _by_level(level: F64) -> list[I64]:
    return [np.flatnonzero(level == one) for one in np.unique(level)]


def _robust(x: F64, y: F64, levels: list[I64], times: I64) -> tuple[F64, F64]:
    """The line through medians of levels: weighted median of slopes between all pairs."""
    middle_x = np.stack([_medians(x[rows], times[:, rows]) for rows in levels], axis=1)
    middle_y = np.stack([_medians(y[rows], times[:, rows]) for rows in levels], axis=1)
    low, high = np.triu_indices(len(levels), k=1)
    run = middle_x[:, high] - middle_x[:, low]
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = (middle_y[:, high] - middle_y[:, low]) / run
    known = np.isfinite(slopes)
    weight = np.where(known, np.abs(run), 0.0)
    order = np.argsort(np.where(known, slopes, np.inf), axis=1, kind="stable")
    summed = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
    half = (summed >= summed[:, -1:] / 2).argmax(axis=1)
    slope = np.take_along_axis(slopes, order, axis=1)[np.arange(len(slopes)), half]
    slope = np.where(known.any(axis=1), slope, np.nan)
    rest = middle_y - slope[:, None] * middle_x
    with np.errstate(invalid="ignore"):
        intercept = np.array([_median(row) for row in rest])
    return slope, intercept


def _median(values: F64) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else float("nan")


def _medians(values: F64, times: I64) -> F64:
    """Median of values of which each is there so often, a row a set; NaN of none."""
    order = np.argsort(values, kind="stable")
    ranked = np.append(values[order], np.nan)
    upto = np.cumsum(times[:, order], axis=1)
    count = upto[:, -1]
    place = [(upto <= (count - 1 + more)[:, None] // 2).sum(axis=1) for more in (0, 1)]
    middle: F64 = (ranked[place[0]] + ranked[place[1]]) / 2
    return np.where(count > 0, middle, np.nan)


def _r2(x: F64, y: F64, slope: float, intercept: float) -> float:
    whole = float(((y - y.mean()) ** 2).sum())
    left = float(((y - intercept - slope * x) ** 2).sum())
    return 1 - left / whole if whole > 0 else float("nan")


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Interval of a share.

    Parameters
    ----------
    hits, of : int

    Returns
    -------
    (float, float)
        Lower and upper end at `LEVEL`; NaN of nothing.

    References
    ----------
    Wilson, Journal of the American Statistical Association 22 (1927); recommended for small
    numbers by Brown, Cai and DasGupta, Statistical Science 16 (2001).

    Examples
    --------
    >>> [round(end, 3) for end in wilson(30, 30)], [round(end, 3) for end in wilson(0, 10)]
    ([0.886, 1.0], [0.0, 0.278])
    """
    if not of:
        return float("nan"), float("nan")
    from scipy.stats import binomtest

    ends = binomtest(hits, of).proportion_ci(LEVEL, method="wilson")
    return float(ends.low), float(ends.high)


def quantile_us(values: F64, share: float) -> float:
    """Quantile of values that are known; NaN of none."""
    known = values[~np.isnan(values)]
    return float(np.quantile(known, share)) if known.size else float("nan")


def share_of(flags: Bool) -> float:
    """Share that is true; NaN of none."""
    return float(flags.mean()) if flags.size else float("nan")
