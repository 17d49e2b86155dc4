"""How near a simulation is to what was measured: errors, distances, and their intervals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import F64, I64, NS_PER_S, Bool
from synctax.cluster.measured import Measured
from synctax.cluster.simulation import Simulation
from synctax.errors import SynctaxError
from synctax.notes import Note

RESAMPLES: Final = 1_000
"""Draws of jobs that an interval is made of."""

LEVEL: Final = 0.95
"""Share of the draws that it holds."""

SEED: Final = 0

AGGREGATES: Final = ("training_mean", "jct_mean", "jct_median", "jct_p99", "makespan")
"""What the MoSim paper compares (tables II and III): each as one number of all jobs."""

PER_JOB: Final = ("training", "jct")
"""Times of which the errors of single jobs are averaged."""


@dataclass(frozen=True, slots=True)
class Distance:
    """One way to say how far a simulation is from what was measured.

    Parameters
    ----------
    name : str
        `jct_mean` and others of `AGGREGATES`, `training_per_job`, `jct_per_job`: errors
        over what was measured, 0.1 for 10 %; `jct_ks`, from 0 to 1; `jct_wasserstein_s`,
        seconds.
    measured_s, simulated_s : float or None
        What is compared; None where it is no single number.
    value, lo, hi : float
        With its interval; NaN where there is none.
    """

    name: str
    measured_s: float | None
    simulated_s: float | None
    value: float
    lo: float
    hi: float


@dataclass(frozen=True, slots=True, eq=False)
class Fidelity:
    """A simulation held against measured times.

    Parameters
    ----------
    distances : tuple of Distance
    jobs : int
        Those compared: simulated and measured.
    row : (jobs,) int64
        Which jobs of the simulation they are.
    measured_training_s, measured_jct_s : (jobs,) float64
    resamples, seed, level
        Of the intervals.
    notes : tuple of Note
        Jobs that are on one side only, and measured times that look odd.
    """

    distances: tuple[Distance, ...]
    jobs: int
    row: I64
    measured_training_s: F64
    measured_jct_s: F64
    resamples: int
    seed: int
    level: float
    notes: tuple[Note, ...]

    def __getitem__(self, name: str) -> Distance:
        """Return the distance of that name."""
        return next(one for one in self.distances if one.name == name)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Times of n jobs as they were measured and simulated.

    Parameters
    ----------
    submit_s, start_s, end_s : (2, n) float64
        First what was measured, then what was simulated; each from its own zero.
    """

    submit_s: F64
    start_s: F64
    end_s: F64

    @property
    def training_s(self) -> F64:
        """From start to end, (2, n)."""
        return self.end_s - self.start_s

    @property
    def jct_s(self) -> F64:
        """From submission to end, (2, n)."""
        return self.end_s - self.submit_s


def fidelity(
    simulation: Simulation,
    measured: Measured,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> Fidelity:
    """Hold a simulation against measured times of its jobs.

    Of the jobs that both know: the error of each aggregate, the mean of the errors of
    single jobs (both are called MAPE in print), and two distances between the
    distributions of completion times: KS, the largest gap between them, and
    Wasserstein-1, the area between them.

    Intervals are percentiles over draws of jobs with replacement, the same jobs on both
    sides. That of an aggregate's error begins at 0 where draws do not agree on its sign.
    Distances between distributions are above 0 by chance alone, and in draws more so: their
    intervals lie high. The largest value of a draw, and so its makespan, cannot exceed that
    of all jobs.

    Parameters
    ----------
    simulation : Simulation
    measured : Measured
    resamples : int
        0 for no intervals.
    seed : int
    level : float

    Returns
    -------
    Fidelity

    Raises
    ------
    SynctaxError
        If no job is on both sides, or a measured one ended before it was submitted.

    References
    ----------
    MoSim paper (arXiv 2609.23278), section V-B, tables II to IV.
    """
    place = {job: at for at, job in enumerate(measured.job_id)}
    at = np.array([place.get(job, -1) for job in simulation.jobs.job_id], np.int64)
    row = np.flatnonzero(at >= 0)
    if not row.size:
        raise SynctaxError(
            f"none of the {len(place):,} jobs that were measured is among the "
            f"{at.size:,} of the trace; job_id must be the same in both"
        )
    pairs = _pairs(simulation, measured, row, at[row])
    return Fidelity(
        distances=tuple(_distances(pairs, resamples, seed, level)),
        jobs=row.size,
        row=row,
        measured_training_s=pairs.training_s[0],
        measured_jct_s=pairs.jct_s[0],
        resamples=resamples,
        seed=seed,
        level=level,
        notes=(
            *measured.notes,
            *_missing(simulation, measured, row, at),
            *_odd(pairs, [simulation.jobs.job_id[one] for one in row]),
        ),
    )


def _pairs(simulation: Simulation, measured: Measured, row: I64, at: I64) -> Pairs:
    submit_s = simulation.jobs.submit_ns[row] / NS_PER_S
    known_s = measured.submit_s[at]
    pairs = Pairs(
        np.stack([np.where(np.isnan(known_s), submit_s, known_s), submit_s]),
        np.stack([measured.start_s[at], simulation.start_ns[row] / NS_PER_S]),
        np.stack([measured.end_s[at], simulation.end_ns[row] / NS_PER_S]),
    )
    early = np.flatnonzero(pairs.jct_s[0] < 0)
    if early.size:
        first = int(early[0])
        raise SynctaxError(
            f"{early.size:,} measured jobs end before they were submitted, such as "
            f"{simulation.jobs.job_id[row[first]]}: submitted at "
            f"{pairs.submit_s[0, first]:,.6g} s, ended at {pairs.end_s[0, first]:,.6g} s; "
            "measured times need the trace's zero, or a column submit_s of their own"
        )
    return pairs


def _missing(
    simulation: Simulation, measured: Measured, row: I64, at: I64
) -> Iterator[Note]:
    ids = simulation.jobs.job_id
    unmeasured = np.flatnonzero(at < 0)
    if unmeasured.size:
        yield Note(
            "not_measured",
            unmeasured.size,
            "jobs of the trace that were not measured: not compared",
            ids[unmeasured[0]],
        )
    if row.size < len(measured.job_id):
        known = set(ids)
        unknown = [job for job in measured.job_id if job not in known]
        yield Note(
            "not_simulated",
            len(unknown),
            "measured jobs that the trace does not have: not compared",
            unknown[0],
        )


def _odd(pairs: Pairs, job_id: Sequence[str]) -> Iterator[Note]:
    """Note measured times that no run of these jobs can have, or hardly any."""
    wait_s = pairs.start_s[0] - pairs.submit_s[0]
    early = np.flatnonzero(wait_s < 0)
    if early.size:
        yield Note(
            "measured_before_submission",
            early.size,
            "jobs with a measured start before their submission",
            f"job {job_id[early[0]]}",
        )
    whole_s = float(pairs.end_s[1].max() - pairs.submit_s[1].min())
    if wait_s.min() > whole_s > 0:
        yield Note(
            "measured_from_another_zero",
            wait_s.size,
            "measured jobs, each of which starts later after its submission than all of "
            f"the simulation takes ({whole_s:,.6g} s): their times seem to count from "
            "another zero; a column submit_s beside them tells it",
            f"job {job_id[0]}",
        )


def _distances(pairs: Pairs, resamples: int, seed: int, level: float) -> Iterator[Distance]:
    n = pairs.submit_s.shape[1]
    found = _Draw(pairs)
    everyone = found.of(np.ones(n, np.int64))
    random = np.random.default_rng(seed)
    draws = [found.of(_drawn(random, n)) for _ in range(resamples)]
    for at, name in enumerate(NAMES):
        single = name in AGGREGATES
        if single:
            drawn = np.array([_signed(draw.compared[:, at]) for draw in draws])
        else:
            drawn = np.array([draw.value[at] for draw in draws])
        lo, hi = _ends(drawn, level)
        measured_s, simulated_s = everyone.compared[:, at].tolist()
        yield Distance(
            name=name,
            measured_s=measured_s if single else None,
            simulated_s=simulated_s if single else None,
            value=float(everyone.value[at]),
            lo=lo,
            hi=hi,
        )


def _ends(drawn: F64, level: float) -> tuple[float, float]:
    """Return the ends of what absolute values may be, from 0 where signs differ."""
    known = drawn[~np.isnan(drawn)]
    if not known.size:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]).tolist()
    straddles = low < 0 < high
    return 0.0 if straddles else min(abs(low), abs(high)), max(abs(low), abs(high))


ERRORS: Final = (*AGGREGATES, *(f"{name}_per_job" for name in PER_JOB))
"""Distances that are shares of what was measured."""

NAMES: Final = (*ERRORS, "jct_ks", "jct_wasserstein_s")
"""Of all distances, in order."""


def _drawn(random: np.random.Generator, n: int) -> I64:
    """Draw n jobs with replacement: how often each was drawn."""
    return np.bincount(random.integers(0, n, n), minlength=n)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Distances in the order of `NAMES`, and what they compare, (2, 9)."""

    value: F64
    compared: F64


class _Draw:
    """Distances of any draw of jobs, without sorting each anew."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        training_s, jct_s = pairs.training_s, pairs.jct_s
        self._training_s, self._jct_s = training_s, jct_s
        self._order = np.argsort(jct_s, axis=1, kind="stable")
        self._sorted_s = np.take_along_axis(jct_s, self._order, axis=1)
        self._errors = [_errors(training_s), _errors(jct_s)]
        both = jct_s.ravel()
        self._merged = np.argsort(both, kind="stable")
        self._steps_s = np.diff(both[self._merged])
        self._real = self._steps_s > 0

    def of(self, count: I64) -> _Found:
        """Compute all distances of jobs that are there `count` times, (n,) int64."""
        n = int(count.sum())
        compared = np.full((2, len(NAMES)), np.nan)
        compared[:, 0] = (self._training_s * count).sum(axis=1) / n
        compared[:, 1] = (self._jct_s * count).sum(axis=1) / n
        for side in range(2):
            ranks = np.cumsum(count[self._order[side]])
            values = self._sorted_s[side]
            compared[side, 2] = _percentile(values, ranks, 50.0)
            compared[side, 3] = _percentile(values, ranks, 99.0)
        missing = count == 0
        pairs = self._pairs
        compared[:, 4] = np.where(missing, -np.inf, pairs.end_s).max(axis=1)
        compared[:, 4] -= np.where(missing, np.inf, pairs.submit_s).min(axis=1)
        value = np.empty(len(NAMES))
        value[:5] = _errors(compared[:, :5])
        value[5:7] = [_mean(one, count) for one in self._errors]
        value[7:] = self._apart(count, n)
        return _Found(value, compared)

    def _apart(self, count: I64, n: int) -> tuple[float, float]:
        """Return KS and Wasserstein-1 of the two distributions of completion times."""
        gap = np.cumsum(np.concatenate([count, -count])[self._merged]) / n
        # between two values the gap is what it is after the first; ties have no length
        gap = np.abs(gap[:-1])
        apart = float((gap * self._real).max(initial=0.0))
        return apart, float((gap * self._steps_s).sum())


def _errors(pair: F64) -> F64:
    """Return |simulated - measured| over measured, (n,); NaN where that is 0."""
    error = np.full(pair.shape[1], np.nan)
    np.divide(np.abs(pair[1] - pair[0]), pair[0], out=error, where=pair[0] > 0)
    return error


def _signed(pair: F64) -> float:
    """Return simulated less measured over measured; NaN where that is 0."""
    measured_s, simulated_s = pair.tolist()
    return (simulated_s - measured_s) / measured_s if measured_s > 0 else float("nan")


def _mean(values: F64, count: I64) -> float:
    known: Bool = ~np.isnan(values)
    many = int((count * known).sum())
    whole = float((np.where(known, values, 0.0) * count).sum())
    return whole / many if many else float("nan")


def _percentile(values: F64, ranks: I64, percent: float) -> float:
    """Interpolate straight between the two nearest of sorted values that repeat."""
    place = percent / 100 * (ranks[-1] - 1)
    below = int(place)
    at = np.searchsorted(ranks, [below, min(below + 1, ranks[-1] - 1)], side="right")
    low, high = values[at].tolist()
    return float(low + (place - below) * (high - low))
