"""The generalized extreme value distribution, fitted by maximum likelihood."""

import math
from dataclasses import dataclass
from typing import overload

import numpy as np

from synctax.arrays import F64
from synctax.errors import FitError
from synctax.evt.growth import MAX_MEAN_SHAPE, growth_of_mean, slope_of_mean
from synctax.evt.gumbel import log_groups
from synctax.evt.likelihood import (
    AT_MIN_SHAPE,
    INSIDE,
    MAX_START_SHAPE,
    MIN_REGULAR_SHAPE,
    MIN_SHAPE,
    ZERO_BELOW,
    gev_objective,
)
from synctax.evt.moments import gev_parameters, gev_shape, of_sorted, standardise
from synctax.evt.optimum import Peak, inverse, search
from synctax.evt.sample import MIN_DISTINCT_VALUES, Standard, checked

START_SHAPES = (0.0, 0.1, -0.1)
"""Shapes at which the search starts beside that of the L-moments."""


@dataclass(frozen=True, slots=True)
class GevFit:
    """A GEV distribution and how well a sample tells it.

    Parameters
    ----------
    loc, scale : float
        μ and σ, in the unit of the sample.
    shape : float
        ξ, positive for a heavy tail; SciPy's `c` is -ξ.
    cov : (3, 3) float64 or None
        Covariance of their estimates; None for ξ <= -0.5, where there is none.
    loglik : float
        Log-likelihood of the sample, natural logarithm.
    n : int
        Values in the sample.
    """

    loc: float
    scale: float
    shape: float
    cov: F64 | None
    loglik: float
    n: int

    @property
    def loc_se(self) -> float:
        """Standard error of the location; NaN without covariance."""
        return self._se(0)

    @property
    def scale_se(self) -> float:
        """Standard error of the scale; NaN without covariance."""
        return self._se(1)

    @property
    def shape_se(self) -> float:
        """Standard error of the shape; NaN without covariance."""
        return self._se(2)

    def _se(self, parameter: int) -> float:
        return math.nan if self.cov is None else math.sqrt(self.cov[parameter, parameter])

    @overload
    def mean_z(self, k: float) -> float: ...
    @overload
    def mean_z(self, k: F64) -> F64: ...
    def mean_z(self, k: F64 | float) -> F64 | float:
        """Expect the maximum over k groups: μ + σ(k^ξ Γ(1 - ξ) - 1)/ξ.

        Parameters
        ----------
        k : float or array of float64
            Groups of as many ranks as the fit was made on, n/m; at least 1.

        Returns
        -------
        float or array of float64
            In the unit of the sample.

        Raises
        ------
        FitError
            If ξ >= 1: the mean is infinite.
        ValueError
            If k < 1: below the size of the fit there is nothing to extrapolate.

        References
        ----------
        Synchronization-tax paper, section 5.2; Coles, An Introduction to Statistical
        Modeling of Extreme Values (2001), section 3.1.
        """
        self._need_mean()
        return self.loc + self.scale * growth_of_mean(log_groups(k), self.shape)

    @overload
    def mean_se(self, k: float) -> float: ...
    @overload
    def mean_se(self, k: F64) -> F64: ...
    def mean_se(self, k: F64 | float) -> F64 | float:
        """Standard error of `mean_z` by the delta method; NaN without covariance.

        Parameters
        ----------
        k : float or array of float64
            Groups, at least 1.

        Returns
        -------
        float or array of float64
            In the unit of the sample; far off for large k, where the profile is not.
        """
        self._need_mean()
        log_k = log_groups(k)
        by_scale = growth_of_mean(log_k, self.shape)
        if self.cov is None:
            return math.nan * by_scale
        by_shape = self.scale * slope_of_mean(log_k, self.shape)
        (ll, ls, lx), (_, ss, sx), (_, _, xx) = self.cov.tolist()
        variance: F64 | float = (
            ll
            + by_scale * (2 * ls + by_scale * ss)
            + by_shape * (2 * lx + 2 * by_scale * sx + by_shape * xx)
        )
        return np.sqrt(variance) if isinstance(k, np.ndarray) else math.sqrt(variance)

    def _need_mean(self) -> None:
        if self.shape >= MAX_MEAN_SHAPE:
            raise FitError(
                f"a GEV with shape {self.shape:.3g} has no finite mean (the shape must be "
                "below 1), nor do the waits it stands for; look for outliers"
            )

    def return_level(self, period: F64 | float) -> F64:
        """What one block maximum in `period` exceeds, on average; `period` > 1."""
        return self._quantile(-np.log(-np.log1p(-1 / np.asarray(period, np.float64))))

    def pdf(self, z: F64) -> F64:
        """Probability density at z; 0 outside of the support."""
        y = self._reduced(z)
        with np.errstate(over="ignore", invalid="ignore"):
            density = np.exp(-(1 + self.shape) * y - np.exp(-y)) / self.scale
        return np.where(np.isfinite(y), density, 0.0)

    def cdf(self, z: F64) -> F64:
        """Probability of a value up to z."""
        with np.errstate(over="ignore"):
            return np.exp(-np.exp(-self._reduced(z)))

    def ppf(self, q: F64) -> F64:
        """Quantile of probability q."""
        with np.errstate(divide="ignore"):  # 0 and 1 lie at the ends of the support
            return self._quantile(-np.log(-np.log(np.asarray(q, np.float64))))

    def _quantile(self, y: F64) -> F64:
        """Bring a quantile of the standard Gumbel distribution to this one."""
        if abs(self.shape) < ZERO_BELOW:
            return self.loc + self.scale * y
        with np.errstate(over="ignore"):
            return self.loc + self.scale * np.expm1(self.shape * y) / self.shape

    def _reduced(self, z: F64) -> F64:
        """log(1 + ξt)/ξ; infinite beyond an end of the support, on its side."""
        t = (np.asarray(z, np.float64) - self.loc) / self.scale
        if abs(self.shape) < ZERO_BELOW:
            return t
        with np.errstate(divide="ignore"):
            return np.log1p(np.maximum(self.shape * t, -1.0)) / self.shape


def fit_gev(
    z: F64, *, start: GevFit | None = None, min_distinct: int = MIN_DISTINCT_VALUES
) -> GevFit:
    """Fit a GEV distribution by maximum likelihood, ξ > -1.

    The sample is standardised by its median and second L-moment, and the likelihood
    climbed in (μ, log σ, ξ) with analytic derivatives from several starts.

    Parameters
    ----------
    z : (n,) float64
        Block maxima, in any order and unit.
    start : GevFit, optional
        Where to start alone, as for a resample of the data that it was fitted to; the
        other starts follow only where it leads nowhere.
    min_distinct : int, optional
        Distinct values below which the fit is refused.

    Returns
    -------
    GevFit
        With the inverse of the observed information as covariance.

    Raises
    ------
    FitError
        If the sample has too few distinct values, no spread or values that are not
        finite; if ξ runs to -1; if no maximum with a curvature is found.

    References
    ----------
    Synchronization-tax paper, section 5.2; Coles (2001), section 3.3; Prescott and
    Walden, Biometrika 67 (1980).
    """
    ordered = checked(z, what="block maxima", min_distinct=min_distinct)
    sample = standardise(ordered)
    peak = find_peak(sample, start)
    loc, log_scale, shape = peak.point.at.tolist()
    scale = math.exp(log_scale)
    return GevFit(
        loc=sample.centre + sample.unit * loc,
        scale=sample.unit * scale,
        shape=shape,
        cov=_covariance(peak, sample.unit, scale) if shape > MIN_REGULAR_SHAPE else None,
        loglik=peak.point.value - ordered.size * math.log(sample.unit),
        n=int(ordered.size),
    )


def find_peak(sample: Standard, start: GevFit | None) -> Peak:
    """Find the highest maximum, or say why there is none."""
    near = None if start is None else standard_start(sample, start)
    best = search(gev_objective(sample.x), near, lambda: _starts(sample.x))
    if best.is_maximum:
        return best
    shape = float(best.point.at[2])
    if shape < MIN_SHAPE + AT_MIN_SHAPE:
        raise FitError(
            f"the GEV shape of {sample.x.size} block maxima runs to its bound -1: they end "
            "abruptly at their largest value; look whether times were cut off there, or "
            "take more blocks"
        )
    raise FitError(
        f"the GEV likelihood of {sample.x.size} block maxima has no maximum (shape "
        f"{shape:.3g} at last); take more blocks"
    )


def standard_start(sample: Standard, fit: GevFit) -> F64:
    """Express a fit in (μ, log σ, ξ) of a standardised sample, within its support."""
    return _feasible(
        sample.x,
        (fit.loc - sample.centre) / sample.unit,
        fit.scale / sample.unit,
        fit.shape,
    )


def _starts(x: F64) -> list[F64]:
    moments = of_sorted(x)
    shapes = (gev_shape(moments.t3), *START_SHAPES)
    bounded = (min(max(shape, -MAX_START_SHAPE), MAX_START_SHAPE) for shape in shapes)
    return [_feasible(x, *gev_parameters(moments, shape), shape) for shape in bounded]


def _feasible(x: F64, loc: float, scale: float, shape: float) -> F64:
    """Pull a shape towards 0 until all values lie within the support."""
    below, above = (loc - float(x[0])) / scale, (float(x[-1]) - loc) / scale
    if shape > 0 and shape * below > INSIDE:
        shape = INSIDE / below
    if shape < 0 and -shape * above > INSIDE:
        shape = -INSIDE / above
    return np.array([loc, math.log(scale), shape])


def _covariance(peak: Peak, unit: float, scale: float) -> F64:
    """Invert the observed information and bring it from log σ to σ."""
    rescale = np.array([unit, unit * scale, 1.0])
    return inverse(-peak.point.hessian) * np.outer(rescale, rescale)
