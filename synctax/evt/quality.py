"""How well the laws of maxima fit: tests, distances, profile likelihood."""

import numpy as np

from synctax.arrays import F64
from synctax.errors import FitError
from synctax.evt.gev import GevFit, fit_gev
from synctax.evt.goodness import (
    BOOTSTRAPS,
    Goodness,
    gev_goodness,
    gumbel_goodness,
    jittered,
    shape_test,
)
from synctax.evt.gumbel import GumbelFit, fit_gumbel
from synctax.evt.options import Options
from synctax.evt.predict import Predictors
from synctax.evt.profile import profile_mean, profile_shape
from synctax.evt.resample import MOST_ROWS
from synctax.evt.results import Quality
from synctax.evt.sample import MIN_DISTINCT_VALUES
from synctax.evt.streams import stream
from synctax.notes import Note

LEAST_BOOTSTRAPS = 2
"""Of the GEV's tests where few resamples are asked for."""


def quality(
    z: F64, fitted: Predictors, n: F64, asked: Options, *, resolution: float = 0.0
) -> Quality:
    """Test the laws that were fitted.

    Parameters
    ----------
    z : (i,) float64
        Standardised maxima.
    fitted : Predictors
        With a Gumbel law.
    n : (k,) float64
        Ranks that are predicted for, ascending.
    asked : Options
    resolution : float, optional
        Step in which times are told, in the unit of `z`.

    Returns
    -------
    Quality
    """
    lr = lr_p = shape_lo = shape_hi = float("nan")
    if fitted.gev is not None and fitted.gumbel is not None:
        test = shape_test(fitted.gumbel, fitted.gev)
        lr, lr_p = test.statistic, test.p_lo
        shape_lo, shape_hi = profile_shape(z, fitted.gev, level=asked.level)
    gof, notes = _goodness(z, fitted, asked, resolution)
    return Quality(
        lr,
        lr_p,
        shape_lo,
        shape_hi,
        gof,
        _rising([_profile(z, fitted, float(size), asked.level) for size in n]),
        notes,
    )


def _goodness(
    z: F64, fitted: Predictors, asked: Options, resolution: float
) -> tuple[dict[str, float | None], tuple[Note, ...]]:
    """Measure distances of laws and maxima, with the rounding of times undone."""
    random = stream(asked.seed, "jitter")
    told: dict[str, float | None] = {}
    try:
        smooth = jittered(z, resolution, random)
    except FitError as error:  # tests mean nothing; the fit is doubted by `rounding`
        return told, (Note("no_goodness_of_fit", 1, str(error)),)
    gumbel = fit_gumbel(smooth, min_distinct=MIN_DISTINCT_VALUES)
    told |= _row("gumbel", gumbel_goodness(smooth, gumbel))
    if fitted.gev is None:
        return told, ()
    notes: tuple[Note, ...] = ()
    if smooth.size > MOST_ROWS:
        detail = f"maxima, of which the tests of the GEV take {MOST_ROWS:,}"
        notes = (Note("gev_tests_of_some", smooth.size, detail),)
        smooth = random.permutation(smooth)[:MOST_ROWS]
    count = min(BOOTSTRAPS, max(asked.resamples // 2, LEAST_BOOTSTRAPS))
    try:
        gev = fit_gev(smooth, start=fitted.gev)
        found = gev_goodness(smooth, gev, bootstraps=count, seed=asked.seed)
    except FitError as error:  # of the noise that was put on, or of all drawn samples
        return told, (Note("no_goodness_of_gev", 1, str(error)),)
    return told | _row("gev", found), notes


def _row(name: str, found: Goodness) -> dict[str, float | None]:
    """Name the numbers: effects first, then tests."""
    return {
        f"{name}_mean_error": float(found.mean_error),
        f"{name}_d": found.d,
        f"{name}_d_p_lo": found.ks.p_lo,
        f"{name}_d_p_hi": found.ks.p_hi,
        f"{name}_a2": found.ad.statistic,
        f"{name}_a2_p_lo": found.ad.p_lo,
        f"{name}_a2_p_hi": found.ad.p_hi,
    }


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


def _rising(
    rows: list[dict[str, float | None]],
) -> tuple[dict[str, float | None], ...]:
    """Let no lower end fall: the wait of more ranks is no shorter."""
    for name in ("tau_lo_us", "tau_gev_lo_us"):
        highest = -np.inf
        for row in rows:
            end = row[name]
            if end is not None:
                row[name] = highest = max(end, highest)
    return tuple(rows)
