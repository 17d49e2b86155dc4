"""Which NIC each GPU of a machine has, by the topology that NCCL dumped of it.

NCCL_TOPO_DUMP_FILE names the file; the rank NCCL_TOPO_DUMP_FILE_RANK (0) writes it.
"""

from pathlib import Path

import numpy as np

from synctax.arrays import F64, I8
from synctax.planning.nccl.build import build
from synctax.planning.nccl.machine import PATHS, Gpu, Rail, Topology
from synctax.planning.nccl.xml import read_elements


def read_topology(path: Path | str) -> Topology:
    """Read the file that NCCL wrote where NCCL_TOPO_DUMP_FILE said.

    Parameters
    ----------
    path : Path or str

    Raises
    ------
    BadInputError
        If it is no such file; it names the line, what was found and what was expected.
    """
    return build(str(path), read_elements(str(path)))


def topology_rails(topology: Topology) -> tuple[Rail, ...]:
    """Tell which NIC each GPU has by its way through the machine.

    It is the one NCCL takes for the first channel: of the NICs with the fastest way, and
    then the nearest, neighbours take different ones (`ncclTopoGetLocalNet`).

    Parameters
    ----------
    topology : Topology

    Returns
    -------
    tuple of Rail
        One for each GPU.
    """
    return tuple(_rail(topology, at) for at in range(len(topology.gpus)))


def _rail(topology: Topology, at: int) -> Rail:
    gpu = topology.gpus[at]
    near = _nearest(topology.path[at], topology.path_gb_per_s[at])
    names = tuple(topology.nics[k].name for k in near)
    if not near:
        return Rail(gpu.host, gpu.dev, gpu.rank, None, None, names, None)
    first = near[0]
    sharing = _nearest(topology.path[:, first], topology.path_gb_per_s[:, first])
    turn = gpu.dev % len(sharing)
    if len(near).bit_count() == 1:
        turn = _mirrored(turn, len(near))
    took = near[turn % len(near)]
    nic, kind = topology.nics[took], PATHS[topology.path[at, took]]
    return Rail(gpu.host, gpu.dev, gpu.rank, nic.name, nic.dev, names, kind)


def _nearest(kind: I8, gb_per_s: F64) -> list[int]:
    """List what is reached at the best rate and, of that, by the shortest way."""
    reached = kind < PATHS.index("NET")
    if not reached.any():
        return []
    best = reached & (gb_per_s == gb_per_s[reached].max())
    return np.flatnonzero(best & (kind == kind[best].min())).tolist()


def _mirrored(number: int, size: int) -> int:
    """Read the bits below a power of two backwards, so that neighbours come far apart."""
    width = size.bit_length() - 1
    return int(f"{number % size:0{width}b}"[::-1], 2) if width else 0


def short_of_nvlinks(topology: Topology) -> tuple[Gpu, ...]:
    """List GPUs with fewer NVLinks than others of the topology: links that are down.

    Parameters
    ----------
    topology : Topology
    """
    most = max((gpu.nvlink_count for gpu in topology.gpus), default=0)
    return tuple(gpu for gpu in topology.gpus if gpu.nvlink_count < most)
