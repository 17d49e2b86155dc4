"""Looking things up in sorted columns: by id, and by time within a thread or stream."""

from typing import Literal

import numpy as np

from synctax.arrays import I64, ordered

Side = Literal["left", "right"]


def settled(start_ns: I64, key: I64) -> I64 | None:
    """Order what is in order of start by a key where starts are equal; None if it is so.

    Parameters
    ----------
    start_ns : (n,) int64
        Ascending.
    key : (n,) int64

    Returns
    -------
    (n,) int64 or None
        Of equal starts and keys the order is kept.
    """
    same = start_ns[1:] == start_ns[:-1]
    if not same.any():
        return None
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    order = np.arange(key.size)
    order[tied] = tied[np.lexsort((key[tied], start_ns[tied]))]
    return order


def search(values: I64, bounds: I64, group: I64, wanted: I64, *, side: Side) -> I64:
    """Find where each value belongs within the part of `values` of its group.

    Parameters
    ----------
    values : (n,) int64
        Ascending within each group.
    bounds : (g + 1,) int64
        Where each group begins, and n.
    group : (q,) int64
        -1 for those of no group, which get 0.
    wanted : (q,) int64
    side : {"left", "right"}
        As for `numpy.searchsorted`.

    Returns
    -------
    (q,) int64
        Index into `values`, from the beginning of the group to its end.
    """
    found = np.zeros(wanted.size, np.int64)
    order = ordered(group)
    cuts = np.searchsorted(group.take(order), np.arange(bounds.size))
    for number in np.flatnonzero(np.diff(cuts)).tolist():
        rows = order[cuts[number] : cuts[number + 1]]
        part = values[bounds[number] : bounds[number + 1]]
        place = np.searchsorted(part, wanted[rows], side=side)
        found[rows] = bounds[number] + place
    return found
