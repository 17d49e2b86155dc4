"""In order of arrival, past those that cannot start: greedy backfilling."""

from synctax.cluster.queues.lane import Lane
from synctax.cluster.queues.queue import Desk


class Backfill:
    """Starts every job that can, in order of arrival; none keeps another back.

    A job that asks for many GPUs can wait for as long as smaller ones keep coming.

    A job can only start if as many GPUs are free as it asks for, and others are not gone
    through: the cost grows with the jobs that start, and not with those that wait. Jobs
    for which enough GPUs are free and that cannot start nevertheless, for they are pinned
    to servers or refused by a policy of one's own, are asked for one by one.

    References
    ----------
    MoSim paper, section IV-B: a job that does not fit joins a queue, and when one
    completes any job that fits is assigned.
    """

    __slots__ = ("_new", "_waiting")

    def __init__(self) -> None:
        self._waiting = Lane()
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
        # GPUs never become more meanwhile: nobody is passed over who could start
        place = waiting.find(0, desk.free_gpus)
        while place >= 0:
            if desk.place(waiting.job(place)):
                waiting.remove(place)
            place = waiting.find(place + 1, desk.free_gpus)
        for job in self._new:
            gpus = desk.gpus(job)
            if gpus > desk.free_gpus or not desk.place(job):
                waiting.add(job, gpus)
        self._new.clear()
