"""In order of arrival, past those that cannot start: greedy backfilling."""

from synctax.cluster.queues.queue import Desk


class Backfill:
    """Starts every job that can, in order of arrival; none keeps another back."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[int] = []

    def __len__(self) -> int:
        """Count jobs that wait."""
        return len(self._waiting)

    def add(self, job: int) -> None:
        """Let a job wait."""
        self._waiting.append(job)

    def start(self, desk: Desk) -> None:
        """Start all jobs that can."""
        left = []
        for job in self._waiting:
            if desk.gpus(job) > desk.free_gpus or not desk.place(job):
                left.append(job)
        self._waiting = left
