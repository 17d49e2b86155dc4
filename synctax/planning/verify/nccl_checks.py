"""What NCCL's own files add to the traces of a job: hosts, NICs, rails, rings, P2P."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from synctax.planning.nccl.machine import PathKind, Rail, Topology
from synctax.planning.nccl.model import NcclLog
from synctax.planning.nccl.rails import fallbacks, rails, ring_edges, strays, transfers
from synctax.planning.nccl.topology import short_of_nvlinks, topology_rails
from synctax.planning.verify.check import Broken, Check
from synctax.planning.verify.hosts_file import LOG, HostMap
from synctax.planning.verify.nvlink import joined_domains
from synctax.planning.verify.speeds import Links
from synctax.texts import counted

NEAR_PATHS: Final[tuple[PathKind, ...]] = ("PIX", "PXB")
"""Ways to a NIC that stay within PCIe switches; others go through a CPU."""

NOT_TOLD_GB_PER_S: Final = 1.25
"""What NCCL takes a NIC for that does not tell its speed (some say -1): 10 Gb/s."""

CROSS_NIC: Final = "NCCL_CROSS_NIC"


def hosts_in(log: NcclLog, world: int | None) -> HostMap | None:
    """Read where ranks sit off the communicator of all of them.

    Parameters
    ----------
    log : NcclLog
    world : int or None
        Ranks of the job; None: of the largest communicator.

    Returns
    -------
    HostMap or None
        None where no communicator has all ranks, or its log is of some of them only.
    """
    for at, one in enumerate(log.communicators):
        if one.mixed or one.members < one.nranks or one.nranks != (world or one.nranks):
            continue
        mine = [member for member in log.members if member.communicator == at]
        mine.sort(key=lambda member: member.rank)
        domain = joined_domains(log, at)
        return HostMap(
            LOG,
            np.array([member.rank for member in mine], np.int64),
            tuple(member.host for member in mine),
            tuple(domain.get(member.rank, "") for member in mine),
            np.array([member.gpu for member in mine], np.int64),
        )
    return None


def links_in(topologies: Sequence[Topology]) -> Links:
    """Read line rates off topologies: the slowest GPU's NVLinks, the slowest NIC.

    Parameters
    ----------
    topologies : sequence of Topology
    """
    nvlink = [gpu.nvlink_gb_per_s for one in topologies for gpu in one.gpus]
    nic = [nic.speed_gb_per_s for one in topologies for nic in one.nics]
    nic = [rate for rate in nic if rate > NOT_TOLD_GB_PER_S]
    return Links(_slowest(nvlink), _slowest(nic))


def _slowest(rates: Sequence[float]) -> float | None:
    known = [rate for rate in rates if rate > 0]
    return min(known, default=None)


def topology_checks(topologies: Sequence[Topology], log: NcclLog | None) -> list[Check]:
    """Check that each GPU has a NIC of its own beside it, and all of its NVLinks.

    Parameters
    ----------
    topologies : sequence of Topology
    log : NcclLog or None
        Which NICs GPUs use; they should be those beside them.
    """
    found = [(one, topology_rails(one)) for one in topologies]
    checks = [_nics([rail for _, mine in found for rail in mine]), _nvlinks(topologies)]
    if log is not None:
        checks.append(_strays(topologies, log))
    return checks


def _nics(found: Sequence[Rail]) -> Check:
    shared = Counter((rail.host, rail.nic) for rail in found)
    broken = []
    for rail in found:
        if rail.nic is None:
            broken.append(_gpu(rail, "no NIC is reached"))
        elif shared[rail.host, rail.nic] > 1:
            others = shared[rail.host, rail.nic] - 1
            broken.append(_gpu(rail, f"shares {rail.nic} with {counted(others, 'GPU')}"))
        elif rail.path not in NEAR_PATHS:
            broken.append(_gpu(rail, f"reaches {rail.nic} through a CPU ({rail.path})"))
    return Check(
        "nics",
        "",
        "warning",
        "a NIC of its own behind one PCIe switch",
        f"{len(found) - len(broken):,} of {counted(len(found), 'GPU')}",
        checked=len(found),
        broken=tuple(broken),
        unit="GPU",
    )


def _nvlinks(topologies: Sequence[Topology]) -> Check:
    gpus = [gpu for one in topologies for gpu in one.gpus]
    most = max((gpu.nvlink_count for gpu in gpus), default=0)
    broken = tuple(
        Broken(
            _ranks(gpu.rank),
            _hosts(gpu.host),
            f"GPU {gpu.dev} has {counted(gpu.nvlink_count, 'NVLink')}, others {most}",
        )
        for one in topologies
        for gpu in short_of_nvlinks(one)
    )
    return Check(
        "nvlinks",
        "",
        "warning",
        "as many NVLinks as its neighbours",
        f"{counted(most, 'NVLink')} on {len(gpus) - len(broken):,} of "
        f"{counted(len(gpus), 'GPU')}",
        checked=len(gpus),
        broken=broken,
        unit="GPU",
    )


def _strays(topologies: Sequence[Topology], log: NcclLog) -> Check:
    used = tuple(rail for rail in rails(log) if rail.near)
    broken = []
    for one in topologies:
        for mine, near in strays(one, used):
            names = ", ".join(near.near)
            broken.append(_gpu(mine, f"uses {mine.nic}, and beside it is {names}"))
    return Check(
        "nic-in-use",
        "",
        "warning",
        "the NIC beside the GPU",
        f"{len(used) - len(broken):,} of {counted(len(used), 'GPU')}" if used else "",
        checked=len(used),
        unknown=0 if used else 1,
        broken=tuple(broken),
        because="" if used else "the log tells of no NIC in use",
        unit="GPU",
    )


def _gpu(rail: Rail, found: str) -> Broken:
    on = f"GPU {rail.gpu}" + (f" of {rail.host}" if rail.host else "")
    return Broken(_ranks(rail.rank), _hosts(rail.host), f"{on} {found}")


def _ranks(rank: int | None) -> tuple[int, ...]:
    return () if rank is None else (rank,)


def _hosts(host: str) -> tuple[str, ...]:
    return (host,) if host else ()


def log_checks(log: NcclLog) -> list[Check]:
    """Check that traffic keeps to its rail, to P2P inside hosts, and rings to their hosts.

    Parameters
    ----------
    log : NcclLog
    """
    return [_crossings(log), _inside_hosts(log), _rings(log)]


def _crossings(log: NcclLog) -> Check:
    found = transfers(log)
    broken = tuple(
        Broken(
            (one.source, one.target),
            tuple(dict.fromkeys((one.source_host, one.target_host))),
            f"leaves {one.source_host} on {one.source_nic} and arrives at "
            f"{one.target_host} on {one.target_nic}",
        )
        for one in found.pairs
        if one.crosses
    )
    values = log.values(CROSS_NIC)
    setting = f"{CROSS_NIC} is {', '.join(values)}" if values else f"{CROSS_NIC} is not set"
    total = len(found.pairs)
    because = ""
    if broken:
        because = f"{setting}; 0 keeps rings to one NIC, and cables to rails tell the rest"
    elif not total:
        because = "both ends of no connection between hosts are in the log"
    return Check(
        "nic-rails",
        "",
        "warning",
        "one rail at both ends",
        f"{total - len(broken):,} of {counted(total, 'connection')}" if total else "",
        checked=total,
        unknown=found.one_sided,
        broken=broken,
        because=because,
        unit="connection",
    )


def _inside_hosts(log: NcclLog) -> Check:
    inside = sum(link.via != "NET" for link in log.links)
    around = fallbacks(log)
    by_way = {"SHM": "host memory", "NET": "a NIC", "indirect": "a third GPU"}
    broken = tuple(
        Broken(
            (),
            (one.host,),
            f"GPU {one.gpu} and {one.peer} of {one.host} talk through {by_way[one.via]}",
        )
        for one in around
    )
    found = "all P2P" if inside else ""
    if broken:
        pairs = counted(len(broken), "pair")
        found = f"{pairs} of GPUs without P2P"
    return Check(
        "p2p",
        "",
        "warning",
        "P2P between GPUs of a host",
        found,
        checked=max(inside, len(broken)),
        unknown=0 if inside or broken else 1,
        broken=broken,
        because="" if inside or broken else "the log tells of no connection inside a host",
        unit="connection",
    )


def _rings(log: NcclLog) -> Check:
    """Check that rings leave each host once: more means ranks out of order of hosts."""
    whole = [ring for ring in log.rings if ring.whole]
    edges = Counter((edge.communicator, edge.channel) for edge in ring_edges(log))
    homes = {(one.communicator, one.rank): one.host for one in log.members}
    broken, checked = [], 0
    for ring in whole:
        mine = [homes.get((ring.communicator, rank)) for rank in ring.ranks]
        if None in mine:
            continue
        checked += 1
        hosts = tuple(dict.fromkeys(host for host in mine if host is not None))
        least = len(hosts) if len(hosts) > 1 else 0
        steps = edges[ring.communicator, ring.channel]
        if steps > least:
            broken.append(
                Broken(
                    ring.ranks,
                    hosts,
                    f"channel {ring.channel} leaves hosts {steps:,} times, {least:,} do",
                )
            )
    return Check(
        "rings",
        "",
        "warning",
        "each host left once",
        f"{checked - len(broken):,} of {counted(checked, 'ring')}" if checked else "",
        checked=checked,
        unknown=len(log.rings) - checked,
        broken=tuple(broken),
        because="" if checked else "the log tells no whole ring (NCCL_DEBUG_SUBSYS=GRAPH)",
        unit="ring",
    )


def nccl_checks(topologies: Sequence[Topology], log: NcclLog | None) -> Iterator[Check]:
    """Check all that NCCL's files tell.

    Parameters
    ----------
    topologies : sequence of Topology
    log : NcclLog or None
    """
    if topologies:
        yield from topology_checks(topologies, log)
    if log is not None:
        yield from log_checks(log)
