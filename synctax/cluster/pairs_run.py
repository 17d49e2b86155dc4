"""How much jobs that run side by side on two servers slow one of them down."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import F64
from synctax.cluster.engine import simulate
from synctax.cluster.jobs import Jobs, Placement, to_ns
from synctax.cluster.machines import uniform
from synctax.cluster.settings import Contention

SERVERS: Final = 2
"""That every set of jobs has for itself."""

MEASURED_S: Final = 1_000.0
"""What the job that is measured runs alone: nanoseconds are then no part of a result."""

OTHERS_S: Final = 1e6
"""What the others run alone: longer than any factor makes the measured job."""


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """What the first job of each of s sets suffers while the others run.

    Parameters
    ----------
    iteration_change : (s,) float64
        Time of an iteration over that of the job alone.
    factor : (s,) float64
        S, the model's factor.
    """

    iteration_change: F64
    factor: F64


def together(
    compute_s: F64,
    network_s: F64,
    nic_bytes: F64,
    *,
    gpus: int,
    nic_bytes_per_s: float,
    contention: Contention,
) -> Together:
    """Run sets of jobs, each set on two servers of its own, half of each job on each.

    It is `simulate` that runs them, all sets at once: what is told is what a simulation
    does with such jobs.

    Parameters
    ----------
    compute_s, network_s : (s, m) float64
        Of an iteration alone; the first of each row is the job that is measured.
    nic_bytes : (s, m) float64
        What an iteration puts on the NIC of each server.
    gpus : int
        Of every job, an even number: half of them are on each server.
    nic_bytes_per_s : float
        Of every server.
    contention : Contention

    Returns
    -------
    Together

    Raises
    ------
    ValueError
        If `gpus` is odd: a job would have different traffic on its two servers.
    """
    if gpus < SERVERS or gpus % SERVERS:
        raise ValueError(f"{gpus} GPUs are not two equal halves")
    sets, m = compute_s.shape
    cluster = uniform(SERVERS * sets, m * gpus // SERVERS, nic_bytes_per_s)
    jobs = _jobs(compute_s, network_s, nic_bytes, gpus)
    done = simulate(jobs, cluster, contention=contention)
    measured = slice(0, None, m)
    run_ns = (done.end_ns - done.start_ns)[measured]
    return Together(run_ns / done.solo_ns[measured], done.factor[measured])


def _jobs(compute_s: F64, network_s: F64, nic_bytes: F64, gpus: int) -> Jobs:
    sets, m = compute_s.shape
    n = sets * m
    duration_s = np.full((sets, m), OTHERS_S)
    duration_s[:, 0] = MEASURED_S
    pinned: list[Placement] = []
    for at in range(sets):
        first, half = SERVERS * at, gpus // SERVERS
        pinned += [((first, half), (first + 1, half))] * m
    return Jobs(
        job_id=tuple(map(str, range(n))),
        submit_ns=np.zeros(n, np.int64),
        gpus=np.full(n, gpus, np.int64),
        duration_ns=to_ns(duration_s.ravel()),
        compute_s=compute_s.ravel(),
        network_s=network_s.ravel(),
        tax_s=np.zeros(n),
        nic_bytes=nic_bytes.ravel(),
        network_bytes=nic_bytes.ravel() * gpus,
        local_network_s=np.full(n, np.nan),
        barriers=np.ones(n),
        workload=("",) * n,
        source=("",) * n,
        pinned=tuple(pinned),
        counting=("sent",) * n,
    )
