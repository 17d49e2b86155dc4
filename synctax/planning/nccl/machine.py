"""A machine as NCCL saw it: its GPUs, its NICs, and the ways between them.

Kinds of paths are those of NCCL's `src/graph/topo.cc`; what `nvidia-smi topo` calls NODE is
PHB there.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from synctax.arrays import F64, I8
from synctax.notes import Note

PathKind = Literal["PIX", "PXB", "PHB", "SYS", "NET"]

PATHS: Final[tuple[PathKind, ...]] = ("PIX", "PXB", "PHB", "SYS", "NET")
"""Through one PCIe switch, through several, through the CPU of both, from one CPU to
another, to another host: near to far."""

NVLINK_GB_PER_S: Final = {60: 20.0, 70: 25.0, 86: 14.0625, 87: 25.0, 100: 50.0}
"""Line rate of one NVLink per direction, from each compute capability up to the next
(NVIDIA's white papers of Pascal, Volta, Ampere, Hopper and Blackwell)."""


@dataclass(frozen=True, slots=True)
class NvLink:
    """NVLinks of a GPU that lead to one place.

    Parameters
    ----------
    target : str
        PCI bus of it; `fffffff:ffff:ff` where a virtual machine does not show it.
    count : int
    to : "switch", "gpu" or "cpu"
    """

    target: str
    count: int
    to: Literal["switch", "gpu", "cpu"]


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU of the topology.

    Parameters
    ----------
    host : str
        What tells hosts apart; empty in dumps of NCCL before 2.19, which have one.
    dev : int
        Local index, as NVML counts.
    rank : int or None
        In the communicator that dumped; None for a GPU that it does not use.
    busid : str
    sm : int
        Compute capability, 90 for 9.0; 0 where it is not told.
    nvlinks : tuple of NvLink
    """

    host: str
    dev: int
    rank: int | None
    busid: str
    sm: int
    nvlinks: tuple[NvLink, ...]

    @property
    def nvlink_count(self) -> int:
        """NVLinks that are up, those to a CPU left out."""
        return sum(link.count for link in self.nvlinks if link.to != "cpu")

    @property
    def nvlink_gb_per_s(self) -> float:
        """Line rate of its NVLinks to GPUs, per direction; NaN for an unknown kind."""
        if not self.nvlink_count:
            return 0.0
        rates = [rate for sm, rate in NVLINK_GB_PER_S.items() if sm <= self.sm]
        return self.nvlink_count * (rates[-1] if rates else np.nan)


@dataclass(frozen=True, slots=True)
class Nic:
    """A port of a network adapter that NCCL may use.

    Parameters
    ----------
    host : str
    dev : int
        Index by which NCCL calls it, as in `NET/IB/0`.
    name : str
    speed_gb_per_s : float
        Line rate per direction.
    busid : str
        Empty for one that is no PCI device.
    rail : int or None
        As its network plugin tells it (NCCL 2.29 and later).
    """

    host: str
    dev: int
    name: str
    speed_gb_per_s: float
    busid: str
    rail: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Topology:
    """What one dump tells.

    Parameters
    ----------
    file : str
    gpus : tuple of Gpu
        g of them, in order of hosts and local indices.
    nics : tuple of Nic
        k of them, in the order of the file, which NCCL's choices follow.
    path : (g, k) int8
        Kind of the way from a GPU to a NIC: index in PATHS.
    path_gb_per_s : (g, k) float64
        What the slowest link of that way carries, the NIC's own included; 0 for NET.
    notes : tuple of Note
    """

    file: str
    gpus: tuple[Gpu, ...]
    nics: tuple[Nic, ...]
    path: I8
    path_gb_per_s: F64
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Rail:
    """Which NIC a GPU has.

    Parameters
    ----------
    host : str
    gpu : int
        Local index.
    rank : int or None
    nic : str or None
        Name; None where it has none, or is not known to use one.
    dev : int or None
        Index by which NCCL calls it.
    near : tuple of str
        All that are as good by the way to them, or, from a log, all it uses.
    path : PathKind or None
        Of the way to `nic`; None where no topology tells.
    """

    host: str
    gpu: int
    rank: int | None
    nic: str | None
    dev: int | None
    near: tuple[str, ...]
    path: PathKind | None
