"""Jobs behind the one that waits first, and which of them a reservation lets past."""

from bisect import bisect_right, insort
from collections import deque
from heapq import heapify, heappop, heapreplace

from synctax.cluster.queues.lane import GONE, Lane
from synctax.cluster.queues.queue import Desk
from synctax.cluster.queues.reservation import Reservation


class Waiting:
    """Jobs in order of arrival, in a lane for each number of GPUs, by how long they run.

    A search costs something for each number of GPUs up to those that are free and for each
    job that it starts, and nothing for those that wait besides.
    """

    __slots__ = ("_arrived", "_lanes", "_many", "_passed", "_widths")

    def __init__(self) -> None:
        self._lanes: dict[int, Lane] = {}
        self._widths: list[int] = []
        self._arrived: deque[tuple[int, int]] = deque()
        self._passed: set[int] = set()
        self._many = 0

    def __len__(self) -> int:
        """Count jobs."""
        return self._many

    @property
    def narrowest(self) -> int:
        """Fewest GPUs that any job asks for; more than there can be where none waits."""
        return self._widths[0] if self._widths else GONE

    def add(self, job: int, gpus: int, duration_ns: int) -> None:
        """Let a job wait."""
        lane = self._lanes.get(gpus)
        if lane is None:
            lane = self._lanes[gpus] = Lane()
        if not lane:
            insort(self._widths, gpus)
        lane.add(job, duration_ns)
        self._arrived.append((job, gpus))
        self._many += 1

    def pop_first(self) -> int:
        """Take out the job that came first; there has to be one."""
        job, gpus = self._arrived.popleft()
        while job in self._passed:
            self._passed.remove(job)
            job, gpus = self._arrived.popleft()
        self._remove(gpus, self._lanes[gpus].first())
        return job

    def start(self, desk: Desk, room: Reservation) -> None:
        """Start, in order of arrival, all jobs that can and may."""
        nearest = self._nearest(desk.free_gpus, room)
        # neither GPUs nor room become more meanwhile: nobody is passed over who may start
        while nearest and self.narrowest <= desk.free_gpus:
            _, gpus, place = nearest[0]
            lane, after = self._lanes[gpus], -1
            if gpus <= desk.free_gpus:
                self._try(desk, room, gpus, place)
                after = lane.find(place + 1, room.within_ns(gpus))
            if after < 0:
                heappop(nearest)
            else:
                heapreplace(nearest, (lane.job(after), gpus, after))

    def _nearest(self, free: int, room: Reservation) -> list[tuple[int, int, int]]:
        """Find the first job of each width that may start: a heap by order of arrival."""
        found = []
        for gpus in self._widths[: bisect_right(self._widths, free)]:
            lane, within_ns = self._lanes[gpus], room.within_ns(gpus)
            if lane.least <= within_ns:
                place = lane.find(lane.first(), within_ns)
                found.append((lane.job(place), gpus, place))
        heapify(found)
        return found

    def _try(self, desk: Desk, room: Reservation, gpus: int, place: int) -> None:
        lane = self._lanes[gpus]
        job, duration_ns = lane.job(place), lane.size(place)
        if duration_ns <= room.within_ns(gpus) and desk.place(job):
            room.started(gpus, duration_ns)
            self._remove(gpus, place)
            self._passed.add(job)

    def _remove(self, gpus: int, place: int) -> None:
        self._lanes[gpus].remove(place)
        self._many -= 1
        if not self._lanes[gpus]:
            self._widths.remove(gpus)
