"""From block times to a fit with its checks and intervals: the stages in their order."""

from collections.abc import Callable

import numpy as np

from synctax.arrays import F64
from synctax.errors import FitError, SynctaxError
from synctax.evt.bootstrap import (
    MIN_DISTINCT_VALUES,
    Bootstrap,
    bootstrap,
    grid,
    predict_again,
)
from synctax.evt.checks import DEVIATIONS_REACH, check, reach, shape_of
from synctax.evt.cut import join
from synctax.evt.doubts import Check
from synctax.evt.goodness import MAX_RESOLUTION
from synctax.evt.holdout import HoldOut, hold_out, trials
from synctax.evt.inputs import Found, Given, Inputs, gather, refusal
from synctax.evt.maxima import LARGEST_R, check_maxima
from synctax.evt.model import LEAST_RANKS, BlockTimes
from synctax.evt.options import Options
from synctax.evt.predict import Predictors, fit_maxima, fit_standard
from synctax.evt.quality import quality
from synctax.evt.resample import Memory, memory
from synctax.evt.results import EvtFit, Quality
from synctax.evt.scenarios import slow_ranks
from synctax.evt.segments import Instances, segments
from synctax.evt.standard import Standard, standardise
from synctax.evt.streams import stream
from synctax.evt.tax import Origin
from synctax.notes import Note

FARTHEST = 4096
"""Ranks of the largest group that is predicted where nothing else is asked."""

LANDMARKS = (72, 512, FARTHEST)
"""Sizes that are always predicted: an NVL72 domain, and round numbers beyond."""

HOLDOUT_SHARE = 4
"""Of `resamples`, one in so many is drawn for the errors on held-out data."""

OnResample = Callable[[int, int], None]
"""Told how many resamples are done, and of how many."""


def fit_evt(
    *found: Found | BlockTimes,
    options: Options | None = None,
    source: Origin | None = None,
    on_resample: OnResample | None = None,
) -> EvtFit:
    """Fit how the wait grows with the ranks of a group.

    Parameters
    ----------
    *found : Found or BlockTimes
        What `attribution.blocks.block_times` returns of a job, or block times alone; of
        several sets, all are pooled.
    options : Options, optional
    source : Origin, optional
        What the times are from.
    on_resample : callable, optional
        Told how many resamples are done, and of how many: those of the intervals, of the
        errors on held-out data, and of the comparison with measurement.

    Returns
    -------
    EvtFit

    Raises
    ------
    FitError
        If the data do not carry a Gumbel fit: too few instances or distinct maxima, no
        spread. The message tells what part of the tax it would have stood for.
    SynctaxError
        If sizes are asked for that the fit says nothing of.

    References
    ----------
    Synchronization-tax paper, section 5.
    """
    asked = options or Options()
    inputs, standard = gather(
        [Given(one) if isinstance(one, BlockTimes) else one for one in found],
        fit_ranks=asked.fit_ranks,
        seed=asked.seed,
        source=source,
    )
    n = _sizes(asked, inputs)
    fitted = _fitted(lambda: fit_standard(standard), inputs)
    told = _counted(_resamples(asked, inputs), on_resample)
    resampled = bootstrap(
        standard,
        _all_sizes(n, inputs),
        fitted=fitted,
        resamples=asked.resamples,
        seed=asked.seed,
        on_resample=told,
    )
    held_out, held_notes = _held_out(inputs, asked, told)
    step = standard.times.resolution_us / standard.mean_b_us
    tested = quality(standard.z, fitted, n, asked, resolution=step)
    compared = segments(
        standard,
        Instances.of(inputs.sets),
        level=asked.level,
        resamples=asked.resamples,
        seed=asked.seed,
    )
    told(asked.resamples)
    return EvtFit(
        options=asked,
        inputs=inputs,
        z=standard.z,
        a_us=standard.mean_a_us,
        b_us=standard.mean_b_us,
        fitted=fitted,
        quality=tested,
        resampled=resampled,
        n=n,
        segments=compared,
        held_out=held_out,
        checked=_checked(inputs, standard, fitted, tested, n),
        notes=(
            *inputs.notes,
            *fitted.notes,
            *resampled.notes,
            *tested.notes,
            *held_notes,
        ),
    )


def fit_evt_maxima(
    z: F64,
    *,
    n_fit: int,
    a_us: float,
    r: float,
    options: Options | None = None,
    source: Origin | None = None,
) -> EvtFit:
    """Fit how the wait grows from normalised block maxima alone.

    Nothing is known of single ranks: there are no deviations, no hold-out and no
    comparison with measurement, and the intervals take a and r as known.

    Parameters
    ----------
    z : (i,) float64
        (maximum over the ranks - a) / b of each instance.
    n_fit : int
        Ranks that the maxima are over.
    a_us, r : float
        Mean a of the block times, and their spread b over it.
    options : Options, optional
        `fit_ranks` does not count.
    source : Origin, optional

    Returns
    -------
    EvtFit

    Raises
    ------
    FitError
        If the maxima do not carry a Gumbel fit.
    BadInputError
        If their mean is none that maxima over `n_fit` ranks can have.
    SynctaxError
        If sizes are asked for that the fit says nothing of.
    ValueError
        If `n_fit`, `a_us` or `r` cannot be.
    """
    if n_fit < LEAST_RANKS or not (a_us > 0 and 0 < r <= LARGEST_R):
        raise ValueError(f"n_fit {n_fit}, a_us {a_us} and r {r} cannot be")
    asked = options or Options()
    inputs = Inputs((), None, n_fit, source=source or Origin("maxima"))
    check_maxima(z, n_fit, source=", ".join(inputs.source.names))
    n = _sizes(asked, inputs)
    fitted = _fitted(lambda: fit_maxima(z, m=n_fit, b_us=a_us * r), inputs)
    resampled = _resampled_maxima(z, fitted, _all_sizes(n, inputs), asked)
    tested = quality(z, fitted, n, asked)
    return EvtFit(
        options=asked,
        inputs=inputs,
        z=z,
        a_us=a_us,
        b_us=a_us * r,
        fitted=fitted,
        quality=tested,
        resampled=resampled,
        n=n,
        checked=(*shape_of(fitted, tested.lr_p), reach(float(n[-1]), n_fit)),
        notes=(*resampled.notes, *tested.notes),
    )


def _sizes(asked: Options, inputs: Inputs) -> F64:
    """List the ranks of the rows, ascending."""
    if asked.n is not None:
        low = min(asked.n)
        if low < inputs.m:
            raise SynctaxError(
                f"n = {low} is below the {inputs.m} ranks of the fit, where it says "
                "nothing; ask for more, or cut groups with --fit-ranks"
            )
        return np.unique(np.array(asked.n, np.float64))
    doubled = inputs.m * 2.0 ** np.arange(64)
    own = [float(times.m) for times in inputs.sets]
    sizes = np.array([*doubled[doubled <= FARTHEST], *LANDMARKS, *own, inputs.m])
    return np.unique(sizes[sizes >= inputs.m])


def _all_sizes(n: F64, inputs: Inputs) -> F64:
    return np.union1d(n, grid(inputs.m))


def _fitted(fit: Callable[[], Predictors], inputs: Inputs) -> Predictors:
    """Fit; without a Gumbel law, on which the rest stands, there is no fit."""
    try:
        fitted = fit()
    except FitError as error:
        reason = f"{error}{_coarse(inputs)}"
        raise FitError(refusal(reason, inputs.coverage)) from error
    if fitted.gumbel is None:
        reason = f"{fitted.refused['gumbel']}{_coarse(inputs)}"
        raise FitError(refusal(reason, inputs.coverage))
    return fitted


def _coarse(inputs: Inputs) -> str:
    """Name the step of times that is too large to tell them apart."""
    standard = inputs.standard
    if standard is None:
        return ""
    step_us, b_us = standard.times.resolution_us, standard.mean_b_us
    if not step_us > MAX_RESOLUTION * b_us:
        return ""
    return f" (times vary by {b_us:.3g} µs and come in steps of {step_us:g} µs)"


def _resamples(asked: Options, inputs: Inputs) -> int:
    """Count the resamples of all stages."""
    held_out = sum(trials(m) for m in {times.m for times in inputs.sets})
    return 2 * asked.resamples + held_out * _held_out_resamples(asked)


def _held_out_resamples(asked: Options) -> int:
    return max(asked.resamples // HOLDOUT_SHARE, 2)


def _counted(total: int, on_resample: OnResample | None) -> Callable[[int], None]:
    """Add up what is told of resamples that are done."""
    done = 0

    def more(count: int) -> None:
        nonlocal done
        done += count
        if on_resample is not None:
            on_resample(done, total)

    return more


def _held_out(
    inputs: Inputs, asked: Options, on_resample: Callable[[int], None]
) -> tuple[tuple[HoldOut, ...], tuple[Note, ...]]:
    """Hold out of all sets over as many ranks together."""
    rows: list[HoldOut] = []
    notes: list[Note] = []
    for m in sorted({times.m for times in inputs.sets}):
        found, told = hold_out(
            join([times for times in inputs.sets if times.m == m]),
            resamples=_held_out_resamples(asked),
            level=asked.level,
            seed=asked.seed,
            on_resample=on_resample,
        )
        rows += found
        notes += told
    return tuple(rows), tuple(notes)


def _checked(
    inputs: Inputs,
    standard: Standard,
    fitted: Predictors,
    tested: Quality,
    n: F64,
) -> tuple[Check, ...]:
    """Ask what speaks against the fit, of all ranks where all sets have as many."""
    if len({times.m for times in inputs.sets}) == 1:
        standard = standardise(join(inputs.sets))
    try:
        slow = slow_ranks(standard, _within_reach(n, standard))
    except FitError:  # ranks that never differ have no slowest; `ranks` does without
        slow = None
    return check(
        standard,
        fitted,
        memory(standard),
        n=float(n[-1]),
        shape_p=tested.lr_p,
        slow=slow,
    )


def _within_reach(n: F64, standard: Standard) -> F64:
    """Take the most ranks for which the deviations were seen far enough out, (1,)."""
    seen = n[n <= DEVIATIONS_REACH * standard.times.us.size]
    return np.array([max([float(standard.times.m), *seen.tolist()])])


def _resampled_maxima(z: F64, fitted: Predictors, n: F64, asked: Options) -> Bootstrap:
    """Draw single maxima anew: their order in a file need not be that of time."""
    random = stream(asked.seed, "maxima")
    again = (
        fit_maxima(
            z[random.integers(0, z.size, z.size)],
            m=fitted.m,
            b_us=fitted.b_us,
            start=fitted.gev,
            min_distinct=MIN_DISTINCT_VALUES,
        )
        for _ in range(asked.resamples)
    )
    past = Memory(np.empty(0), float("nan"), 1, float(z.size), blocks=float(z.size))
    return predict_again(again, fitted, n, past)
