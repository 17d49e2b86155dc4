"""Threads that hand over to each other: who released a thread from its gap.

The thread of the forward pass waits while the autograd thread runs the backward pass, and
the other way round. The profiler logs neither wait; it shows a gap.
"""

import numpy as np

from synctax.arrays import ABSENT, I64, Bool
from synctax.graph.host import Pieces
from synctax.graph.model import NodeKind


def releasers(host: Pieces) -> tuple[I64, I64]:
    """Find, for each gap, the piece of another thread whose end released it.

    A gap was a wait if another thread finished a piece of work within it and was then
    idle itself when the gap ended; of several threads the last to finish released it.

    Parameters
    ----------
    host : Pieces

    Returns
    -------
    gap, releaser : (k,) int64
        Numbers of pieces: the gaps that were waits, and the last piece before them on the
        thread that released each.

    Notes
    -----
    This is an inference from times: two threads that never waited for each other can look
    the same. Edges from it are marked `INFERRED`.
    """
    gaps = np.flatnonzero(host.kind == NodeKind.GAP)
    work = np.flatnonzero((host.kind != NodeKind.GAP) & (host.kind != NodeKind.WAIT))
    releaser = np.full(gaps.size, ABSENT, np.int64)
    latest = host.start_ns[gaps].copy()
    for lane in np.unique(host.lane[work]):
        mine = work[host.lane[work] == lane]
        others = host.lane[gaps] != lane
        at, idle = _last_work(host, mine, host.end_ns[gaps])
        end = np.where(at >= 0, host.end_ns[at], np.iinfo(np.int64).min)
        better = others & idle & (end > latest)
        releaser[better], latest[better] = at[better], end[better]
    hit = releaser >= 0
    return gaps[hit], releaser[hit]


def _last_work(host: Pieces, mine: I64, time_ns: I64) -> tuple[I64, Bool]:
    """Last piece of a thread's work to end by each moment, and whether it was idle then."""
    # pieces of a thread do not overlap: their ends are in order as well
    before = np.searchsorted(host.end_ns[mine], time_ns, side="right")
    begun = np.searchsorted(host.start_ns[mine], time_ns, side="left")
    at = np.where(before > 0, mine[np.maximum(before - 1, 0)], ABSENT)
    return at, begun <= before
