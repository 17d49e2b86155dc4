"""What a fit says, in sentences that say no more than the numbers do."""

from typing import TYPE_CHECKING

import numpy as np

from synctax.evt.doubts import fired
from synctax.evt.fit import LANDMARKS
from synctax.evt.inputs import share_text
from synctax.evt.tau import doubling_us
from synctax.evt.tax import METHODS, SMALL_SHARE_OF_TAX, Method
from synctax.texts import counted, decimals, level_text, number, percent, signed, time_us

if TYPE_CHECKING:
    from synctax.evt.doubts import Check
    from synctax.evt.holdout import HoldOut
    from synctax.evt.results import EvtFit

REASONS_TOLD = 2
"""Reasons against the rest of the collectives that a sentence has room for."""

VAGUE = 10
"""An interval whose ends differ by this factor decides nothing."""

UNBOUNDED = 1_000
"""An upper end this many times the prediction is none."""

MISSED = 0.25
"""An error on held-out ranks beyond this is large, if its interval leaves out 0."""

NAMES: dict[Method, str] = {
    "gumbel": "Gumbel",
    "gev": "GEV",
    "lmoments": "L-moments",
    "deviations": "deviations",
}


_GLOSSES: dict[Method, str] = {
    **NAMES,
    "gumbel": "the Gumbel law",
    "deviations": "deviations (times less the mean of their ranks)",
}
"""Names where they are first read."""


def headline(fit: "EvtFit") -> str:
    """Say what the fit is of, and from traces what part of the tax that is.

    Parameters
    ----------
    fit : EvtFit

    Returns
    -------
    str
        Without a full stop.
    """
    inputs, standard = fit.inputs, fit.inputs.standard
    if standard is None:
        return (
            f"{fit.z.size:,} maxima over groups of {fit.m} ranks, for block times with a "
            f"mean of {time_us(fit.a_us)} and a spread of {time_us(fit.b_us)}"
        )
    sizes = sorted({one.m for one in inputs.sets})
    ranks = " and ".join(str(size) for size in sizes)
    of = f" of {inputs.group}" if inputs.group else ""
    what = (
        f"{counted(int(standard.instances.sum()), 'instance')} of "
        f"{counted(standard.a_us.size, 'compute block')}"
    )
    over = f"over {ranks} ranks" + (f", cut to {fit.m}" if fit.m < sizes[-1] else "")
    if inputs.coverage is None:
        return f"{what}{of} {over}"
    covered = inputs.coverage
    return (
        f"{share_text(covered.tax_share)} of the tax{of} is in the fit "
        f"({covered.entered:,} of {covered.collectives:,} collectives): {what} {over}"
    )


def sentences(fit: "EvtFit") -> tuple[str, ...]:
    """Say how the tax grows, which case the data are in, and what to trust.

    Parameters
    ----------
    fit : EvtFit

    Returns
    -------
    tuple of str
        A thought each, without a full stop: of little of the tax, that; how the wait
        grows; the tail; what is odd, if something is; whom to trust.
    """
    case = (_small_share(fit), growth(fit), _tail(fit), _odd(fit))
    return (*(one for one in case if one), *trust(fit))


def trusted(fit: "EvtFit") -> Method:
    """Choose the predictor for the case that the data are in.

    Variation common to all ranks misleads every law of maxima; a tail that is not that of
    a Gumbel asks for a free shape; else the simplest law. Where nothing is to be trusted,
    that is the least bad.

    Parameters
    ----------
    fit : EvtFit

    Returns
    -------
    str
        One that has a fit.
    """
    found = _fired(fit)
    wanted: list[Method] = ["gumbel"]
    if "shape" in found:
        wanted.insert(0, "gev")
    if "common_variation" in found:
        wanted.insert(0, "deviations")
    return next(method for method in wanted if method in fit.fitted.methods)


def _small_share(fit: "EvtFit") -> str:
    """Warn that the fit is not of the job, where it describes little of its tax."""
    covered = fit.inputs.coverage
    if covered is None or not covered.tax_share < SMALL_SHARE_OF_TAX:
        return ""
    left_out = sorted(covered.left_out, key=lambda note: -note.count)
    rest = [f"{note.count:,} × {note.detail}" for note in left_out]
    most = "; ".join(rest[:REASONS_TOLD])
    more = len(rest) - REASONS_TOLD
    also = f", and {counted(more, 'more reason')}" if more > 0 else ""
    return (
        f"do not take this for the job's tax: {percent(covered.tax_share)} of it is "
        f"described, the rest left out ({most}{also})"
    )


def growth(fit: "EvtFit") -> str:
    """Tell the numbers of the predictor for the case, trusted or least bad.

    Parameters
    ----------
    fit : EvtFit
    """
    method = trusted(fit)
    tau, lo, hi = fit.predicted(method)
    level = f"{level_text(fit.options.level)}: "
    told: list[str] = []
    for at in _picks(fit):
        ranks = f"{number(fit.n[at])} ranks" if not told else number(fit.n[at])
        bounds = span_us(tau[at], lo[at], hi[at])
        told.append(
            f"{time_us(tau[at])} at {ranks}" + (f" ({level}{bounds})" if bounds else "")
        )
        level = ""
    said = f"mean wait of a rank by {_GLOSSES[method]}: {', '.join(told)}"
    if method != "gumbel":
        return said
    return f"{said}; each doubling adds {time_us(doubling_us(fit.tax_model()))}"


def span_us(tau_us: float, lo_us: float, hi_us: float) -> str:
    """Write an interval of a prediction; "" where there is none.

    Parameters
    ----------
    tau_us, lo_us, hi_us : float

    Examples
    --------
    >>> span_us(325.0, 90.5, 1_170.0), span_us(325.0, 90.5, 1e9)
    ('90.5 µs to 1.17 ms', '90.5 µs or more')
    """
    if not np.isfinite(lo_us):
        return ""
    if not hi_us < UNBOUNDED * tau_us:
        return f"{time_us(lo_us)} or more"
    return f"{time_us(lo_us)} to {time_us(hi_us)}"


def _picks(fit: "EvtFit") -> list[int]:
    """Which rows a sentence names: landmarks, else up to three of those asked."""
    asked = fit.n.astype(int).tolist()
    marks = [n for n in LANDMARKS if n in asked]
    if len(marks) < 2 and fit.options.n is not None:
        marks = [asked[0], asked[len(asked) // 2], asked[-1]]
    return sorted({asked.index(n) for n in marks})


def _tail(fit: "EvtFit") -> str:
    gev, no_mean = fit.fitted.gev, fit.fitted.no_mean
    if no_mean is not None:
        return (
            f"the tail is so heavy (ξ = {decimals(no_mean.shape)}) that the mean wait is "
            "not finite: the Gumbel law is a lower bound"
        )
    if gev is None:
        return f"the shape of the tail is unknown: {fit.fitted.refused['gev']}"
    bounds = f"ξ = {decimals(gev.shape)}"
    if np.isfinite(fit.quality.shape_lo):
        bounds += f", {decimals(fit.quality.shape_lo)} to {decimals(fit.quality.shape_hi)}"
    if "shape" not in _fired(fit):
        return f"the tail may be that of a Gumbel law ({bounds})"
    if gev.shape > 0:
        return f"the tail is heavy ({bounds}): the Gumbel law is a lower bound"
    return f"the tail is light ({bounds}): the Gumbel law is an upper bound"


def _odd(fit: "EvtFit") -> str:
    found, told = _fired(fit), []
    if "common_variation" in found:
        told.append(
            f"{percent(found['common_variation'].effect)} of the variance is common to all "
            "ranks, which laws of maxima take for waiting"
        )
    if "rank_effect" in found or "straggler" in found:
        told.append("a rank is slow again and again, which no law knows")
    return f"odd: {'; '.join(told)}" if told else ""


def trust(fit: "EvtFit") -> tuple[str, ...]:
    """Name the predictor for the case; or why none is to be trusted, and the least bad.

    Parameters
    ----------
    fit : EvtFit
    """
    method = trusted(fit)
    if fit.fitted.no_mean is not None:
        return (
            "no number for more ranks can be trusted; look for outliers in the block times",
        )
    held = _held_out(fit, method)
    against = _against(fit, method)
    if against:
        off = "" if held is None else f"; {signed(held.error)} off on held-out ranks"
        return (
            f"no predictor is to be trusted here: {'; '.join(against)}; profile more steps",
            f"least bad: {NAMES[method]}{off}",
        )
    said = "nothing could be held out to test it"
    if held is not None:
        missed = f"fitted on {held.n_fit} ranks, it missed the wait of {held.n} by "
        said = f"{missed}{_error_text(held)}{_better(fit, held)}"
    part = ", for that part" if _small_share(fit) else ""
    return (f"trust {NAMES[method]}{part}: {said}",)


def _against(fit: "EvtFit", method: Method) -> list[str]:
    """Say why even the predictor for the case is not to be trusted."""
    _, lo, hi = fit.predicted(method)
    at, said = _picks(fit)[-1], []
    if any(one.name == "rounding" for one in fired(fit.checked, method)):
        said.append("times are too coarse")
    if hi[at] > VAGUE * lo[at]:
        said.append(f"the interval of {NAMES[method]} is too wide")
    tried = [one for m in METHODS if (one := _held_out(fit, m)) is not None]
    if tried and all(map(_missed, tried)):
        least = min(tried, key=lambda one: abs(one.error))
        said.append(f"all miss held-out ranks, by {signed(least.error)} or more")
    return said


def _missed(held: "HoldOut") -> bool:
    """Whether an error on what was held out is large, and no chance."""
    chance = held.error_lo <= 0 <= held.error_hi
    return abs(held.error) > MISSED and not chance


def _error_text(held: "HoldOut") -> str:
    if not np.isfinite(held.error_lo):
        return signed(held.error)
    return f"{signed(held.error)} ({signed(held.error_lo)} to {signed(held.error_hi)})"


def _better(fit: "EvtFit", held: "HoldOut") -> str:
    """Name the predictor that was best on what was held out, if the trusted one failed."""
    if not _missed(held):
        return ""
    tried = [one for m in METHODS if (one := _held_out(fit, m)) is not None]
    best = min(tried, key=lambda one: abs(one.error))
    return f", {NAMES[best.method]} by {signed(best.error)}"


def _held_out(fit: "EvtFit", method: Method) -> "HoldOut | None":
    """The error of a predictor on ranks that were held out, over the largest groups."""
    rows = [one for one in fit.held_out if one.kind == "ranks" and one.method == method]
    return max(rows, key=lambda one: (one.n, one.n_fit), default=None)


def _fired(fit: "EvtFit") -> "dict[str, Check]":
    return {one.name: one for one in fit.checked if one.fired}
