"""Strictly in order of arrival: nobody passes a job that has to wait."""

from collections import deque

from synctax.cluster.queues.queue import Desk


class Fifo:
    """In order of arrival; the first that cannot start keeps all others back."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[int] = deque()

    def __len__(self) -> int:
        """Count jobs that wait."""
        return len(self._waiting)

    def add(self, job: int) -> None:
        """Let a job wait."""
        self._waiting.append(job)

    def start(self, desk: Desk) -> None:
        """Start jobs up to the first that cannot."""
        waiting = self._waiting
        while waiting:
            head = waiting[0]
            if desk.gpus(head) > desk.free_gpus or not desk.place(head):
                return
            waiting.popleft()
