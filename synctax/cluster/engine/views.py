"""What queues and policies see of a cluster at an instant, and may do there."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from synctax.arrays import F64, I64
from synctax.cluster.engine.floor import Floor
from synctax.cluster.jobs import Jobs, Placement
from synctax.cluster.machines import Cluster
from synctax.cluster.policies.ask import ask
from synctax.cluster.policies.policy import JobView, Policy

Columns = TypeVar("Columns", Jobs, Cluster)


def sealed(of: Columns) -> Columns:
    """Make all arrays read-only, without a copy: what a policy sees it must not change."""
    views: dict[str, Any] = {}
    for field in fields(of):
        value = getattr(of, field.name)
        if isinstance(value, np.ndarray):
            views[field.name] = value.view()
            views[field.name].flags.writeable = False
    return replace(of, **views)


class View:
    """The state of a simulation, as a policy sees it.

    Parameters
    ----------
    jobs : Jobs
    cluster : Cluster
    floor : Floor
    """

    def __init__(self, jobs: Jobs, cluster: Cluster, floor: Floor) -> None:
        self._jobs, self._cluster, self._floor = jobs, sealed(cluster), floor

    @property
    def now_ns(self) -> int:
        """Time since the clock of the trace began."""
        return self._floor.now_ns

    @property
    def cluster(self) -> Cluster:
        """Servers, NICs, tiers."""
        return self._cluster

    @property
    def running(self) -> Mapping[int, Placement]:
        """Where each job is that runs, by its number."""
        return {job: one.placement for job, one in self._floor.running.items()}

    def job(self, number: int) -> JobView:
        """Look at another job."""
        return JobView(self._jobs, number)

    @property
    def crossing(self) -> I64:
        """Jobs with traffic over each server's NIC, (k,) int64."""
        nics = self._floor.traffic.on[: self._cluster.servers]
        return np.array([len(on) for on in nics], np.int64)

    @property
    def demand_bytes_per_s(self) -> F64:
        """What jobs demand of each link of the cluster, (m,) float64."""
        return np.array(self._floor.traffic.demanded())


class Desk:
    """Where a queue asks for jobs to be started.

    Parameters
    ----------
    jobs : Jobs
    cluster : Cluster
    floor : Floor
    policy : Policy
    name : str
        Of the policy, for messages.
    """

    def __init__(
        self, jobs: Jobs, cluster: Cluster, floor: Floor, policy: Policy, name: str
    ) -> None:
        self._jobs, self._floor = sealed(jobs), floor
        self._view = View(self._jobs, cluster, floor)
        self._policy, self._name = policy, name
        self._gpus: list[int] = jobs.gpus.tolist()
        self._pinned = jobs.pinned

    @property
    def now_ns(self) -> int:
        """The instant."""
        return self._floor.now_ns

    @property
    def free_gpus(self) -> int:
        """Of the whole cluster, now."""
        return self._floor.free.total

    def gpus(self, job: int) -> int:
        """How many a job asks for."""
        return self._gpus[job]

    def duration_ns(self, job: int) -> int:
        """How long a job is expected to run at most, wherever it will."""
        return self._floor.expected_ns[job]

    def place(self, job: int) -> bool:
        """Start a job if it can be placed now."""
        free = self._floor.free
        if self._gpus[job] > free.total:
            return False
        placement = self._pinned[job]
        if placement is None:
            seen = JobView(self._jobs, job)
            placement = ask(self._policy, self._name, free, seen, self._view)
        elif not free.fits(placement):
            return False
        if placement is None:
            return False
        self._floor.start(job, placement)
        return True

    def running(self) -> Iterator[tuple[int, int, int]]:
        """Give jobs that run: projected end in ns, GPUs, number; earliest end first."""
        # who came or went at this instant has changed the ends of others already
        self._floor.settle()
        return ((one.end_ns, one.gpus, one.job) for one in self._floor.ending())
