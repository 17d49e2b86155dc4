"""Order that needs no proof by ends: every rank ran the same collectives in every step."""

from itertools import pairwise

import numpy as np

from synctax.arrays import I64, Bool
from synctax.collectives.pool import Participations
from synctax.collectives.union import Union


def settled(rows: I64, table: Participations) -> Union | None:
    """Number the collectives of ranks that agree step by step, and ran one at a time.

    On CPUs (gloo) the profiler loses no collective but at the edges of its window, and
    ranks leave one when their threads are scheduled again, so that ends tell little. There
    order is certain where each rank has the same operations of the same size in each
    step, in the same order, none of them beside another.

    Parameters
    ----------
    rows : (n,) int64
        Participations of one group, on CPUs, by rank, then by end.
    table : Participations
        The table they are rows of.

    Returns
    -------
    Union or None
        None where ranks differ, no step is known, or collectives overlap.
    """
    rank = table.rank[rows]
    cuts = np.append(np.flatnonzero(np.diff(rank, prepend=-1)), rows.size)
    parts = [rows[low:high] for low, high in pairwise(cuts.tolist())]
    if not parts or len({part.size for part in parts}) > 1:
        return None
    columns = (table.op, table.dtype, table.payload_bytes, table.step)
    first = parts[0]
    same = all(
        np.array_equal(column[part], column[first]) for part in parts for column in columns
    )
    if not same or (table.step[first] < 0).all() or _beside(rows, table).any():
        return None
    slot = np.concatenate([np.arange(first.size)] * len(parts)).astype(np.int64)
    return Union(slot, np.zeros(rows.size, np.int8))


def _beside(rows: I64, table: Participations) -> Bool:
    """Mark participations that began before the one before them on their rank ended."""
    start, end, rank = table.start_ns[rows], table.end_ns[rows], table.rank[rows]
    result: Bool = (start[1:] < end[:-1]) & (rank[1:] == rank[:-1])
    return result
