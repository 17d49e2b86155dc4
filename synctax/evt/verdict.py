"""What a fit says, in sentences that say no more than the numbers do."""

from typing import TYPE_CHECKING

import numpy as np

from synctax.evt.tax import METHODS, Method
from synctax.evt.texts import counted, percent, signed, time_us, times

if TYPE_CHECKING:
    from synctax.evt.doubts import Check
    from synctax.evt.holdout import HoldOut
    from synctax.evt.results import EvtFit

SMALL_SHARE_OF_TAX = 0.1
"""A fit that describes less of the tax must not be taken for the job's."""

REASONS_TOLD = 2
"""Reasons against the rest of the collectives that a sentence has room for."""

VAGUE = 10
"""An interval whose ends differ by this factor decides nothing."""

_OF_DEVIATIONS = ("skew", "light_tail", "few_ranks")
"""Checks that doubt the law of deviations."""

NAMES: dict[Method, str] = {
    "gumbel": "Gumbel",
    "gev": "GEV",
    "lmoments": "L-moments",
    "deviations": "deviations",
}


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
        f"{counted(standard.a_us.size, 'compute block')}{of} over {ranks} ranks"
    )
    if inputs.coverage is None:
        return what
    covered = inputs.coverage
    return (
        f"{percent(covered.tax_share)} of the tax{of} is explained by GPU-only blocks with "
        f"a GEMM ({covered.entered:,} of {covered.collectives:,} collectives): {what}"
    )


def sentences(fit: "EvtFit") -> tuple[str, ...]:
    """Say how the tax grows, which case the data are in, and what to trust.

    Parameters
    ----------
    fit : EvtFit

    Returns
    -------
    tuple of str
        Two to four, without a full stop.
    """
    said = [_growth(fit), _case(fit), _trust(fit)]
    small = _small_share(fit)
    return (small, *said) if small else tuple(said)


def trusted(fit: "EvtFit") -> Method:
    """Choose the predictor for the case that the data are in.

    Variation common to all ranks misleads every law of maxima; a tail that is not that of
    a Gumbel asks for a free shape; else the simplest law.

    Parameters
    ----------
    fit : EvtFit

    Returns
    -------
    str
        One that has a fit.
    """
    fired = _fired(fit)
    wanted: list[Method] = ["gumbel"]
    if "shape" in fired:
        wanted.insert(0, "gev")
    if "common_variation" in fired:
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
        f"the fit describes {percent(covered.tax_share)} of the tax: do not extrapolate it "
        f"to the job; the rest is left out ({most}{also})"
    )


def _growth(fit: "EvtFit") -> str:
    tau, lo, hi = fit.predicted("gumbel")
    picks = _picks(fit)
    told = [
        f"{time_us(tau[at])} at {int(fit.n[at]):,}"
        + (
            f" ({percent(fit.options.level)}: {time_us(lo[at])} to {time_us(hi[at])})"
            if np.isfinite(lo[at])
            else ""
        )
        for at in picks
    ]
    last = fit.n[picks[-1]] / fit.inputs.largest
    beyond = "" if last <= 1 else f", {times(last)} times the largest group seen"
    at, doubled = np.searchsorted(fit.resampled.n, [fit.m, 2 * fit.m])
    predicted_us = fit.resampled.tau_us["gumbel"]
    each_us = float(predicted_us[doubled] - predicted_us[at])
    return (
        f"each doubling of the ranks adds {time_us(each_us)} to the mean wait of a rank "
        f"(Gumbel law): {', '.join(told)}{beyond}"
    )


def _picks(fit: "EvtFit") -> list[int]:
    """Which rows a sentence names: 72, 512 and 4,096, else up to three of those asked."""
    asked = fit.n.astype(int).tolist()
    marks = [n for n in (72, 512, 4096) if n in asked]
    if len(marks) < 2 and fit.options.n is not None:
        marks = [asked[0], asked[len(asked) // 2], asked[-1]]
    return sorted({asked.index(n) for n in marks})


def _case(fit: "EvtFit") -> str:
    fired = _fired(fit)
    told = []
    if "common_variation" in fired:
        told.append(
            f"{percent(fired['common_variation'].effect)} of the variance is common to all "
            "ranks, which nobody waits for but laws of maxima count"
        )
    gev = fit.fitted.gev
    if gev is None:
        told.append(f"the shape of the tail is unknown ({fit.fitted.refused['gev']})")
    else:
        bounds = f"ξ = {gev.shape:.2f}"
        if np.isfinite(fit.quality.shape_lo):
            bounds += f", from {fit.quality.shape_lo:.2f} to {fit.quality.shape_hi:.2f}"
        if "shape" not in fired:
            told.append(f"the tail may be that of a Gumbel ({bounds})")
        elif gev.shape > 0:
            told.append(f"the tail is heavy ({bounds}): the Gumbel law is a lower bound")
        else:
            told.append(f"the tail is light ({bounds}): the Gumbel law is an upper bound")
    if "rank_effect" in fired or "straggler" in fired:
        told.append("some rank is slow again and again, and a law knows no single rank")
    return "; ".join(told)


def _trust(fit: "EvtFit") -> str:
    method = trusted(fit)
    tau, lo, hi = fit.predicted(method)
    at = _picks(fit)[-1]
    ranks = f"{int(fit.n[at]):,} ranks"
    said = f"trust {NAMES[method]} in this case: {time_us(tau[at])} at {ranks}"
    if np.isfinite(lo[at]):
        said += f" ({time_us(lo[at])} to {time_us(hi[at])})"
        if hi[at] > VAGUE * lo[at]:
            said += ", too vague to build on: profile more steps"
    doubted = [name for name in _OF_DEVIATIONS if name in _fired(fit)]
    if method == "deviations" and doubted:
        said += f", itself in doubt ({' and '.join(doubted).replace('_', ' ')})"
    mine = _missed(fit, method)
    if mine is None:
        return said
    errors = ", ".join(
        f"{NAMES[other]} {signed(one.error)}"
        for other in METHODS
        if (one := _missed(fit, other)) is not None
    )
    return f"{said}; fitted on {mine.n_fit} ranks it misses those of {mine.n} by {errors}"


def _missed(fit: "EvtFit", method: Method) -> "HoldOut | None":
    """The error of a predictor on ranks that were held out, over the largest groups."""
    rows = [one for one in fit.held_out if one.kind == "ranks" and one.method == method]
    return max(rows, key=lambda one: (one.n, one.n_fit), default=None)


def _fired(fit: "EvtFit") -> "dict[str, Check]":
    return {one.name: one for one in fit.found if one.fired}
