"""Jobs in order of arrival, and the next of them that is small enough."""

from typing import Final

GONE: Final = 1 << 63
"""Size of a place without a job: above that of any job, in GPUs or ns."""

ANY: Final = GONE - 1
"""No job is larger."""

_SMALLEST: Final = 8


class Lane:
    """Jobs in order of arrival, each with a size: its GPUs, or how long it runs.

    Places are numbered from 0 and stay until the next `add`. The least sizes of 2, 4, 8,
    ... neighbours make a binary tree in one list: the children of node i are 2i and
    2i + 1, and leaves come last. So jobs that are too large are not gone through.
    """

    __slots__ = ("_first", "_jobs", "_least", "_leaves", "_many")

    def __init__(self) -> None:
        self._jobs: list[int] = []
        self._leaves = _SMALLEST
        self._least = [GONE] * (2 * _SMALLEST)
        self._many = self._first = 0

    def __len__(self) -> int:
        """Count jobs."""
        return self._many

    @property
    def least(self) -> int:
        """Size of the smallest job; above any where none waits."""
        return self._least[1]

    def add(self, job: int, size: int) -> None:
        """Let a job wait."""
        if len(self._jobs) == self._leaves:
            self._make_room()
        self._set(len(self._jobs), size)
        self._jobs.append(job)
        self._many += 1

    def job(self, place: int) -> int:
        """Tell which job is at a place."""
        return self._jobs[place]

    def size(self, place: int) -> int:
        """Tell the size of the job at a place."""
        return self._least[self._leaves + place]

    def remove(self, place: int) -> None:
        """Take out the job at a place."""
        self._set(place, GONE)
        self._many -= 1

    def first(self) -> int:
        """Find the place of the job that came first; there has to be one."""
        while self._least[self._leaves + self._first] == GONE:
            self._first += 1
        return self._first

    def find(self, place: int, most: int) -> int:
        """Find the first job from a place on that is no larger; -1 where there is none."""
        leaves, least = self._leaves, self._least
        if place >= leaves:
            return -1
        node = leaves + place
        while least[node] > most:
            # on to what lies right of this subtree
            while node & 1:
                node >>= 1
            if not node:
                return -1
            node += 1
        while node < leaves:
            node *= 2
            if least[node] > most:
                node += 1
        return node - leaves

    def _set(self, place: int, size: int) -> None:
        tree = self._least
        node = self._leaves + place
        tree[node] = size
        while node > 1:
            least = min(tree[node], tree[node ^ 1])
            node >>= 1
            if tree[node] == least:
                return
            tree[node] = least

    def _make_room(self) -> None:
        sizes = self._least[self._leaves :]
        here = [place for place, size in enumerate(sizes) if size != GONE]
        # places of jobs that left are used again, once they are half of all
        while self._leaves < 2 * len(here):
            self._leaves *= 2
        self._jobs = [self._jobs[place] for place in here]
        kept = [sizes[place] for place in here]
        tree = [GONE] * self._leaves + kept + [GONE] * (self._leaves - len(here))
        for node in range(self._leaves - 1, 0, -1):
            tree[node] = min(tree[2 * node], tree[2 * node + 1])
        self._least, self._first = tree, 0
