"""In order of arrival, past those that cannot start: greedy backfilling."""

from synctax.cluster.queues.queue import Desk
from synctax.cluster.queues.waiting import Boundless, Waiting


class Backfill:
    """Starts every job that can, in order of arrival; none keeps another back.

    A job that asks for many GPUs can wait for as long as smaller ones keep coming.

    References
    ----------
    MoSim paper, section IV-B: a job that does not fit joins a queue, and when one
    completes any job that fits is assigned.
    """

    __slots__ = ("_new", "_waiting")

    def __init__(self) -> None:
        self._waiting = Waiting()
        self._new: list[int] = []

    def __len__(self) -> int:
        """Count jobs that wait."""
        return len(self._waiting) + len(self._new)

    def add(self, job: int) -> None:
        """Let a job wait."""
        self._new.append(job)

    def start(self, desk: Desk) -> None:
        """Start all jobs that can."""
        waiting = self._waiting
        # what waits came before what is new, and is asked for first
        waiting.start(desk, Boundless())
        for job in self._new:
            gpus = desk.gpus(job)
            if gpus > desk.free_gpus or not desk.place(job):
                waiting.add(job, gpus, desk.duration_ns(job))
        self._new.clear()
