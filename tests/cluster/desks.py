"""A desk without contention, and queues that go through all that wait: for tests."""

from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from synctax.cluster.jobs import Placement
from synctax.cluster.policies.built_in import BUILT_IN
from synctax.cluster.policies.free import FreeGpus
from synctax.cluster.policies.policy import placement_of
from synctax.cluster.queues.ascending import ascending
from synctax.cluster.queues.queue import Queue


@dataclass(frozen=True)
class Row:
    """A job: when it comes, its GPUs, how long it runs; where, if that is fixed."""

    submit: int
    gpus: int
    duration: int
    pinned: Placement | None = None


@dataclass
class Day:
    """A cluster and its jobs; times are whole numbers, of ns as far as queues know."""

    rows: list[Row]
    servers: list[int]
    now_ns: int = 0
    starts: dict[int, int] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    asked: int = 0

    def __post_init__(self) -> None:
        self.free = FreeGpus(np.array(self.servers))
        self._ends: list[tuple[int, int, int]] = []
        self._where: dict[int, Placement] = {}

    @property
    def free_gpus(self) -> int:
        return self.free.total

    def gpus(self, job: int) -> int:
        return self.rows[job].gpus

    def duration_ns(self, job: int) -> int:
        return self.rows[job].duration

    def running(self):
        return ascending(self._ends)

    def place(self, job: int) -> bool:
        self.asked += 1
        row = self.rows[job]
        where = row.pinned
        if where is None:
            chosen = BUILT_IN["bin-packing"].place(self.free, row.gpus)
            where = None if chosen is None else placement_of(chosen)
        if where is None or not self.free.fits(where):
            return False
        self.free.take(where)
        self._where[job] = where
        self.starts[job] = self.now_ns
        self.order.append(job)
        heappush(self._ends, (self.now_ns + row.duration, row.gpus, job))
        return True

    def run(self, queue: Queue, after=lambda day, queue: None) -> list[int]:
        """Start all jobs; tell when."""
        coming = 0
        while coming < len(self.rows) or self._ends:
            times = [end for end, _, _ in self._ends[:1]]
            times += [row.submit for row in self.rows[coming : coming + 1]]
            self.now_ns = min(times)
            while self._ends and self._ends[0][0] == self.now_ns:
                self.free.release(self._where[heappop(self._ends)[2]])
            while coming < len(self.rows) and self.rows[coming].submit == self.now_ns:
                queue.add(coming)
                coming += 1
            queue.start(self)
            assert len(queue) == coming - len(self.starts)
            after(self, queue)
        return [self.starts[job] for job in range(len(self.rows))]


class EveryoneAsked:
    """Backfill, word for word: all jobs that wait are asked for at every instant."""

    def __init__(self) -> None:
        self.waiting: list[int] = []

    def __len__(self) -> int:
        return len(self.waiting)

    def add(self, job: int) -> None:
        self.waiting.append(job)

    def start(self, desk) -> None:
        self.waiting = [job for job in self.waiting if not started(desk, job)]


class EveryoneAskedButPromised(EveryoneAsked):
    """EASY, word for word (Mu'alem and Feitelson 2001, section 2)."""

    promise: tuple[int, int] | None = None

    def start(self, desk) -> None:
        self.promise = None
        while self.waiting and started(desk, self.waiting[0]):
            self.waiting.pop(0)
        if not self.waiting:
            return
        head = self.waiting[0]
        shadow, extra = promised(desk, head)
        self.promise = head, shadow
        left = [head]
        for job in self.waiting[1:]:
            in_time = desk.now_ns + desk.duration_ns(job) <= shadow
            if (in_time or desk.gpus(job) <= extra) and started(desk, job):
                extra -= 0 if in_time else desk.gpus(job)
            else:
                left.append(job)
        self.waiting = left


def started(desk, job: int) -> bool:
    return desk.gpus(job) <= desk.free_gpus and desk.place(job)


def promised(desk, head: int) -> tuple[float, float]:
    """When the first job can start, and how many GPUs it leaves then."""
    ends = sorted(desk.running())
    if desk.gpus(head) <= desk.free_gpus:
        return (ends[0][0], 0) if ends else (float("inf"), 0)
    for shadow, _, _ in ends:
        free = desk.free_gpus + sum(gpus for end, gpus, _ in ends if end <= shadow)
        if free >= desk.gpus(head):
            return shadow, free - desk.gpus(head)
    raise AssertionError("a job larger than the cluster")
