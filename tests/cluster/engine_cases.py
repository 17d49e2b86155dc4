"""Small clusters and jobs, drawn at random, whose jobs meet on links."""

from dataclasses import replace

import numpy as np

from synctax.cluster.jobs import Jobs, Placement, simple_jobs
from synctax.cluster.machines import Cluster, SwitchTier
from synctax.cluster.settings import Rates


def drawn(seed: int, *, mixed: bool = False, ties: bool = False) -> tuple[Jobs, Cluster]:
    """Draw up to 12 jobs and 2 to 6 servers.

    Parameters
    ----------
    seed : int
    mixed : bool
        Speeds that differ, switch tiers, taxes, and network times of jobs on one server.
    ties : bool
        Times in whole seconds, some of them 0.
    """
    draw = np.random.default_rng(seed)
    servers, many = int(draw.integers(2, 7)), int(draw.integers(1, 13))
    gpus = draw.integers(2, 9, servers)
    asked = np.minimum(draw.integers(1, 13, many), gpus.sum())
    submit_s, run_s = draw.uniform(0, 100, many), draw.lognormal(3, 1, many)
    if ties:
        submit_s, run_s = np.round(submit_s / 10), np.round(run_s / 5)
    rows = list(zip(submit_s, asked.tolist(), run_s, strict=True))
    compute_s, network_s = draw.uniform(0.1, 0.9, many), draw.uniform(0.05, 1, many)
    sent = draw.uniform(1, 8, many) * network_s * asked
    jobs = simple_jobs(rows, compute_s=compute_s, network_s=network_s, network_bytes=sent)
    cluster = Cluster(
        gpus=gpus,
        nic_bytes_per_s=draw.uniform(3, 15, servers),
        gpu_type=("",) * servers,
        speed=np.ones(servers),
        nvlink_bytes_per_s=np.full(servers, np.nan),
    )
    if not mixed:
        return jobs, cluster
    near_s = np.where(draw.uniform(size=many) < 0.5, jobs.network_s / 4, np.nan)
    return (
        replace(jobs, tax_s=draw.uniform(0, 0.2, many), local_network_s=near_s),
        replace(
            cluster,
            speed=draw.choice([0.5, 1.0, 1.25, 2.0], servers),
            tiers=(SwitchTier(2, 1.5), SwitchTier(4, 2.0))[: int(draw.integers(1, 3))],
        ),
    )


def first_fit(free, job, state) -> dict[int, int]:
    """Place workers on the first servers that have room."""
    return fill(list(free), job.gpus)


def round_robin(free, job, state) -> dict[int, int]:
    """Place workers one by one, each on the next server that has room."""
    return deal(list(free), job.gpus)


def fill(free: list[int], gpus: int) -> dict[int, int]:
    taken = {}
    for server, room in enumerate(free):
        if gpus and room:
            taken[server] = min(gpus, int(room))
            gpus -= taken[server]
    return taken


def deal(free: list[int], gpus: int) -> dict[int, int]:
    taken, server = {}, 0
    while gpus:
        if free[server]:
            free[server] -= 1
            taken[server] = taken.get(server, 0) + 1
            gpus -= 1
        server = (server + 1) % len(free)
    return taken


def sorted_placement(taken: dict[int, int]) -> Placement:
    return tuple(sorted(taken.items()))


S = 10**9
"""ns"""

HALVES = ((0, 4), (1, 4))


def two_beside(run_s: tuple[float, float] = (100, 100), submit_s: float = 0, **columns):
    """Two jobs of 8 GPUs, half of each on each of two servers."""
    rows = [(0, 8, run_s[0]), (submit_s, 8, run_s[1])]
    columns = {"compute_s": 0.5, "network_s": 0.5, "pinned": [HALVES] * 2, **columns}
    return simple_jobs(rows, **columns)


def asking(*rates: float) -> Rates:
    return Rates(np.array(rates), np.array(rates))
