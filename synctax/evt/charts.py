"""A GEV likelihood with an expected maximum or a return level as one parameter."""

import math
from collections.abc import Callable

import numpy as np

from synctax.arrays import F64
from synctax.evt.growth import MAX_MEAN_SHAPE, Growth
from synctax.evt.likelihood import MIN_SHAPE
from synctax.evt.optimum import Objective, Point, infeasible

_MAX_STEPS = 50
_SHAPE_TOLERANCE = 1e-14
_EDGE = 1e-12


def in_place_of_loc(likelihood: Objective, growth: Growth, floor: float) -> Objective:
    """Replace μ by the logarithm of μ + σ g(ξ) above a floor.

    Parameters
    ----------
    likelihood : callable
        Of (μ, log σ, ξ).
    growth : Growth
        g.
    floor : float
        Below every quantity of interest; logarithms above it make the likelihood of an
        extrapolated mean fall about as fast on both sides.

    Returns
    -------
    callable
        Of (log(μ + σ g(ξ) - floor), log σ, ξ).
    """

    def objective(at: F64) -> Point:
        log_quantity, log_scale, shape = at.tolist()
        if growth.of_mean and shape >= MAX_MEAN_SHAPE:
            return infeasible(at)
        height, scale = math.exp(log_quantity), math.exp(log_scale)
        g, g1, g2 = (scale * part for part in growth(shape))
        point = likelihood(np.array([floor + height - g, log_scale, shape]))
        if point.value == -math.inf:
            return infeasible(at)
        moved = np.array([[height, -g, -g1], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        curved = np.array([[height, 0.0, 0.0], [0.0, -g, -g1], [0.0, -g1, -g2]])
        hessian = moved.T @ point.hessian @ moved + point.gradient[0] * curved
        return Point(at, point.value, moved.T @ point.gradient, hessian)

    return objective


def in_place_of_shape(likelihood: Objective, growth: Growth, floor: float) -> Objective:
    """Replace ξ by the logarithm of the mean μ + σ g(ξ) above a floor.

    Towards ξ = 1 a mean grows without bound while μ and σ stay where they are: there
    this is the better choice of parameters.

    Parameters
    ----------
    likelihood : callable
        Of (μ, log σ, ξ).
    growth : Growth
        g, of a mean.
    floor : float
        Below every mean of interest.

    Returns
    -------
    callable
        Of (μ, log σ, log(μ + σ g(ξ) - floor)).
    """
    shape_of = _inverse(growth)

    def objective(at: F64) -> Point:
        loc, log_scale, log_quantity = at.tolist()
        height, scale = math.exp(log_quantity), math.exp(log_scale)
        ratio = (floor + height - loc) / scale
        shape = shape_of(ratio)
        if not shape > MIN_SHAPE:
            return infeasible(at)
        point = likelihood(np.array([loc, log_scale, shape]))
        if point.value == -math.inf:
            return infeasible(at)
        _, g1, g2 = growth(shape)
        up, down = height / scale, 1 / scale
        row = np.array([-down, -ratio, up]) / g1
        bend = np.array([[0.0, down, 0.0], [down, ratio, -up], [0.0, -up, up]])
        curved = (bend - g2 * np.outer(row, row)) / g1
        moved = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], row])
        hessian = moved.T @ point.hessian @ moved + point.gradient[2] * curved
        return Point(at, point.value, moved.T @ point.gradient, hessian)

    return objective


def _inverse(growth: Growth) -> Callable[[float], float]:
    """Find the shape of which g is given; -1 where it lies below all of them."""
    lowest = growth(MIN_SHAPE)[0]

    def shape_of(ratio: float) -> float:
        if not ratio > lowest:
            return MIN_SHAPE
        # 1/(g + c) is smooth up to the pole of g at 1 and falls there to 0
        offset = 1.0 - lowest
        target = 1 / (ratio + offset)
        low, high, shape = MIN_SHAPE, MAX_MEAN_SHAPE, 0.0
        for _ in range(_MAX_STEPS):
            g, g1, _ = growth(shape)
            found = 1 / (g + offset)
            low, high = (shape, high) if found > target else (low, shape)
            following = shape + (found - target) / (g1 * found * found)
            if not low < following < high:
                following = (low + high) / 2
            step, shape = following - shape, following
            if abs(step) < _SHAPE_TOLERANCE:
                break
        return min(shape, MAX_MEAN_SHAPE - _EDGE)

    return shape_of
