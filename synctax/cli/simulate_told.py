"""How the commands of clusters tell in JSON what was asked: each thing in one shape."""

from dataclasses import asdict
from typing import Any

import numpy as np

from synctax.cluster.inputs.read_jobs import JobsRead
from synctax.cluster.machines import Cluster
from synctax.cluster.settings import Contention
from synctax.planning.tax import PlanTax


def jobs_told(read: JobsRead) -> dict[str, Any]:
    """Tell how many jobs there are, how their bytes are counted, and of what pool they are.

    Parameters
    ----------
    read : JobsRead

    Returns
    -------
    dict
        `jobs`, `counting`, `pool`.
    """
    return {
        "jobs": len(read.jobs),
        "counting": [{"counting": one, "jobs": many} for one, many in read.counting],
        "pool": read.pool or None,
    }


def cluster_told(cluster: Cluster) -> dict[str, Any]:
    """Tell a cluster as its file does: groups of servers that are alike."""
    keys = ("gpus", "gpu_type", "nic_bytes_per_s", "nvlink_bytes_per_s", "speed")
    groups: list[dict[str, Any]] = []
    values = (np.asarray(getattr(cluster, key)).tolist() for key in keys)
    for one in zip(*values, strict=True):
        group = {
            key: None if value != value else value
            for key, value in zip(keys, one, strict=True)
        }
        if groups and {**groups[-1], "count": 0} == {"count": 0, **group}:
            groups[-1]["count"] += 1
        else:
            groups.append({"count": 1, **group})
    return {
        "name": cluster.name or None,
        "servers": groups,
        "tiers": [asdict(one) for one in cluster.tiers],
    }


def contention_told(contention: Contention) -> dict[str, Any]:
    """Tell how NICs are shared, by the names of the options."""
    return {
        "demand_basis" if key == "basis" else key: value
        for key, value in asdict(contention).items()
    }


def tax_told(charge: PlanTax | None) -> dict[str, Any] | None:
    """Tell by what jobs are charged; None for no tax."""
    if charge is None:
        return None
    return {
        "name": charge.name,
        "method": charge.method,
        "n_fit": charge.model.n_fit,
        "a_us": charge.a_us,
        "a_lo_us": charge.a_lo_us,
        "a_hi_us": charge.a_hi_us,
    }
