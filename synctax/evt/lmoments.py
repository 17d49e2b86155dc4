"""Fits by L-moments: robust starts, and the predictor beside maximum likelihood."""

import math

import numpy as np

from synctax.arrays import F64
from synctax.evt.gev import GevFit
from synctax.evt.gumbel import GumbelFit
from synctax.evt.moments import (
    LMoments,
    gev_parameters,
    gev_shape,
    gumbel_parameters,
    of_sorted,
    standardise,
)
from synctax.evt.sample import MIN_DISTINCT_VALUES, checked

LOC_VARIANCE = 1.112825
SCALE_VARIANCE = 0.804621
LOC_SCALE_COVARIANCE = 0.228707
"""Asymptotic covariance of the Gumbel estimates, in units of σ²/n."""


def sample_lmoments(z: F64) -> LMoments:
    """Compute unbiased sample L-moments.

    Parameters
    ----------
    z : (n,) float64
        Values in any order and unit, at least two distinct ones.

    Returns
    -------
    LMoments
        The first two in the unit of `z`.

    Raises
    ------
    FitError
        If values are not finite, or all are equal.

    References
    ----------
    Hosking, J. R. Stat. Soc. B 52 (1990).
    """
    return of_sorted(checked(z, what="values", min_distinct=2))


def gumbel_lmoments(z: F64, *, min_distinct: int = MIN_DISTINCT_VALUES) -> GumbelFit:
    """Fit a Gumbel distribution by its first two L-moments.

    Parameters
    ----------
    z : (n,) float64
        Block maxima, in any order and unit.
    min_distinct : int, optional
        Distinct values below which the fit is refused.

    Returns
    -------
    GumbelFit
        With the asymptotic covariance of these estimates; its `loglik` is that of the
        sample, not a maximum.

    Raises
    ------
    FitError
        If the sample has too few distinct values, no spread, or values that are not
        finite.

    References
    ----------
    Hosking (1990); Landwehr, Matalas and Wallis, Water Resources Research 15 (1979).
    """
    ordered = checked(z, what="block maxima", min_distinct=min_distinct)
    sample = standardise(ordered)
    loc, scale = gumbel_parameters(of_sorted(sample.x))
    t = (sample.x - loc) / scale
    n, size = int(ordered.size), scale * sample.unit
    loglik = -n * math.log(size) - float(t.sum()) - float(np.exp(-t).sum())
    covariance = np.array(
        [[LOC_VARIANCE, LOC_SCALE_COVARIANCE], [LOC_SCALE_COVARIANCE, SCALE_VARIANCE]]
    )
    return GumbelFit(
        sample.centre + sample.unit * loc, size, covariance * (size**2 / n), loglik, n
    )


def gev_lmoments(z: F64, *, min_distinct: int = MIN_DISTINCT_VALUES) -> GevFit:
    """Fit a GEV distribution by its first three L-moments.

    Parameters
    ----------
    z : (n,) float64
        Block maxima, in any order and unit.
    min_distinct : int, optional
        Distinct values below which the fit is refused.

    Returns
    -------
    GevFit
        Without covariance; its `loglik` is -inf where values lie outside of its support.

    Raises
    ------
    FitError
        If the sample has too few distinct values, no spread, or values that are not
        finite.

    References
    ----------
    Hosking, Wallis and Wood, Technometrics 27 (1985).
    """
    ordered = checked(z, what="block maxima", min_distinct=min_distinct)
    sample = standardise(ordered)
    moments = of_sorted(sample.x)
    shape = gev_shape(moments.t3)
    loc, scale = gev_parameters(moments, shape)
    standard = GevFit(loc, scale, shape, None, math.nan, int(ordered.size))
    with np.errstate(divide="ignore"):
        loglik = float(np.log(standard.pdf(sample.x)).sum())
    return GevFit(
        sample.centre + sample.unit * loc,
        sample.unit * scale,
        shape,
        None,
        loglik - ordered.size * math.log(sample.unit),
        int(ordered.size),
    )
