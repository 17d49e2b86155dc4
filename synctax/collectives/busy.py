"""When a GPU computed while it communicated."""

import numpy as np

from synctax.arrays import I64


def union(start_ns: I64, end_ns: I64) -> tuple[I64, I64]:
    """Unite intervals into disjoint ones in ascending order.

    Parameters
    ----------
    start_ns, end_ns : (n,) int64
        Intervals in order of start; empty ones are left out.

    Returns
    -------
    (m,) int64, (m,) int64
        Starts and ends; touching intervals become one.

    Examples
    --------
    >>> union(np.array([0, 5, 20]), np.array([8, 10, 30]))
    (array([ 0, 20]), array([10, 30]))
    """
    held = end_ns > start_ns
    start, end = start_ns[held], end_ns[held]
    if not start.size:
        return start, end
    reach = np.maximum.accumulate(end)
    opens = np.concatenate([[True], start[1:] > reach[:-1]])
    closes = np.concatenate([opens[1:], [True]])
    return start[opens], reach[closes]


def intersection(
    a_start_ns: I64, a_end_ns: I64, b_start_ns: I64, b_end_ns: I64
) -> tuple[I64, I64]:
    """Intersect two sets of disjoint intervals in ascending order.

    Parameters
    ----------
    a_start_ns, a_end_ns : (n,) int64
    b_start_ns, b_end_ns : (m,) int64

    Returns
    -------
    (k,) int64, (k,) int64
        Starts and ends, disjoint and in ascending order.

    Examples
    --------
    >>> a = np.array([0, 20]), np.array([10, 30])
    >>> intersection(*a, np.array([5]), np.array([25]))
    (array([ 5, 20]), array([10, 25]))
    """
    # Interval i of `a` meets the intervals of `b` from `first[i]` up to `last[i]`.
    first = np.searchsorted(b_end_ns, a_start_ns, side="right")
    last = np.searchsorted(b_start_ns, a_end_ns, side="left")
    count = np.maximum(last - first, 0)
    a = np.repeat(np.arange(a_start_ns.size), count)
    b = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + first[a]
    return np.maximum(a_start_ns[a], b_start_ns[b]), np.minimum(a_end_ns[a], b_end_ns[b])
