"""The clusters that are built in, as a list."""

from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.cluster.inputs.named import cluster_names, read_cluster
from synctax.report.output import Result
from synctax.report.tables import Field, column, table
from synctax.schema.simulate import SIMULATE_CLUSTERS
from synctax.texts import BYTES_PER_GB, rate_gb_per_s

if TYPE_CHECKING:
    from rich.console import RenderableType


def clusters() -> list[dict[str, Any]]:
    """List the clusters that are built in."""
    rows = []
    for name in cluster_names():
        one = read_cluster(name)
        rows.append(
            {
                "cluster": name,
                "servers": one.servers,
                "gpus": one.total_gpus,
                "gpu_type": ", ".join(dict.fromkeys(one.gpu_type)) or None,
                "nic_gb_per_s": float(np.min(one.nic_bytes_per_s)) / BYTES_PER_GB,
                "policy": one.policy,
                "queue": one.queue,
            }
        )
    return rows


def listed() -> Result:
    """Make a result of the list."""
    rows = clusters()
    columns = {name: [row[name] for row in rows] for name in SIMULATE_CLUSTERS.names}
    return Result(SIMULATE_CLUSTERS, SIMULATE_CLUSTERS.to_frame(columns))


def shown() -> "list[RenderableType]":
    """Lay the list out."""
    rows = clusters()
    return [
        table(
            [
                Field("cluster", [row["cluster"] for row in rows], right=False),
                column(rows, "servers", "servers"),
                column(rows, "gpus", "GPUs"),
                column(rows, "gpu_type", "of", str),
                column(rows, "nic_gb_per_s", "NIC", rate_gb_per_s),
                column(rows, "policy", "policy", str),
                column(rows, "queue", "queue", str),
            ]
        )
    ]
