"""Log-likelihood of a GEV distribution with its first and second derivatives."""

import math

import numpy as np

from synctax.arrays import F64
from synctax.evt.optimum import Objective, Point, infeasible, total
from synctax.evt.sample import dot

MIN_SHAPE = -1.0
"""At and below it the likelihood has no maximum: it grows without bound."""

AT_MIN_SHAPE = 1e-3
"""A search that ends so near to that bound has run to it."""

MIN_REGULAR_SHAPE = -0.5
"""At and below it estimates are not asymptotically normal: no standard errors."""

ZERO_BELOW = 1e-12
"""A smaller |ξ| is taken for 0 by distributions and quantiles, whose digits end there."""

MAX_START_SHAPE = 0.8
"""A search starts with a |ξ| of at most this."""

INSIDE = 0.95
"""Of the way to the edge of the support, where a search starts at the farthest."""

_SERIES_BELOW = 0.02  # of the largest |ξt|
_SERIES_TERMS = 9
_PIECE = 4096  # values at a time, which stay in the processor's cache


def gev_objective(x: F64) -> Objective:
    """Make the log-likelihood of a sample as a function of (μ, log σ, ξ).

    Parameters
    ----------
    x : (n,) float64
        The sample, standardised.

    Returns
    -------
    callable
        Not feasible for ξ <= -1 and where a value lies outside of the support.
    """
    pieces = [x[first : first + _PIECE] for first in range(0, x.size, _PIECE)]
    ends = float(x[0]), float(x[-1])

    def objective(at: F64) -> Point:
        loc, log_scale, shape = at.tolist()
        scale = math.exp(log_scale)
        lowest = min(1 + shape * ((end - loc) / scale) for end in ends)
        if not (shape > MIN_SHAPE and lowest > 0):
            return infeasible(at)
        return total(at, [_derivatives(at, piece) for piece in pieces])

    return objective


def _derivatives(at: F64, x: F64) -> Point:
    loc, log_scale, shape = at.tolist()
    scale = math.exp(log_scale)
    t = (x - loc) / scale
    more = 1 + shape
    y, w, y1, y2 = reduced(t, shape)
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(-y)
        sum_y = float(y.sum())
        value = -t.size * log_scale - more * sum_y - float(e.sum())
        if not math.isfinite(value):
            return infeasible(at)
        tw, ey1 = t * w, e * y1
        by_y = e - more
        curved = more * e - shape * more
        by_loc, by_scale = curved * w, curved * tw
        by_shape = 1 + ey1 + by_y * tw
    slope, slope_t = dot(by_y, w), dot(by_y, tw)
    gradient = [-slope / scale, -t.size - slope_t, dot(by_y, y1) - sum_y]
    hll = (slope - dot(by_loc, tw)) / scale
    hlx, hsx = dot(by_shape, w) / scale, dot(by_shape, tw)
    hessian = [
        [-dot(by_loc, w) / scale**2, hll, hlx],
        [hll, slope_t - dot(by_scale, tw), hsx],
        [hlx, hsx, dot(by_y, y2) - 2 * float(y1.sum()) - dot(ey1, y1)],
    ]
    return Point(at, value, np.array(gradient), np.array(hessian))


def reduced(t: F64, shape: float) -> tuple[F64, F64, F64, F64]:
    """Reduce to Gumbel: y = log(1 + ξt)/ξ, 1/(1 + ξt), and derivatives of y by ξ.

    Parameters
    ----------
    t : (n,) float64
        Standardised values in ascending order, with 1 + ξt > 0.
    shape : float
        ξ.

    Returns
    -------
    y, w, y1, y2 : (n,) float64
        y, its derivative by t, and its first and second derivative by ξ.
    """
    u = shape * t
    w = 1 / (1 + u)
    if max(abs(float(u[0])), abs(float(u[-1]))) < _SERIES_BELOW:
        square = t * t
        y1, y2 = square * _power_series(_FIRST, u), square * t * _power_series(_SECOND, u)
        y = t * _power_series(_ZEROTH, u)
    else:
        y, tw = np.log1p(u) / shape, t * w
        y1 = (tw - y) / shape
        y2 = (tw * tw + 2 * y1) / -shape
    return y, w, y1, y2


def _power_series(coefficients: list[float], u: F64) -> F64:
    result = u * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        result += coefficient
        result *= u
    result += coefficients[0]
    return result


# y = t Σ (-u)^j/(j + 1): powers of u in it and in its derivatives
_ZEROTH = [(-1.0) ** j / (j + 1) for j in range(_SERIES_TERMS)]
_FIRST = [j * (-1.0) ** j / (j + 1) for j in range(1, _SERIES_TERMS + 1)]
_SECOND = [j * (j - 1) * (-1.0) ** j / (j + 1) for j in range(2, _SERIES_TERMS + 2)]
