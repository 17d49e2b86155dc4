"""Log-likelihood of a GEV distribution with its first and second derivatives."""

import math

import numpy as np

from synctax.arrays import F64
from synctax.evt.optimum import Objective, Point, infeasible

MIN_SHAPE = -1.0
"""At and below it the likelihood has no maximum: it grows without bound."""

_SERIES_BELOW = 1e-2  # of |ξt|; both forms keep 11 digits of second derivatives there
_SERIES_TERMS = 8
_GUMBEL_BELOW = 1e-14  # of |ξ|


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

    def objective(at: F64) -> Point:
        loc, log_scale, shape = at.tolist()
        scale = math.exp(log_scale)
        t = (x - loc) / scale
        lowest = min(1 + shape * float(t[0]), 1 + shape * float(t[-1]))
        if not (shape > MIN_SHAPE and lowest > 0):
            return infeasible(at)
        return _derivatives(at, t, scale)

    return objective


def _derivatives(at: F64, t: F64, scale: float) -> Point:
    shape = float(at[2])
    y, w, y1, y2 = reduced(t, shape)
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(-y)
        value = -t.size * float(at[1]) - (1 + shape) * float(y.sum()) - float(e.sum())
        if not math.isfinite(value):
            return infeasible(at)
        ly = e - (1 + shape)
        lt = ly * w
        ltt = -(e + shape * ly) * w * w
        ltx = -w * (1 + e * y1 + ly * t * w)
    tltt = ltt * t + lt
    mixed = -float(tltt.sum())
    gradient = np.array(
        [-float(lt.sum()) / scale, -t.size - float(lt @ t), float(ly @ y1 - y.sum())]
    )
    shape2 = float((ly @ y2) - 2 * y1.sum() - e @ (y1 * y1))
    loc_log, loc_shape = -mixed / scale, -float(ltx.sum()) / scale
    log_shape = -float(ltx @ t)
    hessian = np.array(
        [
            [float(ltt.sum()) / scale**2, loc_log, loc_shape],
            [loc_log, float(tltt @ t), log_shape],
            [loc_shape, log_shape, shape2],
        ]
    )
    return Point(at, value, gradient, hessian)


def reduced(t: F64, shape: float) -> tuple[F64, F64, F64, F64]:
    """Reduce to Gumbel: y = log(1 + ξt)/ξ, 1/(1 + ξt), and derivatives of y by ξ.

    Parameters
    ----------
    t : (n,) float64
        Standardised values, with 1 + ξt > 0.
    shape : float
        ξ.

    Returns
    -------
    y, w, y1, y2 : (n,) float64
        y, its derivative by t, and its first and second derivative by ξ.
    """
    u = shape * t
    w = 1 / (1 + u)
    if abs(shape) < _GUMBEL_BELOW:
        square = t * t
        return t - shape * square / 2, w, -square / 2, square * t * (2 / 3)
    y = np.log1p(u) / shape
    y1 = (t * w - y) / shape
    y2 = -(t * t * w * w + 2 * y1) / shape
    small = np.abs(u) < _SERIES_BELOW
    if small.any():
        at, power = t[small], u[small]
        first, second = np.zeros(at.size), np.zeros(at.size)
        for one, two in zip(_FIRST[::-1], _SECOND[::-1], strict=True):
            first, second = one + first * power, two + second * power
        y1[small], y2[small] = first * at**2, second * at**3
    return y, w, y1, y2


# y = t Σ (-u)^j/(j + 1): coefficients of the powers of u in its derivatives
_FIRST = [j * (-1.0) ** j / (j + 1) for j in range(1, _SERIES_TERMS + 1)]
_SECOND = [j * (j - 1) * (-1.0) ** j / (j + 1) for j in range(2, _SERIES_TERMS + 2)]
