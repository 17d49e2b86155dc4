"""Jobs that could never run on a cluster are refused before anything runs."""

from collections.abc import Sequence

import numpy as np

from synctax.arrays import I64
from synctax.cluster.jobs import Jobs, Placement, placement_text
from synctax.cluster.machines import Cluster
from synctax.errors import SynctaxError

SHOWN_JOBS = 5
"""Jobs that a message names, of those it is about."""


def check_jobs(jobs: Jobs, cluster: Cluster) -> None:
    """Refuse jobs that could never run.

    Parameters
    ----------
    jobs : Jobs
    cluster : Cluster

    Raises
    ------
    SynctaxError
        Naming the jobs: larger than the cluster, or pinned to servers that are not there
        or too small.
    ValueError
        If jobs are not in order of submission, or have no length, no worker or no time of
        an iteration that could be.
    """
    if np.any(np.diff(jobs.submit_ns) < 0):
        raise ValueError("jobs are not in order of submission")
    if np.any(jobs.duration_ns < 0) or np.any(jobs.gpus < 1):
        raise ValueError("jobs last 0 s or more, on 1 GPU or more")
    iteration_s = jobs.iteration_s
    if not np.all((iteration_s > 0) & np.isfinite(iteration_s)):
        at = int(np.flatnonzero(~((iteration_s > 0) & np.isfinite(iteration_s)))[0])
        raise ValueError(f"an iteration of job {jobs.job_id[at]} takes {iteration_s[at]} s")
    large = np.flatnonzero(jobs.gpus > cluster.total_gpus).tolist()
    if large:
        asked = "1 job asks" if len(large) == 1 else f"{len(large):,} jobs ask"
        raise SynctaxError(
            f"{asked} for more GPUs than the {cluster.total_gpus:,} of the cluster and "
            f"could never start: {named(jobs, large, gpus=True)}; leave out, or take a "
            "larger cluster"
        )
    _check_pinned(jobs, cluster)


def _check_pinned(jobs: Jobs, cluster: Cluster) -> None:
    for at, pinned in enumerate(jobs.pinned):
        wrong = pinned is not None and _wrong(pinned, int(jobs.gpus[at]), cluster.gpus)
        if wrong:
            raise SynctaxError(
                f"job {jobs.job_id[at]} cannot be pinned to {placement_text(pinned)}: "
                f"{wrong}"
            )


def _wrong(pinned: Placement, asked: int, gpus: I64) -> str:
    workers = sum(one for _, one in pinned)
    if workers != asked:
        return f"{workers:,} workers of a job of {asked:,}"
    servers = [server for server, _ in pinned]
    if sorted(set(servers)) != servers:
        return "servers are named once, in ascending order"
    for server, here in pinned:
        if not 0 <= server < gpus.size:
            return f"the cluster has servers 0 to {gpus.size - 1:,}"
        if here < 1:
            return f"{here:,} workers on server {server:,}"
        if here > gpus[server]:
            return f"server {server:,} has {gpus[server]:,} GPUs"
    return ""


def named(jobs: Jobs, rows: Sequence[int], *, gpus: bool = False) -> str:
    """Name the first few jobs of some, with the GPUs that they ask for if that matters.

    Examples
    --------
    >>> from synctax.cluster.jobs import simple_jobs
    >>> jobs = simple_jobs([(0, 4, 1)] * 9)
    >>> named(jobs, range(9)), named(jobs, [7, 8], gpus=True)
    ('0, 1, 2, 3, 4, ...', '7 (4), 8 (4)')
    """
    shown = [
        f"{jobs.job_id[row]} ({jobs.gpus[row]:,})" if gpus else jobs.job_id[row]
        for row in rows[:SHOWN_JOBS]
    ]
    return ", ".join(shown + ["..."] * (len(rows) > SHOWN_JOBS))
