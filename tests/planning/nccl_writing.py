"""Logs and topologies as NCCL writes them, of jobs whose wiring is known."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

from synctax.planning.nccl.log import read_nccl_log
from synctax.planning.nccl.model import NcclLog

# ruff: noqa: E501


@dataclass(frozen=True)
class Job:
    """Ranks in order on hosts, which have a NIC for each GPU."""

    hosts: int = 2
    gpus: int = 4
    channels: int = 2
    style: tuple[int, int] = (2, 27)
    arrive: Callable[[int], int] = lambda nic: nic
    """On which NIC arrives what leaves on NIC i."""
    cross_nic: str | None = None
    shm: tuple[tuple[int, int], ...] = ()
    """Pairs of GPUs of a host without P2P."""

    @property
    def ranks(self) -> int:
        return self.hosts * self.gpus

    def home(self, rank: int) -> tuple[int, int]:
        return divmod(rank, self.gpus)

    def ring(self, channel: int) -> list[int]:
        """Host after host, entering each at another GPU."""
        order = [(channel + g) % self.gpus for g in range(self.gpus)]
        return [h * self.gpus + g for h in range(self.hosts) for g in order]

    def texts(self) -> list[list[str]]:
        """Lines of each rank."""
        return [list(self._rank(rank)) for rank in range(self.ranks)]

    def _head(self, rank: int) -> str:
        host, gpu = self.home(rank)
        return f"node-{host:02}:{4000 + gpu}:{5000 + gpu} [{gpu}] NCCL INFO "

    def _comm(self, rank: int, end: str) -> str:
        _, gpu = self.home(rank)
        new = self.style >= (2, 18)
        name = "ncclCommInitRank " if self.style >= (2, 21) else ""
        dev = f" nvmlDev {gpu}" if new else ""
        which = " commId 0x9e7c51d2" if self.style >= (2, 16) else ""
        bus = (gpu + 1) << 16
        return f"{name}comm 0x{rank + 1:x}00 rank {rank} nranks {self.ranks} cudaDev {gpu}{dev} busId {bus:x}{which} - Init {end}"

    def _end(self, rank: int) -> str:
        gpu = self.home(rank)[1]
        return f"{rank}[{gpu}]" if self.style >= (2, 18) else f"{rank}[{(gpu + 1) << 16:x}]"

    def _channel(self, channel: int) -> str:
        return (
            f"Channel {channel:02}/0" if self.style >= (2, 12) else f"Channel {channel:02}"
        )

    def _rank(self, rank: int) -> Iterator[str]:
        head = self._head(rank)
        host, gpu = self.home(rank)
        if rank == 0:
            yield f"NCCL version 2.{self.style[1]}.3+cuda12.4"
        if self.cross_nic is not None:
            yield f"{head}NCCL_CROSS_NIC set by environment to {self.cross_nic}."
        nics = " ".join(f"[{i}]mlx5_{i}:1/IB" for i in range(self.gpus))
        yield f"{head}NET/IB : Using {nics} [RO]; OOB eth0:10.0.0.{host + 1}<0>"
        yield f"{head}Using network IB"
        if self.style >= (2, 18):
            yield head + self._comm(rank, "START")
        if self.style >= (2, 21):
            yield f"{head}comm 0x{rank + 1:x}00 rank {rank} nRanks {self.ranks} nNodes {self.hosts} localRanks {self.gpus} localRank {gpu} MNNVL 0"
        if rank == 0:
            for channel in range(self.channels):
                ranks = " ".join(f"{r:3}" for r in self.ring(channel))
                yield f"{head}Channel {channel:02}/{self.channels:02} :  {ranks}"
        down = f"{rank + 1}/-1/-1" if rank + 1 < self.ranks else "-1/-1/-1"
        branches = " ".join(
            f"[{c}] {down}->{rank}->{rank - 1}" for c in range(self.channels)
        )
        yield f"{head}Trees {branches}"
        yield from (head + line for line in self._links(rank))
        yield f"{head}Connected all rings"
        yield head + self._comm(rank, "COMPLETE")

    def _links(self, rank: int) -> Iterator[str]:
        host, gpu = self.home(rank)
        for channel in range(self.channels):
            ring = self.ring(channel)
            at = ring.index(rank)
            before, after = ring[at - 1], ring[(at + 1) % len(ring)]
            label = self._channel(channel)
            # a ring enters and leaves hosts through the NIC of the GPU that it enters at
            nic = channel % self.gpus
            if self.home(before)[0] != host:
                ends = f"{self._end(before)} -> {self._end(rank)}"
                yield f"{label} : {ends} [receive] via NET/IB/{self.arrive(nic)}/GDRDMA"
            other, far = self.home(after)
            ends = f"{self._end(rank)} -> {self._end(after)}"
            if other != host:
                by = (
                    f"({host * self.gpus + nic})"
                    if self.style >= (2, 12) and nic != gpu
                    else ""
                )
                yield f"{label} : {ends} [send] via NET/IB/{nic}{by}/GDRDMA"
            elif tuple(sorted((gpu, far))) in self.shm:
                name = (
                    "SHM/direct/direct" if self.style >= (2, 14) else "direct shared memory"
                )
                yield f"Channel {channel:02} : {ends} via {name}"
            else:
                how = "CUMEM" if self.style >= (2, 18) else "IPC"
                yield f"{label} : {ends} via P2P/{how}/read"


@dataclass
class Xml:
    """A topology: for each CPU its PCI switches, for each of these GPUs and NICs."""

    cpus: list[list[tuple[list[int], list[str]]]]
    nvlinks: int = 18
    speed: int = 400_000
    host_hash: str = ' host_hash="0x5d1f00aa"'
    vendor: str = "GenuineIntel"
    bus: int = field(default=0, init=False)

    def text(self) -> str:
        lines = ['<system version="1">']
        self.bus = 0
        for numa, switches in enumerate(self.cpus):
            lines.append(
                f'  <cpu{self.host_hash} numaid="{numa}" affinity="ff" arch="x86_64" vendor="{self.vendor}" familyid="6" modelid="143">'
            )
            for gpus, nics in switches:
                lines.append(f"    <pci {self._pci('0x060400')}>")
                for gpu in gpus:
                    lines += self._gpu(gpu)
                for nic in nics:
                    lines += self._nic(nic)
                lines.append("    </pci>")
            lines.append("  </cpu>")
        return "\n".join([*lines, "</system>"]) + "\n"

    def _pci(self, kind: str) -> str:
        self.bus += 1
        return f'busid="0000:{self.bus:02x}:00.0" class="{kind}" link_speed="32.0 GT/s PCIe" link_width="16"'

    def _gpu(self, dev: int) -> list[str]:
        links = f'<nvlink target="0000:f{dev % 4}:00.0" count="{self.nvlinks}" tclass="0x068000"/>'
        return [
            f"      <pci {self._pci('0x030200')}>",
            f'        <gpu dev="{dev}" sm="90" rank="{dev}" gdr="1">',
            f"          {links}",
            "        </gpu>",
            "      </pci>",
        ]

    def _nic(self, name: str) -> list[str]:
        return [
            f"      <pci {self._pci('0x020700')}>",
            "        <nic>",
            f'          <net name="{name}" dev="{name.split("_")[1]}" speed="{self.speed}" port="1" latency="0.000000" guid="0x1{name[-1]}" maxconn="131072" gdr="1"/>',
            "        </nic>",
            "      </pci>",
        ]


def read_texts(folder: Path, *texts: str | bytes) -> NcclLog:
    """Read texts as if each were a file."""
    paths = [folder / f"{at}.log" for at in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_nccl_log(paths)


def joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def whole(job: Job) -> str:
    return joined([line for rank in job.texts() for line in rank])


def start(rank: int, nranks: int, host: str, gpu: int, **more: object) -> list[str]:
    """The beginning and the end of a communicator."""
    pid = 100 + gpu
    values = {"pointer": f"0x{rank + 1}", "commId": None, "lines": (), **more}
    after = f" commId 0x{values['commId']}" if values["commId"] else ""
    if "color" in values:
        after = (
            f" parent {values['parent']} splitCount {values['count']} "
            f"color {values['color']} key {rank}"
        )
    head = f"{host}:{pid}:{pid} [{gpu}] NCCL INFO "
    comm = (
        f"{head}comm {values['pointer']} rank {rank} nranks {nranks} cudaDev {gpu} "
        f"nvmlDev {gpu} busId {(gpu + 1) << 12:x}{after} - Init "
    )
    lines = values["lines"]
    assert isinstance(lines, tuple)
    return [f"{comm}START", *(head + line for line in lines), f"{comm}COMPLETE"]


def notes(log: NcclLog) -> dict[str, int]:
    return {note.reason: note.count for note in log.notes}


STYLES = [(2, 7), (2, 10), (2, 14), (2, 17), (2, 18), (2, 21), (2, 27)]

jobs = st.builds(
    Job,
    hosts=st.integers(1, 3),
    gpus=st.integers(1, 4),
    channels=st.integers(1, 3),
    style=st.sampled_from(STYLES),
).filter(lambda job: job.ranks > 1)


HEAD = "h1:10:11 [0] NCCL INFO "
