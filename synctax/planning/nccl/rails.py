"""Which GPU uses which NIC, what crosses rails, and what inside a host is not P2P.

A rail joins NICs that hang on one switch: in a fabric with rails, those of one local index
in all hosts. What leaves on one NIC and arrives on another has to cross the spine.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import Literal

from synctax.planning.nccl.machine import Rail, Topology
from synctax.planning.nccl.model import NO_COMMUNICATOR, Link, Member, NcclLog
from synctax.planning.nccl.topology import topology_rails


@dataclass(frozen=True, slots=True)
class Transfer:
    """A connection between two hosts, as both ends told of it.

    Parameters
    ----------
    communicator, channel, connection : int
        Connection 0 carries collectives, 1 sends and receives.
    source, target : int
        Ranks in the communicator.
    source_host, target_host : str
    source_nic, target_nic : str
        Names, or indices where the log tells no names.
    crosses : bool
        Whether they are on different rails.
    """

    communicator: int
    channel: int
    connection: int
    source: int
    target: int
    source_host: str
    target_host: str
    source_nic: str
    target_nic: str
    crosses: bool


@dataclass(frozen=True, slots=True)
class Transfers:
    """All connections between hosts.

    Parameters
    ----------
    pairs : tuple of Transfer
    one_sided : int
        Connections that only one end told of, and of which nothing can be said.
    """

    pairs: tuple[Transfer, ...]
    one_sided: int


@dataclass(frozen=True, slots=True)
class RingEdge:
    """A step of a ring from one host to another.

    Parameters
    ----------
    communicator, channel : int
    source, target : int
        Ranks in the communicator.
    source_host, target_host : str
    source_nic, target_nic : str
        Empty where no end told of it, and where NVLink joins hosts.
    """

    communicator: int
    channel: int
    source: int
    target: int
    source_host: str
    target_host: str
    source_nic: str
    target_nic: str


@dataclass(frozen=True, slots=True)
class Fallback:
    """Two GPUs of one host that do not reach each other directly.

    Parameters
    ----------
    host : str
    gpu, peer : int
        Local indices, the smaller first.
    via : "SHM", "NET" or "indirect"
        Through the memory of the host, a NIC, or a third GPU.
    links : int
        Connections that go this way.
    """

    host: str
    gpu: int
    peer: int
    via: Literal["SHM", "NET", "indirect"]
    links: int


def rails(log: NcclLog) -> tuple[Rail, ...]:
    """Tell which NIC each GPU uses.

    Parameters
    ----------
    log : NcclLog

    Returns
    -------
    tuple of Rail
        One for each GPU that the log tells of, in order of hosts and local indices. `nic`
        is the one that it sends and receives over outside collectives, or as a proxy of
        other ranks (PXN); without these the one that most of its connections use. `near`
        are all that it uses.
    """
    owners = {(one.communicator, one.rank): (one.host, one.gpu) for one in log.members}
    used: dict[tuple[str, int], Counter[tuple[int, str]]] = {}
    own: Counter[tuple[tuple[str, int], tuple[int, str]]] = Counter()
    for member in log.members:
        used.setdefault((member.host, member.gpu), Counter())
    for link in log.links:
        owner: tuple[str, int] | None = (link.host, link.gpu)
        if link.proxy is not None:
            owner = owners.get((link.communicator, link.proxy))
        if link.nic is None or owner is None:
            continue
        nic = link.nic, _nic(link)
        used.setdefault(owner, Counter())[nic] += 1
        own[owner, nic] += link.connection > 0 or link.proxy is not None
    ranks = {(one.host, one.gpu): one.rank for one in reversed(log.members)}
    found = []
    for owner, counted in sorted(used.items()):
        # a ring may leave a host through a NIC that is not its last GPU's own
        order = {nic: (-own[owner, nic], -count, nic) for nic, count in counted.items()}
        nics = sorted(counted, key=order.__getitem__)
        dev, name = nics[0] if nics else (None, None)
        names = tuple(name for _, name in nics)
        found.append(Rail(*owner, ranks.get(owner), name, dev, names, None))
    return tuple(found)


def _nic(link: Link) -> str:
    return link.nic_name or f"{link.how}/{link.nic}"


def transfers(log: NcclLog) -> Transfers:
    """Join what senders and receivers told of the connections between them.

    Two NICs are on one rail if their plugin says so; else if they have one name; or, where
    hosts name their NICs differently, one index.

    Parameters
    ----------
    log : NcclLog
    """
    ends: dict[tuple[int, ...], dict[str, Link]] = defaultdict(dict)
    one_sided = 0
    for link in log.links:
        if link.via != "NET":
            continue
        if _unsure(log, link):
            one_sided += 1
            continue
        key = link.communicator, link.channel, link.connection, link.source, link.target
        ends[key][link.direction] = link
    names: dict[str, set[str]] = defaultdict(set)
    for device in log.devices:
        names[device.host].add(device.name)
    pairs = [
        _transfer(end["send"], end["receive"], names)
        for end in ends.values()
        if len(end) == 2
    ]
    one_sided += len(ends) - len(pairs)
    return Transfers(tuple(pairs), one_sided)


def _unsure(log: NcclLog, link: Link) -> bool:
    at = link.communicator
    return at == NO_COMMUNICATOR or log.communicators[at].mixed


def _transfer(send: Link, receive: Link, names: dict[str, set[str]]) -> Transfer:
    return Transfer(
        send.communicator,
        send.channel,
        send.connection,
        send.source,
        send.target,
        send.host,
        receive.host,
        _nic(send),
        _nic(receive),
        _crosses(send, receive, names),
    )


def _crosses(send: Link, receive: Link, names: dict[str, set[str]]) -> bool:
    if send.rail is not None and receive.rail is not None:
        return send.rail != receive.rail
    shared = names[send.host] & names[receive.host]
    if {send.nic_name, receive.nic_name} & shared:
        return send.nic_name != receive.nic_name
    return send.nic != receive.nic


def ring_edges(log: NcclLog) -> tuple[RingEdge, ...]:
    """List the steps of rings from one host to another, and over which NICs they go.

    Parameters
    ----------
    log : NcclLog

    Returns
    -------
    tuple of RingEdge
        In order of rings. A ring over h hosts has h of them at the least; more mean that
        its ranks are not in order of their hosts.
    """
    homes = {
        (one.communicator, one.rank): one.host
        for one in log.members
        if not log.communicators[one.communicator].mixed
    }
    nics: dict[tuple[int, int, int, int], dict[str, str]] = defaultdict(dict)
    for link in log.links:
        if link.nic is not None and link.connection == 0:
            key = link.communicator, link.channel, link.source, link.target
            nics[key][link.direction] = _nic(link)
    found = []
    for ring in log.rings:
        after = ring.ranks[1:] + ring.ranks[:1] if ring.whole else ring.ranks[1:]
        for source, target in zip(ring.ranks, after, strict=False):
            at = ring.communicator
            hosts = homes.get((at, source)), homes.get((at, target))
            if hosts[0] is None or hosts[1] is None or hosts[0] == hosts[1]:
                continue
            key = at, ring.channel, source, target
            told = nics[key]
            names = told.get("send", ""), told.get("receive", "")
            found.append(RingEdge(*key, hosts[0], hosts[1], *names))
    return tuple(found)


def fallbacks(log: NcclLog) -> tuple[Fallback, ...]:
    """List pairs of GPUs inside a host whose traffic does not go by P2P.

    Parameters
    ----------
    log : NcclLog
    """
    homes = {(one.communicator, one.rank): one for one in log.members}
    counted: Counter[tuple[str, int, int, Literal["SHM", "NET", "indirect"]]] = Counter()
    for link in log.links:
        via = _around(link, homes, log)
        if via is None or link.peer_gpu is None:
            continue
        near, far = sorted((link.gpu, link.peer_gpu))
        counted[link.host, near, far, via] += 1
    return tuple(Fallback(*pair, count) for pair, count in sorted(counted.items()))


def _around(
    link: Link, homes: dict[tuple[int, int], Member], log: NcclLog
) -> Literal["SHM", "NET", "indirect"] | None:
    if link.via == "SHM":
        return "SHM"
    if link.via == "P2P":
        return "indirect" if link.how == "indirect" else None
    if _unsure(log, link) or link.direction != "send":
        return None
    ends = [homes.get((link.communicator, rank)) for rank in (link.source, link.target)]
    hosts = {None if end is None else end.host for end in ends}
    return "NET" if len(hosts) == 1 and None not in hosts else None


def strays(topology: Topology, found: tuple[Rail, ...]) -> tuple[tuple[Rail, Rail], ...]:
    """List GPUs that use NICs, but none of those that are nearest to them.

    Parameters
    ----------
    topology : Topology
        Of one host stands for all; of several (NVLink joins them) ranks tell which.
    found : tuple of Rail
        What GPUs use, from `rails`.

    Returns
    -------
    tuple of (Rail, Rail)
        What the GPU uses, and what is near.
    """
    near = topology_rails(topology)
    hosts = {rail.host for rail in near}
    by_gpu = {rail.gpu: rail for rail in near if len(hosts) == 1}
    by_rank = {rail.rank: rail for rail in near}
    pairs = (
        (rail, by_gpu.get(rail.gpu) if by_gpu else by_rank.get(rail.rank))
        for rail in found
        if by_gpu or rail.rank is not None
    )
    return tuple(
        (rail, replace(expected, host=rail.host))
        for rail, expected in pairs
        if expected is not None and rail.near and not {*rail.near} & {*expected.near}
    )
