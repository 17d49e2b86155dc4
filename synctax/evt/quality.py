"""How well the laws of maxima fit: tests, distances, profile likelihood."""

import numpy as np

from synctax.arrays import F64
from synctax.evt.gev import GevFit
from synctax.evt.gumbel import GumbelFit
from synctax.evt.predict import Predictors
from synctax.evt.profile import profile_mean, profile_shape
from synctax.evt.results import Options, Quality


def quality(z: F64, fitted: Predictors, n: F64, asked: Options) -> Quality:
    """Test the laws that were fitted.

    Parameters
    ----------
    z : (i,) float64
        Standardised maxima.
    fitted : Predictors
        With a Gumbel law.
    n : (k,) float64
        Ranks that are predicted for.
    asked : Options

    Returns
    -------
    Quality
    """
    from scipy.special import chdtrc

    lr = lr_p = shape_lo = shape_hi = float("nan")
    if fitted.gev is not None and fitted.gumbel is not None:
        lr = max(2 * (fitted.gev.loglik - fitted.gumbel.loglik), 0.0)
        lr_p = float(chdtrc(1, lr))
        shape_lo, shape_hi = profile_shape(z, fitted.gev, level=asked.level)
    return Quality(
        lr,
        lr_p,
        shape_lo,
        shape_hi,
        {},
        tuple(_profile(z, fitted, float(size), asked.level) for size in n),
    )


def _profile(z: F64, fitted: Predictors, n: float, level: float) -> dict[str, float | None]:
    """Bound τ by the profile likelihood of the mean, with b as if known."""
    row: dict[str, float | None] = {"n": n}
    laws: dict[str, GumbelFit | GevFit | None] = {
        "tau": fitted.gumbel,
        "tau_gev": fitted.gev,
    }
    for name, law in laws.items():
        bounds = (np.nan, np.nan)
        if law is not None:
            bounds = profile_mean(z, law, n / fitted.m, level=level)
        for end, bound in zip(("lo", "hi"), bounds, strict=True):
            value = fitted.b_us * bound
            row[f"{name}_{end}_us"] = float(value) if np.isfinite(value) else None
    return row
