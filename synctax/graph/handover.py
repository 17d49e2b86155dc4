"""Threads that hand over to each other: who released a thread from its gap.

The thread of the forward pass waits while the autograd thread runs the backward pass, and
the other way round. The profiler logs neither wait; it shows a gap.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from synctax.arrays import ABSENT, I32, I64, Bool, runs
from synctax.graph.host import Pieces
from synctax.graph.model import NodeKind

LEAST_SHARE = 0.5
"""Share of a gap that the other thread must fill, from its first work in it to its last."""

MOST_TOGETHER = 0.1
"""Threads that take turns work together for at most this share of what chance gives.

In recorded forward and backward passes it is 0.01 or less.
"""

LEAST_MEETINGS = 3
"""Stretches of work that chance would let meet work of the other thread: where fewer would
have met, that none did says little."""


def releasers(host: Pieces, lane: I32, start_ns: I64, end_ns: I64) -> I64:
    """Find, for each gap, the piece of another thread whose end released it.

    A thread waited in a gap for another one if that one was idle again when the gap ended
    and had filled `LEAST_SHARE` of it or more, from its first work to its last; pauses in
    between do not count, as it may have stalled itself. And the two take turns from the
    first event to the last: unrelated threads also work at the same time, the longer the
    more each of them works. Where one does so little that this shows nothing, its work
    alone, without pauses, must fill that share. Of several threads the last to finish
    released the gap.

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
    threads = _threads(host)
    releaser = np.full(lane.size, ABSENT, np.int64)
    latest = start_ns.copy()
    for other in threads:
        gaps = np.flatnonzero(lane != other.lane)
        at, fits = _last_work(other, start_ns[gaps], end_ns[gaps])
        fits &= other.end_ns[at] > latest[gaps]
        for one in threads:
            mine = np.flatnonzero(fits & (lane[gaps] == one.lane))
            if mine.size:
                rows = gaps[mine]
                fits[mine] = _takes_turns(one, other, start_ns[rows], end_ns[rows])
        gaps, at = gaps[fits], at[fits]
        releaser[gaps], latest[gaps] = other.piece[at], other.end_ns[at]
    return releaser


@dataclass(frozen=True, slots=True)
class _Thread:
    """What a thread worked: pieces that are no gaps, and stretches of them without gaps.

    `piece`, `start_ns` and `end_ns` are of the pieces, `begin_ns` and `stop_ns` of the
    stretches; `span_ns` is how long all threads took.
    """

    lane: int
    piece: I64
    start_ns: I64
    end_ns: I64
    begin_ns: I64
    stop_ns: I64
    span_ns: int

    @property
    def sum_ns(self) -> int:
        """How long it worked in all."""
        return int((self.stop_ns - self.begin_ns).sum())

    def between(self, begin_ns: I64, stop_ns: I64) -> I64:
        """Sum what it worked from each moment to another."""
        done = np.cumsum(self.stop_ns - self.begin_ns)
        until = []
        for time_ns in (begin_ns, stop_ns):
            at = np.searchsorted(self.begin_ns, time_ns, side="right") - 1
            ahead = np.maximum(self.stop_ns[at] - time_ns, 0)
            until.append(np.where(at >= 0, done[at] - ahead, 0))
        worked: I64 = until[1] - until[0]
        return worked


def _threads(host: Pieces) -> list[_Thread]:
    work = np.flatnonzero(host.kind != NodeKind.GAP)
    lane, start, end = host.lane[work], host.start_ns[work], host.end_ns[work]
    span_ns = int(end.max() - start.min()) if work.size else 0
    threads = []
    for low, high in pairwise(runs(lane).tolist()):
        mine = slice(low, high)
        pauses = np.flatnonzero(start[low + 1 : high] > end[low : high - 1])
        begin_ns = start[np.append(low, low + 1 + pauses)]
        stop_ns = end[np.append(low + pauses, high - 1)]
        threads.append(
            _Thread(
                int(lane[low]),
                work[mine],
                start[mine],
                end[mine],
                begin_ns,
                stop_ns,
                span_ns,
            )
        )
    return threads


def _last_work(other: _Thread, start_ns: I64, end_ns: I64) -> tuple[I64, Bool]:
    """Last piece of a thread to end by each gap's end, and whether it filled the gap."""
    # pieces of a thread do not overlap: their ends are in order as well
    before = np.searchsorted(other.end_ns, end_ns, side="right")
    begun = np.searchsorted(other.start_ns, end_ns, side="left")
    first = np.searchsorted(other.end_ns, start_ns, side="right")
    fits = (first < before) & (begun <= before)
    at, first = np.maximum(before - 1, 0), np.minimum(first, other.end_ns.size - 1)
    through = other.end_ns[at] - np.maximum(other.start_ns[first], start_ns)
    return at, fits & (through >= LEAST_SHARE * (end_ns - start_ns))


def _takes_turns(one: _Thread, other: _Thread, start_ns: I64, end_ns: I64) -> Bool:
    """Find the gaps of `one` in which `other` worked instead, as it always does."""
    together = int(one.between(other.begin_ns, other.stop_ns).sum())
    # whole numbers: ns² are beyond int64
    if together * one.span_ns > MOST_TOGETHER * one.sum_ns * other.sum_ns:
        return np.zeros(start_ns.size, np.bool_)
    meetings = min(one.begin_ns.size * other.sum_ns, other.begin_ns.size * one.sum_ns)
    if meetings >= LEAST_MEETINGS * one.span_ns:
        return np.ones(start_ns.size, np.bool_)
    enough: Bool = other.between(start_ns, end_ns) >= LEAST_SHARE * (end_ns - start_ns)
    return enough
