"""Place lines of a log: which communicator each is of, and on which GPU it was told."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from synctax.planning.nccl.gather import Graph, Process, Seat, number
from synctax.planning.nccl.messages import LinkLine, RingLine
from synctax.planning.nccl.model import NO_COMMUNICATOR, Link, Ring
from synctax.planning.nccl.text import Tally

_INDEX_DIGITS: Final = 2


@dataclass(frozen=True, slots=True, eq=False)
class Gpus:
    """Local indices of GPUs, by whatever a process told of them."""

    by_bus: dict[tuple[str, str], int]

    @classmethod
    def of(cls, processes: list[Process]) -> "Gpus":
        """Number the GPUs of every host by their PCI buses."""
        buses: dict[str, set[str]] = defaultdict(set)
        for process in processes:
            for seat in process.seats:
                if bus := seat.values.get("busId"):
                    buses[process.host].add(bus.lower())
        return cls(
            {
                (host, bus): at
                for host, found in buses.items()
                for at, bus in enumerate(
                    sorted(found, key=lambda bus: number(bus, 16) or 0)
                )
            }
        )

    def seat(self, seat: Seat) -> int:
        """Tell the local index of a seat's GPU; -1 where nothing tells it."""
        told = number(seat.values.get("nvmlDev"))
        if told is not None:
            return told
        bus = seat.values.get("busId", "").lower()
        found = self.by_bus.get((seat.process.host, bus), seat.cuda_dev)
        return -1 if found is None else found

    def teller(self, process: Process, cuda_dev: int, line: LinkLine) -> int:
        """Tell the local index of the GPU of a process that told a loose line."""
        on_gpu = {self.seat(one) for one in process.seats if one.cuda_dev == cuda_dev}
        if len(on_gpu) == 1:
            return on_gpu.pop()
        text = line.target_gpu if line.direction == "receive" else line.source_gpu
        told = self.text(process.host, text)
        return cuda_dev if told is None else told

    def text(self, host: str, text: str) -> int | None:
        """Tell the local index of what stands in brackets: an index, or a PCI bus."""
        on_bus = self.by_bus.get((host, text))
        # buses are longer than the indices that later versions write
        return number(text) if on_bus is None and len(text) <= _INDEX_DIGITS else on_bus

    def named(self, seat: Seat, text: str) -> bool:
        """Whether brackets of a line may name a seat's GPU."""
        told = {
            seat.values.get(name, "").lower() for name in ("nvmlDev", "busId", "cudaDev")
        }
        return not text or text in told


@dataclass(slots=True, eq=False)
class Group:
    """Seats of one communicator."""

    name: str
    seats: list[Seat]
    mixed: bool = False
    by_rank: dict[int, Seat] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Joined:
    """All that placing lines needs to know."""

    groups: list[Group]
    index: dict[int, int]
    """From a seat's identity to its communicator."""
    gpus: Gpus


def place(
    processes: list[Process], joined: Joined, tally: Tally
) -> tuple[list[Link], tuple[Ring, ...]]:
    """Make links and rings of lines, each in its communicator.

    Parameters
    ----------
    processes : list of Process
    joined : Joined
    tally : Tally
        Told of lines whose communicator cannot be told.
    """
    links: list[Link] = []
    following: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for process, cuda_dev, line, seat, where in _lines(processes, joined):
        at = NO_COMMUNICATOR if seat is None else joined.index[id(seat)]
        if at == NO_COMMUNICATOR or joined.groups[at].mixed:
            tally.add("nccl_link_unplaced", where)
        if isinstance(line, LinkLine):
            if seat is None:
                gpu = joined.gpus.teller(process, cuda_dev, line)
            else:
                gpu = joined.gpus.seat(seat)
            peer = _peer(at, line, process, joined)
            links.append(_link(at, line, process, (gpu, peer)))
        elif seat is None or joined.groups[at].mixed:
            continue
        else:
            _follow(following[at, line.channel], line, seat.nranks)
    return links, _rings(following, joined.groups)


_Placed = tuple[Process, int, Graph, Seat | None, str]


def _lines(processes: Iterable[Process], joined: Joined) -> Iterator[_Placed]:
    """Yield every line with its process, GPU and seat."""
    for process in processes:
        for seat in process.seats:
            for line in seat.lines:
                yield process, -1, line, seat, ""
        for cuda_dev, line, where in process.loose:
            yield process, cuda_dev, line, _fitting(process, cuda_dev, line, joined), where


def _fitting(process: Process, cuda_dev: int, line: Graph, joined: Joined) -> Seat | None:
    """Find the only communicator of a process that a line fits."""
    fitting = [
        seat
        for seat in process.seats
        if seat.fits(line) and seat.cuda_dev in (None, cuda_dev)
    ]
    if len(fitting) > 1 and isinstance(line, LinkLine):
        fitting = [seat for seat in fitting if _met(seat, line, joined)]
    return fitting[0] if len(fitting) == 1 else None


def _met(seat: Seat, line: LinkLine, joined: Joined) -> bool:
    """Whether both ends of a line have the GPUs, and the hosts, that it says."""
    group = joined.groups[joined.index[id(seat)]]
    ends = ((line.source, line.source_gpu), (line.target, line.target_gpu))
    found = [(group.by_rank.get(rank), text) for rank, text in ends]
    if any(one is not None and not joined.gpus.named(one, text) for one, text in found):
        return False
    known = {one.process.host for one, _ in found if one is not None}
    inside = line.via == "SHM" or (line.via == "P2P" and line.how != "MNNVL")
    return len(known) <= 1 or not inside


def _peer(at: int, line: LinkLine, process: Process, joined: Joined) -> int | None:
    """Tell the GPU at the other end of a line."""
    received = line.direction == "receive"
    rank = line.source if received else line.target
    group = joined.groups[at] if at != NO_COMMUNICATOR else None
    if group is not None and rank in group.by_rank:
        return joined.gpus.seat(group.by_rank[rank])
    text = line.source_gpu if received else line.target_gpu
    # buses of other hosts are numbered by what those told
    known = line.via != "NET" or len(text) <= _INDEX_DIGITS
    return joined.gpus.text(process.host, text) if known else None


def _link(at: int, line: LinkLine, process: Process, gpus: tuple[int, int | None]) -> Link:
    nic = line.nic
    return Link(
        communicator=at,
        channel=line.channel,
        connection=line.connection,
        source=line.source,
        target=line.target,
        direction=line.direction,
        via=line.via,
        how=line.how,
        host=process.host,
        gpu=gpus[0],
        peer_gpu=gpus[1],
        nic=nic,
        nic_name="" if nic is None else process.names.get(nic, ""),
        rail=None if nic is None else process.rails.get(nic),
        proxy=line.proxy,
        gdr=line.gdr,
    )


def _follow(following: dict[int, int], line: RingLine, nranks: int) -> None:
    """Add which rank follows which in a ring."""
    following.update(zip(line.ranks, line.ranks[1:], strict=False))
    if not line.cut and len(line.ranks) == nranks:
        following[line.ranks[-1]] = line.ranks[0]


def _rings(
    following: dict[tuple[int, int], dict[int, int]], groups: list[Group]
) -> tuple[Ring, ...]:
    rings = []
    for (at, channel), after in sorted(following.items()):
        ranks = [min(after)]
        # a rank that comes again closes the ring, or the log contradicts itself
        seen = set(ranks)
        while (rank := after.get(ranks[-1])) is not None and rank not in seen:
            ranks.append(rank)
            seen.add(rank)
        whole = (
            len(ranks) == groups[at].seats[0].nranks and after.get(ranks[-1]) == ranks[0]
        )
        rings.append(Ring(at, channel, tuple(ranks), whole))
    return tuple(rings)
