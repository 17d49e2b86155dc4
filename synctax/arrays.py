"""The array types that stages pass on, and the one conversion between their units."""

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


def runs(values: npt.NDArray[np.signedinteger[Any]]) -> I64:
    """Find where runs of equal values begin, and, last, where all end.

    Examples
    --------
    >>> runs(np.array([5, 5, 7])), runs(np.array([], np.int64))
    (array([0, 2, 3]), array([0]))
    """
    change = np.flatnonzero(values[1:] != values[:-1]) + 1
    begin = np.zeros(min(values.size, 1), np.int64)
    return np.concatenate([begin, change, [values.size]])
