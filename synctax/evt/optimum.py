"""Maxima of smooth functions of a few parameters, climbed by Newton's method."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64

MAX_STEPS = 60
SETTLED_SE2 = 1e-16
"""Squared distance to the maximum, in standard errors, at which a climb ends."""

_MAX_MOVE = 1.0  # of a parameter of a standardised sample in one step
_HALVINGS = 40
_SLACK = 1e-12  # rounding of a log-likelihood, of its size
_CURVATURE_FLOOR = 1e-8


@dataclass(frozen=True, slots=True)
class Point:
    """A function at one point: value, gradient and Hessian.

    Parameters
    ----------
    at : (p,) float64
        The parameters.
    value : float
        -inf where the parameters are not feasible; the rest is then meaningless.
    gradient : (p,) float64
    hessian : (p, p) float64
    """

    at: F64
    value: float
    gradient: F64
    hessian: F64


Objective = Callable[[F64], Point]


@dataclass(frozen=True, slots=True)
class Peak:
    """Where a climb ended.

    Parameters
    ----------
    point : Point
        The last point.
    settled : bool
        Whether the gradient vanishes there, for what is computed with.
    """

    point: Point
    settled: bool


def infeasible(at: F64) -> Point:
    """Make the point of parameters that no sample can have."""
    return Point(at, -math.inf, at, at)


def climb(objective: Objective, start: F64, free: slice = slice(None)) -> Peak:
    """Climb to a maximum by Newton's method, with steps that never go down.

    Parameters
    ----------
    objective : callable
        Value, gradient and Hessian at a point.
    start : (p,) float64
        A feasible point.
    free : slice, optional
        The parameters that move; the others stay.

    Returns
    -------
    Peak
        The highest point found; not settled where steps ran out, as towards a bound.
    """
    here = objective(np.array(start, np.float64))
    if here.value == -math.inf:
        return Peak(here, settled=False)
    for _ in range(MAX_STEPS):
        step, distance2 = _newton_step(here.gradient[free], here.hessian[free, free])
        if distance2 <= SETTLED_SE2:
            return Peak(here, settled=True)
        found = _line_search(objective, here, step, free)
        if found is None:
            return Peak(here, settled=False)
        here = found
    return Peak(here, settled=False)


def inverse(matrix: F64) -> F64:
    """Invert a symmetric positive definite matrix, to a symmetric one."""
    found = np.linalg.inv(matrix)
    return np.asarray((found + found.T) / 2, np.float64)


def _newton_step(gradient: F64, hessian: F64) -> tuple[F64, float]:
    """Go uphill where the function curves the wrong way, to its maximum elsewhere."""
    if gradient.size == 1:
        curvature = abs(float(hessian[0, 0])) or 1.0
        step = gradient / curvature
    else:
        values, vectors = np.linalg.eigh(hessian)
        size = np.abs(values)
        size = np.maximum(size, _CURVATURE_FLOOR * size.max())
        step = vectors @ ((vectors.T @ gradient) / size)
    distance2 = float(step @ gradient)
    longest = float(np.abs(step).max())
    return (step if longest <= _MAX_MOVE else step * (_MAX_MOVE / longest)), distance2


def _line_search(objective: Objective, here: Point, step: F64, free: slice) -> Point | None:
    lowest = here.value - _SLACK * abs(here.value)
    for _ in range(_HALVINGS):
        at = here.at.copy()
        at[free] += step
        found = objective(at)
        if found.value >= lowest:
            return found
        step = step / 2
    return None
