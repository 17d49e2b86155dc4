"""Schedules and collectives played message by message, for what formulas say of them."""

from collections import Counter
from dataclasses import dataclass

FORWARD, BACKWARD = 1, 2
"""Time of a chunk: a backward pass lasts twice as long."""

Pass = tuple[str, int, int]
"""Forward or backward, chunk, microbatch."""


def passes(rank: int, p: int, v: int, m: int) -> list[Pass]:
    """List what a rank does, in its order (Megatron-Core, schedules.py)."""
    forward = [("F", chunk, micro) for chunk, micro in _forward(p, v, m)]
    backward = [("B", v - 1 - chunk, micro) for chunk, micro in _forward(p, v, m)]
    first = p - rank - 1 if v == 1 else 2 * (p - rank - 1) + (v - 1) * p
    first = min(first, m * v)
    order = forward[:first]
    for at in range(m * v - first):
        order += [forward[first + at], backward[at]]
    return order + backward[m * v - first :]


def _forward(p: int, v: int, m: int) -> list[tuple[int, int]]:
    if v == 1:
        return [(0, micro) for micro in range(m)]
    return [
        (chunk, first + micro)
        for first in range(0, m, p)
        for chunk in range(v)
        for micro in range(p)
    ]


def needs(what: Pass, rank: int, p: int, v: int) -> tuple[int, Pass] | None:
    """Tell which pass of which rank has to be done before, if any."""
    kind, chunk, micro = what
    at = chunk * p + rank
    if kind == "F":
        return None if at == 0 else ((at - 1) % p, ("F", (at - 1) // p, micro))
    if at == p * v - 1:
        return rank, ("F", chunk, micro)
    return (at + 1) % p, ("B", (at + 1) // p, micro)


@dataclass(frozen=True)
class Played:
    """What a schedule came to.

    `ends` is when all is done, `held` what each rank held at most (chunks of a microbatch),
    `sent` and `received` messages of each rank.
    """

    ends: int
    held: list[int]
    sent: Counter[int]
    received: Counter[int]


def play(p: int, v: int, m: int) -> Played:
    """Play a schedule pass by pass; messages take no time."""
    orders = [passes(rank, p, v, m) for rank in range(p)]
    done: dict[tuple[int, Pass], int] = {}
    sent, received = Counter[int](), Counter[int]()
    free, at = [0] * p, [0] * p
    while any(at[rank] < len(orders[rank]) for rank in range(p)):
        before = sum(at)
        for rank in range(p):
            while at[rank] < len(orders[rank]):
                what = orders[rank][at[rank]]
                needed = needs(what, rank, p, v)
                if needed is not None and needed not in done:
                    break
                if needed is not None and needed[0] != rank:
                    sent[needed[0]] += 1
                    received[rank] += 1
                begin = max(free[rank], done[needed] if needed else 0)
                free[rank] = begin + (FORWARD if what[0] == "F" else BACKWARD)
                done[rank, what] = free[rank]
                at[rank] += 1
        assert sum(at) > before, "a deadlock"
    return Played(max(free), [_most(order) for order in orders], sent, received)


def _most(order: list[Pass]) -> int:
    held = most = 0
    for kind, _, _ in order:
        held += 1 if kind == "F" else -1
        most = max(most, held)
    assert held == 0
    return most


def ring_all_gather(ranks: int) -> tuple[list[int], list[int]]:
    """Pass shards round a ring until all ranks have all; count those sent and received.

    A reduce-scatter is the same, backwards.
    """
    have = [{rank} for rank in range(ranks)]
    sent, received = [0] * ranks, [0] * ranks
    for step in range(ranks - 1):
        for rank in range(ranks):
            to, shard = (rank + 1) % ranks, (rank - step) % ranks
            assert shard in have[rank]
            have[to].add(shard)
            sent[rank] += 1
            received[to] += 1
    assert all(len(shards) == ranks for shards in have)
    return sent, received
