"""Jobs that could never run on a cluster are refused before anything runs."""

from collections.abc import Sequence

import numpy as np

from synctax.cluster.fitting import misplaced, shortest_s, too_large
from synctax.cluster.jobs import Jobs, placement_text
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
    short_s = shortest_s(jobs.compute_s + jobs.tax_s, jobs.network_s, jobs.local_network_s)
    wrong = ~(short_s > 0) | (jobs.local_network_s < 0) | np.isinf(jobs.local_network_s)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"an iteration of job {jobs.job_id[at]} on one server cannot be: compute_s is "
            f"{jobs.compute_s[at]:g}, local_network_s {jobs.local_network_s[at]:g}"
        )
    large = np.flatnonzero(too_large(jobs.gpus, cluster)).tolist()
    if large:
        asked = "1 job asks" if len(large) == 1 else f"{len(large):,} jobs ask"
        raise SynctaxError(
            f"{asked} for more GPUs than the {cluster.total_gpus:,} of the cluster and "
            f"could never start: {named(jobs, large, gpus=True)}; leave out, or take a "
            "larger cluster"
        )
    _check_pinned(jobs, cluster)


def _check_pinned(jobs: Jobs, cluster: Cluster) -> None:
    sizes = cluster.gpus.tolist()
    for at, pinned in enumerate(jobs.pinned):
        if pinned is None:
            continue
        if wrong := misplaced(pinned, int(jobs.gpus[at]), sizes):
            raise SynctaxError(
                f"job {jobs.job_id[at]} cannot be pinned to {placement_text(pinned)}: "
                f"{wrong}"
            )


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
