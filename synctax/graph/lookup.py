"""Looking things up in sorted columns: by id, and by time within a thread or stream."""

from typing import Literal

import numpy as np

from synctax.arrays import I64

Side = Literal["left", "right"]


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
    order = np.argsort(group, kind="stable")
    cuts = np.searchsorted(group[order], np.arange(bounds.size))
    for number in np.flatnonzero(np.diff(cuts)).tolist():
        rows = order[cuts[number] : cuts[number + 1]]
        part = values[bounds[number] : bounds[number + 1]]
        place = np.searchsorted(part, wanted[rows], side=side)
        found[rows] = bounds[number] + place
    return found
