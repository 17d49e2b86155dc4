"""Threads that hand over to each other: who released a thread from its gap.

The thread of the forward pass waits while the autograd thread runs the backward pass, and
the other way round. The profiler logs neither wait; it shows a gap.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from synctax.arrays import ABSENT, I32, I64, Bool
from synctax.graph.host import Pieces
from synctax.graph.lookup import runs
from synctax.graph.model import NodeKind

LEAST_SHARE = 0.5
"""Share of a gap that the other thread must fill, from its first work in it to its last."""

MOST_TOGETHER = 0.1
"""Threads that take turns work together for at most this share of what chance gives.

In recorded forward and backward passes it is 0.01 or less.
"""

LEAST_MEETINGS = 3
"""Pieces that chance would let meet a piece of the other thread: with fewer of them, that
none met says little."""


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
    work = _Work.of(host)
    threads = [work.part(low, high) for low, high in pairwise(runs(work.lane).tolist())]
    releaser = np.full(lane.size, ABSENT, np.int64)
    latest = start_ns.copy()
    for other in threads:
        gaps = np.flatnonzero(lane != other.lane[0])
        at, fits = _last_work(other, start_ns[gaps], end_ns[gaps])
        fits &= other.end_ns[at] > latest[gaps]
        for one in threads:
            mine = np.flatnonzero(fits & (lane[gaps] == one.lane[0]))
            if mine.size:
                rows = gaps[mine]
                fits[mine] = _takes_turns(one, other, start_ns[rows], end_ns[rows])
        gaps, at = gaps[fits], at[fits]
        releaser[gaps], latest[gaps] = other.piece[at], other.end_ns[at]
    return releaser


@dataclass(frozen=True, slots=True)
class _Work:
    """Pieces that are no gaps, by thread and time, and how long all threads took."""

    piece: I64
    lane: I32
    start_ns: I64
    end_ns: I64
    span_ns: int

    @classmethod
    def of(cls, host: Pieces) -> "_Work":
        piece = np.flatnonzero(host.kind != NodeKind.GAP)
        start, end = host.start_ns[piece], host.end_ns[piece]
        span_ns = int(end.max() - start.min()) if piece.size else 0
        return cls(piece, host.lane[piece], start, end, span_ns)

    def part(self, low: int, high: int) -> "_Work":
        """Take the pieces of one thread."""
        return _Work(
            self.piece[low:high],
            self.lane[low:high],
            self.start_ns[low:high],
            self.end_ns[low:high],
            self.span_ns,
        )

    @property
    def sum_ns(self) -> int:
        """How long all pieces are together."""
        return int((self.end_ns - self.start_ns).sum())

    def between(self, start_ns: I64, end_ns: I64) -> I64:
        """Sum what one thread worked from each moment to another."""
        done = np.cumsum(self.end_ns - self.start_ns)
        until = []
        for time_ns in (start_ns, end_ns):
            at = np.searchsorted(self.start_ns, time_ns, side="right") - 1
            ahead = np.maximum(self.end_ns[at] - time_ns, 0)
            until.append(np.where(at >= 0, done[at] - ahead, 0))
        worked: I64 = until[1] - until[0]
        return worked


def _last_work(other: _Work, start_ns: I64, end_ns: I64) -> tuple[I64, Bool]:
    """Last piece of a thread to end by each gap's end, and whether it filled the gap."""
    # pieces of a thread do not overlap: their ends are in order as well
    before = np.searchsorted(other.end_ns, end_ns, side="right")
    begun = np.searchsorted(other.start_ns, end_ns, side="left")
    first = np.searchsorted(other.end_ns, start_ns, side="right")
    fits = (first < before) & (begun <= before)
    at, first = np.maximum(before - 1, 0), np.minimum(first, other.end_ns.size - 1)
    through = other.end_ns[at] - np.maximum(other.start_ns[first], start_ns)
    return at, fits & (through >= LEAST_SHARE * (end_ns - start_ns))


def _takes_turns(one: _Work, other: _Work, start_ns: I64, end_ns: I64) -> Bool:
    """Find the gaps of `one` in which `other` worked instead, as it always does."""
    few, many = sorted((one, other), key=lambda thread: thread.piece.size)
    together = int(many.between(few.start_ns, few.end_ns).sum())
    # whole numbers: ns² are beyond int64
    if together * one.span_ns > MOST_TOGETHER * one.sum_ns * other.sum_ns:
        return np.zeros(start_ns.size, np.bool_)
    meetings = min(one.piece.size * other.sum_ns, other.piece.size * one.sum_ns)
    if meetings >= LEAST_MEETINGS * one.span_ns:
        return np.ones(start_ns.size, np.bool_)
    enough: Bool = other.between(start_ns, end_ns) >= LEAST_SHARE * (end_ns - start_ns)
    return enough
