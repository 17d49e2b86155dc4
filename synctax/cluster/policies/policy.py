"""What a placement policy is: a function of free GPUs, a job and the cluster's state."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from synctax.arrays import F64, I64, NS_PER_S
from synctax.cluster.jobs import Jobs, Placement
from synctax.cluster.machines import Cluster


@dataclass(frozen=True, slots=True, repr=False)
class JobView:
    """A job, as a policy sees it.

    Parameters
    ----------
    jobs : Jobs
        All jobs of the simulation; read-only where a simulation asks.
    number : int
        Row of this one.

    Examples
    --------
    >>> from synctax.cluster.jobs import simple_jobs
    >>> JobView(simple_jobs([(0, 4, 100)]), 0)
    JobView(job_id='0', gpus=4, submit_s=0.0, duration_s=100.0, compute_s=1.0, \
network_s=0.0, workload='')
    """

    jobs: Jobs
    number: int

    def __repr__(self) -> str:
        """Tell what this job is; the others are left out."""
        told = (f"{name}={getattr(self, name)!r}" for name in _TOLD)
        return f"JobView({', '.join(told)})"

    @property
    def job_id(self) -> str:
        """As its trace calls it."""
        return self.jobs.job_id[self.number]

    @property
    def gpus(self) -> int:
        """How many it asks for: the workers that have to be placed."""
        return int(self.jobs.gpus[self.number])

    @property
    def submit_s(self) -> float:
        """When it came."""
        return float(self.jobs.submit_ns[self.number]) / NS_PER_S

    @property
    def duration_s(self) -> float:
        """Its standalone run time."""
        return float(self.jobs.duration_ns[self.number]) / NS_PER_S

    @property
    def compute_s(self) -> float:
        """Computation of an iteration."""
        return float(self.jobs.compute_s[self.number])

    @property
    def network_s(self) -> float:
        """Network time of an iteration, alone and over NICs."""
        return float(self.jobs.network_s[self.number])

    @property
    def bytes_per_s(self) -> float:
        """What it puts on the NIC of each of its servers if it has several: the average."""
        return float(self.jobs.nic_bytes[self.number]) / self.iteration_s

    @property
    def iteration_s(self) -> float:
        """Time of an iteration alone."""
        return float(self.jobs.iteration_s[self.number])

    @property
    def workload(self) -> str:
        """What it trains; an empty text where that is not known."""
        return self.jobs.workload[self.number]


_TOLD = (
    "job_id",
    "gpus",
    "submit_s",
    "duration_s",
    "compute_s",
    "network_s",
    "workload",
)


class ClusterView(Protocol):
    """The state of a simulation at an instant, as a policy sees it; not to be changed.

    Everything is as of now: jobs that were started at this instant before are in it.
    """

    @property
    def now_ns(self) -> int:
        """Time since the clock of the trace began."""

    @property
    def cluster(self) -> Cluster:
        """Servers, NICs, tiers."""

    @property
    def running(self) -> Mapping[int, Placement]:
        """Where each job is that runs, by its number."""

    def job(self, number: int) -> JobView:
        """Look at another job."""

    @property
    def crossing(self) -> I64:
        """Jobs with traffic over each server's NIC, (k,) int64."""

    @property
    def demand_bytes_per_s(self) -> F64:
        """What jobs demand of each link of `cluster.links`, (m,) float64."""


class Policy(Protocol):
    """Chooses servers for a job.

    It is asked for one job at a time, whenever that might start: no job is asked for that
    wants more GPUs than are free in all.
    """

    def __call__(
        self, free: I64, job: JobView, state: ClusterView, /
    ) -> Mapping[int, int] | None:
        """Place a job.

        Parameters
        ----------
        free : (k,) int64
            Free GPUs of each server; read-only.
        job : JobView
        state : ClusterView

        Returns
        -------
        mapping of int to int, or None
            Workers by server, together `job.gpus`; None where the job has to wait, to be
            asked for again whenever a job has ended or come.
        """


def placement_of(workers: Mapping[int, int] | Iterable[tuple[int, int]]) -> Placement:
    """Put workers by server in order of servers.

    Examples
    --------
    >>> placement_of({2: 4, 0: 8})
    ((0, 8), (2, 4))
    """
    return tuple(sorted(dict(workers).items()))
