"""A simulation that is small and slow: the paper's equations word for word, in seconds.

Iterations that are left are kept as W, the time of one as tau, and at every event all of
them are worked out again. Nothing is taken from the engine.
"""

from collections.abc import Callable
from dataclasses import dataclass

from synctax.cluster.jobs import Jobs
from synctax.cluster.machines import Cluster

SAME_S = 2e-9
"""Times that are one instant."""


@dataclass
class Job:
    gpus: int
    compute_s: float
    network_s: float
    bytes_each: float
    left: float
    servers: dict[int, int]


def simulate(
    jobs: Jobs,
    cluster: Cluster,
    choose: Callable[[list[int], int], dict[int, int]],
    *,
    basis: str = "iteration",
    least: float = 0.01,
    placement_aware: bool = False,
    strict: bool = False,
) -> tuple[list[float], list[float]]:
    """Find when every job starts and ends; queue: greedy backfilling, or strict order."""
    free = cluster.gpus.tolist()
    coming, waiting, running = list(range(len(jobs))), [], {}
    start_s, end_s = [0.0] * len(jobs), [0.0] * len(jobs)
    now_s = 0.0
    while coming or running:
        now_s = advance(jobs, cluster, coming, running, now_s, basis, least)
        for at in [at for at in running if running[at].left * 2 < SAME_S]:
            end_s[at] = now_s
            for server, workers in running.pop(at).servers.items():
                free[server] += workers
        while coming and jobs.submit_ns[coming[0]] / 1e9 <= now_s + SAME_S:
            waiting.append(coming.pop(0))
        for at in list(waiting):
            if jobs.gpus[at] <= sum(free):
                waiting.remove(at)
                servers = choose(list(free), int(jobs.gpus[at]))
                for server, workers in servers.items():
                    free[server] -= workers
                running[at] = begin(jobs, cluster, at, servers, placement_aware)
                start_s[at] = now_s
            elif strict:
                break
    return start_s, end_s


def advance(jobs, cluster, coming, running, now_s, basis, least) -> float:
    """Let all jobs run until the next of them ends or another comes."""
    tau = {
        at: job.compute_s + job.network_s * factor(at, running, cluster, basis, least)
        for at, job in running.items()
    }
    ends = [now_s + job.left * tau[at] for at, job in running.items()]
    then_s = min(ends + [jobs.submit_ns[at] / 1e9 for at in coming[:1]])
    for at, job in running.items():
        job.left = max(0.0, job.left - (then_s - now_s) / tau[at])
    return then_s


def begin(jobs, cluster, at, servers, placement_aware) -> Job:
    n = int(jobs.gpus[at])
    each = jobs.network_bytes[at] / n
    own_s = jobs.compute_s[at] + jobs.tax_s[at]
    network_s = near_s = jobs.network_s[at]
    if placement_aware and jobs.local_network_s[at] == jobs.local_network_s[at]:
        near_s = jobs.local_network_s[at]
    local = len(servers) == 1
    return Job(
        gpus=n,
        compute_s=own_s / min(cluster.speed[server] for server in servers),
        network_s=near_s if local else network_s,
        bytes_each=0.0 if local else each * (2 if n > 2 else 1),
        left=jobs.duration_ns[at] / 1e9 / (own_s + network_s),
        servers=servers,
    )


def links(servers, cluster) -> dict[tuple, float]:
    """Rates of the NICs and uplinks that a job on servers crosses."""
    found = {("nic", server): cluster.nic_bytes_per_s[server] for server in servers}
    for level, tier in enumerate(cluster.tiers):
        blocks = {server // tier.servers for server in servers}
        if len(blocks) > 1:
            for block in blocks:
                first = block * tier.servers
                inside = cluster.nic_bytes_per_s[first : first + tier.servers]
                found[level, block] = inside.sum() / tier.oversubscription
    return found


def factor(at, running, cluster, basis, least) -> float:
    """Equations 8 to 10."""

    def rate(job: Job, *, seen_by_others: bool) -> float:
        average = basis == "iteration" or (basis == "overlap" and seen_by_others)
        return job.bytes_each / (job.network_s + (job.compute_s if average else 0.0))

    one, worst = running[at], 1.0
    if not one.bytes_each:
        return 1.0
    own = rate(one, seen_by_others=False)
    for link, capacity in links(one.servers, cluster).items():
        others = [
            rate(job, seen_by_others=True)
            for other, job in running.items()
            if other != at and job.bytes_each and link in links(job.servers, cluster)
        ]
        allocated = own * min(1.0, capacity / (own + sum(others)))
        worst = max(worst, own / max(allocated, least * capacity))
    return worst
