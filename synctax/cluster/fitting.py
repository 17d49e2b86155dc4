"""Whether a job can ever run on a cluster: one answer for files and for callers."""

from collections.abc import Sequence

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.cluster.jobs import Placement
from synctax.cluster.machines import Cluster


def misplaced(placement: Placement, gpus: int, sizes: Sequence[int]) -> str:
    """Say why a job cannot run where it is pinned to; an empty text where it can.

    Parameters
    ----------
    placement : Placement
        In order of servers.
    gpus : int
        What the job asks for.
    sizes : sequence of int
        GPUs of each server of the cluster.

    Examples
    --------
    >>> misplaced(((0, 4), (1, 4)), 8, [8, 2])
    'server 1 has 2 GPUs; expected 1 to as many'
    """
    servers = [server for server, _ in placement]
    for server in servers:
        if not 0 <= server < len(sizes):
            return (
                f"there is no server {server}; expected servers from 0 to {len(sizes) - 1}"
            )
    if len(set(servers)) < len(servers):
        return "a server stands there twice; expected each once"
    if sorted(servers) != servers:
        return "servers are out of order; expected the lowest first"
    for server, workers in placement:
        if not 1 <= workers <= sizes[server]:
            return f"server {server} has {sizes[server]} GPUs; expected 1 to as many"
    together = sum(workers for _, workers in placement)
    if together != gpus:
        return f"these are {together} GPUs; expected {gpus} as in gpus"
    return ""


def too_large(gpus: I64, cluster: Cluster) -> Bool:
    """Tell which jobs ask for more GPUs than there are, (n,) bool."""
    return np.asarray(gpus > cluster.total_gpus)


def shortest_s(base_s: F64, network_s: F64, local_network_s: F64) -> F64:
    """Tell how short an iteration can be, on one server or on several.

    Parameters
    ----------
    base_s, network_s : (n,) float64
        What is no network time, and network time over NICs.
    local_network_s : (n,) float64
        In its place on one server; NaN where not known.

    Returns
    -------
    (n,) float64
    """
    return np.asarray(base_s + np.fmin(network_s, local_network_s))
