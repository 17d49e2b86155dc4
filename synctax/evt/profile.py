"""Profile-likelihood intervals of a shape, of an expected maximum, of a return level."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from synctax.arrays import F64
from synctax.evt.charts import in_place_of_loc, in_place_of_shape
from synctax.evt.gev import GevFit, find_peak, standard_start
from synctax.evt.growth import MAX_MEAN_SHAPE, Growth, level_growth, mean_growth
from synctax.evt.gumbel import GumbelFit, log_groups
from synctax.evt.likelihood import MIN_SHAPE, gev_objective
from synctax.evt.moments import standardise
from synctax.evt.optimum import Objective, Point, climb
from synctax.evt.sample import Standard, checked
from synctax.evt.tax import DEFAULT_LEVEL

MAX_SHAPE = 20.0
MAX_MEAN_SCALES = 1e5
"""An upper bound beyond this many scales above the location is called infinite."""

_LOC, _LOG_SCALE, _SHAPE = 0, 1, 2  # parameters of a GEV distribution
_BELOW_SCALES = 2.0  # the logarithm of a quantity starts so far below it
_MAX_STEPS = 60
_MAX_STRETCH = 3.0
_ROOT_TOLERANCE = 1e-7  # of a standard error
_AT_LIMIT = 1e-6
_FAR_ERRORS = 4.0  # no interval is so lopsided


def profile_shape(
    z: F64, fit: GevFit, *, level: float = DEFAULT_LEVEL
) -> tuple[float, float]:
    """Bound the shape of a GEV distribution by its profile likelihood.

    Parameters
    ----------
    z : (n,) float64
        The block maxima that were fitted.
    fit : GevFit
        Their fit.
    level : float, optional
        Confidence level.

    Returns
    -------
    lo, hi : float
        Where twice the drop of the maximal log-likelihood reaches the quantile of χ² with
        one degree of freedom. `lo` is -1 where it does not before that bound of the fit;
        `hi` is infinite where it does not up to a shape of 20.

    Raises
    ------
    FitError
        If the sample carries no GEV fit.

    References
    ----------
    Coles, An Introduction to Statistical Modeling of Extreme Values (2001), section 2.6.6.
    """
    sample = _sample(z)
    peak = find_peak(sample, fit).point
    profile = _Profile(
        gev_objective(sample.x), peak, _SHAPE, slice(_LOC, _SHAPE), _errors(level)
    )
    lo, hi = profile.bound(-1, MIN_SHAPE), profile.bound(1, MAX_SHAPE)
    return lo, math.inf if hi == MAX_SHAPE else hi


def profile_mean(
    z: F64, fit: GumbelFit | GevFit, k: float, *, level: float = DEFAULT_LEVEL
) -> tuple[float, float]:
    """Bound the expected maximum over k groups by its profile likelihood.

    Parameters
    ----------
    z : (n,) float64
        The block maxima that were fitted.
    fit : GumbelFit or GevFit
        Their fit; says which of the two distributions is meant.
    k : float
        Groups of as many ranks as the fit was made on, n/m; at least 1.
    level : float, optional
        Confidence level.

    Returns
    -------
    lo, hi : float
        In the unit of `z`. `hi` is infinite where the data do not rule out a shape of 1,
        or a mean more than 10^5 scales above the location.

    Raises
    ------
    FitError
        If the sample carries no such fit, or ξ >= 1: the mean is infinite.
    ValueError
        If k < 1.

    References
    ----------
    Synchronization-tax paper, section 5.2, for the mean; Coles (2001), section 2.6.6.
    """
    log_groups(k)
    fit.mean_z(1.0)  # refuses where there is no mean
    return _profile_quantity(z, fit, mean_growth(k), level)


def profile_level(
    z: F64, fit: GumbelFit | GevFit, period: float, *, level: float = DEFAULT_LEVEL
) -> tuple[float, float]:
    """Bound what one block maximum in `period` exceeds by its profile likelihood.

    Parameters
    ----------
    z : (n,) float64
        The block maxima that were fitted.
    fit : GumbelFit or GevFit
        Their fit; says which of the two distributions is meant.
    period : float
        Groups, above 1.
    level : float, optional
        Confidence level.

    Returns
    -------
    lo, hi : float
        In the unit of `z`.

    Raises
    ------
    FitError
        If the sample carries no such fit.
    ValueError
        If the period is not above 1.

    References
    ----------
    Coles (2001), section 3.3.3.
    """
    if not period > 1:
        raise ValueError(f"a return period is above 1, got {period:g}")
    return _profile_quantity(z, fit, level_growth(period), level)


def _sample(z: F64) -> Standard:
    return standardise(checked(z, what="block maxima", min_distinct=2))


def _errors(level: float) -> float:
    """How many standard errors an interval of this level reaches to each side."""
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, got {level:g}")
    return NormalDist().inv_cdf((1 + level) / 2)


def _profile_quantity(
    z: F64, fit: GumbelFit | GevFit, growth: Growth, level: float
) -> tuple[float, float]:
    sample, errors = _sample(z), _errors(level)
    likelihood = gev_objective(sample.x)
    if isinstance(fit, GumbelFit):  # a GEV whose shape stays 0
        like = GevFit(fit.loc, fit.scale, 0.0, None, fit.loglik, fit.n)
        top = climb(likelihood, standard_start(sample, like), slice(_LOC, _SHAPE)).point
    else:
        top = find_peak(sample, fit).point
    loc, log_scale, shape = top.at.tolist()
    scale = math.exp(log_scale)
    above = scale * growth(shape)[0]
    floor = loc + min(above, 0.0) - _BELOW_SCALES * scale
    height, most = math.log(loc + above - floor), math.log(MAX_MEAN_SCALES * scale)

    by_loc = in_place_of_loc(likelihood, growth, floor)
    at = by_loc(np.array([height, log_scale, shape]))
    moving = slice(_LOG_SCALE, _SHAPE if isinstance(fit, GumbelFit) else _SHAPE + 1)
    endless = False
    lower = upper = _Profile(by_loc, at, _LOC, moving, errors)
    shapes = _Profile(likelihood, top, _SHAPE, slice(_LOC, _SHAPE), errors)
    if growth.of_mean and isinstance(fit, GevFit) and shapes.may_reach(MAX_MEAN_SHAPE):
        by_shape = in_place_of_shape(likelihood, growth, floor)
        at = by_shape(np.array([loc, log_scale, height]))
        upper = _Profile(by_shape, at, _SHAPE, slice(_LOC, _SHAPE), errors)
        endless = shapes.bound(1, MAX_MEAN_SHAPE) == MAX_MEAN_SHAPE
    log_lo = lower.bound(-1, -most)
    log_hi = most if endless else upper.bound(1, most)
    lo = -math.inf if log_lo == -most else floor + math.exp(log_lo)
    hi = math.inf if log_hi == most else floor + math.exp(log_hi)
    return sample.centre + sample.unit * lo, sample.centre + sample.unit * hi


@dataclass(frozen=True, slots=True)
class _Profile:
    """The likelihood of one parameter, maximised over others.

    Parameters
    ----------
    objective : callable
        Log-likelihood.
    peak : Point
        Its maximum.
    interest : int
        The parameter.
    moving : slice
        The others over which it is maximised.
    errors : float
        Root of twice the drop of the log-likelihood to look for.
    """

    objective: Objective
    peak: Point
    interest: int
    moving: slice
    errors: float

    def bound(self, sign: int, limit: float) -> float:
        """Find where the likelihood has dropped on one side; the limit if nowhere."""
        summit = float(self.peak.at[self.interest])
        here, inner, outer = self.peak, 0.0, math.inf
        distance = self.errors * self._standard_error()
        farthest = abs(limit - summit)
        for _ in range(_MAX_STEPS):
            if distance >= farthest:
                distance = (inner + farthest) / 2
            if farthest - distance < _AT_LIMIT:
                return limit
            point = self._highest_at(summit + sign * distance, here)
            if point.value == -math.inf:
                distance = (inner + distance) / 2
                continue
            here = point
            drop = math.sqrt(max(2 * (self.peak.value - point.value), 0.0))
            if abs(drop - self.errors) < _ROOT_TOLERANCE:
                break
            inner, outer = (distance, outer) if drop < self.errors else (inner, distance)
            slope = -sign * float(point.gradient[self.interest])
            distance = _following(distance, (inner, outer), self.errors - drop, slope, drop)
        return float(here.at[self.interest])

    def may_reach(self, value: float) -> bool:
        """Whether the upper bound could lie at or above a value; False is certain."""
        reach = _FAR_ERRORS * self.errors * self._standard_error()
        return float(self.peak.at[self.interest]) + reach >= value

    def _highest_at(self, value: float, near: Point) -> Point:
        at = near.at + self._tangent(near) * (value - float(near.at[self.interest]))
        at[self.interest] = value
        return climb(self.objective, at, self.moving).point

    def _tangent(self, point: Point) -> F64:
        """Direction in which the maximum moves with the parameter."""
        direction = np.zeros(point.at.size)
        direction[self.interest] = 1.0
        block = point.hessian[self.moving, self.moving]
        direction[self.moving] = np.linalg.solve(
            block, -point.hessian[self.moving, self.interest]
        )
        return direction

    def _standard_error(self) -> float:
        information = -(self.peak.hessian[self.interest] @ self._tangent(self.peak))
        return 1 / math.sqrt(float(information))


def _following(
    distance: float, bracket: tuple[float, float], missing: float, slope: float, drop: float
) -> float:
    """Newton's step for the root of the drop, kept within what is known."""
    inner, outer = bracket
    following = distance + missing * drop / slope if slope > 0 and drop > 0 else math.inf
    following = min(following, _MAX_STRETCH * distance)
    if inner < following < outer:
        return following
    return (inner + outer) / 2
