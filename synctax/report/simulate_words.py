"""What a simulation comes to, in sentences."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from synctax.cluster.inputs.read_jobs import GIVEN
from synctax.cluster.jobs import Jobs
from synctax.cluster.machines import Cluster
from synctax.cluster.metrics import Summary, Times, culprits, summary, times
from synctax.cluster.settings import Contention
from synctax.cluster.simulation import Simulation
from synctax.texts import counted, is_absent, number, percent, seconds, size_bytes

_S_PER_H = 3600.0

MOSTLY = 0.1
"""Share of all lost time from which on a job is named as its cause."""


def job_name(jobs: Jobs, at: int) -> str:
    """Name a job, with what it trains where that is known."""
    workload = jobs.workload[at]
    return f"{jobs.job_id[at]} ({workload})" if workload else jobs.job_id[at]


def verdict(simulation: Simulation) -> Iterator[str]:
    """Say how long jobs took, of that waited, and what contention did to them.

    Yields
    ------
    str
        The first is the answer to what most people ask.
    """
    told, found = summary(simulation), times(simulation)
    yield (
        f"{counted(told.jobs, 'job')} on {where(simulation.cluster)}, {simulation.policy}, "
        f"{simulation.queue}: mean JCT {seconds(told.jct_mean_s)}, of it "
        f"{seconds(told.wait_mean_s)} waiting ({_of(told.wait_mean_s, told.jct_mean_s)})"
    )
    yield stretched(simulation, told, found)
    yield from _by_whom(simulation, told)
    if told.makespan_s:
        yield _use(told)


def _use(told: Summary) -> str:
    """Say how much of the cluster was used, and how many waited for the rest."""
    said = (
        f"{percent(told.utilisation)} of the GPUs' {seconds(told.makespan_s)} were in use; "
        f"{number(told.queue_mean)} jobs waited on average, {told.queue_max:,} at most"
    )
    if is_absent(told.fragmentation):
        return said
    return f"{said}; {percent(told.fragmentation)} of free GPUs were on servers in use"


def where(cluster: Cluster) -> str:
    """Say on how much of what jobs ran."""
    named = f" of {cluster.name}" if cluster.name else ""
    many = f"{counted(cluster.total_gpus, 'GPU')}{named}"
    return f"{many} ({counted(cluster.servers, 'server')})"


def _of(part: float, whole: float) -> str:
    return percent(part / whole) if whole else percent(0.0)


def stretched(simulation: Simulation, told: Summary, found: Times) -> str:
    """Say how much longer jobs trained for others' traffic."""
    if simulation.contention.model == "tiresias":
        return "contention: none is modelled (tiresias); jobs train as long as alone"
    if not told.jobs_slowed:
        return "contention: no job was slowed by traffic of others"
    worst = int(np.argmax(found.slowdown))
    each_s = told.lost_mean_s * told.jobs / told.jobs_slowed
    return (
        f"contention stretched training by {percent(told.lost_share)}: "
        f"{told.jobs_slowed:,} of {counted(told.jobs, 'job')} slowed, by "
        f"{seconds(each_s)} on average and {number(told.gpu_lost_s / _S_PER_H)} GPU-hours "
        f"in all; most of all {job_name(simulation.jobs, worst)}, "
        f"{number(told.slowdown_max)} × as long as alone"
    )


def _by_whom(simulation: Simulation, told: Summary) -> Iterator[str]:
    pairs = simulation.interference
    if pairs is None or not pairs.job.size or not told.jobs_slowed:
        return
    found = culprits(pairs)
    whole_s = float(found.lost_s.sum())
    share = float(found.lost_s[0]) / whole_s if whole_s else 0.0
    named = job_name(simulation.jobs, int(found.job[0]))
    if share < MOSTLY:
        yield (
            f"no job stands out as the cause: {counted(found.job.size, 'job')} slowed "
            f"others; most of all {named}, {percent(share)} of all that was lost"
        )
        return
    many = int(found.victims[0])
    victim = pairs.job[np.argmax(pairs.by == found.job[0])]
    others = job_name(simulation.jobs, int(victim)) if many == 1 else f"{many:,} others"
    yield (
        f"mostly by {named}: {others} lost {seconds(float(found.lost_s[0]))} to it, "
        f"{percent(share)} of all that was lost"
    )


def assumed(simulation: Simulation, pool: str = "") -> Iterator[str]:
    """Say by which model the numbers are, what was counted, and against what it was held.

    Parameters
    ----------
    simulation : Simulation
    pool : str
        Name of what profiles are from; empty where rows of the trace tell them all.

    Yields
    ------
    str
        Model; links; jobs.
    """
    yield f"model: {_model(simulation.contention)}"
    yield links(simulation.cluster)
    said = of_jobs(simulation.jobs, pool)
    if said:
        yield said


def links(cluster: Cluster) -> str:
    """Say what NICs and uplinks carry."""
    rates = cluster.nic_bytes_per_s
    low, high = size_bytes(float(rates.min())), size_bytes(float(rates.max()))
    between = low if low == high else f"{low} to {high}"
    text = (
        f"NICs carry {between} a second" if np.isfinite(rates.max()) else "NICs: no limit"
    )
    for tier in cluster.tiers:
        text += (
            f"; blocks of {tier.servers:,} servers share uplinks of 1/"
            f"{number(tier.oversubscription)} of their NICs"
        )
    return text


def of_jobs(jobs: Jobs, pool: str) -> str:
    """Say what of jobs would else be taken for granted; empty for nothing."""
    return "; ".join(_of_jobs(jobs, pool))


def _of_jobs(jobs: Jobs, pool: str) -> Iterator[str]:
    if jobs.nic_bytes.any() and jobs.counting:
        many = Counter(jobs.counting)
        each = [f"{one} ({counted(n, 'job')})" for one, n in many.items()]
        how = ", ".join(each) if len(each) > 1 else next(iter(many))
        yield f"network_bytes are counted as {how}"
    if pool:
        given = jobs.source.count(GIVEN)
        yield f"profiles of {counted(len(jobs) - given, 'job')} are of the pool {pool}"
    taxed = int((jobs.tax_s > 0).sum())
    if taxed:
        yield f"iterations of {counted(taxed, 'job')} hold tax"
    pinned = len(jobs) - jobs.pinned.count(None)
    if pinned:
        yield f"the trace names the servers of {counted(pinned, 'job')}"


def least_share(how: Contention) -> str:
    """Say what mosim leaves a job at least."""
    share = how.min_bandwidth_share
    return f"at least {100 * share:g} % of a NIC a job" if share else "no least share"


def _model(how: Contention) -> str:
    aware = "; NVLink within servers" if how.placement_aware else ""
    if how.model == "tiresias":
        return f"tiresias, no contention{aware}"
    if how.model == "pollux":
        scope = "iterations" if how.static_scope == "time" else "network time"
        return f"pollux, {scope} × {number(how.static_factor)} while a NIC is shared{aware}"
    basis = {
        "iteration": "bytes of an iteration over its time",
        "network": "bytes of an iteration over its network time",
        "overlap": "own rate while sending, and what it meets of others on average",
    }[how.basis]
    least = least_share(how)
    solo = "; factors over those alone" if how.normalise_solo else ""
    return f"mosim, demand basis {how.basis}: {basis}; {least}{solo}{aware}"
