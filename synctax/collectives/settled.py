"""Order that needs no proof by ends: ranks issued the same collectives in every step."""

from itertools import pairwise

import numpy as np

from synctax.arrays import I64
from synctax.collectives.pool import Participations
from synctax.collectives.union import Union


def settled(rows: I64, table: Participations) -> Union | None:
    """Number the collectives of ranks that agree step by step, and ran one at a time.

    On CPUs (gloo) the profiler loses no collective but at the edges of its window, and
    ranks leave one when their threads are scheduled again, so that ends tell little. But
    threads take collectives off one queue in the order in which they were issued, also
    where some run side by side. So order is certain where each rank issued the same
    operations of the same size in each step.

    Parameters
    ----------
    rows : (n,) int64
        Participations of one group, on CPUs, by rank, then by end.
    table : Participations
        The table they are rows of.

    Returns
    -------
    Union or None
        None where ranks differ or no step is known.
    """
    rank = table.rank[rows]
    cuts = np.append(np.flatnonzero(np.diff(rank, prepend=-1)), rows.size)
    order = np.lexsort((table.start_ns[rows], table.launch_ns[rows], rank))
    issued = rows[order]
    parts = [issued[low:high] for low, high in pairwise(cuts.tolist())]
    if not parts or len({part.size for part in parts}) > 1:
        return None
    columns = (table.op, table.dtype, table.payload_bytes, table.step)
    first = parts[0]
    same = all(
        np.array_equal(column[part], column[first]) for part in parts for column in columns
    )
    if not same or (table.step[first] < 0).all():
        return None
    slot = np.empty(rows.size, np.int64)
    slot[order] = np.tile(np.arange(first.size), len(parts))
    return Union(slot, np.zeros(rows.size, np.int8))
