"""Whether NVLink may join hosts: what GPUs and NCCL's log tell of it."""

import re
from collections.abc import Collection
from typing import Final

import numpy as np

from synctax.planning.nccl.model import NcclLog

_JOINED: Final = re.compile(r"\b(?:G[BH]|VR)\d{3}", re.IGNORECASE)
"""Superchips, which NVLink switches may join across hosts: GB200, GB300, GH200."""

_ALONE: Final = re.compile(
    r"\b(?:[PVTAHBL]\d{1,3}[A-Z]?|MI\d{2,3}\w*|RTX|GeForce|Quadro)\b", re.IGNORECASE
)
"""GPUs whose links end at their host."""


def hosts_joined(models: Collection[str]) -> bool | None:
    """Tell by the names of GPUs whether NVLink may join hosts.

    Parameters
    ----------
    models : collection of str
        As CUDA or HIP calls them; empty where a trace is silent.

    Returns
    -------
    bool or None
        None where a name is not known.

    Examples
    --------
    >>> hosts_joined(["NVIDIA GB200"]), hosts_joined(["NVIDIA H100 80GB HBM3"])
    (True, False)
    """
    named = {model for model in models if model}
    if any(_JOINED.search(model) for model in named):
        return True
    if named and all(_ALONE.search(model) for model in named):
        return False
    return None


def log_joins_hosts(log: NcclLog | None) -> bool | None:
    """Tell whether NCCL found NVLink between hosts; None where it did not say so.

    Parameters
    ----------
    log : NcclLog or None
    """
    told = log is not None and any(one.mnnvl for one in log.communicators)
    return True if told else None


def joined_domains(log: NcclLog, at: int) -> dict[int, str]:
    """Name the NVLink domain of each rank of a communicator, by the links between hosts.

    Parameters
    ----------
    log : NcclLog
    at : int
        Index of the communicator.

    Returns
    -------
    dict of int to str
        Empty where NVLink joins no hosts, or links do not make as many domains as NCCL
        counted.
    """
    one = log.communicators[at]
    if not one.mnnvl or one.nodes is None:
        return {}
    host = {m.rank: m.host for m in log.members if m.communicator == at}
    names = sorted(set(host.values()))
    domain = np.arange(len(names))
    code = {name: number for number, name in enumerate(names)}
    for link in log.links:
        ends = [host.get(rank) for rank in (link.source, link.target)]
        if link.communicator == at and link.via == "P2P" and None not in ends:
            first, second = (domain[code[str(end)]] for end in ends)
            domain[domain == second] = first
    if len(set(domain.tolist())) != one.nodes:
        return {}
    return {
        rank: f"the domain of {names[domain[code[name]]]}" for rank, name in host.items()
    }
