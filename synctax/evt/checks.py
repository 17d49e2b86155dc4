"""What in the data speaks against a prediction, and in which direction it then errs."""

import math

from synctax.evt.doubts import Check, doubt, in_order
from synctax.evt.doubts_of_variation import (
    common,
    forgetting,
    light_tail,
    ranks,
    skew,
    straggler,
)
from synctax.evt.goodness import MAX_FINE_RESOLUTION, MAX_RESOLUTION
from synctax.evt.growth import MAX_MEAN_SHAPE
from synctax.evt.likelihood import MIN_REGULAR_SHAPE
from synctax.evt.predict import Predictors
from synctax.evt.resample import Memory
from synctax.evt.scenarios import SlowRanks
from synctax.evt.standard import Standard
from synctax.evt.tax import METHODS, Method
from synctax.texts import decimals, number, percent, time_us

MAX_REACH = 8
"""A prediction reaches this many times beyond the ranks of the fit."""

MIN_EFFECTIVE = 50
"""Independent instances below which resampled intervals come out too narrow."""

MIN_DEVIATION_RANKS = 4
"""Of fewer ranks each deviation mirrors another."""

DEVIATIONS_REACH = 0.1
"""The deviations reach this many ranks for each time that was observed."""

MAX_AUTOCORRELATION = 0.1
"""Of instance maxima, at the next instance."""

MAX_SHAPE_P = 0.05
"""ξ is told from 0 below this p: where its interval of 95 % leaves out 0."""

_SHAPELESS: tuple[Method, ...] = ("gumbel", "lmoments")


def check(
    standard: Standard,
    fitted: Predictors,
    past: Memory,
    *,
    n: float,
    shape_p: float | None = None,
    slow: SlowRanks | None = None,
) -> tuple[Check, ...]:
    """Ask everything that can make a prediction wrong.

    Parameters
    ----------
    standard : Standard
        Block times, over all ranks that were observed where that is possible.
    fitted : Predictors
        The fits, which may be to smaller groups.
    past : Memory
        Of the block times.
    n : float
        Most ranks that are predicted for.
    shape_p : float, optional
        Of the likelihood-ratio test of ξ = 0.
    slow : SlowRanks, optional
        Predictions for persistently slow ranks, to be named if there are any.

    Returns
    -------
    tuple of Check
        All of them, fired or not, what matters most first; those of variation need two
        ranks and are left out of maxima of single ones.
    """
    found: list[Check] = []
    if standard.times.m > 1:
        found += [common(standard), ranks(standard, slow=slow), straggler(standard)]
        found.append(forgetting(standard))
    found += shape_of(fitted, shape_p)
    found += [reach(n, fitted.m), effective(past), autocorrelation(past)]
    if fitted.deviations is not None:
        found += [few_ranks(fitted.m), deviations_reach(n, fitted.deviations.n)]
        found.append(light_tail(standard))
        if standard.times.m > 2:
            found.append(skew(standard, m=fitted.m))
    if fitted.gumbel is not None:
        scale_us = fitted.b_us * fitted.gumbel.scale
        found.append(rounding(standard.times.resolution_us, scale_us))
    return in_order(found)


def shape_of(fitted: Predictors, p: float | None) -> tuple[Check, ...]:
    """Ask whether the tail is that of a Gumbel, where a free shape could be fitted.

    Parameters
    ----------
    fitted : Predictors
    p : float, optional
        Of the likelihood-ratio test of ξ = 0; without it only a tail without a mean is
        named.

    Returns
    -------
    tuple of Check
        One, or none.
    """
    if fitted.no_mean is not None:
        return (no_mean(fitted.no_mean.shape),)
    if fitted.gev is None or p is None:
        return ()
    return (shape(fitted.gev.shape, p),)


def no_mean(xi: float) -> Check:
    """Doubt every prediction from a tail so heavy that the mean wait is not finite.

    Parameters
    ----------
    xi : float
        Shape of a GEV fit, 1 or more.
    """
    return doubt(
        "shape",
        (xi, 0.0, math.nan),
        xi >= MAX_MEAN_SHAPE,
        f"the tail is so heavy (ξ = {decimals(xi)}) that the mean wait is not finite: no "
        "number for more ranks can be trusted; look for outliers in the block times",
        METHODS,
    )


def shape(xi: float, p: float) -> Check:
    """Ask whether the tail is that of a Gumbel.

    Parameters
    ----------
    xi : float
        Shape of the GEV fit.
    p : float
        Of the likelihood-ratio test of ξ = 0, whatever level intervals are asked at. So
        light a tail as ξ <= -0.5 is told from a Gumbel's without it.
    """
    errs, tail = ("little", "heavier") if xi > 0 else ("much", "lighter")
    return doubt(
        "shape",
        (xi, 0.0, p),
        p < MAX_SHAPE_P or xi <= MIN_REGULAR_SHAPE,
        f"the tail is {tail} than a Gumbel's (ξ = {decimals(xi)}): Gumbel and L-moments "
        f"predict too {errs} for many ranks",
        _SHAPELESS,
    )


def reach(n: float, m: int) -> Check:
    """Ask whether the prediction goes too far beyond the data.

    Parameters
    ----------
    n : float
        Ranks that are predicted for.
    m : int
        Ranks of the fit.
    """
    return doubt(
        "reach",
        (n / m, MAX_REACH, math.nan),
        n > MAX_REACH * m,
        f"{number(n)} ranks are {number(round(n / m))} times the {m} of the fit: beyond "
        f"{number(MAX_REACH * m)} the law decides, not the data; compare the predictors",
        METHODS,
    )


def effective(past: Memory) -> Check:
    """Ask whether there are enough independent instances for intervals.

    Parameters
    ----------
    past : Memory
    """
    return doubt(
        "effective_sample",
        (past.effective, MIN_EFFECTIVE, math.nan),
        past.effective < MIN_EFFECTIVE,
        f"the instances tell as much as {past.effective:.0f} independent ones: with fewer "
        f"than {MIN_EFFECTIVE}, intervals are too narrow; profile more steps",
        METHODS,
    )


def autocorrelation(past: Memory) -> Check:
    """Ask whether instances resemble those before them.

    Parameters
    ----------
    past : Memory
    """
    first = float(past.autocorrelation[0])
    bound = max(past.bound, MAX_AUTOCORRELATION)
    return doubt(
        "autocorrelation",
        (first, bound, math.nan),
        first > bound,
        f"instances resemble those before (autocorrelation {decimals(first)}): tests "
        "reject too often, and standard errors are too small; the intervals of predictions "
        "hold",
    )


def few_ranks(m: int) -> Check:
    """Ask whether groups are large enough to tell the law of a deviation.

    Parameters
    ----------
    m : int
        Ranks of the fit.
    """
    return doubt(
        "few_ranks",
        (float(m), MIN_DEVIATION_RANKS, math.nan),
        m < MIN_DEVIATION_RANKS,
        f"in groups of {m} deviations mirror each other: for skewed times they predict "
        f"too little; fit groups of {MIN_DEVIATION_RANKS} or more",
        ("deviations",),
    )


def deviations_reach(n: float, values: int) -> Check:
    """Ask whether the tail of the deviations was seen far enough out.

    Parameters
    ----------
    n : float
        Ranks that are predicted for.
    values : int
        Block times that were observed: instances times ranks.
    """
    limit = DEVIATIONS_REACH * values
    return doubt(
        "deviations_reach",
        (n, limit, math.nan),
        n > limit,
        f"{number(values)} block times tell the slowest of {number(int(limit))} ranks, "
        f"not of {number(n)}: deviations are then mostly too low; profile more steps",
        ("deviations",),
    )


def rounding(resolution_us: float, scale_us: float) -> Check:
    """Ask whether times are told finely enough.

    Parameters
    ----------
    resolution_us : float
        Step of the times.
    scale_us : float
        Scale of the maxima, b · σ.
    """
    effect = resolution_us / scale_us
    fatal = effect > MAX_RESOLUTION
    return doubt(
        "rounding",
        (effect, MAX_FINE_RESOLUTION, math.nan),
        effect > MAX_FINE_RESOLUTION,
        f"times come in steps of {time_us(resolution_us)}, {percent(effect)} of the scale "
        "of the maxima: "
        + (
            "neither fit nor tests mean much; take traces with finer times"
            if fatal
            else "tests reject too often; predictions hold"
        ),
        METHODS if fatal else (),
    )
