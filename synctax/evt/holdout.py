"""How far predictions miss what was measured but not fitted."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.errors import FitError
from synctax.evt.bootstrap import predicted_us, refit
from synctax.evt.cut import cut, select
from synctax.evt.intervals import interval
from synctax.evt.model import BlockTimes
from synctax.evt.predict import fit_standard
from synctax.evt.resample import as_of_all, draw, drawn_share, memory, resampler, units_of
from synctax.evt.standard import Standard, standardise
from synctax.evt.streams import stream
from synctax.evt.tax import DEFAULT_LEVEL, METHODS, Method
from synctax.notes import Note

RESAMPLES = 200
"""How often instances are drawn anew for the interval of an error."""

LEAST_FIT_RANKS = 4
"""Halving stops here, unless nothing smaller than all ranks would be left to fit."""

FARTHEST_REACH = 8
"""Halving stops where all ranks are so many times those of a group: laws reach no more."""

Kind = Literal["ranks", "time"]


@dataclass(frozen=True, slots=True)
class HoldOut:
    """One prediction beside what was measured.

    Parameters
    ----------
    kind : {"ranks", "time"}
        Fitted to smaller groups of the same ranks, or to the first half of the time.
    method : {"gumbel", "gev", "lmoments", "deviations"}
    n_fit, n : int
        Ranks of the groups that were fitted, and that were predicted.
    predicted_us, measured_us : float
        Mean wait of a rank in groups of n, in µs.
    error : float
        predicted / measured - 1.
    error_lo, error_hi : float
        Its interval over resamples, prediction and measurement together; NaN without.
    """

    kind: Kind
    method: Method
    n_fit: int
    n: int
    predicted_us: float
    measured_us: float
    error: float
    error_lo: float
    error_hi: float


def fit_sizes(m: int) -> tuple[int, ...]:
    """List the sizes of groups from which m ranks are predicted: halves, quarters, eighths.

    Parameters
    ----------
    m : int
        Ranks of an instance.

    Returns
    -------
    tuple of int
        Descending, of 4 ranks or more where there are such; empty for fewer than 3 ranks,
        of which no smaller group waits.

    Examples
    --------
    >>> fit_sizes(64), fit_sizes(16), fit_sizes(8), fit_sizes(4), fit_sizes(3)
    ((32, 16, 8), (8, 4), (4,), (2,), (2,))
    """
    sizes = []
    size = m // 2
    while size >= max(LEAST_FIT_RANKS, m // FARTHEST_REACH):
        sizes.append(size)
        size //= 2
    if not sizes and m > 2:
        sizes.append(max(m // 2, 2))
    return tuple(sizes)


def trials(m: int) -> int:
    """Count the fits that `hold_out` makes: one a size of groups, and one over time."""
    return len(fit_sizes(m)) + 1


def hold_out(
    times: BlockTimes,
    *,
    resamples: int = RESAMPLES,
    level: float = DEFAULT_LEVEL,
    seed: int = 0,
    on_resample: Callable[[int], None] | None = None,
) -> tuple[tuple[HoldOut, ...], tuple[Note, ...]]:
    """Predict what was measured from a part of the data, in every way there is.

    Over ranks: each instance is cut at random into smaller groups, the fit to these
    predicts the wait among all its ranks. Over time: the fit to the first half of each
    series predicts the second, with its mix of blocks.

    Parameters
    ----------
    times : BlockTimes
        Instances over all ranks that were observed.
    resamples : int
        Draws of whole instances for the intervals.
    level : float
        Of the intervals.
    seed : int
        Of cuts and draws.
    on_resample : callable, optional
        Called with `resamples` after each of `trials(m)` fits, or where it cannot be made.

    Returns
    -------
    tuple of HoldOut
        Over ranks, largest groups first, then over time; one per method that has a fit.
    tuple of Note
        What could not be held out, or not fitted, and why.

    Raises
    ------
    FitError
        If no block has enough instances.
    """
    standard = standardise(times)
    rows: list[HoldOut] = []
    notes: list[Note] = []
    made = [_over_ranks(standard, size, seed) for size in fit_sizes(times.m)]
    made.append(_over_time(standard))
    if not fit_sizes(times.m):
        detail = f"groups smaller than {times.m} ranks have no wait to fit"
        notes.append(Note("hold_out_ranks", 1, detail))
    for trial in made:
        if isinstance(trial, Note):
            notes.append(trial)
        else:
            found, lost = _judge(trial, resamples, level, seed)
            rows += found
            notes += lost
        if on_resample is not None:
            on_resample(resamples)
    return tuple(rows), tuple(notes)


@dataclass(frozen=True, slots=True)
class _Trial:
    """What is fitted, what is measured, and how a share of both is drawn anew.

    `wait_us` is of each row that is measured, and `block` its block, of those fitted.
    """

    kind: Kind
    fit_on: Standard
    n: int
    wait_us: F64
    block: I64
    blocks: float
    share: float
    draw: Callable[[np.random.Generator], tuple[I64, I64]]

    def mean_wait_us(self, rows: I64) -> float:
        """Average over rows, with the mix of blocks that all of them have."""
        count = len(self.fit_on.instances)
        drawn = np.bincount(self.block[rows], minlength=count)
        wait_us = np.bincount(self.block[rows], self.wait_us[rows], count)
        mix = np.where(drawn > 0, np.bincount(self.block, minlength=count), 0)
        return float(np.average(wait_us / np.maximum(drawn, 1), weights=mix))


def _over_ranks(standard: Standard, size: int, seed: int) -> _Trial | Note:
    whole = standard.times
    small, _ = cut(whole, size, seed=seed)
    try:
        fit_on = standardise(small)
    except FitError as error:  # what differs may be left over by the cut
        return Note("hold_out_ranks", 1, str(error))
    if fit_on.notes:
        return Note("hold_out_ranks", 1, fit_on.notes[0].detail)
    u, past = units_of(whole), memory(standard)
    share = drawn_share(len(fit_on.times), size)

    def together(random: np.random.Generator) -> tuple[I64, I64]:
        drawn = draw(u, past.block_length, random, share)
        return drawn, u.rows_of(drawn)

    return _Trial(
        "ranks", fit_on, whole.m, whole.wait_us, whole.block, past.blocks, share, together
    )


def _over_time(standard: Standard) -> _Trial | Note:
    times = standard.times
    first = _first_half(times)
    try:
        fit_on = standardise(select(times, first))
    except FitError as error:  # half of the data may be too few where all are enough
        return Note("hold_out_time", 1, f"first half: {error}")
    test = select(times, ~first & np.isin(times.block, fit_on.kept))
    if not len(test):
        return Note("hold_out_time", 1, "the second half has none of these blocks")
    block = np.searchsorted(fit_on.kept, test.block)
    # blocks vary by more or less: a wait is predicted for those that it was measured of
    tested = np.bincount(block, minlength=len(fit_on.kept))
    fit_on = replace(fit_on, instances=tested)
    fit_units, test_units = units_of(fit_on.times), units_of(test)
    past = memory(standard)

    share = drawn_share(len(fit_on.times), times.m)

    def apart(random: np.random.Generator) -> tuple[I64, I64]:
        drawn = draw(fit_units, past.block_length, random, share)
        tested = draw(test_units, past.block_length, random, share)
        return drawn, test_units.rows_of(tested)

    return _Trial(
        "time", fit_on, times.m, test.wait_us, block, past.blocks / 2, share, apart
    )


def _first_half(times: BlockTimes) -> Bool:
    """Mark the rows of the first half of each series' instances."""
    u = units_of(times)
    early = np.arange(len(u)) - u.begin[u.series] < u.size[u.series] // 2
    return np.repeat(early, u.rows)


def _judge(
    trial: _Trial, resamples: int, level: float, seed: int
) -> tuple[list[HoldOut], list[Note]]:
    measured_us = float(trial.wait_us.mean())
    name = f"hold_out_{trial.kind}"
    if not measured_us > 0:
        return [], [Note(name, 1, "no rank waits in what was held out")]
    try:
        fitted = fit_standard(trial.fit_on)
    except FitError as error:  # of a part of the data; all of them may be enough
        return [], [Note(name, 1, str(error))]
    n_fit, n = trial.fit_on.times.m, np.array([float(trial.n)])
    prepared = resampler(trial.fit_on)
    random = stream(seed, "hold-out")
    ratios = np.full((len(METHODS), resamples, 1), np.nan)
    for at in range(resamples):
        drawn, rows = trial.draw(random)
        wait_us = trial.mean_wait_us(rows)
        if not wait_us > 0:  # of few instances with a wait a draw may have none
            continue
        again = refit(prepared, drawn, fitted)
        for number, method in enumerate(METHODS):
            ratios[number, at] = predicted_us(again, method, n) / wait_us
    found = []
    for number, method in enumerate(METHODS):
        if method in fitted.methods:
            predicted = fitted.tau_us(method, n)
            lo, hi = interval(
                predicted / measured_us,
                as_of_all(ratios[number], trial.share),
                level=level,
                blocks=trial.blocks,
            )
            found.append(
                HoldOut(
                    kind=trial.kind,
                    method=method,
                    n_fit=n_fit,
                    n=trial.n,
                    predicted_us=float(predicted[0]),
                    measured_us=measured_us,
                    error=float(predicted[0]) / measured_us - 1,
                    error_lo=float(lo[0]) - 1,
                    error_hi=float(hi[0]) - 1,
                )
            )
    lost = [
        Note(f"{name}_without_{method}", 1, reason)
        for method, reason in fitted.refused.items()
    ]
    return found, lost
