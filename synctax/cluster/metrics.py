"""What a simulation comes to: times of jobs, and of them what people ask for first."""

from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from synctax.arrays import F64, I64, NS_PER_S, Bool
from synctax.cluster.simulation import Interference, Simulation

STRETCHED: Final = 1e-9
"""Share of its own time that a job has to lose before it counts as slowed."""


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """Times of n jobs.

    Parameters
    ----------
    wait_s : (n,) float64
        From submission to start.
    training_s : (n,) float64
        From start to end.
    jct_s : (n,) float64
        From submission to end.
    solo_s : (n,) float64
        Training on the same GPUs without traffic of others.
    lost_s : (n,) float64
        What training took longer than that.
    slowdown : (n,) float64
        training_s over solo_s; 1 for jobs of no length.
    """

    wait_s: F64
    training_s: F64
    jct_s: F64
    solo_s: F64
    lost_s: F64
    slowdown: F64

    @property
    def slowed(self) -> Bool:
        """Which jobs lost time to others, (n,) bool."""
        return self.lost_s > STRETCHED * self.solo_s


def times(simulation: Simulation) -> Times:
    """Take differences of the instants of jobs.

    Parameters
    ----------
    simulation : Simulation

    Returns
    -------
    Times
    """
    submit_ns, start_ns = simulation.jobs.submit_ns, simulation.start_ns
    training_ns = simulation.end_ns - start_ns
    solo_ns = simulation.solo_ns
    # a nanosecond is what ends are rounded to
    same = np.abs(training_ns - solo_ns) <= 1
    lost_ns = np.where(same, 0.0, training_ns - solo_ns)
    slowdown = np.ones(lost_ns.size)
    np.divide(solo_ns + lost_ns, solo_ns, out=slowdown, where=solo_ns > 0)
    return Times(
        wait_s=(start_ns - submit_ns) / NS_PER_S,
        training_s=training_ns / NS_PER_S,
        jct_s=(simulation.end_ns - submit_ns) / NS_PER_S,
        solo_s=solo_ns / NS_PER_S,
        lost_s=lost_ns / NS_PER_S,
        slowdown=slowdown,
    )


@dataclass(frozen=True, slots=True)
class Summary:
    """A cluster and its jobs in numbers; percentiles are interpolated straight.

    Parameters
    ----------
    jct_mean_s, jct_median_s, jct_p90_s, jct_p99_s : float
        From submission to end.
    makespan_s : float
        From the first submission to the last end.
    utilisation : float
        Share of the GPUs' time in it that jobs had.
    training_mean_s, training_median_s, training_p90_s, training_p99_s : float
        From start to end.
    solo_mean_s : float
        The same without traffic of others.
    wait_mean_s, wait_median_s, wait_p90_s, wait_p99_s, wait_max_s : float
        From submission to start.
    slowdown_mean, slowdown_max : float
        Of the training of a job over its time alone.
    contention_mean : float
        S, over all time that jobs ran.
    lost_mean_s : float
        What a job's training took longer for others' traffic.
    lost_share : float
        All of that over all training alone.
    jobs, jobs_slowed : int
        All, and those that lost time.
    gpu_s, gpu_lost_s : float
        GPU-seconds that jobs had, and of these what they lost.
    fragmentation : float
        Of free GPUs, over time, the share on servers where others are taken; NaN where
        none was ever free.
    queue_mean, queue_max : float, int
        Jobs that wait.
    """

    jct_mean_s: float
    jct_median_s: float
    jct_p90_s: float
    jct_p99_s: float
    makespan_s: float
    utilisation: float
    training_mean_s: float
    training_median_s: float
    training_p90_s: float
    training_p99_s: float
    solo_mean_s: float
    wait_mean_s: float
    wait_median_s: float
    wait_p90_s: float
    wait_p99_s: float
    wait_max_s: float
    slowdown_mean: float
    slowdown_max: float
    contention_mean: float
    lost_mean_s: float
    lost_share: float
    jobs: int
    jobs_slowed: int
    gpu_s: float
    gpu_lost_s: float
    fragmentation: float
    queue_mean: float
    queue_max: int

    def told(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)


def summary(simulation: Simulation) -> Summary:
    """Sum a simulation up.

    Parameters
    ----------
    simulation : Simulation
        Of one job or more.

    Returns
    -------
    Summary

    Raises
    ------
    ValueError
        If there is no job.

    References
    ----------
    MoSim paper (arXiv 2609.23278), section V: average training time, JCT, makespan.
    """
    n = len(simulation.jobs)
    if not n:
        raise ValueError("a simulation without jobs has no summary")
    found = times(simulation)
    makespan_s = makespan(simulation)
    use, gpus = simulation.use, simulation.jobs.gpus
    jct, training, wait = map(spread, (found.jct_s, found.training_s, found.wait_s))
    return Summary(
        jct_mean_s=jct.mean,
        jct_median_s=jct.median,
        jct_p90_s=jct.p90,
        jct_p99_s=jct.p99,
        makespan_s=makespan_s,
        utilisation=_share(use.gpu_s, simulation.cluster.total_gpus * makespan_s),
        training_mean_s=training.mean,
        training_median_s=training.median,
        training_p90_s=training.p90,
        training_p99_s=training.p99,
        solo_mean_s=float(found.solo_s.mean()),
        wait_mean_s=wait.mean,
        wait_median_s=wait.median,
        wait_p90_s=wait.p90,
        wait_p99_s=wait.p99,
        wait_max_s=wait.max,
        slowdown_mean=float(found.slowdown.mean()),
        slowdown_max=float(found.slowdown.max()),
        contention_mean=_weighted(simulation.factor, found.training_s),
        lost_mean_s=float(found.lost_s.mean()),
        lost_share=_share(float(found.lost_s.sum()), float(found.solo_s.sum())),
        jobs=n,
        jobs_slowed=int(found.slowed.sum()),
        gpu_s=use.gpu_s,
        gpu_lost_s=float(found.lost_s @ gpus),
        fragmentation=use.fragmentation,
        queue_mean=use.queue_mean,
        queue_max=use.queue_max,
    )


def makespan(simulation: Simulation) -> float:
    """Measure from the first submission to the last end, in s."""
    last_ns = int(simulation.end_ns.max())
    return (last_ns - int(simulation.jobs.submit_ns.min())) / NS_PER_S


@dataclass(frozen=True, slots=True)
class Spread:
    """How values are spread over jobs; percentiles are interpolated straight.

    Parameters
    ----------
    mean, median, p90, p99, max : float
    """

    mean: float
    median: float
    p90: float
    p99: float
    max: float


def spread(values: F64) -> Spread:
    """Tell how values are spread.

    Parameters
    ----------
    values : (n,) float64
        One or more.

    Returns
    -------
    Spread
    """
    ends = np.percentile(values, (50, 90, 99, 100)).tolist()
    return Spread(float(values.mean()), *ends)


def spreads(found: Times) -> dict[str, Spread]:
    """Tell how times and slowdowns are spread over jobs, by their names in `Times`.

    Parameters
    ----------
    found : Times

    Returns
    -------
    dict of str to Spread
    """
    names = ("jct_s", "wait_s", "training_s", "solo_s", "slowdown")
    return {name: spread(getattr(found, name)) for name in names}


def _share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def _weighted(values: F64, weights: F64) -> float:
    whole = float(weights.sum())
    return float(values @ weights) / whole if whole else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Widths:
    """Jobs by the GPUs that they ask for: who starves.

    Parameters
    ----------
    gpus : (w,) int64
        Ascending.
    jobs : (w,) int64
    wait_mean_s, wait_max_s : (w,) float64
    slowdown_mean : (w,) float64
    """

    gpus: I64
    jobs: I64
    wait_mean_s: F64
    wait_max_s: F64
    slowdown_mean: F64


def by_width(simulation: Simulation) -> Widths:
    """Group jobs by their number of GPUs.

    Parameters
    ----------
    simulation : Simulation

    Returns
    -------
    Widths
    """
    found = times(simulation)
    gpus, at = np.unique(simulation.jobs.gpus, return_inverse=True)
    jobs = np.bincount(at, minlength=gpus.size)
    longest_s = np.zeros(gpus.size)
    np.maximum.at(longest_s, at, found.wait_s)
    return Widths(
        gpus=gpus,
        jobs=jobs,
        wait_mean_s=np.bincount(at, found.wait_s, gpus.size) / jobs,
        wait_max_s=longest_s,
        slowdown_mean=np.bincount(at, found.slowdown, gpus.size) / jobs,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Culprits:
    """Jobs that slowed others, most lost time first.

    Parameters
    ----------
    job : (c,) int64
    victims : (c,) int64
        How many others each slowed.
    lost_s : (c,) float64
        What these lost to it.
    """

    job: I64
    victims: I64
    lost_s: F64


def culprits(interference: Interference) -> Culprits:
    """Sum pairs up by who slowed.

    Parameters
    ----------
    interference : Interference

    Returns
    -------
    Culprits
    """
    job, at = np.unique(interference.by, return_inverse=True)
    victims = np.bincount(at, minlength=job.size)
    lost_s = np.bincount(at, interference.lost_s, job.size).astype(np.float64)
    order = np.lexsort((job, -lost_s))
    return Culprits(job[order].astype(np.int64), victims[order], lost_s[order])
