"""The array types that stages pass on, and the one conversion between their units."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=np.generic)

I8 = npt.NDArray[np.int8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

NS_PER_US = 1_000
NS_PER_S = 1_000_000_000

BYTES_PER_US = 1_000.0
"""Bytes that 1 GB/s (10^9 bytes a second) carries in 1 µs."""

PART_ROWS = 1 << 17
"""Rows of a part of an array: of a column that is a megabyte at most."""

ABSENT = -1
"""What an integer column holds where the trace says nothing."""


def take(values: I64, index: I64) -> I64:
    """Take `values[index]`, -1 where the index is -1.

    >>> take(np.array([5, 7]), np.array([1, -1]))
    array([ 7, -1])
    """
    return np.concatenate([values, [ABSENT]])[index]


def members(first: I64, chosen: I64) -> tuple[I64, I64]:
    """List the entries of chosen lists that lie one after the other.

    Parameters
    ----------
    first : (m + 1,) int64
        Entries of list i are `first[i]` up to `first[i + 1]`.
    chosen : (k,) int64
        Numbers of lists.

    Returns
    -------
    entry, list : (e,) int64
        In the order of `chosen`.

    Examples
    --------
    >>> members(np.array([0, 2, 2, 5]), np.array([2, 0]))
    (array([2, 3, 4, 0, 1]), array([2, 2, 2, 0, 0]))
    """
    count = first[chosen + 1] - first[chosen]
    offset = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(first[chosen], count) + offset, np.repeat(chosen, count)


def distinct(values: npt.NDArray[T]) -> npt.NDArray[T]:
    """List the different values of an array without NaN, in ascending order.

    What `np.unique` gives; that imports masked arrays first, which takes as long as the
    search in a million values, in every worker.

    >>> distinct(np.array([[7, 5], [7, 9]]))
    array([5, 7, 9])
    """
    ordered = np.sort(values, axis=None)
    begins = np.ones(ordered.size, np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    return ordered[begins]


def median(values: npt.NDArray[np.number[Any]]) -> float:
    """Return the median of an array without NaN; NaN of none.

    What `np.median` gives, for the price of its partition: that imports masked arrays.

    >>> median(np.array([7, 1, 5])), median(np.array([7, 1, 5, 2]))
    (5.0, 3.5)
    """
    if not values.size:
        return float("nan")
    half = values.size // 2
    if values.size % 2:
        return float(np.partition(values, half)[half])
    low, high = np.partition(values, (half - 1, half))[half - 1 : half + 1].tolist()
    return (float(low) + float(high)) / 2


def parts(size: int) -> Iterator[slice]:
    """Go through an array part by part: what is made of one needs little memory.

    Where columns lie in files (`--low-memory`) nothing is held that grows with them.

    >>> [part.stop - part.start for part in parts(PART_ROWS + 5)]
    [131072, 5]
    """
    for first in range(0, size, PART_ROWS):
        yield slice(first, min(first + PART_ROWS, size))


def runs(values: npt.NDArray[np.integer[Any]]) -> I64:
    """Find where runs of equal values begin, and, last, where all end.

    Examples
    --------
    >>> runs(np.array([5, 5, 7])), runs(np.array([], np.int64))
    (array([0, 2, 3]), array([0]))
    """
    change = np.flatnonzero(values[1:] != values[:-1]) + 1
    begin = np.zeros(min(values.size, 1), np.int64)
    return np.concatenate([begin, change, [values.size]])


def ordered(values: npt.NDArray[np.integer[Any]]) -> I64:
    """Find the order of some whole numbers; equal ones keep theirs.

    What a stable `np.argsort` gives. Numbers of ranks, groups and collectives lie close
    together, and often in order already: then nothing is compared with anything else.

    Parameters
    ----------
    values : (n,) integers

    Returns
    -------
    (n,) int64

    Examples
    --------
    >>> ordered(np.array([7, 5, 7, 6]))
    array([1, 3, 0, 2])
    """
    if not values.size or bool((values[1:] >= values[:-1]).all()):
        return np.arange(values.size, dtype=np.int64)
    low = values.min()
    if int(values.max()) - int(low) <= np.iinfo(np.uint16).max:
        # of a narrow type the difference may wrap, and is right again in 16 bits
        values = (values - low).astype(np.uint16)  # numpy sorts these by counting
    order: I64 = np.argsort(values, kind="stable").astype(np.int64, copy=False)
    return order


def apart(values: npt.NDArray[np.integer[Any]]) -> Iterator[tuple[int, I64]]:
    """Go through the different values of an array, with the positions of each.

    One sort for all of them, where a mask for each would read everything each time.

    Parameters
    ----------
    values : (n,) integers

    Yields
    ------
    int, (k,) int64
        A value, ascending, and where it stands, ascending.

    Examples
    --------
    >>> list(apart(np.array([7, 5, 7])))
    [(5, array([1])), (7, array([0, 2]))]
    """
    order = ordered(values)
    for low, high in pairwise(runs(values[order]).tolist()):
        yield int(values[order[low]]), order[low:high]


def numbered(values: npt.NDArray[np.integer[Any]]) -> tuple[I64, int]:
    """Number the different values of an array in their order, without gaps.

    What `np.unique` gives as its inverse; where values lie close together (as sequence
    numbers do) by marking those that occur, without a sort.

    Parameters
    ----------
    values : (n,) integers

    Returns
    -------
    (n,) int64, int
        The number of each, from 0; how many different ones there are.

    Examples
    --------
    >>> numbered(np.array([70, 50, 70]))
    (array([1, 0, 1]), 2)
    """
    if not values.size:
        return np.empty(0, np.int64), 0
    if values.dtype.itemsize < 8:  # of a narrow type a difference need not fit it
        values = values.astype(np.int64)
    low = values.min()
    span = int(values.max()) - int(low) + 1
    if span <= 2 * values.size:
        offset = (values - low).astype(np.int64, copy=False)
        occurs = np.zeros(span, np.bool_)
        occurs[offset] = True
        number = np.cumsum(occurs, dtype=np.int64) - 1
        return number[offset], int(number[-1]) + 1
    different = distinct(values)
    return np.searchsorted(different, values).astype(np.int64, copy=False), different.size
