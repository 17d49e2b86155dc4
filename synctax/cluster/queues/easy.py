"""Past the first job that has to wait, but not at its cost: EASY backfilling."""

from collections import deque

from synctax.cluster.queues.queue import Desk
from synctax.cluster.queues.reservation import reserve
from synctax.cluster.queues.waiting import Waiting


class Easy:
    """Starts jobs in order of arrival, and others while the first waits, if it may.

    The first job that has to wait gets a reservation: when enough of the jobs that run
    are expected to have ended. Another job may start if it ends by then, or if it uses
    only GPUs that the first will not need. How long a job will run is taken to be its run
    time without contention on the slowest servers of the cluster, which a trace knows and
    a user would have to guess; with contention that may be too short. Reservations are of
    GPUs and not of servers: what matters to a policy that looks for more than free GPUs is
    not foreseen.
    """

    __slots__ = ("_head", "_new", "_waiting")

    def __init__(self) -> None:
        self._head: int | None = None
        self._waiting = Waiting()
        self._new: deque[int] = deque()

    def __len__(self) -> int:
        """Count jobs that wait."""
        return len(self._waiting) + len(self._new) + (self._head is not None)

    def add(self, job: int) -> None:
        """Let a job wait."""
        self._new.append(job)

    def start(self, desk: Desk) -> None:
        """Start all jobs that can and may."""
        while (head := self._first()) is not None:
            gpus = desk.gpus(head)
            if gpus > desk.free_gpus or not desk.place(head):
                self._head = head
                self._backfill(desk, gpus)
                return

    def _first(self) -> int | None:
        """Take out the job that came first."""
        head, self._head = self._head, None
        if head is None and self._waiting:
            return self._waiting.pop_first()
        if head is None and self._new:
            return self._new.popleft()
        return head

    def _backfill(self, desk: Desk, gpus: int) -> None:
        waiting = self._waiting
        for job in self._new:
            waiting.add(job, desk.gpus(job), desk.duration_ns(job))
        self._new.clear()
        if waiting.narrowest <= desk.free_gpus:
            waiting.start(desk, reserve(desk, gpus))
