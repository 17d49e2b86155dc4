"""What a simulation found: when every job ran, where, and how much it was slowed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from synctax.arrays import F64, I32, I64
from synctax.cluster.jobs import Jobs, Placement
from synctax.cluster.machines import Cluster
from synctax.cluster.settings import Contention
from synctax.notes import Note
from synctax.schema.html import Shown

if TYPE_CHECKING:
    import pandas as pd

    from synctax.cluster.metrics import Summary


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """How the cluster was used, over the time from the first submission to the last end.

    Parameters
    ----------
    gpu_s : float
        GPU-seconds that were allocated to jobs.
    queue_mean, queue_max : float, int
        Jobs that wait: average over time, and most at once.
    fragmentation : float
        Of the free GPUs, over time, the share that is on servers where others are taken;
        NaN where none was ever free.
    busy_s, oversubscribed_s : (m,) float64
        For each link: how long any job crossed it, and how long demand was above its rate.
    """

    gpu_s: float
    queue_mean: float
    queue_max: int
    fragmentation: float
    busy_s: F64
    oversubscribed_s: F64


@dataclass(frozen=True, slots=True, eq=False)
class Interference:
    """Who slowed whom: p pairs, largest loss first.

    What a job loses to others is laid on those of its worst link in proportion to their
    demands there; links that are equally bad count alike. Its losses add up to its run time
    less its solo time.

    Parameters
    ----------
    job, by : (p,) int32
        The job that was slowed, and one that slowed it.
    shared_s : (p,) float64
        How long the second was on the worst link of the first while that was slowed.
    lost_s : (p,) float64
        Time that the first ran longer for it.
    """

    job: I32
    by: I32
    shared_s: F64
    lost_s: F64


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Simulation(Shown):
    """Jobs that ran on a cluster, n rows as in `jobs`.

    Parameters
    ----------
    jobs : Jobs
    cluster : Cluster
    contention : Contention
    policy, queue : str
        What chose servers, and who might start.
    start_ns, end_ns : (n,) int64
    placements : tuple of Placement
    solo_ns : (n,) float64
        Run time of the same placement without other jobs' traffic: the duration, unless
        servers are slower or faster than those of the profile, network times differ where a
        job is on one server, or its profile is of a faster network.
    factor : (n,) float64
        S, the mean over the run time; 1 where a job has no traffic between servers, and
        for jobs of no length. With `pollux` and scope `time` it is on all of an iteration.
    use : Use
    interference : Interference or None
        None where it was not asked for.
    notes : tuple of Note
    """

    jobs: Jobs
    cluster: Cluster
    contention: Contention
    policy: str
    queue: str
    start_ns: I64
    end_ns: I64
    placements: tuple[Placement, ...]
    solo_ns: F64
    factor: F64
    use: Use
    interference: Interference | None = None
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        """Write a line; the arrays may be long."""
        return (
            f"Simulation({len(self.jobs):,} jobs on {self.cluster.total_gpus:,} GPUs, "
            f"{self.policy}, {self.queue})"
        )

    def summary(self) -> "Summary":
        """Sum it up: completion times, waiting, contention, use of the cluster."""
        from synctax.cluster.metrics import summary

        return summary(self)

    def to_frame(self) -> "pd.DataFrame":
        """Build the table `synctax.simulate/1`, one row per job."""
        from synctax.cluster.columns import to_frame

        return to_frame(self)
