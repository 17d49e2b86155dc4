"""Through a heap in order, without taking anything out."""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Any, Protocol, TypeVar


class _Less(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


T = TypeVar("T", bound=_Less)


def ascending(heap: Sequence[T]) -> Iterator[T]:
    """Give the entries of a heap, smallest first.

    The first i cost O(i log i), however large the heap is, which must not change meanwhile.

    Parameters
    ----------
    heap : sequence
        In the order of `heapq`.

    Examples
    --------
    >>> from itertools import islice
    >>> list(islice(ascending([1, 5, 2, 6, 7, 3]), 3))
    [1, 2, 3]
    """
    nearest = [(heap[0], 0)] if heap else []
    while nearest:
        entry, at = heappop(nearest)
        yield entry
        for child in (2 * at + 1, 2 * at + 2):
            if child < len(heap):
                heappush(nearest, (heap[child], child))
