"""What NCCL told of a job: ranks, communicators, and the links between ranks."""

from dataclasses import dataclass

from synctax.notes import Note
from synctax.planning.nccl.messages import Direction, Via

NO_COMMUNICATOR = -1
"""Of a link whose communicator is not known."""


@dataclass(frozen=True, slots=True)
class Communicator:
    """Ranks that NCCL joined.

    Parameters
    ----------
    name : str
        What NCCL calls it: a hash, or what it was split from; empty before 2.16.
    nranks : int
    members : int
        Ranks that the log tells of.
    nodes : int or None
        Hosts, or domains of NVLink where `mnnvl`; None before NCCL 2.21.
    mnnvl : bool
        Whether NVLink joins its hosts.
    mixed : bool
        Whether members of several communicators could not be told apart.
    """

    name: str
    nranks: int
    members: int
    nodes: int | None
    mnnvl: bool
    mixed: bool


@dataclass(frozen=True, slots=True)
class Member:
    """A rank of a communicator.

    Parameters
    ----------
    communicator : int
        Index of it.
    rank : int
        In the communicator, which is the job's rank where it holds all ranks.
    host : str
    pid : int
    gpu : int
        Local index: NVML's, before 2.18 the place of its PCI bus among those of the
        host that the log tells of, and CUDA's where there is no bus either.
    busid : str
        `0000:07:00.0`; empty where it is not told.
    """

    communicator: int
    rank: int
    host: str
    pid: int
    gpu: int
    busid: str


@dataclass(frozen=True, slots=True)
class Link:
    """A connection that one rank told of.

    Parameters
    ----------
    communicator : int
        Index of it, or NO_COMMUNICATOR.
    channel, connection : int
        Connection 0 carries collectives, 1 sends and receives.
    source, target : int
        Ranks in the communicator.
    direction : "send", "receive" or ""
        At which end of a network the teller is; empty inside a host.
    via : "P2P", "SHM" or "NET"
    how : str
        `IPC`, `CUMEM`, `MNNVL`, `direct pointer`, `indirect`; the network's name.
    host : str
        Of the teller.
    gpu : int
        Local index of the teller's GPU.
    peer_gpu : int or None
        Local index of the other end's GPU, on its host; None where nothing tells it.
    nic : int or None
        Index by which NCCL calls it.
    nic_name : str
        Empty where the log does not tell it, and inside a host.
    rail : int or None
        Of the NIC, as its plugin tells it.
    proxy : int or None
        The rank beside whose GPU the NIC sends, where it is another's (PXN).
    gdr : bool
        Whether the NIC reads and writes GPU memory.
    """

    communicator: int
    channel: int
    connection: int
    source: int
    target: int
    direction: Direction
    via: Via
    how: str
    host: str
    gpu: int
    peer_gpu: int | None
    nic: int | None
    nic_name: str
    rail: int | None
    proxy: int | None
    gdr: bool


@dataclass(frozen=True, slots=True)
class Ring:
    """Ranks of a communicator in the order of a ring.

    Parameters
    ----------
    communicator, channel : int
    ranks : tuple of int
        From the least known one on.
    whole : bool
        Whether the ring closes; NCCL cuts long ones in its log.
    """

    communicator: int
    channel: int
    ranks: tuple[int, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class Setting:
    """An environment variable that NCCL read.

    Parameters
    ----------
    name, value : str
    processes : int
        How many read this value.
    """

    name: str
    value: str
    processes: int


@dataclass(frozen=True, slots=True)
class Device:
    """A NIC of a host.

    Parameters
    ----------
    host : str
    dev : int
        Index by which NCCL calls it.
    name : str
    rail : int or None
    """

    host: str
    dev: int
    name: str
    rail: int | None


@dataclass(frozen=True, slots=True, eq=False)
class NcclLog:
    """What logs told. Everything is sorted, whatever the order of files and lines.

    Parameters
    ----------
    files : tuple of str
    communicators : tuple of Communicator
        The largest first.
    members : tuple of Member
    links : tuple of Link
    rings : tuple of Ring
    devices : tuple of Device
    settings : tuple of Setting
    notes : tuple of Note
    """

    files: tuple[str, ...]
    communicators: tuple[Communicator, ...]
    members: tuple[Member, ...]
    links: tuple[Link, ...]
    rings: tuple[Ring, ...]
    devices: tuple[Device, ...]
    settings: tuple[Setting, ...]
    notes: tuple[Note, ...]

    def values(self, name: str) -> tuple[str, ...]:
        """Values of a setting; several where ranks differ, none where it is not set.

        Parameters
        ----------
        name : str
            `NCCL_CROSS_NIC`.
        """
        return tuple(one.value for one in self.settings if one.name == name)
