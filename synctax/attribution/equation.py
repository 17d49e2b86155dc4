"""Equation 2: whether what lies on the paths explains how late ranks were."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64


@dataclass(frozen=True, slots=True)
class Fit:
    """A least-squares line of path variation over tax.

    `slope`, `intercept_us` and `r2` are NaN below three collectives or where all taxes
    are equal; `placebo_r2` is the mean r² of random walks (NaN where none were taken);
    `residual_us` is the median of |tax − path variation|, `residual_max_us` the largest.
    """

    n: int
    slope: float
    intercept_us: float
    r2: float
    placebo_r2: float
    residual_us: float
    residual_max_us: float


def fit(tax_us: F64, variation_us: F64, random_us: F64) -> Fit:
    """Fit equation 2 over collectives.

    Parameters
    ----------
    tax_us : (n,) float64
        Longest less shortest duration.
    variation_us : (n,) float64
        Sum of the slowest rank's path less that of the fastest rank's: kernels, slices and
        unlogged host time, without launch, queueing and cross-stream latency. (With these
        it would be an identity, for any path.)
    random_us : (seeds, n) float64
        The same for random walks; NaN where none were taken.

    References
    ----------
    Synchronization-tax paper, equation 2 and figure 5.

    Examples
    --------
    >>> line = fit(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0]), np.empty((0, 3)))
    >>> line.slope, line.r2
    (1.0, 1.0)
    """
    slope, intercept, r2 = _line(tax_us, variation_us)
    placebos = []
    for walk in random_us:
        there = ~np.isnan(walk)
        placebos.append(_line(tax_us[there], walk[there])[2])
    known = [r2 for r2 in placebos if not np.isnan(r2)]
    residual = np.abs(tax_us - variation_us)
    return Fit(
        n=tax_us.size,
        slope=slope,
        intercept_us=intercept,
        r2=r2,
        placebo_r2=float(np.mean(known)) if known else float("nan"),
        residual_us=float(np.median(residual)) if residual.size else float("nan"),
        residual_max_us=float(residual.max()) if residual.size else float("nan"),
    )


def _line(x: F64, y: F64) -> tuple[float, float, float]:
    nan = float("nan")
    if x.size < MIN_POINTS or not x.std() > 0:
        return nan, nan, nan
    centred = x - x.mean()
    slope = float((centred * (y - y.mean())).sum() / (centred**2).sum())
    intercept = float(y.mean() - slope * x.mean())
    spread = float(((y - y.mean()) ** 2).sum())
    if not spread > 0:
        return slope, intercept, nan
    left = float(((y - intercept - slope * x) ** 2).sum())
    return slope, intercept, 1 - left / spread


MIN_POINTS = 3
"""Two points lie on a line, whatever they are."""
