"""Maxima of smooth functions of a few parameters, climbed by Newton's method."""

import math
from collections.abc import Callable, Sequence
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
_NEAR_SE2 = 0.01
_STUCK_GAIN = 1e-9
_STUCK_SE2 = 1e-6


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

    @property
    def is_maximum(self) -> bool:
        """Whether it is settled and the function curves down in every direction."""
        return self.settled and bool(np.linalg.eigvalsh(self.point.hessian).max() < 0)

    def is_near(self, at: F64) -> bool:
        """Whether parameters are those of the peak, give or take a tenth of an error."""
        miss = at - self.point.at
        return float(miss @ self.point.hessian @ miss) > -_NEAR_SE2


def infeasible(at: F64) -> Point:
    """Make the point of parameters that no sample can have."""
    return Point(at, -math.inf, at, at)


def total(at: F64, points: Sequence[Point]) -> Point:
    """Add up a function of the same parameters over the pieces of a sample."""
    if len(points) == 1:
        return points[0]
    value = math.fsum(point.value for point in points)
    if value == -math.inf:
        return infeasible(at)
    gradient = np.sum([point.gradient for point in points], axis=0)
    return Point(at, value, gradient, np.sum([point.hessian for point in points], axis=0))


def climb(
    objective: Objective, start: F64, free: slice = slice(None), known: Peak | None = None
) -> Peak:
    """Climb to a maximum by Newton's method, with steps that never go down.

    Parameters
    ----------
    objective : callable
        Value, gradient and Hessian at a point.
    start : (p,) float64
        A feasible point.
    free : slice, optional
        The parameters that move; the others stay.
    known : Peak, optional
        A maximum found before: returned as soon as a climb clearly leads to it.

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
        if known is not None and known.is_near(here.at[free] + step):
            return known
        found = _line_search(objective, here, step, free)
        if found is None or _is_stuck(found.value - here.value, distance2):
            return Peak(found or here, settled=False)
        here = found
    return Peak(here, settled=False)


def inverse(matrix: F64) -> F64:
    """Invert a symmetric positive definite matrix, to a symmetric one."""
    found = np.linalg.inv(matrix)
    return np.asarray((found + found.T) / 2, np.float64)


def _newton_step(gradient: F64, hessian: F64) -> tuple[F64, float]:
    """Step to the maximum of the parabola; uphill where it has none."""
    step = _solve((-hessian).tolist(), gradient.tolist())
    if step is None:
        values, vectors = np.linalg.eigh(hessian)
        size = np.abs(values)
        size = np.maximum(size, _CURVATURE_FLOOR * size.max())
        step = vectors @ ((vectors.T @ gradient) / size)
    distance2 = float(step @ gradient)
    longest = float(np.abs(step).max())
    return (step if longest <= _MAX_MOVE else step * (_MAX_MOVE / longest)), distance2


def _solve(matrix: list[list[float]], right: list[float]) -> F64 | None:
    """Solve a positive definite system by elimination; None where it is not that."""
    # a handful of numbers: faster than a call into a library
    size = len(right)
    largest = [matrix[i][i] for i in range(size)]
    for i in range(size):
        pivot = matrix[i][i]
        if not pivot > _CURVATURE_FLOOR * largest[i]:
            return None
        for j in range(i + 1, size):
            factor = matrix[j][i] / pivot
            right[j] -= factor * right[i]
            for k in range(i, size):
                matrix[j][k] -= factor * matrix[i][k]
    for i in range(size - 1, -1, -1):
        right[i] -= sum(matrix[i][k] * right[k] for k in range(i + 1, size))
        right[i] /= matrix[i][i]
    return np.array(right)


def _is_stuck(gain: float, distance2: float) -> bool:
    """Whether a step gained next to nothing of the half of distance2 it promised."""
    return distance2 > _STUCK_SE2 and gain < _STUCK_GAIN


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


def search(
    objective: Objective, near: F64 | None, starts: Callable[[], Sequence[F64]]
) -> Peak:
    """Climb from a point near the maximum; elsewhere only where that leads nowhere.

    Parameters
    ----------
    objective : callable
        Value, gradient and Hessian at a point.
    near : (p,) float64 or None
        A feasible point.
    starts : callable
        Gives the points for `highest`.

    Returns
    -------
    Peak
        A maximum if one was found.
    """
    if near is not None:
        peak = climb(objective, near)
        if peak.is_maximum:
            return peak
    return highest(objective, starts())


def highest(objective: Objective, starts: Sequence[F64]) -> Peak:
    """Climb from several starts.

    Parameters
    ----------
    objective : callable
        Value, gradient and Hessian at a point.
    starts : sequence of (p,) float64
        Feasible points, the most promising first.

    Returns
    -------
    Peak
        The highest maximum; without any, the highest point.
    """
    peaks: list[Peak] = []
    known: Peak | None = None
    for start in starts:
        peak = climb(objective, start, known=known)
        peaks.append(peak)
        if known is None and peak.is_maximum:
            known = peak
    return max(peaks, key=lambda peak: (peak.is_maximum, peak.point.value))
