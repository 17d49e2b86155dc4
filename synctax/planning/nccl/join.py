"""Join what processes told into communicators, and place every line in one of them."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from synctax.planning.nccl.gather import Gathered, Process, Seat, number
from synctax.planning.nccl.model import (
    Communicator,
    Device,
    Link,
    Member,
    NcclLog,
    Ring,
    Setting,
)
from synctax.planning.nccl.place import Gpus, Group, Joined, place
from synctax.planning.nccl.text import Tally

_NO_NAME: Final = ""


def join(files: tuple[str, ...], gathered: Gathered) -> NcclLog:
    """Make the log's value of what was gathered.

    Parameters
    ----------
    files : tuple of str
    gathered : Gathered
    """
    tally = gathered.tally
    processes = [gathered.processes[key] for key in sorted(gathered.processes)]
    seats = [seat for process in processes for seat in process.seats]
    groups = _groups(seats)
    index = {id(seat): at for at, group in enumerate(groups) for seat in group.seats}
    joined = Joined(groups, index, Gpus.of(processes))
    links, rings = place(processes, joined, tally)
    communicators = tuple(_communicator(group) for group in groups)
    _tell(communicators, groups, rings, tally)
    return NcclLog(
        files=tuple(sorted(files)),
        communicators=communicators,
        members=tuple(
            _member(at, seat, joined.gpus)
            for at, group in enumerate(groups)
            for seat in group.seats
        ),
        links=tuple(sorted(set(links), key=_link_order)),
        rings=rings,
        devices=_devices(processes),
        settings=_settings(processes),
        notes=tally.notes(),
    )


def _link_order(link: Link) -> tuple[object, ...]:
    return (
        link.communicator,
        link.channel,
        link.connection,
        link.source,
        link.target,
        link.direction,
        link.host,
        link.gpu,
        link.via,
        link.how,
        -1 if link.nic is None else link.nic,
    )


def _groups(seats: list[Seat]) -> list[Group]:
    """Join seats of one communicator; the largest first."""
    names: dict[int, str] = {}
    turns: Counter[tuple[str, int, str, int | None, int]] = Counter()
    held: dict[tuple[str, int, int], list[Seat]] = defaultdict(list)
    for seat in seats:
        name = names[id(seat)] = _name(seat, names)
        # before 2.16 nothing names them, and before 2.23 splits of one color have one name:
        # then they are told apart by the order of their creation
        of_gpu = seat.rank if name else seat.cuda_dev
        which = seat.process.host, seat.process.pid, name, of_gpu, seat.nranks
        held[name, seat.nranks, turns[which]].append(seat)
        turns[which] += 1
    groups = [
        group for (name, *_), members in held.items() for group in _parted(name, members)
    ]
    for group in groups:
        group.seats.sort(key=_seat_order)
        group.by_rank = {} if group.mixed else {one.rank: one for one in group.seats}
    return sorted(groups, key=_group_order)


def _group_order(group: Group) -> tuple[object, ...]:
    return -group.seats[0].nranks, [_seat_order(one) for one in group.seats], group.name


def _seat_order(seat: Seat) -> tuple[int, str, int, int]:
    return seat.rank, seat.process.host, seat.process.pid, seat.first


def _name(seat: Seat, names: dict[int, str]) -> str:
    """Name a seat's communicator; the same for all its ranks, and empty if nothing does."""
    told = seat.values.get("commId", "")
    if told.strip("0") and told != "(nil)":
        return told
    if "color" not in seat.values:
        return _NO_NAME
    parent = names.get(id(seat.parent), "") if seat.parent is not None else ""
    turn = seat.values.get("splitCount", "")
    return f"{parent} split {turn} color {seat.values['color']}".strip()


def _parted(name: str, seats: list[Seat]) -> Iterator[Group]:
    """Part seats that have one name: those of one host each where that makes whole ones."""
    if len({seat.rank for seat in seats}) == len(seats):
        yield Group(name, seats)
        return
    hosts: dict[str, list[Seat]] = defaultdict(list)
    for seat in seats:
        hosts[seat.process.host].append(seat)
    for on_host in hosts.values():
        ranks = sorted(seat.rank for seat in on_host)
        if ranks != list(range(seats[0].nranks)):
            yield Group(name, seats, mixed=True)
            return
    for on_host in hosts.values():
        yield Group(name, on_host)


def _communicator(group: Group) -> Communicator:
    nodes = (number(seat.values.get("nNodes")) for seat in group.seats)
    return Communicator(
        name=group.name,
        nranks=group.seats[0].nranks,
        members=len(group.seats),
        nodes=next((count for count in nodes if count is not None), None),
        mnnvl=any(seat.values.get("MNNVL") == "1" for seat in group.seats),
        mixed=group.mixed,
    )


def _tell(
    communicators: tuple[Communicator, ...],
    groups: list[Group],
    rings: tuple[Ring, ...],
    tally: Tally,
) -> None:
    for communicator, group in zip(communicators, groups, strict=True):
        if communicator.mixed:
            tally.add("nccl_communicator_mixed")
        elif communicator.members < communicator.nranks:
            tally.add("nccl_communicator_partial")
        for seat in group.seats:
            if not seat.done and not seat.ended:
                tally.add("nccl_rank_unfinished")
    for ring in rings:
        if not ring.whole:
            tally.add("nccl_ring_cut")


def _member(at: int, seat: Seat, gpus: Gpus) -> Member:
    return Member(
        communicator=at,
        rank=seat.rank,
        host=seat.process.host,
        pid=seat.process.pid,
        gpu=gpus.seat(seat),
        busid=_busid(seat.values.get("busId", "")),
    )


def _busid(text: str) -> str:
    """Write NCCL's number of a PCI device as the system does."""
    value = number(text, 16)
    if value is None or value < 0:
        return ""
    bus, device = value >> 12 & 0xFF, value >> 4 & 0xFF
    return f"{value >> 20:04x}:{bus:02x}:{device:02x}.{value & 0xF:x}"


def _devices(processes: list[Process]) -> tuple[Device, ...]:
    """List NICs of hosts; several of one index where processes see different ones."""
    found = {
        (process.host, dev, name, process.rails.get(dev))
        for process in processes
        for dev, name in process.names.items()
    }
    return tuple(Device(*one) for one in sorted(found, key=_device_order))


def _device_order(one: tuple[str, int, str, int | None]) -> tuple[str, int, str, int]:
    return *one[:3], -1 if one[3] is None else one[3]


def _settings(processes: list[Process]) -> tuple[Setting, ...]:
    counted = Counter(item for process in processes for item in process.settings.items())
    return tuple(Setting(*item, count) for item, count in sorted(counted.items()))
