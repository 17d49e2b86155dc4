"""How far off a prediction may be: instances drawn anew, everything fitted anew."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from synctax.arrays import F64, I64
from synctax.errors import FitError
from synctax.evt.deviations import DeviationsFit, fit_deviations
from synctax.evt.intervals import LogErrors, interval
from synctax.evt.options import DEFAULT_RESAMPLES
from synctax.evt.predict import Predictors, fit_maxima, fit_standard
from synctax.evt.resample import (
    Memory,
    Resampler,
    Sample,
    as_of_all,
    draw,
    drawn_share,
    memory,
    notes_of,
    resampler,
)
from synctax.evt.standard import Standard
from synctax.evt.streams import stream
from synctax.evt.tax import DEFAULT_LEVEL, METHODS, Method
from synctax.notes import Note

DOUBLINGS = 20
"""The grid of ranks goes from m to m · 2^20."""

MIN_DISTINCT_VALUES = 5
"""Distinct maxima that a resample needs; the data themselves had more."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Predictions of many resamples.

    Parameters
    ----------
    n : (k,) float64
        Ranks, ascending.
    tau_us : mapping of method to (k,) float64
        Prediction of the data themselves, for each method that has a fit.
    resampled_us : mapping of method to (r, k) float64
        Predictions of the resamples; NaN where one could not be fitted.
    memory : Memory
        What the length of the blocks follows from.
    log_errors : mapping of method to LogErrors
        For methods whose intervals are studentised by them.
    notes : tuple of Note
        Resamples that a method could not be fitted to.
    """

    n: F64
    tau_us: Mapping[Method, F64]
    resampled_us: Mapping[Method, F64]
    memory: Memory
    log_errors: Mapping[Method, LogErrors] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    def interval_us(
        self, method: Method, *, level: float = DEFAULT_LEVEL
    ) -> tuple[F64, F64]:
        """Bound the true mean wait on both sides, for each n.

        Parameters
        ----------
        method : {"gumbel", "gev", "lmoments", "deviations"}
            One that has a prediction.
        level : float
            Probability that the bounds hold between them what is true, if the law of the
            method is.

        Returns
        -------
        lo, hi : (k,) float64
            In µs; NaN where too few resamples could be fitted. The wait of more ranks
            is no shorter, so neither is its lower end.
        """
        lo, hi = interval(
            self.tau_us[method],
            self.resampled_us[method],
            level=level,
            blocks=self.memory.blocks,
            errors=self.log_errors.get(method),
        )
        return np.where(np.isnan(lo), lo, np.fmax.accumulate(lo)), hi


def grid(m: int) -> F64:
    """Return m, 2m, 4m, ... m · 2^20 ranks.

    Parameters
    ----------
    m : int
        Ranks of the fit.

    Returns
    -------
    (21,) float64

    Examples
    --------
    >>> grid(4)[:3]
    array([ 4.,  8., 16.])
    """
    return np.asarray(m * 2.0 ** np.arange(DOUBLINGS + 1), np.float64)


def bootstrap(
    standard: Standard,
    n: F64,
    *,
    fitted: Predictors | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
    on_resample: Callable[[int], None] | None = None,
) -> Bootstrap:
    """Draw whole instances anew, in blocks of time, and predict from each draw.

    Means, spreads and laws are all estimated anew, so an interval holds the uncertainty
    of all of them together. Series are not drawn anew: it holds for these ranks.

    Parameters
    ----------
    standard : Standard
        Standardised block times.
    n : (k,) float64
        Ranks to predict for, at least m.
    fitted : Predictors, optional
        Fit to these block times, if there is one already.
    resamples : int
        How many.
    seed : int
        Of the draws.
    on_resample : callable, optional
        Called with 1 after each.

    Returns
    -------
    Bootstrap

    Raises
    ------
    FitError
        If no predictor can be fitted.
    ValueError
        If an n is below m.
    """
    near = fitted or fit_standard(standard)
    past = memory(standard)
    prepared = resampler(standard)
    random = stream(seed, "bootstrap")
    share = drawn_share(len(standard.times), prepared.m)

    def again() -> Iterator[Predictors]:
        for _ in range(resamples):
            drawn = draw(prepared.units, past.block_length, random, share)
            yield refit(prepared, drawn, near)
            if on_resample is not None:
                on_resample(1)

    found = predict_again(again(), near, n, past, share=share)
    return replace(found, notes=(*found.notes, *notes_of(prepared.units, share)))


def predict_again(
    again: Iterable[Predictors],
    fitted: Predictors,
    n: F64,
    past: Memory,
    *,
    share: float = 1.0,
) -> Bootstrap:
    """Predict from fits to resamples, one after the other: none is kept.

    Parameters
    ----------
    again : iterable of Predictors
        Fits to the resamples.
    fitted : Predictors
        Fits to the data themselves.
    n : (k,) float64
        Ranks to predict for, at least m.
    past : Memory
        Of the data.
    share : float, optional
        What each resample drew of the instances.

    Returns
    -------
    Bootstrap

    Raises
    ------
    ValueError
        If an n is below m.
    """
    tau_us = {method: fitted.tau_us(method, n) for method in fitted.methods}
    # those of a GEV are skewed, and tell less of themselves where they are low
    # by little where instances are so many that a share of them is drawn
    studentised = share == 1 and fitted.gev is not None and fitted.gev.cov is not None
    rows: dict[Method, list[F64]] = {method: [] for method in tau_us}
    errors: list[F64] = []
    lost: Counter[Method] = Counter()
    count = 0
    for one in again:
        count += 1
        for method, row in rows.items():
            row.append(predicted_us(one, method, n))
        lost.update(one.refused.keys() & rows.keys())
        if studentised:
            errors.append(one.gev_log_se(n))
    log_errors: dict[Method, LogErrors] = {}
    if studentised:
        log_errors["gev"] = LogErrors(fitted.gev_log_se(n), np.array(errors))
    return Bootstrap(
        n=n,
        tau_us=tau_us,
        resampled_us={
            method: as_of_all(np.array(row), share) for method, row in rows.items()
        },
        memory=past,
        log_errors=log_errors,
        notes=tuple(
            Note(
                f"resample_without_{method}",
                lost[method],
                f"resamples of {count} that {method} could not be fitted to",
            )
            for method in METHODS
            if lost[method]
        ),
    )


def refit(prepared: Resampler, drawn: I64, near: Predictors) -> Predictors:
    """Fit all predictors to the instances that were drawn.

    Parameters
    ----------
    prepared : Resampler
    drawn : (u,) int64
        Instances.
    near : Predictors
        Fits to the data themselves, where searches begin.

    Returns
    -------
    Predictors
        Maybe without any: a few values drawn over and over again carry no fit.
    """
    sample = prepared.sample(drawn)
    return fit_maxima(
        sample.z,
        lambda: _deviations(prepared, sample, near),
        m=prepared.m,
        b_us=sample.b_us,
        start=near.gev,
        min_distinct=MIN_DISTINCT_VALUES,
    )


def predicted_us(fitted: Predictors, method: Method, n: F64) -> F64:
    """Predict as `Predictors.tau_us` does, NaN where the method has no fit."""
    if method in fitted.refused:
        return np.full(n.shape, np.nan)
    return fitted.tau_us(method, n)


def _deviations(prepared: Resampler, sample: Sample, near: Predictors) -> DeviationsFit:
    if prepared.d_us is None:
        raise FitError("deviations from the mean of an instance need at least 2 ranks")
    rows, start = sample.rows, near.deviations.law.tail if near.deviations else None
    return fit_deviations(
        prepared.d_us[rows], prepared.block[rows], sample.weight, start=start
    )
