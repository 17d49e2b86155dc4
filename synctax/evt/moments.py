"""L-moments of a sample, and the Gumbel and GEV parameters that have given L-moments."""

import math
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64
from synctax.evt.sample import Standard, dot

_SMALL_SHAPE = 1e-6
_MAX_STEPS = 20


@dataclass(frozen=True, slots=True)
class LMoments:
    """The first L-moments of a sample.

    Parameters
    ----------
    l1, l2 : float
        Mean, and half of the expected difference of two values.
    t3, t4 : float
        L-skewness and L-kurtosis, the third and fourth in units of the second; NaN of
        fewer values than three and four.
    """

    l1: float
    l2: float
    t3: float
    t4: float


def of_sorted(x: F64) -> LMoments:
    """Compute unbiased sample L-moments.

    Parameters
    ----------
    x : (n,) float64
        Values in ascending order, at least two of them distinct.

    Returns
    -------
    LMoments
        From unbiased probability-weighted moments.

    References
    ----------
    Hosking, L-moments, J. R. Stat. Soc. B 52 (1990).
    """
    n = x.size
    centre = float(x[n // 2])  # sums of what is left lose no digits to the location
    d, i = x - centre, np.arange(n, dtype=np.float64)
    weights = np.ones(n)
    b = [float(d.mean())]
    for order in range(1, 4):
        weights = weights * (i - (order - 1)) / max(n - order, 1)
        b.append(dot(weights, d) / n)
    l2 = 2 * b[1] - b[0]
    l3 = 6 * b[2] - 6 * b[1] + b[0]
    l4 = 20 * b[3] - 30 * b[2] + 12 * b[1] - b[0]
    return LMoments(
        centre + b[0], l2, l3 / l2 if n > 2 else math.nan, l4 / l2 if n > 3 else math.nan
    )


def standardise(z: F64) -> Standard:
    """Bring a sorted sample to median 0 and second L-moment 1.

    Parameters
    ----------
    z : (n,) float64
        Values in ascending order.

    Returns
    -------
    Standard
        What optimisers work on, whatever the unit of `z` is.
    """
    centre = float(z[(z.size - 1) // 2] + z[z.size // 2]) / 2
    unit = of_sorted(z).l2
    return Standard((z - centre) / unit, centre, unit)


def gumbel_parameters(moments: LMoments) -> tuple[float, float]:
    """Find the Gumbel distribution with given L-moments.

    Parameters
    ----------
    moments : LMoments
        Only the first two matter.

    Returns
    -------
    loc, scale : float
        In the unit of the sample.
    """
    scale = moments.l2 / math.log(2)
    return moments.l1 - np.euler_gamma * scale, scale


def gev_parameters(moments: LMoments, shape: float) -> tuple[float, float]:
    """Find the GEV distribution with a given shape and the first two L-moments.

    Parameters
    ----------
    moments : LMoments
        Of the sample.
    shape : float
        ξ, below 1.

    Returns
    -------
    loc, scale : float
        In the unit of the sample.
    """
    if abs(shape) < _SMALL_SHAPE:
        return gumbel_parameters(moments)
    gamma = math.gamma(1 - shape)
    scale = moments.l2 * shape / (gamma * math.expm1(shape * math.log(2)))
    return moments.l1 - scale * (gamma - 1) / shape, scale


def gev_shape(t3: float) -> float:
    """Find the GEV shape that has a given L-skewness.

    Parameters
    ----------
    t3 : float
        L-skewness, in (-1, 1).

    Returns
    -------
    float
        ξ, below 1.

    References
    ----------
    Hosking, Wallis and Wood, Technometrics 27 (1985), whose approximation is the start.
    """
    c = 2 / (3 + t3) - math.log(2) / math.log(3)
    shape = -(7.8590 * c + 2.9554 * c * c)
    for _ in range(_MAX_STEPS):
        miss, slope = _l_skewness(shape)
        step = (miss - t3) / slope
        shape = min(shape - step, (shape + 1) / 2)  # never to 1, where no mean exists
        if abs(step) < 1e-12:
            break
    return shape


def _l_skewness(shape: float) -> tuple[float, float]:
    """L-skewness of a GEV distribution, and its derivative by the shape."""
    ln2, ln3 = math.log(2), math.log(3)
    if abs(shape) < _SMALL_SHAPE:
        ratio = ln3 / ln2
        slope = ratio * (ln3 - ln2)  # of 2 expm1(ξ ln 3) / expm1(ξ ln 2) at 0
        return 2 * ratio - 3 + slope * shape, slope
    three, two = math.expm1(shape * ln3), math.expm1(shape * ln2)
    slope = 2 * (ln3 * (three + 1) * two - three * ln2 * (two + 1)) / two**2
    return 2 * three / two - 3, slope
