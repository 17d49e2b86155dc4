"""All jobs that wait, by the number of GPUs that they wait for."""

from bisect import bisect_right, insort
from heapq import heapify, heappop, heapreplace
from typing import Final, Protocol

from synctax.cluster.queues.lane import GONE, Lane
from synctax.cluster.queues.queue import Desk

FOREVER_NS: Final = GONE - 1
"""No job runs longer."""


class Room(Protocol):
    """How long jobs may run that start at an instant."""

    def within_ns(self, gpus: int) -> int:
        """Longest run time of a job with so many GPUs; not longer if asked again."""

    def started(self, gpus: int, duration_ns: int) -> None:
        """Take notice of a job that was started."""


class Boundless:
    """Any job may start, however long it runs."""

    def within_ns(self, gpus: int) -> int:  # noqa: ARG002 - the same for all
        """Longest run time: that of any job."""
        return FOREVER_NS

    def started(self, gpus: int, duration_ns: int) -> None:
        """Take no notice of a job that was started."""


class Waiting:
    """Jobs in order of arrival.

    A job can only start if as many GPUs are free as it asks for, so jobs that ask for more
    are not looked at: the cost of a search grows with the jobs that it starts, and not
    with those that wait. Jobs that are pinned to servers, and those that a policy of
    one's own refuses though GPUs are free, are asked for one by one.
    """

    __slots__ = ("_lanes", "_many", "_order", "_widths")

    def __init__(self) -> None:
        self._lanes: dict[int, Lane] = {}
        self._widths: list[int] = []
        self._many = self._order = 0

    def __len__(self) -> int:
        """Count jobs."""
        return self._many

    @property
    def narrowest(self) -> int:
        """Fewest GPUs that any job asks for; more than there can be where none waits."""
        return self._widths[0] if self._widths else GONE

    def add(self, job: int, gpus: int, duration_ns: int) -> None:
        """Let a job wait."""
        lane = self._lanes.setdefault(gpus, Lane())
        if not lane:
            insort(self._widths, gpus)
        lane.add(self._order, job, duration_ns)
        self._order += 1
        self._many += 1

    def pop_first(self) -> int:
        """Take out the job that came first."""
        lanes = self._lanes
        entries = ((lanes[gpus].entry(lanes[gpus].first()), gpus) for gpus in self._widths)
        (_, job), gpus = min(entries)
        self._remove(gpus, lanes[gpus].first())
        return job

    def start(self, desk: Desk, room: Room) -> None:
        """Start, in order of arrival, all jobs that can and may.

        Parameters
        ----------
        desk : Desk
        room : Room
        """
        nearest = self._nearest(desk.free_gpus, room)
        while nearest:
            _, gpus, place = nearest[0]
            lane = self._lanes[gpus]
            if gpus <= desk.free_gpus:
                self._try(desk, room, gpus, place)
            # neither GPUs nor room become more meanwhile: nobody is passed over
            after = -1
            if gpus <= desk.free_gpus:
                after = lane.find(place + 1, room.within_ns(gpus))
            if after < 0:
                heappop(nearest)
            else:
                heapreplace(nearest, (lane.entry(after)[0], gpus, after))

    def _nearest(self, free: int, room: Room) -> list[tuple[int, int, int]]:
        """Find the first job of each width that may start: a heap by order of arrival."""
        found = []
        for gpus in self._widths[: bisect_right(self._widths, free)]:
            lane = self._lanes[gpus]
            place = lane.find(lane.first(), room.within_ns(gpus))
            if place >= 0:
                found.append((lane.entry(place)[0], gpus, place))
        heapify(found)
        return found

    def _try(self, desk: Desk, room: Room, gpus: int, place: int) -> None:
        lane = self._lanes[gpus]
        duration_ns = lane.duration_ns(place)
        if duration_ns > room.within_ns(gpus) or not desk.place(lane.entry(place)[1]):
            return
        room.started(gpus, duration_ns)
        self._remove(gpus, place)

    def _remove(self, gpus: int, place: int) -> None:
        self._lanes[gpus].remove(place)
        self._many -= 1
        if not self._lanes[gpus]:
            self._widths.remove(gpus)
