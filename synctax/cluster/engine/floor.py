"""Everything that changes while jobs come and go: free GPUs, jobs that run, their ends."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from synctax.cluster.engine.blame import Blame
from synctax.cluster.engine.placing import Placer
from synctax.cluster.engine.rules import Rule
from synctax.cluster.engine.running import Running
from synctax.cluster.engine.traffic import Traffic
from synctax.cluster.engine.use import Meter
from synctax.cluster.jobs import Jobs, Placement
from synctax.cluster.machines import Cluster
from synctax.cluster.policies.free import FreeGpus
from synctax.cluster.queues.ascending import ascending

STALE_SHARE, STALE_FEW = 3, 100
"""Ends that are kept, over those that are true, and more of them in any case."""

EXCEEDING = 1 + 1e-9
"""S of a job alone above which its profile is of a faster network: less is rounding."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a floor is made of.

    Parameters
    ----------
    placer : Placer
    traffic : Traffic
    rule : Rule
    blame : Blame or None
        None where nobody asks who slowed whom.
    """

    placer: Placer
    traffic: Traffic
    rule: Rule
    blame: Blame | None


class Floor:
    """A cluster at an instant.

    Parameters
    ----------
    jobs : Jobs
    cluster : Cluster
    parts : Parts

    Attributes
    ----------
    now_ns : int
    free : FreeGpus
    running : dict of int to Running
        By job.
    start_ns, end_ns : list of n int
    placements : list of n Placement or None
    expected_ns : list of n int
        How long each job runs at most if nobody shares its links.
    solo_ns, factor : list of n float
        Of jobs that ended.
    exceeding : list of int
        Jobs whose own demand is above the rate of one of their links.
    """

    def __init__(self, jobs: Jobs, cluster: Cluster, parts: Parts) -> None:
        many = len(jobs)
        self.now_ns = 0
        self.free = FreeGpus(cluster.gpus)
        self.meter = Meter(cluster.gpus)
        self.running: dict[int, Running] = {}
        self.done = 0
        self.start_ns, self.end_ns = [0] * many, [0] * many
        self.placements: list[Placement] = [()] * many
        self.solo_ns, self.factor = [0.0] * many, [1.0] * many
        self.exceeding: list[int] = []
        self._placer, self.traffic = parts.placer, parts.traffic
        self._rule, self.blame = parts.rule, parts.blame
        self._duration_ns: list[int] = jobs.duration_ns.tolist()
        self.expected_ns = parts.placer.expected_ns()
        self._ends: list[tuple[int, int]] = []

    def begin(self, now_ns: int) -> None:
        """Go on to an instant."""
        self.now_ns = now_ns
        self.meter.pass_time(now_ns)

    def next_end_ns(self) -> int | None:
        """Find when the next job ends; None where none runs."""
        ends = self._ends
        while ends:
            end_ns, job = ends[0]
            one = self.running.get(job)
            if one is not None and one.end_ns == end_ns:
                return end_ns
            # the job has ended, or its end has moved since
            heappop(ends)
        return None

    def ending(self) -> Iterator[Running]:
        """Give the jobs that run, earliest end first."""
        before = None
        for entry in ascending(self._ends):
            one = self.running.get(entry[1])
            if one is not None and one.end_ns == entry[0] and entry != before:
                before = entry
                yield one

    def complete(self) -> None:
        """End all jobs that end now."""
        while self.next_end_ns() == self.now_ns:
            _, job = heappop(self._ends)
            self._end(self.running.pop(job))

    def _end(self, one: Running) -> None:
        job = one.job
        self.traffic.leave(one)
        self.free.release(one.placement)
        self.meter.release(one.placement, one.end_ns - one.start_ns)
        if self.blame is not None:
            self.blame.close(one, self.now_ns)
        self.end_ns[job] = one.end_ns
        self.factor[job] = one.mean_factor()
        self.solo_ns[job] = self._duration_ns[job] * one.alone_stretch
        self.done += 1

    def start(self, job: int, placement: Placement) -> None:
        """Let a job run on servers from now on; as if alone, until `settle`."""
        one = self._placer.place(job, placement, self.now_ns)
        self._rule.enter(one)
        if one.alone > EXCEEDING:
            self.exceeding.append(job)
        one.project()
        self.free.take(placement)
        self.meter.take(placement)
        self.traffic.join(one)
        if self.blame is not None:
            self.blame.join(one)
        self.running[job] = one
        self.start_ns[job] = self.now_ns
        self.placements[job] = placement
        heappush(self._ends, (one.end_ns, job))

    def settle(self) -> None:
        """Give every job the S that it has from now on.

        Old ends stay in the heap and are passed over: see `next_end_ns`. Where an end moved
        and moved back it is there twice, and the job has gone when the second is met.
        """
        rule, blame, now_ns = self._rule, self.blame, self.now_ns
        for one in self.traffic.settle(now_ns, rule.affected):
            factor = rule.factor(one)
            if factor != one.factor:
                stretch = rule.stretch(one, factor)
                if one.slow_down(factor, stretch, now_ns):
                    heappush(self._ends, (one.end_ns, one.job))
            if blame is not None:
                blame.look(one, now_ns)
        if len(self._ends) > STALE_SHARE * len(self.running) + STALE_FEW:
            self._ends = [(one.end_ns, one.job) for one in self.running.values()]
            heapify(self._ends)
