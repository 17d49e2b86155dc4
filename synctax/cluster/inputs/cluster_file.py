"""What a YAML file says of a cluster."""

from collections.abc import Iterator
from dataclasses import replace
from math import nan
from typing import Final, cast

import numpy as np

from synctax.cluster.choices import QueueName
from synctax.cluster.inputs.pool import Pool
from synctax.cluster.inputs.speeds import Group, known_gpus, speeds
from synctax.cluster.machines import Cluster, SwitchTier, check
from synctax.cluster.policies.lookup import named, names_hint
from synctax.notes import Note
from synctax.planning.inputs.yaml_values import Section
from synctax.planning.possible import ImpossibleError

KEYS: Final = ("name", "servers", "policy", "queue", "tiers", "reference_gpu", "source")
GROUP_KEYS: Final = (
    "count",
    "gpus",
    "gpu_type",
    "nic_bytes_per_s",
    "nvlink_bytes_per_s",
    "speed",
)
TIER_KEYS: Final = ("servers", "oversubscription")

MOST_SERVERS: Final = 1_000_000
"""More are a slip of the keyboard."""

MOST_GPUS: Final = 1_024
"""Of a server: no NVLink domain is larger."""

SLOWEST_NIC_BYTES_PER_S: Final = 1e6
FASTEST_NIC_BYTES_PER_S: Final = 1e12
"""8 Mb/s and 8 Tb/s: rates beyond are likely to be in another unit."""

_BYTES: Final = "nic_bytes_per_s (bytes a second, one direction: 5 Gb/s are 625e6)"

SYNONYMS: Final = {
    "nodes": "servers",
    "machines": "servers",
    "scheduler": "policy",
    "placement": "policy",
    "queueing": "queue",
    "discipline": "queue",
    "switches": "tiers",
    "oversubscription": "tiers",
    "gpus": "servers: [{count: 4, gpus: 8, nic_bytes_per_s: 625e6}]",
    "gpu_type": "gpu_type of each entry of servers, or reference_gpu",
    "nic_bytes_per_s": "nic_bytes_per_s of each entry of servers",
    "reference": "reference_gpu",
}

GROUP_SYNONYMS: Final = {
    "servers": "count",
    "nodes": "count",
    "num": "count",
    "gpus_per_server": "gpus",
    "gpus_per_node": "gpus",
    "num_gpus": "gpus",
    "gpu": "gpu_type",
    "type": "gpu_type",
    "nic": _BYTES,
    "nic_bw": _BYTES,
    "nic_gbps": _BYTES,
    "nic_gb_per_s": _BYTES,
    "bandwidth": _BYTES,
    "nvlink": "nvlink_bytes_per_s (bytes a second of a GPU, one direction)",
    "nvlink_gb_per_s": "nvlink_bytes_per_s (bytes a second of a GPU, one direction)",
}

TIER_SYNONYMS: Final = {
    "gpus": "servers (how many are under one switch)",
    "size": "servers",
    "ratio": "oversubscription",
}

_GROUPS = "[{count: 4, gpus: 8, gpu_type: v100, nic_bytes_per_s: 625e6}]"


def cluster_of(section: Section, *, name: str, pool: Pool | None = None) -> Cluster:
    """Make a cluster of what a file says.

    Parameters
    ----------
    section : Section
        The whole file.
    name : str
        Of the cluster, where the file does not tell.
    pool : Pool, optional
        What jobs train: speeds of kinds of GPUs follow from it.

    Returns
    -------
    Cluster
        `notes` say which speeds were inferred, and what is odd though it may be meant.

    Raises
    ------
    BadInputError
        If a key is unknown or missing, a value is no such value, or values contradict each
        other.
    """
    section.allow(KEYS, SYNONYMS)
    section.text("source", "")
    parts = section.sections("servers", _GROUPS)
    if not parts:
        raise section.wrong("servers", f"groups of servers such as {_GROUPS}")
    groups = _groups(parts)
    reference = section.text("reference_gpu", "").lower() or groups[0].gpu_type
    if section.has("reference_gpu") and reference not in known_gpus():
        raise section.wrong("reference_gpu", f"one of {', '.join(known_gpus())}")
    speed, notes = speeds(groups, reference, pool)
    count = [one.count for one in groups]
    found = Cluster(
        gpus=np.repeat(np.array([one.gpus for one in groups], np.int64), count),
        nic_bytes_per_s=np.repeat([one.nic_bytes_per_s for one in groups], count),
        gpu_type=tuple(one.gpu_type for one in groups for _ in range(one.count)),
        speed=np.repeat(speed, count),
        nvlink_bytes_per_s=np.repeat([one.nvlink_bytes_per_s for one in groups], count),
        tiers=_tiers(section),
        policy=_policy(section),
        queue=cast("QueueName", section.text("queue", "backfill").lower()),
        name=section.text("name", name) or name,
        reference_gpu=reference,
        reference_place=_place(section, groups[0].section),
    )
    try:
        check(found)
    except ImpossibleError as error:
        raise section.impossible(error.key, error.expected) from error
    return replace(found, notes=(*notes, *_doubts(found)))


def _groups(parts: tuple[Section, ...]) -> tuple[Group, ...]:
    groups, servers = [], 0
    for part in parts:
        part.allow(GROUP_KEYS, GROUP_SYNONYMS)
        count, gpus = part.count("count", 1), part.count("gpus")
        servers += count
        if servers > MOST_SERVERS:
            raise part.wrong("count", f"no more than {MOST_SERVERS:,} servers in all")
        if gpus > MOST_GPUS:
            raise part.wrong("gpus", f"no more than {MOST_GPUS:,} of a server")
        nvlink = part.has("nvlink_bytes_per_s")
        groups.append(
            Group(
                section=part,
                count=count,
                gpus=gpus,
                gpu_type=part.text("gpu_type", "").lower(),
                nic_bytes_per_s=part.number("nic_bytes_per_s"),
                nvlink_bytes_per_s=part.number("nvlink_bytes_per_s") if nvlink else nan,
                speed=part.number("speed") if part.has("speed") else None,
            )
        )
    return tuple(groups)


def _policy(section: Section) -> str:
    """Read the name of a policy; never one that has code of somebody else run."""
    name = section.text("policy", "bin-packing")
    if named(name):
        return name
    known, near = names_hint(name)
    if ":" in name:
        more = "; a function of your own runs only where the command or a program names it"
    else:
        more = f"; did you mean {near}?" if near else ""
    raise section.wrong("policy", known + more)


def _place(section: Section, first: Section) -> str:
    """Tell where the kind of GPU is written that profiles are computed for."""
    own = section.has("reference_gpu")
    at, key = (section, "reference_gpu") if own else (first, "gpu_type")
    line = at.entries[key].line if at.has(key) else first.line
    return f"{section.file}, line {line}"


def _tiers(section: Section) -> tuple[SwitchTier, ...]:
    tiers = []
    for part in section.sections("tiers", "[{servers: 8, oversubscription: 4}]"):
        part.allow(TIER_KEYS, TIER_SYNONYMS)
        slower = part.number("oversubscription", least=1.0)
        tiers.append(SwitchTier(part.count("servers"), slower))
    return tuple(tiers)


def _doubts(cluster: Cluster) -> Iterator[Note]:
    """Say what is odd about a cluster, though it may be meant."""
    rates = cluster.nic_bytes_per_s
    odd = (rates < SLOWEST_NIC_BYTES_PER_S) | (rates > FASTEST_NIC_BYTES_PER_S)
    if odd.any():
        yield Note(
            "nic_unusual",
            int(odd.sum()),
            f"servers with a NIC of {rates[odd][0]:g} bytes a second: nic_bytes_per_s is "
            "in bytes, and 5 Gb/s are 625e6",
        )
    cut = [
        one
        for one in cluster.tiers
        if one.servers < cluster.servers and cluster.servers % one.servers
    ]
    if cut:
        size = cut[0].servers
        yield Note(
            "last_block_smaller",
            len(cut),
            f"tiers whose last block has {cluster.servers % size:,} of {size:,} servers, "
            "and an uplink as much slower",
        )
    useless = [one for one in cluster.tiers if one.servers >= cluster.servers]
    if useless:
        yield Note(
            "tier_of_all_servers",
            len(useless),
            f"tiers whose blocks of {useless[0].servers:,} hold all {cluster.servers:,} "
            "servers: nothing goes over their uplinks",
        )
