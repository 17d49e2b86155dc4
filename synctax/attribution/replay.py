"""Run the graphs of all ranks again with other durations; collectives are barriers.

Times are shifts against what was recorded, so the clocks of ranks are never compared, and
a replay in which nothing changes returns the recorded times exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import I64, Bool
from synctax.attribution.network import Network, following, stretch_ns
from synctax.graph.model import NodeKind


@dataclass(frozen=True, slots=True)
class Barriers:
    """Participations in collectives that ranks leave together.

    Parameters
    ----------
    node : (p,) int64
        Node of each participation, of any rank; none twice.
    slot : (p,) int64
        The collective it belongs to, numbered 0, 1, ...; nobody leaves before all of its
        participants have arrived and the transfer is done.
    """

    node: I64
    slot: I64

    @classmethod
    def none(cls) -> "Barriers":
        """No collective at all."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class Replayed:
    """When everything happens in a replay; (n,) int64 ns, on each rank's own clock."""

    start_ns: I64
    end_ns: I64

    @property
    def duration_ns(self) -> I64:
        """Durations, waits for others included, (n,) int64."""
        duration: I64 = self.end_ns - self.start_ns
        return duration


@dataclass(frozen=True, slots=True)
class _Links:
    """Edges between joints: nodes with several reasons to start, and barriers.

    `source` and `target` (k,) int64 number joints: nodes, then barriers. `via` (k,) int64
    is the node by which an edge leaves its source, -1 for a barrier; `edge` (k,) int64 the
    network's edge, -1 for arrivals; `arrival` (k,) int64 the participation that arrives,
    -1 for others; `overlap` (k,) bool marks bounds by the start of a collective.
    """

    source: I64
    target: I64
    via: I64
    edge: I64
    arrival: I64
    overlap: Bool


@dataclass(frozen=True, slots=True)
class Schedule:
    """In which order to compute a replay: what does not depend on durations.

    `follows` (n,) int64 is the one edge into a node that only follows the node before it
    on its thread, else -1; `order` (n,) int64 the nodes thread by thread; `head` (n,)
    int64 the joint that begins each such chain. `first`, `source` and `links` are the
    edges of joints in order of computation; `position` (n + p,) int64 where each joint
    stands there, -1 for nodes that are none. `separated` counts barriers that had to be
    dissolved.
    """

    network: Network
    barriers: Barriers
    after: I64
    follows: I64
    order: I64
    head: I64
    links: _Links
    first: tuple[int, ...]
    source: tuple[int, ...]
    position: I64
    separated: int


def schedule(network: Network, barriers: Barriers) -> Schedule:
    """Order the computation of replays.

    Parameters
    ----------
    network : Network
    barriers : Barriers

    Returns
    -------
    Schedule
        Collectives of which one can only begin after another on one rank, and the other
        only after it on another rank, cannot both be barriers: as many as need be are
        left by every rank on its own, and counted.
    """
    after = following(network)
    follows = _follows(network, barriers, after)
    order = np.argsort(network.lane, kind="stable")
    head = np.arange(len(network))
    begin = np.where(follows[order] < 0, np.arange(order.size), 0)
    head[order] = order[np.maximum.accumulate(begin)]
    slot, separated = barriers.slot, 0
    while True:
        links = _links(network, Barriers(barriers.node, slot), follows, head)
        done = _order(links, network, barriers.node.size, follows)
        if done.size == _joints(network, slot, follows).size:
            break
        slot = _separate(network, Barriers(barriers.node, slot), done)
        separated += 1
    position = np.full(len(network) + barriers.node.size, -1, np.int64)
    position[done] = np.arange(done.size)
    by_target = np.argsort(position[links.target], kind="stable")
    links = _Links(*(getattr(links, name)[by_target] for name in _Links.__slots__))
    first = np.searchsorted(position[links.target], np.arange(done.size + 1))
    return Schedule(
        network=network,
        barriers=Barriers(barriers.node, slot),
        after=after,
        follows=follows,
        order=order,
        head=head,
        links=links,
        first=tuple(first.tolist()),
        source=tuple(position[links.source].tolist()),
        position=position,
        separated=separated,
    )


def replay(plan: Schedule, duration_ns: I64) -> Replayed:
    """Compute when everything happens if nodes take so long.

    Parameters
    ----------
    plan : Schedule
    duration_ns : (n,) int64
        Of every node, 0 or more. Those of waits are ignored. Of the participations in a
        collective the shortest is the time of its transfer, once all have arrived.

    Returns
    -------
    Replayed

    Raises
    ------
    ValueError
        If there are not n durations, or one is negative.

    Notes
    -----
    A node starts at the latest of its edges: completion of the parent plus the edge's
    lag. Ranks leave a collective as far apart as they did: if rank r arrives Δ_r later
    than recorded, all leave max_r(Δ_r − d_r) + min_r(d_r) later, d_r the durations.

    References
    ----------
    Synchronization-tax paper, sections 3.2 and 4.1.
    """
    network, barriers = plan.network, plan.barriers
    if duration_ns.shape != network.duration_ns.shape:
        raise ValueError(f"{duration_ns.size} durations for {len(network)} nodes")
    if (duration_ns < 0).any():
        raise ValueError("a duration is negative")
    gain = stretch_ns(network, duration_ns) - network.hidden_ns
    along = _along(plan, gain)
    moved = _moved(plan.first, plan.source, _weights(plan, gain, along, duration_ns))
    joint = np.array(moved, np.int64)
    start = network.start_ns + joint[plan.position[plan.head]] + along
    end = start + duration_ns
    wait = np.flatnonzero((network.kind == NodeKind.WAIT) & (plan.after >= 0))
    end[wait] = start[plan.after[wait]]
    left = joint[plan.position[len(network) + barriers.slot]]
    end[barriers.node] = network.end_ns[barriers.node] + left
    return Replayed(start, end)


def _moved(first: Sequence[int], source: Sequence[int], weight: list[int]) -> list[int]:
    """How much later each joint is: the longest path to it, in order of computation."""
    moved: list[int] = []
    low = first[0]
    for high in first[1:]:
        if low == high:
            moved.append(0)
            continue
        latest = moved[source[low]] + weight[low]
        for edge in range(low + 1, high):
            other = moved[source[edge]] + weight[edge]
            if other > latest:
                latest = other
        moved.append(latest)
        low = high
    return moved


def _weights(plan: Schedule, gain: I64, along: I64, duration_ns: I64) -> list[int]:
    """What each edge between joints adds to the shift of its source."""
    network, barriers, links = plan.network, plan.barriers, plan.links
    weight = np.append(along, 0)[links.via]
    own = links.edge >= 0
    edge = links.edge[own]
    weight[own] += np.where(links.via[own] >= 0, gain[edge], -network.hidden_ns[edge])
    bound = links.edge[links.overlap]
    weight[links.overlap] = (
        np.append(along, 0)[links.via[links.overlap]]
        - network.offset_ns[bound]
        - network.hidden_ns[bound]
    )
    arrives = links.arrival >= 0
    transfer = np.full(barriers.node.size, np.iinfo(np.int64).max)
    np.minimum.at(transfer, barriers.slot, duration_ns[barriers.node])
    who = links.arrival[arrives]
    weight[arrives] += transfer[barriers.slot[who]]
    weight[arrives] -= network.duration_ns[barriers.node[who]]
    shifts: list[int] = weight.tolist()
    return shifts


def _along(plan: Schedule, gain: I64) -> I64:
    """How much more each node is moved than the joint that begins its chain."""
    step = np.where(plan.follows >= 0, gain[plan.follows], 0)[plan.order]
    total = np.cumsum(step)
    result = np.empty_like(total)
    result[plan.order] = total
    # within a chain only: the order holds chain after chain
    along: I64 = result - result[plan.head]
    return along


def _follows(network: Network, barriers: Barriers, after: I64) -> I64:
    """The edge into each node that has no other, from the node before it; else -1."""
    count = np.bincount(network.child, minlength=len(network))
    collective = np.zeros(len(network), np.bool_)
    collective[barriers.node] = True
    chain = (
        (count[network.child] == 1)
        & (after[network.parent] == network.child)
        & ~collective[network.parent]
    )
    follows = np.full(len(network), -1, np.int64)
    follows[network.child[chain]] = np.flatnonzero(chain)
    return follows


def _links(network: Network, barriers: Barriers, follows: I64, head: I64) -> _Links:
    """Connect joints: each edge from the head of its parent's chain, or its barrier."""
    nodes, size = len(network), barriers.node.size
    number = np.full(nodes, -1, np.int64)
    number[barriers.node] = np.arange(size)
    edge = np.flatnonzero(follows[network.child] < 0)
    parent = network.parent[edge]
    left = number[parent]
    ordinary = left < 0
    source = np.where(ordinary, head[parent], nodes + np.append(barriers.slot, 0)[left])
    # what overlaps a collective starts no earlier than before, seen from its start
    bound = ~ordinary & (network.offset_ns[edge] < network.duration_ns[parent])
    again, arriving = edge[bound], np.arange(size)
    begin = network.parent[again]
    return _Links(
        source=np.concatenate([source, head[begin], head[barriers.node]]),
        target=np.concatenate(
            [network.child[edge], network.child[again], nodes + barriers.slot]
        ),
        via=np.concatenate([np.where(ordinary, parent, -1), begin, barriers.node]),
        edge=np.concatenate([edge, again, np.full(size, -1)]),
        arrival=np.concatenate([np.full(edge.size + again.size, -1), arriving]),
        overlap=np.repeat([False, True, False], [edge.size, again.size, size]),
    )


def _joints(network: Network, slot: I64, follows: I64) -> I64:
    """Nodes that begin a chain, then barriers."""
    return np.concatenate([np.flatnonzero(follows < 0), len(network) + np.unique(slot)])


def _order(links: _Links, network: Network, barriers: int, follows: I64) -> I64:
    """Joints in an order in which each comes after its sources; what is in circles not."""
    size = len(network) + barriers
    waiting = np.bincount(links.target, minlength=size)
    idle = np.zeros(size, np.bool_)
    idle[: len(network)] = follows < 0
    ready: list[int] = np.flatnonzero(idle & (waiting == 0)).tolist()[::-1]
    by_source = np.argsort(links.source, kind="stable")
    target = links.target[by_source].tolist()
    begin = np.searchsorted(links.source[by_source], np.arange(size + 1)).tolist()
    left = waiting.tolist()
    done: list[int] = []
    while ready:
        joint = ready.pop()
        done.append(joint)
        for reached in target[begin[joint] : begin[joint + 1]]:
            left[reached] -= 1
            if not left[reached]:
                ready.append(reached)
    return np.array(done, np.int64)


def _separate(network: Network, barriers: Barriers, done: I64) -> I64:
    """Dissolve the earliest barrier that is in a circle: the slots, with new ones."""
    stuck = np.setdiff1d(barriers.slot, done - len(network))
    inside = np.flatnonzero(np.isin(barriers.slot, stuck))
    shared = inside[np.bincount(barriers.slot)[barriers.slot[inside]] > 1]
    where = network.start_ns[barriers.node[shared]]
    mine = np.flatnonzero(barriers.slot == barriers.slot[shared[int(where.argmin())]])
    free = np.setdiff1d(np.arange(barriers.slot.size), barriers.slot)
    slot = barriers.slot.copy()
    # its first participant keeps the number, which is then its own
    slot[mine[1:]] = free[: mine.size - 1]
    return slot
