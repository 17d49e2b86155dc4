"""What a queue is, and what it knows of the cluster: a desk that starts jobs."""

from collections.abc import Iterable
from typing import Protocol


class Desk(Protocol):
    """Where a queue asks for jobs to be started.

    Jobs are rows of the simulation's `Jobs`. Free GPUs become fewer with every job that
    starts and never more while a queue is at work.
    """

    @property
    def now_ns(self) -> int:
        """The instant."""

    @property
    def free_gpus(self) -> int:
        """Of the whole cluster, now."""

    def gpus(self, job: int) -> int:
        """How many a job asks for."""

    def duration_ns(self, job: int) -> int:
        """How long a job that waits is expected to run if nobody shares its links.

        At most: on the slowest servers that there are.
        """

    def place(self, job: int) -> bool:
        """Start a job if it can be placed now.

        A policy that is built in places every job for which enough GPUs are free; one of
        somebody's own, or a job that is pinned to servers, may have to wait though.
        """

    def running(self) -> Iterable[tuple[int, int, int]]:
        """Give jobs that run: when each is expected to end, in ns, its GPUs, its number.

        Earliest end first, and best one by one: a queue takes as many as it needs, which
        are few. `ascending` goes through a heap so. Ends are as of now, with what began
        and ended at this instant before; jobs that were started at it are in.
        """


class Queue(Protocol):
    """Jobs that wait."""

    def add(self, job: int) -> None:
        """Let a job wait; in order of arrival, which is that of their numbers."""

    def start(self, desk: Desk) -> None:
        """Start whatever may start now.

        Once an instant, after all its events; once more where a job of no length ended.
        """

    def __len__(self) -> int:
        """Count jobs that wait."""
