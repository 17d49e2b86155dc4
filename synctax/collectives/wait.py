"""How long each rank of a collective waited for the last one to arrive."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I32, I64, Bool
from synctax.collectives.model import Op, RankCollectives


@dataclass(frozen=True, slots=True)
class Waits:
    """The waits of all collectives; slots and participations as in `Matches`.

    Parameters
    ----------
    wait_ns : (p,) int64
        Of each participation: its duration less the shortest one. Never negative, 0 for
        the last rank to arrive.
    shortest_ns, longest_ns : (m,) int64
        Durations over the ranks. The shortest is the transfer phase (an upper bound: it
        holds what all ranks waited for together).
    median_ns, mean_ns : (m,) float64
        Durations over the ranks.
    straggler, fastest : (m,) int32
        Position of the rank that arrived last (shortest) and first (longest); -1 where
        ranks tie or there is only one.
    n_ranks : (m,) int64
        Participations.

    References
    ----------
    Synchronization-tax paper, section 3.2.
    """

    wait_ns: I64
    shortest_ns: I64
    longest_ns: I64
    median_ns: F64
    mean_ns: F64
    straggler: I32
    fastest: I32
    n_ranks: I64


def waits(first: I64, rank: I32, duration_ns: I64, *, resolution_ns: int = 0) -> Waits:
    """Measure each participant's wait for the last rank to arrive.

    Ranks leave a collective together, so its shortest kernel belongs to the last rank to
    arrive; what another kernel lasts longer, its rank waited.

    Parameters
    ----------
    first : (m + 1,) int64
        Participations of collective i are `first[i]` up to `first[i + 1]`; at least one.
    rank : (p,) int32
        Position of each participation's rank.
    duration_ns : (p,) int64
        Kernel durations.
    resolution_ns : int
        Durations that differ by no more are equal: in a trace of whole µs both ends were
        rounded.

    Returns
    -------
    Waits

    Raises
    ------
    ValueError
        If a collective has no participation, or the arrays differ in length.

    References
    ----------
    Synchronization-tax paper, section 3.2.

    Examples
    --------
    Rank 1 is 30 µs late to the first collective, rank 0 is 10 µs late to the second:

    >>> both = waits(
    ...     np.array([0, 2, 4]),
    ...     np.array([0, 1, 0, 1], np.int32),
    ...     np.array([70_000, 40_000, 25_000, 35_000]),
    ... )
    >>> both.wait_ns
    array([30000,     0,     0, 10000])
    >>> both.straggler
    array([1, 0], dtype=int32)
    """
    count = np.diff(first)
    if rank.size != duration_ns.size or (first.size and first[-1] != rank.size):
        raise ValueError(
            f"{duration_ns.size} durations, {rank.size} ranks, slots {first[-1:]}"
        )
    if (count < 1).any():
        raise ValueError("every collective needs at least one participation")
    slot = np.repeat(np.arange(count.size), count)
    order = np.lexsort((rank, duration_ns, slot))
    ranked, ordered = duration_ns[order], rank[order]
    low, high = first[:-1], first[1:] - 1
    shortest, longest = ranked[low], ranked[high]
    total = np.add.reduceat(duration_ns, low) if count.size else np.empty(0, np.int64)
    middle = ranked[low + (count - 1) // 2] + ranked[low + count // 2]
    second, last_but_one = np.minimum(low + 1, high), np.maximum(high - 1, low)
    tied_low = (count == 1) | (ranked[second] - shortest <= resolution_ns)
    tied_high = (count == 1) | (longest - ranked[last_but_one] <= resolution_ns)
    return Waits(
        wait_ns=duration_ns - shortest[slot],
        shortest_ns=shortest,
        longest_ns=longest,
        median_ns=middle / 2,
        mean_ns=total / count,
        straggler=np.where(tied_low, -1, ordered[low]).astype(np.int32),
        fastest=np.where(tied_high, -1, ordered[high]).astype(np.int32),
        n_ranks=count,
    )


def exposed_ns(
    ranks: Sequence[RankCollectives], rank: I32, start_ns: I64, wait_ns: I64
) -> I64:
    """Return the part of each wait during which its GPU computed nothing.

    Parameters
    ----------
    ranks : sequence of RankCollectives
        By position; their `busy_*_ns` hold when each GPU computed beside communication.
    rank : (p,) int32
        Position of each participation's rank.
    start_ns, wait_ns : (p,) int64
        Start on the rank's own clock, and the wait from there on.

    Returns
    -------
    (p,) int64
        Between 0 and `wait_ns`.
    """
    exposed = wait_ns.copy()
    for position, one in enumerate(ranks):
        if not one.busy_start_ns.size:
            continue
        mine = np.flatnonzero(rank == position)
        begin, end = start_ns[mine], start_ns[mine] + wait_ns[mine]
        exposed[mine] -= _busy_before(one, end) - _busy_before(one, begin)
    return exposed


def _busy_before(rank: RankCollectives, time_ns: I64) -> I64:
    """How long the GPU computed before each time, in ns."""
    start, end = rank.busy_start_ns, rank.busy_end_ns
    total = np.concatenate([[0], np.cumsum(end - start)])
    index = np.searchsorted(start, time_ns, side="right")
    inside = np.maximum(index - 1, 0)
    beyond = np.where(index > 0, np.maximum(end[inside] - time_ns, 0), 0)
    result: I64 = total[index] - beyond
    return result


def busbw_factor(op: int, size: int) -> float:
    """Return bytes on the wire of one rank over payload bytes, as nccl-tests counts them.

    Parameters
    ----------
    op : int
        `Op`.
    size : int
        Ranks of the group.

    Returns
    -------
    float
        2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter and all-to-all, 1
        for broadcast and reduce, NaN for operations that move no payload of their own.

    References
    ----------
    nccl-tests, doc/PERFORMANCE.md.

    Examples
    --------
    >>> busbw_factor(Op.ALL_REDUCE, 8)
    1.75
    """
    share = (size - 1) / size
    return {
        Op.ALL_REDUCE: 2 * share,
        Op.ALL_GATHER: share,
        Op.REDUCE_SCATTER: share,
        Op.ALL_TO_ALL: share,
        Op.GATHER: share,
        Op.SCATTER: share,
        Op.BROADCAST: 1.0,
        Op.REDUCE: 1.0,
        Op.SEND_RECV: 1.0,
    }.get(Op(op), float("nan"))


def busbw_gb_per_s(payload_bytes: I64, factor: F64, transfer_ns: I64) -> F64:
    """Return bus bandwidth net of the wait, in GB/s (10⁹ bytes); NaN where unknown.

    Parameters
    ----------
    payload_bytes : (m,) int64
        -1 where unknown.
    factor : (m,) float64
        Of `busbw_factor`.
    transfer_ns : (m,) int64
        Duration on the last rank to arrive.
    """
    known: Bool = (payload_bytes >= 0) & (transfer_ns > 0)
    result = np.full(payload_bytes.size, np.nan)
    result[known] = payload_bytes[known] * factor[known] / transfer_ns[known]
    return result
