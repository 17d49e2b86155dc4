"""Clusters by the names of those that are built in, or from YAML files."""

from importlib.resources import files
from pathlib import Path
from typing import Final

from synctax.cluster.inputs.cluster_file import cluster_of
from synctax.cluster.inputs.pool import Pool
from synctax.cluster.machines import Cluster
from synctax.planning.inputs.yaml_source import BuiltIn, find

__all__ = ["cluster_names", "read_cluster"]

_CLUSTERS: Final = BuiltIn(files("synctax.cluster.inputs") / "clusters", "a cluster")


def cluster_names() -> tuple[str, ...]:
    """Name the clusters that are built in."""
    return _CLUSTERS.names


def read_cluster(name_or_path: str | Path, *, pool: Pool | None = None) -> Cluster:
    """Read a cluster from a YAML file, or take one that is built in.

    Parameters
    ----------
    name_or_path : str or Path
        One of `cluster_names`, in any case; else a file.
    pool : Pool, optional
        What jobs train, where it is not the pool that is built in: speeds of kinds of GPUs
        that the file does not tell follow from it.

    Returns
    -------
    Cluster
        `notes` say what was inferred.

    Raises
    ------
    SynctaxError
        If there is neither such a name nor such a file.
    BadInputError
        If the file is no cluster; names the key, its line, and what was expected.

    Examples
    --------
    >>> read_cluster("mosim-4x8").total_gpus
    32
    """
    name, section = find(name_or_path, _CLUSTERS)
    return cluster_of(section, name=name, pool=pool)
