"""Threads that hand over to each other: who released a thread from its gap.

The thread of the forward pass waits while the autograd thread runs the backward pass, and
the other way round. The profiler logs neither wait; it shows a gap.
"""

from itertools import pairwise

import numpy as np

from synctax.arrays import ABSENT, I32, I64, Bool
from synctax.graph.host import Pieces
from synctax.graph.lookup import runs
from synctax.graph.model import NodeKind


def releasers(host: Pieces, lane: I32, start_ns: I64, end_ns: I64) -> I64:
    """Find, for each gap, the piece of another thread whose end released it.

    A gap was a wait if another thread finished a piece of work within it and was then
    idle itself when the gap ended; of several threads the last to finish released it.

    Parameters
    ----------
    host : Pieces
    lane : (k,) int32
        Thread of each gap.
    start_ns, end_ns : (k,) int64

    Returns
    -------
    (k,) int64
        Number of the last piece before the gap's end on the thread that released it; -1
        where none did.

    Notes
    -----
    This is an inference from times: two threads that never waited for each other can look
    the same. Edges from it are marked `INFERRED`.
    """
    work = np.flatnonzero(host.kind != NodeKind.GAP)
    threads = host.lane[work]
    bounds = runs(threads).tolist()
    releaser = np.full(lane.size, ABSENT, np.int64)
    latest = start_ns.copy()
    for low, high in pairwise(bounds):
        mine = work[low:high]
        others = np.flatnonzero(lane != threads[low])
        at, idle = _last_work(host, mine, end_ns[others])
        end = np.where(at >= 0, host.end_ns[at], np.iinfo(np.int64).min)
        better = idle & (end > latest[others])
        releaser[others[better]], latest[others[better]] = at[better], end[better]
    return releaser


def _last_work(host: Pieces, mine: I64, time_ns: I64) -> tuple[I64, Bool]:
    """Last piece of a thread's work to end by each moment, and whether it was idle then."""
    # pieces of a thread do not overlap: their ends are in order as well
    before = np.searchsorted(host.end_ns[mine], time_ns, side="right")
    begun = np.searchsorted(host.start_ns[mine], time_ns, side="left")
    at = np.where(before > 0, mine[np.maximum(before - 1, 0)], ABSENT)
    return at, begun <= before
