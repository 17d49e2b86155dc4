"""What a tax model predicts, and how far off that may be."""

from collections.abc import Callable
from math import log
from statistics import NormalDist
from typing import Literal

import numpy as np

from synctax.arrays import F64
from synctax.errors import SynctaxError
from synctax.evt.growth import growth_of_mean
from synctax.evt.tax import Curve, Gumbel, LMoments, Method, Tau, TaxModel

NO_MEAN_SHAPE = 1.0
"""From this ξ on, the maximum of a GEV has no mean."""

_STEP = 1e-6
"""Step in ξ of the difference that carries a covariance to τ."""


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
    part = getattr(model, method)
    if part is None:
        raise SynctaxError(_missing(model, method))
    value = _VALUES[method](model, ranks)
    kind = interval_kind(model, method)
    if part.curve is not None:
        lo, hi = (_on(part.curve, ranks, name) for name in ("tau_lo_us", "tau_hi_us"))
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


def _need(model: TaxModel, part: object, *names: str) -> tuple[float, ...]:
    """Return numbers of a part (`b_us` of the model), all of them known."""
    values = []
    for name in names:
        owner = model if name == "b_us" else part
        value = getattr(owner, name)
        if value is None:
            where = "" if name == "b_us" else f"{type(part).__name__.lower()}."
            raise SynctaxError(
                f"the tax model does not tell {where}{name}, which this prediction needs"
            )
        values.append(float(value))
    return tuple(values)


def _gumbel(model: TaxModel, n: F64) -> F64:
    part = model.gumbel
    if (
        part is not None
        and part.tau_us is not None
        and (part.loc is None or model.b_us is None)
    ):
        slope, tau_us, at = _need(model, part, "b_scale_us", "tau_us", "n")
        return tau_us + slope * np.log(n / at)
    return _linear(model, part, n)


def _lmoments(model: TaxModel, n: F64) -> F64:
    return _linear(model, model.lmoments, n)


def _linear(model: TaxModel, part: Gumbel | LMoments | None, n: F64) -> F64:
    b_us, loc, scale = _need(model, part, "b_us", "loc", "scale")
    return np.asarray(b_us * (loc + scale * (np.euler_gamma + np.log(n / model.n_fit))))


def _gev(model: TaxModel, n: F64) -> F64:
    b_us, loc, scale, shape = _need(model, model.gev, "b_us", "loc", "scale", "shape")
    if shape >= NO_MEAN_SHAPE:
        raise SynctaxError(
            f"a GEV with shape {shape:.3g} has no mean (it would need ξ < 1), so it "
            "predicts no tax; use another method"
        )
    grown = growth_of_mean(np.log(n / model.n_fit), shape)
    return np.asarray(b_us * (loc + scale * grown))


def _deviations(model: TaxModel, n: F64) -> F64:
    part = model.deviations
    if part is None or part.curve is None:
        raise SynctaxError(
            "the tax model does not tell deviations.curve, which this prediction needs"
        )
    value = _on(part.curve, n, "tau_us")
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
        at = _need(model, part, "loc", "scale", "shape")
        slopes = _slopes(at, np.log(n / model.n_fit))
    gradient, cov = np.array(slopes), np.array(part.cov)
    variance = np.einsum("ik,ij,jk->k", gradient, cov, gradient)
    return np.asarray(model.b_us * np.sqrt(np.maximum(variance, 0)))


def _slopes(at: tuple[float, ...], log_k: F64) -> list[F64]:
    """Derivatives of μ + σ g(ξ), the mean over k groups, by μ, σ and ξ."""
    _, scale, shape = at
    # the mean ends at ξ = 1
    above = min(shape + _STEP, NO_MEAN_SHAPE - _STEP / 2)
    below = shape - _STEP
    rise = np.asarray(growth_of_mean(log_k, above)) - growth_of_mean(log_k, below)
    return [
        np.ones(log_k.shape),
        np.asarray(growth_of_mean(log_k, shape)),
        np.asarray(scale * rise / (above - below)),
    ]


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


def log_grid(n_fit: int, *, doublings: int = 20, per_doubling: int = 2) -> F64:
    """Return the n at which curves are kept: from `n_fit` up, in equal steps of ln n.

    Examples
    --------
    >>> log_grid(4, doublings=2, per_doubling=1)
    array([ 4.,  8., 16.])
    """
    steps = np.arange(doublings * per_doubling + 1) / per_doubling
    return np.asarray(np.exp(log(n_fit) + steps * log(2)))
