"""Jobs that wait for equally many GPUs, and which of them is short enough."""

from typing import Final

GONE: Final = 1 << 63
"""Duration of a place that no job has: above that of any job, in ns."""

_SMALLEST: Final = 8


class Lane:
    """Jobs in order of arrival, with the shortest of any stretch of them at hand.

    Places are numbered from 0 and stay until the next `add`. The least durations of 2, 4,
    8, ... neighbours make a binary tree in one list: the children of node i are 2i and
    2i + 1, and leaves come last.
    """

    __slots__ = ("_entries", "_first", "_many", "_shortest", "_size")

    def __init__(self) -> None:
        self._entries: list[tuple[int, int]] = []
        self._size = _SMALLEST
        self._shortest = [GONE] * (2 * _SMALLEST)
        self._many = self._first = 0

    def __len__(self) -> int:
        """Count jobs."""
        return self._many

    def add(self, order: int, job: int, duration_ns: int) -> None:
        """Let a job wait, of a higher order than all before."""
        if len(self._entries) == self._size:
            self._make_room()
        self._set(len(self._entries), duration_ns)
        self._entries.append((order, job))
        self._many += 1

    def entry(self, place: int) -> tuple[int, int]:
        """Tell the order and the number of the job at a place."""
        return self._entries[place]

    def duration_ns(self, place: int) -> int:
        """Tell how long the job at a place is expected to run."""
        return self._shortest[self._size + place]

    def remove(self, place: int) -> None:
        """Take out the job at a place."""
        self._set(place, GONE)
        self._many -= 1

    def first(self) -> int:
        """Find the place of the job that came first; there has to be one."""
        while self._shortest[self._size + self._first] == GONE:
            self._first += 1
        return self._first

    def find(self, place: int, within_ns: int) -> int:
        """Find the first job from a place on that runs no longer than that; -1 for none."""
        size, shortest = self._size, self._shortest
        if place >= size:
            return -1
        node = size + place
        while shortest[node] > within_ns:
            # on to what lies right of this subtree
            while node & 1:
                node >>= 1
            if not node:
                return -1
            node += 1
        while node < size:
            node *= 2
            if shortest[node] > within_ns:
                node += 1
        return node - size

    def _set(self, place: int, duration_ns: int) -> None:
        shortest = self._shortest
        node = self._size + place
        shortest[node] = duration_ns
        while node > 1:
            least = min(shortest[node], shortest[node ^ 1])
            node >>= 1
            if shortest[node] == least:
                return
            shortest[node] = least

    def _make_room(self) -> None:
        leaves = self._shortest[self._size :]
        here = [place for place, ns in enumerate(leaves) if ns != GONE]
        # places of jobs that left are used again; at least half of them are free then
        while self._size < 2 * len(here):
            self._size *= 2
        self._entries = [self._entries[place] for place in here]
        kept = [leaves[place] for place in here]
        self._shortest = [GONE] * self._size + kept + [GONE] * (self._size - len(here))
        for node in range(self._size - 1, 0, -1):
            self._shortest[node] = min(self._shortest[2 * node : 2 * node + 2])
        self._first = 0
