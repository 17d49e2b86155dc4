"""From jobs and a cluster to when and where every job ran: events in order of time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import NS_PER_S
from synctax.cluster import machines, settings
from synctax.cluster.engine.blame import Blame
from synctax.cluster.engine.checks import check_jobs, named
from synctax.cluster.engine.demands import Demands, demands
from synctax.cluster.engine.floor import Floor, Parts
from synctax.cluster.engine.placing import Placer
from synctax.cluster.engine.rules import rule
from synctax.cluster.engine.traffic import Traffic
from synctax.cluster.engine.views import Desk
from synctax.cluster.jobs import Jobs
from synctax.cluster.machines import Cluster, Links
from synctax.cluster.policies.lookup import policy as find_policy
from synctax.cluster.policies.policy import Policy
from synctax.cluster.queues.lookup import queue as find_queue
from synctax.cluster.queues.queue import Queue
from synctax.cluster.settings import Contention, Rates
from synctax.cluster.simulation import Simulation
from synctax.errors import SynctaxError
from synctax.notes import Note

Progress = Callable[[int, int], None]
"""Told how many jobs have ended, and how many there are."""

PROGRESS_STEPS = 200
"""How often progress is told."""


DEFAULT: Final = Contention()
"""Dynamic contention as the MoSim paper has it, with rates that are averages."""

LAST_NS: Final = 2**63 - 1
"""Times are int64."""


def simulate(  # noqa: PLR0913 - each choice is one of its own
    jobs: Jobs,
    cluster: Cluster,
    *,
    contention: Contention = DEFAULT,
    policy: Policy | str | None = None,
    queue: str | None = None,
    rates: Rates | None = None,
    interference: bool = False,
    on_progress: Progress | None = None,
) -> Simulation:
    """Run jobs on a cluster: exact, from event to event, without ticks.

    At one instant, jobs end first, then jobs arrive in order of submission, then the queue
    starts what it may, then the jobs on links where any of these came or went get their
    new S. A job of no length ends at its start.

    Parameters
    ----------
    jobs : Jobs
    cluster : Cluster
    contention : Contention
    policy, queue : Policy or str, and str
        In place of those of the cluster.
    rates : Rates
        What jobs demand of links, in place of what `contention.basis` makes of their bytes;
        on whatever servers they run.
    interference : bool
        Whether to find out who slowed whom, which takes memory for each such pair.
    on_progress : callable
        Called with jobs that ended and all jobs, a few hundred times.

    Returns
    -------
    Simulation

    Raises
    ------
    SynctaxError
        If a job could never run, a policy leaves jobs waiting on an idle cluster or places
        them wrongly, or settings cannot be; names jobs, policy or setting.
    TypeError
        If `jobs`, `cluster` or `contention` are something else.
    ValueError
        If what `jobs`, `cluster` or `rates` hold is no jobs, cluster or rates at all.

    References
    ----------
    MoSim paper (arXiv 2609.23278), section IV-B and IV-C, equations 1 to 10.

    Examples
    --------
    Two jobs of 8 GPUs on two servers, half of each job on each; demands of 3 and 4 units
    share a NIC that carries 5, so both take 7/5 of their network time:

    >>> from synctax.cluster.jobs import simple_jobs
    >>> from synctax.cluster.machines import uniform
    >>> half = ((0, 4), (1, 4))
    >>> jobs = simple_jobs(
    ...     [(0, 8, 1000), (0, 8, 400)], compute_s=[0.5, 0.3], network_s=0.5,
    ...     pinned=[half, half],
    ... )
    >>> asked = np.array([3.0, 4.0])
    >>> found = simulate(jobs, uniform(2, 8, 5.0), rates=Rates(asked, asked))
    >>> found.end_ns / 1e9
    array([1083.33333333,  500.        ])
    """
    options = Options(contention, policy, queue, rates, interference, on_progress)
    return run(jobs, cluster, options, Traffic)


@dataclass(frozen=True, slots=True)
class Options:
    """The choices of `simulate`."""

    contention: Contention = DEFAULT
    policy: Policy | str | None = None
    queue: str | None = None
    rates: Rates | None = None
    interference: bool = False
    on_progress: Progress | None = None


def run(
    jobs: Jobs,
    cluster: Cluster,
    options: Options,
    make_traffic: Callable[[Links, Demands], Traffic],
) -> Simulation:
    """Run jobs with one way or another of keeping traffic; see `simulate`."""
    _check_kinds(jobs, cluster, options.contention)
    contention = options.contention
    queue_name = cluster.queue if options.queue is None else options.queue
    machines.check(cluster)
    settings.check(contention)
    check_jobs(jobs, cluster)
    chosen = cluster.policy if options.policy is None else options.policy
    policy = find_policy(chosen) if isinstance(chosen, str) else chosen
    name = chosen if isinstance(chosen, str) else _name(chosen)
    floor = set_up(jobs, cluster, options, make_traffic)
    desk = Desk(jobs, cluster, floor, policy, name)
    waiting = find_queue(queue_name)
    told = max(1, len(jobs) // PROGRESS_STEPS)
    next_told = told
    for done in _instants(jobs, floor, waiting, desk):
        if options.on_progress is not None and (done >= next_told or done == len(jobs)):
            options.on_progress(done, len(jobs))
            next_told = done + told
    _check_all_ran(jobs, floor, name)
    _check_times(jobs, floor)
    return Simulation(
        jobs=jobs,
        cluster=cluster,
        contention=contention,
        policy=name,
        queue=queue_name,
        start_ns=np.array(floor.start_ns, np.int64),
        end_ns=np.array(floor.end_ns, np.int64),
        placements=tuple(floor.placements),
        solo_ns=np.array(floor.solo_ns, np.float64),
        factor=np.array(floor.factor, np.float64),
        use=floor.meter.read(floor.traffic),
        interference=None if floor.blame is None else floor.blame.read(),
        notes=_notes(jobs, floor, contention),
    )


def set_up(
    jobs: Jobs,
    cluster: Cluster,
    options: Options,
    make_traffic: Callable[[Links, Demands], Traffic] = Traffic,
) -> Floor:
    """Build the cluster before the first job comes."""
    asked = demands(jobs, cluster, options.contention.basis, options.rates)
    traffic = make_traffic(cluster.links, asked)
    how = rule(options.contention, traffic, cluster.servers, alike=asked.alike)
    given = options.rates is not None
    placer = Placer(jobs, cluster, asked, options.contention, given=given)
    blame = Blame(len(jobs), how, traffic) if options.interference else None
    return Floor(jobs, cluster, Parts(placer, traffic, how, blame))


def _instants(jobs: Jobs, floor: Floor, waiting: Queue, desk: Desk) -> Iterator[int]:
    """Go from instant to instant, and give how many jobs have ended after each."""
    submit_ns: list[int] = jobs.submit_ns.tolist()
    coming, many = 0, len(submit_ns)
    while True:
        ends_ns = floor.next_end_ns()
        comes_ns = submit_ns[coming] if coming < many else None
        if ends_ns is None and comes_ns is None:
            return
        now_ns = min(one for one in (ends_ns, comes_ns) if one is not None)
        floor.begin(now_ns)
        while True:
            floor.complete()
            while coming < many and submit_ns[coming] == now_ns:
                waiting.add(coming)
                coming += 1
            waiting.start(desk)
            if floor.next_end_ns() != now_ns:
                break
        floor.meter.wait(len(waiting))
        floor.settle()
        yield floor.done


def _check_kinds(jobs: object, cluster: object, contention: object) -> None:
    """Say what is expected in place of what a first program passes."""
    for name, value, kind, such in (
        ("jobs", jobs, Jobs, "read_jobs(path, cluster).jobs"),
        ("cluster", cluster, Cluster, 'read_cluster("mosim-4x8")'),
        ("contention", contention, Contention, 'Contention(basis="overlap")'),
    ):
        if not isinstance(value, kind):
            found = type(value).__name__
            raise TypeError(f"{name} is {found}; expected {kind.__name__}, such as {such}")


def _check_all_ran(jobs: Jobs, floor: Floor, name: str) -> None:
    left = [job for job, where in enumerate(floor.placements) if not where]
    if left:
        raise SynctaxError(
            f"policy {name} never placed {len(left):,} of {len(jobs):,} jobs, though the "
            f"cluster is idle: {named(jobs, left)}"
        )


def _check_times(jobs: Jobs, floor: Floor) -> None:
    last_ns = max(floor.end_ns, default=0)
    if last_ns > LAST_NS:
        at = floor.end_ns.index(last_ns)
        raise SynctaxError(
            f"job {jobs.job_id[at]} would end at {last_ns / NS_PER_S:.4g} s; times up to "
            f"{LAST_NS / NS_PER_S:.4g} s can be told"
        )


def _notes(jobs: Jobs, floor: Floor, contention: Contention) -> tuple[Note, ...]:
    notes = []
    exceeding = sorted(floor.exceeding)
    if exceeding:
        done = (
            "their S is divided by it"
            if contention.normalise_solo
            else "they run longer than alone on the network of their profile"
        )
        detail = (
            "jobs demand more than a link carries when alone: their profile was taken on a "
            f"faster network; {done}"
        )
        notes.append(_note("profile_exceeds_nic", jobs, exceeding, detail))
    if contention.placement_aware:
        unknown = np.isnan(jobs.local_network_s) & (jobs.network_s > 0) & (jobs.gpus > 1)
        rows = [
            one
            for one in np.flatnonzero(unknown).tolist()
            if len(floor.placements[one]) == 1
        ]
        if rows:
            detail = "jobs on one server take the network time that they have over NICs"
            notes.append(_note("local_network_s_unknown", jobs, rows, detail))
    return tuple(notes)


def _note(reason: str, jobs: Jobs, rows: list[int], detail: str) -> Note:
    return Note(reason, len(rows), detail, f"job {jobs.job_id[rows[0]]}")


def _name(policy: Policy) -> str:
    named_so = getattr(policy, "name", None) or getattr(policy, "__qualname__", None)
    return str(named_so or type(policy).__qualname__)
