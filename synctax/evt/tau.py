"""What a tax model predicts, and how far off that may be."""

from collections.abc import Callable
from statistics import NormalDist
from typing import Literal

import numpy as np

from synctax.arrays import F64
from synctax.errors import SynctaxError
from synctax.evt.growth import growth_of_mean, slope_of_mean
from synctax.evt.tax import Curve, Gumbel, LMoments, Method, Tau, TaxModel

NO_MEAN_SHAPE = 1.0
"""From this ξ on, the maximum of a GEV has no mean."""


_BENT = 3
"""Through fewer points goes a straight line."""


def predict(model: TaxModel, n: F64 | float, method: Method, level: float) -> Tau:
    """Predict the mean wait of a rank in groups of n: `TaxModel.tau_us`."""
    ranks = np.atleast_1d(np.asarray(n, np.float64))
    if not np.isfinite(ranks).all():
        raise ValueError("n must be finite")
    if ranks.size and ranks.min() < model.n_fit:
        raise SynctaxError(
            f"n = {ranks.min():g} is below the {model.n_fit} ranks of the fit, where "
            "it says nothing; ask for more ranks, or fit smaller groups with "
            "fit-evt --fit-ranks"
        )
    value = _VALUES[method](model, ranks)
    part = getattr(model, method)
    kind = interval_kind(model, method)
    if part.curve is not None:
        lo = _end(part.curve, ranks, "tau_lo_us", value)
        hi = _end(part.curve, ranks, "tau_hi_us", value)
        return Tau(value, lo, hi, kind, part.curve.level)
    error = _delta(model, ranks, method)
    wide = np.full(ranks.shape, np.nan) if error is None else _normal(level) * error
    return Tau(value, value - wide, value + wide, kind, level)


def interval_kind(model: TaxModel, method: Method) -> Literal["bootstrap", "delta", "none"]:
    """Tell where the intervals of a prediction are from, if it has any.

    Returns
    -------
    "bootstrap", "delta" or "none"
        As `Tau.interval`; "none" of a curve too that has both ends nowhere.
    """
    part = getattr(model, method)
    if part is not None and part.curve is not None:
        ends = zip(part.curve.tau_lo_us, part.curve.tau_hi_us, strict=True)
        return "bootstrap" if any(None not in pair for pair in ends) else "none"
    known = _delta(model, np.array([float(model.n_fit)]), method) is not None
    return "delta" if known else "none"


def _missing(model: TaxModel, method: str) -> str:
    known = ", ".join(model.methods) or "none"
    why = model.reasons.get(method)
    return (
        f"the tax model has no {method} prediction{f' ({why})' if why else ''}; "
        f"it has {known}"
    )


def _known(value: float | None, name: str) -> float:
    """Return a number that a prediction needs, if the model knows it."""
    if value is None:
        raise SynctaxError(
            f"the tax model does not tell {name}, which this prediction needs"
        )
    return value


def _gumbel(model: TaxModel, n: F64) -> F64:
    part = model.gumbel
    if part is None:
        raise SynctaxError(_missing(model, "gumbel"))
    if part.tau_us is not None and (part.loc is None or model.b_us is None):
        slope = _known(part.b_scale_us, "gumbel.b_scale_us")
        return part.tau_us + slope * np.log(n / _known(part.n, "gumbel.n"))
    return _linear(model, part, "gumbel", n)


def _lmoments(model: TaxModel, n: F64) -> F64:
    if model.lmoments is None:
        raise SynctaxError(_missing(model, "lmoments"))
    return _linear(model, model.lmoments, "lmoments", n)


def _linear(model: TaxModel, part: Gumbel | LMoments, name: str, n: F64) -> F64:
    b_us = _known(model.b_us, "b_us")
    loc, scale = _known(part.loc, f"{name}.loc"), _known(part.scale, f"{name}.scale")
    return np.asarray(b_us * (loc + scale * (np.euler_gamma + np.log(n / model.n_fit))))


def _gev(model: TaxModel, n: F64) -> F64:
    part = model.gev
    if part is None:
        raise SynctaxError(_missing(model, "gev"))
    b_us, loc = _known(model.b_us, "b_us"), _known(part.loc, "gev.loc")
    scale, shape = _known(part.scale, "gev.scale"), _known(part.shape, "gev.shape")
    if shape >= NO_MEAN_SHAPE:
        raise SynctaxError(
            f"a GEV with shape {shape:.3g} has no mean (it would need ξ < 1), so it "
            "predicts no tax; use another method"
        )
    grown = growth_of_mean(np.log(n / model.n_fit), shape)
    return np.asarray(b_us * (loc + scale * grown))


def _deviations(model: TaxModel, n: F64) -> F64:
    part = model.deviations
    if part is None:
        raise SynctaxError(_missing(model, "deviations"))
    if part.curve is None:
        raise SynctaxError(
            "the tax model does not tell deviations.curve, which this prediction needs"
        )
    value = _smooth(part.curve, n)
    if np.isnan(value).any():
        beyond = n[np.isnan(value)][0]
        low, high = part.curve.n[0], part.curve.n[-1]
        if low <= beyond <= high:
            raise SynctaxError(
                f"the curve of the deviations predictor tells no tax at n = {beyond:g}; "
                "use another method"
            )
        raise SynctaxError(
            f"n = {beyond:g} lies outside the curve of the deviations predictor "
            f"({low:g} to {high:g} ranks); use another method"
        )
    return value


_VALUES: dict[str, Callable[[TaxModel, F64], F64]] = {
    "gumbel": _gumbel,
    "gev": _gev,
    "lmoments": _lmoments,
    "deviations": _deviations,
}


def _on(curve: Curve, n: F64, name: str) -> F64:
    """Read a curve at n, linear in ln n; NaN beyond its ends."""
    values = np.array([np.nan if v is None else v for v in getattr(curve, name)])
    return np.asarray(np.interp(np.log(n), np.log(curve.n), values, np.nan, np.nan))


def _smooth(curve: Curve, n: F64) -> F64:
    """Read τ at n from a monotone cubic through the points; NaN where `_on` is.

    Straight lines between doublings of n are off by up to 1.5 % where a tail is short,
    the cubic by some 0.1 % at most.
    """
    straight = _on(curve, n, "tau_us")
    points = [(k, v) for k, v in zip(curve.n, curve.tau_us, strict=True) if v is not None]
    told = np.isfinite(straight)
    if len(points) < _BENT or not told.any():
        return straight
    from scipy.interpolate import PchipInterpolator

    at, tau = np.array(points).T
    bent = PchipInterpolator(np.log(at), tau)(np.log(np.where(told, n, at[0])))
    return np.where(told, bent, np.nan)


def _end(curve: Curve, n: F64, name: str, value: F64) -> F64:
    """Read an end of the interval at n, from the prediction there.

    By what factor an end misses τ hardly changes with n; how many µs that is does, and
    between two points of the curve that is no straight line. NaN beyond the ends of the
    curve; straight all the same where a ratio has no logarithm.
    """
    tau, end = (
        np.array([np.nan if v is None else v for v in getattr(curve, column)], np.float64)
        for column in ("tau_us", name)
    )
    straight = _on(curve, n, name)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where((tau > 0) & (end > 0), np.log(end / tau), np.nan)
    at = np.interp(np.log(n), np.log(curve.n), ratio, np.nan, np.nan)
    told = np.isfinite(at) & np.isfinite(straight) & (value > 0)
    return np.where(told, value * np.exp(np.where(told, at, 0.0)), straight)


def _delta(model: TaxModel, n: F64, method: Method) -> F64 | None:
    """Carry the covariance of the parameters to τ; None without one."""
    part = model.gumbel if method == "gumbel" else model.gev
    if method not in ("gumbel", "gev") or part is None or part.cov is None:
        return None
    if part.loc is None or model.b_us is None:
        return None
    if isinstance(part, Gumbel):
        slopes = [np.ones(n.shape), np.euler_gamma + np.log(n / model.n_fit)]
    else:
        scale, shape = _known(part.scale, "gev.scale"), _known(part.shape, "gev.shape")
        if shape >= NO_MEAN_SHAPE:
            return None
        log_k = np.log(n / model.n_fit)
        grown = np.asarray(growth_of_mean(log_k, shape))
        steep = np.asarray(slope_of_mean(log_k, shape))
        slopes = [np.ones(n.shape), grown, scale * steep]
    gradient, cov = np.array(slopes), np.array(part.cov)
    variance = np.einsum("ik,ij,jk->k", gradient, cov, gradient)
    return np.asarray(model.b_us * np.sqrt(np.maximum(variance, 0)))


def _normal(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    return NormalDist().inv_cdf((1 + level) / 2)


def doubling_us(model: TaxModel) -> float:
    """Return what doubling the ranks adds to τ by the Gumbel law: b·σ·ln 2, in µs.

    Raises
    ------
    SynctaxError
        If the model has no Gumbel part, or knows neither b·σ nor b and σ.

    Examples
    --------
    >>> model = TaxModel(4, gumbel=Gumbel(b_scale_us=130.73, tau_us=754.27, n=128))
    >>> round(doubling_us(model), 1)
    90.6
    """
    at = float(model.n_fit)
    more = model.tau_us(np.array([at, 2 * at])).tau_us
    return float(more[1] - more[0])
