"""How long each rank of a collective waited for the last one to arrive."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I32, I64, Bool, apart
from synctax.collectives.model import Op, RankCollectives

AT_ONCE = 1 << 17
"""So many durations are ordered at a time: a MB of them."""


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
    shortest, longest = np.empty(count.size, np.int64), np.empty(count.size, np.int64)
    middle = np.empty(count.size, np.int64)
    straggler = np.empty(count.size, np.int32)
    fastest = np.empty(count.size, np.int32)
    for many, slots in apart(count):
        # as many slots at a time as leave the processor's cache room for their rows
        for some in np.array_split(slots, -(-slots.size * many // AT_ONCE)):
            rows = first[some][:, np.newaxis] + np.arange(many)
            own_ns = duration_ns[rows]
            ranked = np.sort(own_ns, axis=1)
            low, high = ranked[:, 0], ranked[:, -1]
            shortest[some], longest[some] = low, high
            middle[some] = ranked[:, (many - 1) // 2] + ranked[:, many // 2]
            tied_low = ranked[:, min(1, many - 1)] - low <= resolution_ns
            tied_high = high - ranked[:, max(many - 2, 0)] <= resolution_ns
            last = rank[first[some] + own_ns.argmin(axis=1)]
            straggler[some] = np.where(tied_low, -1, last)
            fastest[some] = np.where(
                tied_high, -1, rank[first[some] + own_ns.argmax(axis=1)]
            )
    total = np.add.reduceat(duration_ns, first[:-1]) if count.size else count
    return Waits(
        wait_ns=duration_ns - np.repeat(shortest, count),
        shortest_ns=shortest,
        longest_ns=longest,
        median_ns=middle / 2,
        mean_ns=total / count,
        straggler=straggler,
        fastest=fastest,
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
    if not any(one.busy_start_ns.size for one in ranks):
        return exposed
    for position, mine in apart(rank):
        one = ranks[position]
        if not one.busy_start_ns.size:
            continue
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
