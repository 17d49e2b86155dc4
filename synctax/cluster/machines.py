"""What jobs run on: servers with GPUs and a NIC, and the links between them."""

from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from synctax.arrays import F64, I64
from synctax.cluster.choices import QUEUES, QueueName
from synctax.notes import Note
from synctax.planning.possible import ImpossibleError, is_number


@dataclass(frozen=True, slots=True)
class SwitchTier:
    """Uplinks of blocks of servers, such as racks under one top-of-rack switch.

    Parameters
    ----------
    servers : int
        Servers of a block, neighbours by number; the last block may have fewer.
    oversubscription : float
        What the NICs of a block together carry over what its uplink carries, 1 or more.
    """

    servers: int
    oversubscription: float


@dataclass(frozen=True, eq=False, repr=False)
class Cluster:
    """Servers, by number from 0.

    Parameters
    ----------
    gpus : (k,) int64
        Of each server, 1 or more.
    nic_bytes_per_s : (k,) float64
        What a server's NIC carries, C of the MoSim paper's equation 8; may be infinite.
    gpu_type : tuple of str
        Of each server; empty texts where nothing is known.
    speed : (k,) float64
        How fast a server's GPUs compute over those that profiles are of; 1 is as fast.
    nvlink_bytes_per_s : (k,) float64
        What a GPU sends to others of its server a second; NaN where not known.
    tiers : tuple of SwitchTier
        From the smallest block up; none where the fabric does not block.
    policy : str
        A name of `POLICIES`, or what names a function of one's own.
    queue : QueueName
    name : str
    reference_gpu : str
        What `speed` is relative to and profiles are computed for; empty: not known.
    reference_place : str
        File and line in which it is written; empty where there is no file.
    notes : tuple of Note
        What was inferred where it was read from a file.
    """

    gpus: I64
    nic_bytes_per_s: F64
    gpu_type: tuple[str, ...]
    speed: F64
    nvlink_bytes_per_s: F64
    tiers: tuple[SwitchTier, ...] = ()
    policy: str = "bin-packing"
    queue: QueueName = "backfill"
    name: str = ""
    reference_gpu: str = ""
    reference_place: str = ""
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        """Write a line; the arrays may be long."""
        name = f"{self.name}, " if self.name else ""
        return f"Cluster({name}{self.servers:,} servers, {self.total_gpus:,} GPUs)"

    @property
    def servers(self) -> int:
        """How many there are."""
        return self.gpus.size

    @cached_property
    def total_gpus(self) -> int:
        """Of all servers."""
        return int(self.gpus.sum())

    @cached_property
    def links(self) -> "Links":
        """What jobs share: NICs, then uplinks of tiers."""
        return _links(self)


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Where jobs meet: first a NIC for each server, then the uplinks of tiers.

    Parameters
    ----------
    bytes_per_s : (m,) float64
        What each carries.
    name : tuple of str
        `server 3`, `tier 0 block 2`.
    uplink : (t, k) int64
        Link that servers k go through to leave their block of tier t.
    """

    bytes_per_s: F64
    name: tuple[str, ...]
    uplink: I64


def uniform(
    servers: int,
    gpus: int,
    nic_bytes_per_s: float,
    *,
    tiers: tuple[SwitchTier, ...] = (),
    nvlink_bytes_per_s: float = float("nan"),
    gpu_type: str = "",
) -> Cluster:
    """Build a cluster of servers that are all alike.

    Examples
    --------
    >>> uniform(4, 8, 625e6).total_gpus
    32
    """
    return Cluster(
        gpus=np.full(servers, gpus, np.int64),
        nic_bytes_per_s=np.full(servers, nic_bytes_per_s, np.float64),
        gpu_type=(gpu_type,) * servers,
        speed=np.ones(servers),
        nvlink_bytes_per_s=np.full(servers, nvlink_bytes_per_s),
        tiers=tiers,
        reference_gpu=gpu_type,
    )


def check(cluster: Cluster) -> None:
    """Refuse a cluster that cannot be.

    Raises
    ------
    ImpossibleError
        Naming the field, its value and what was expected.
    ValueError
        If the arrays differ in length.
    """
    k = cluster.servers
    columns = (cluster.nic_bytes_per_s, cluster.gpu_type, cluster.speed)
    if any(len(one) != k for one in (*columns, cluster.nvlink_bytes_per_s)):
        raise ValueError("the columns of a cluster differ in length")
    if not k:
        raise ImpossibleError("servers", 0, "one or more")
    _each(cluster.gpus, "gpus", "1 or more", bool(np.all(cluster.gpus >= 1)))
    _each(
        cluster.nic_bytes_per_s,
        "nic_bytes_per_s",
        "above 0",
        _positive(cluster.nic_bytes_per_s),
    )
    speeds = _positive(cluster.speed) and bool(np.isfinite(cluster.speed).all())
    _each(cluster.speed, "speed", "above 0, and finite", speeds)
    links = cluster.nvlink_bytes_per_s
    known = links[~np.isnan(links)]
    _each(known, "nvlink_bytes_per_s", "above 0", _positive(known))
    below = 1
    for at, tier in enumerate(cluster.tiers):
        path = f"tiers[{at}]."
        if tier.servers <= below or tier.servers % below:
            expected = (
                f"more than {below:,} servers, and a multiple: from the smallest block up"
            )
            raise ImpossibleError(f"{path}servers", tier.servers, expected)
        slower = tier.oversubscription
        if not is_number(slower) or not 1 <= slower < inf:
            raise ImpossibleError(
                f"{path}oversubscription", slower, "a number of 1 or more"
            )
        below = tier.servers
    if cluster.queue not in QUEUES:
        raise ImpossibleError("queue", cluster.queue, " or ".join(QUEUES))


def _positive(values: F64) -> bool:
    return bool(np.all(values > 0))


def _each(values: F64 | I64, name: str, expected: str, right: bool) -> None:
    if not right:
        # infinite where it is the largest that is wrong
        shown = values.min() if not values.min() > 0 else values.max()
        raise ImpossibleError(name, shown.item(), expected)


def _links(cluster: Cluster) -> Links:
    rates = [cluster.nic_bytes_per_s]
    names = [f"server {one}" for one in range(cluster.servers)]
    uplink = np.empty((len(cluster.tiers), cluster.servers), np.int64)
    for at, tier in enumerate(cluster.tiers):
        block = np.arange(cluster.servers) // tier.servers
        uplink[at] = block + len(names)
        together = np.bincount(block, weights=cluster.nic_bytes_per_s)
        rates.append(together / tier.oversubscription)
        names += [f"tier {at} block {one}" for one in range(together.size)]
    return Links(np.concatenate(rates), tuple(names), uplink)
