"""The Gumbel fit by L-moments: the predictor beside maximum likelihood."""

import math

import numpy as np

from synctax.arrays import F64
from synctax.evt.gumbel import GumbelFit
from synctax.evt.moments import gumbel_parameters, of_sorted, standardise
from synctax.evt.sample import MIN_DISTINCT_VALUES, checked

LOC_VARIANCE = 1.112825
SCALE_VARIANCE = 0.804621
LOC_SCALE_COVARIANCE = 0.228707
"""Asymptotic covariance of the Gumbel estimates, in units of σ²/n."""


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
