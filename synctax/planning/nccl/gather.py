"""Gather what each process of a job told, and which communicator it told it of.

Connections are told between the beginning and the end of a communicator's set-up, in the
thread that does it. Later ones (NCCL 2.22 and up connects at first use) are told for the
communicator that their ranks and GPUs fit.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from synctax.planning.nccl.messages import (
    CommLine,
    DeviceLine,
    LinkLine,
    RingLine,
    SettingLine,
    Unreadable,
    parse,
)
from synctax.planning.nccl.text import Message, Tally, known_host, messages

Graph = LinkLine | RingLine

_BEGIN: Final = "Init START"
_DONE: Final = "Init COMPLETE"


@dataclass(slots=True, eq=False)
class Seat:
    """A rank of a communicator, as its process told it."""

    process: "Process"
    pointer: str
    rank: int
    nranks: int
    first: int
    values: dict[str, str] = field(default_factory=dict)
    parent: "Seat | None" = None
    done: bool = False
    ended: bool = False
    lines: list[Graph] = field(default_factory=list)

    @property
    def cuda_dev(self) -> int | None:
        """CUDA's index of its GPU."""
        return number(self.values.get("cudaDev"))

    def fits(self, line: Graph) -> bool:
        """Whether this rank may have told a line of this communicator."""
        if isinstance(line, LinkLine):
            far = max(line.source, line.target, line.proxy or 0)
            return line.teller == self.rank and far < self.nranks
        if len(line.ranks) == 2 and line.cut:
            return line.ranks[0] == self.rank
        return self.rank == 0 and len(line.ranks) <= self.nranks


@dataclass(slots=True)
class _Thread:
    seat: Seat | None = None
    waiting: list[tuple[int, Graph, str]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Process:
    """What one process told."""

    host: str
    pid: int
    seats: list[Seat] = field(default_factory=list)
    live: dict[str, Seat] = field(default_factory=dict)
    threads: dict[int, _Thread] = field(default_factory=lambda: defaultdict(_Thread))
    names: dict[int, str] = field(default_factory=dict)
    rails: dict[int, int] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    loose: list[tuple[int, Graph, str]] = field(default_factory=list)
    """Lines of no known communicator: CUDA's index of the thread, line, and where."""

    def seat(self, line: CommLine) -> Seat:
        """Find or make the seat that a line tells of."""
        found = self.live.get(line.pointer)
        # what is told twice, of one hash, is the same
        told = line.values.get("commId")
        new = found is not None and (told is None or found.values.get("commId") != told)
        again = line.state == _BEGIN and found is not None and found.done and new
        other = found is not None and (found.rank, found.nranks) != line[1:3]
        if found is None or again or other:
            found = Seat(self, line.pointer, line.rank, line.nranks, len(self.seats))
            self.seats.append(found)
            self.live[line.pointer] = found
        found.values.update(line.values)
        parent = line.values.get("parent")
        if parent and found.parent is None:
            found.parent = self.live.get(f"0x{parent}")
        return found


@dataclass(slots=True, eq=False)
class Gathered:
    """What all processes told."""

    processes: dict[tuple[str, int], Process] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    hosts: set[str] = field(default_factory=set)
    torn: list[Message] = field(default_factory=list)

    def read(self, path: str) -> None:
        """Take the messages of a file.

        Raises
        ------
        BadInputError
            If it is no log of NCCL.
        """
        for message in messages(path, self.tally, self.hosts):
            if message.torn:
                self.torn.append(message)
            else:
                self._take(message)

    def finish(self) -> None:
        """Take what had to wait for the rest: messages whose host may not be its name."""
        for message in self.torn:
            self._take(message._replace(host=known_host(message.host, self.hosts)))
        for process in self.processes.values():
            for thread in process.threads.values():
                process.loose += thread.waiting
                thread.waiting = []

    def _take(self, message: Message) -> None:
        if message.level == "WARN":
            self.tally.add("nccl_warning", message.where, message.text[:200])
            return
        line = parse(message.text, whole=message.whole)
        key = message.host, message.pid
        process = self.processes.get(key)
        if process is None:
            process = self.processes[key] = Process(*key)
        if isinstance(line, Unreadable):
            self.tally.add("nccl_line_unreadable", message.where)
        elif isinstance(line, CommLine):
            _take_seat(process, line, message.tid)
        elif isinstance(line, LinkLine | RingLine):
            _take_graph(process, line, message)
        elif line is not None:
            _take_fact(process, line)


def _take_seat(process: Process, line: CommLine, tid: int) -> None:
    seat, thread = process.seat(line), process.threads[tid]
    if line.state.endswith(("Destroy COMPLETE", "Abort COMPLETE")):
        seat.ended = True
        process.live.pop(line.pointer, None)
    elif line.state == _DONE:
        seat.done = True
        # before 2.18 nothing tells that a set-up begins
        process.loose += (one for one in thread.waiting if not seat.fits(one[1]))
        seat.lines += (one for _, one, _ in thread.waiting if seat.fits(one))
        thread.waiting, thread.seat = [], None
    elif thread.seat is not seat and not seat.done:
        process.loose += thread.waiting
        thread.waiting, thread.seat = [], seat


def _take_graph(process: Process, line: Graph, message: Message) -> None:
    thread = process.threads[message.tid]
    seat = thread.seat
    if isinstance(line, LinkLine) and line.pointer:
        seat = process.live.get(line.pointer, seat)
    if seat is not None and seat.fits(line):
        seat.lines.append(line)
    else:
        thread.waiting.append((message.gpu, line, message.where))


def _take_fact(process: Process, line: SettingLine | DeviceLine) -> None:
    if isinstance(line, SettingLine):
        process.settings[line.name] = line.value
    else:
        process.names.update(line.names)
        process.rails.update(line.rails)


def number(text: str | None, base: int = 10) -> int | None:
    """Read a number that a message tells; None where it tells none."""
    try:
        return int(text or "", base)
    except ValueError:
        return None
