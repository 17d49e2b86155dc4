"""Where ranks sit: host, NVLink domain, and place on the host."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from synctax.arrays import ABSENT, I64, runs
from synctax.notes import Note
from synctax.planning.verify.host_names import same_hosts
from synctax.planning.verify.hosts_file import HostMap
from synctax.planning.verify.nvlink import hosts_joined
from synctax.texts import counted


@dataclass(frozen=True, slots=True)
class Seat:
    """What a trace says of where a rank ran.

    Parameters
    ----------
    rank : int
    host : str
        Empty where it is silent.
    gpus : tuple of int
        GPUs it used, by their number on the host as the process saw it.
    visible : int
        GPUs that its process saw; 0 where the trace is silent.
    model : str
        What the GPU is called; empty where the trace is silent.
    """

    rank: int
    host: str
    gpus: tuple[int, ...] = ()
    visible: int = 0
    model: str = ""

    @property
    def least_gpus(self) -> int:
        """GPUs that its host has at least."""
        return self.visible or max((gpu + 1 for gpu in self.gpus), default=0)


@dataclass(frozen=True, slots=True)
class Moved:
    """A rank whose trace names another host than the source that goes before it."""

    rank: int
    traced: str
    told: str
    source: str


Guess = Literal["", "hosts", "racks"]
"""Domains are known; each host was taken for one; consecutive hosts were."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where the ranks of a job sit. All arrays have an entry a rank, -1 where unknown.

    Parameters
    ----------
    rank : (r,) int64
        Ascending.
    host : (r,) int64
        Code into `hosts`.
    domain : (r,) int64
        Code into `domains`.
    local : (r,) int64
        Local index: number of the GPU, and so of the NIC beside it, on the host.
    hosts, domains : tuple of str
        Names.
    domain_size : int or None
        GPUs of a domain; None where each host was taken for one.
    domain_known_by : str
        How domains are known, in words.
    unknown_because : str
        Why the domains of some are not, in words, with what would help; else empty.
    notes : tuple of Note
        What was inferred.
    guess : "", "hosts" or "racks"
        What was taken for a domain without being told.
    gpus_per_host : int
        At least.
    joined : bool or None
        Whether NVLink may join hosts; None where nothing tells.
    moved : tuple of Moved
        Ranks that two sources put on different hosts.
    """

    rank: I64
    host: I64
    domain: I64
    local: I64
    hosts: tuple[str, ...]
    domains: tuple[str, ...]
    domain_size: int | None
    domain_known_by: str
    unknown_because: str
    notes: tuple[Note, ...]
    guess: Guess = ""
    gpus_per_host: int = 0
    joined: bool | None = None
    moved: tuple[Moved, ...] = ()

    @property
    def open_because(self) -> str:
        """Why several hosts may well be one domain, and what would help; else empty."""
        if self.guess != "hosts" or not self.joined:
            return ""
        return (
            "NVLink joins hosts of such GPUs: --domain N tells how many GPUs, --hosts with "
            "a column domain which"
        )

    def at(self, ranks: I64) -> I64:
        """Find the entries of some ranks, (n,) int64; -1 for one that has none."""
        if not self.rank.size:
            return np.full(ranks.shape, ABSENT, np.int64)
        found = np.minimum(np.searchsorted(self.rank, ranks), self.rank.size - 1)
        return np.where(self.rank[found] == ranks, found, ABSENT)

    def of(self, column: I64, ranks: I64) -> I64:
        """Take `host`, `domain` or `local` of some ranks, (n,) int64; -1 unknown."""
        return np.append(column, ABSENT)[self.at(ranks)]

    def host_names(self, ranks: Sequence[int]) -> tuple[str, ...]:
        """Name the hosts that some ranks are known to be on, in order of the ranks."""
        codes = self.of(self.host, np.array(ranks, np.int64))
        return tuple(self.hosts[code] for code in dict.fromkeys(codes[codes >= 0].tolist()))


def place(
    ranks: I64,
    seats: Sequence[Seat],
    given: HostMap | None = None,
    *,
    domain_size: int | None = None,
    gpus_per_host: int | None = None,
    joined: bool | None = None,
) -> Places:
    """Say where ranks sit, from what traces and a user's file tell.

    Parameters
    ----------
    ranks : (r,) int64
        Ranks of the job, as far as they are known; those of `seats` and `given` are added.
    seats : sequence of Seat
        At most one a rank.
    given : HostMap, optional
        What a user says; it goes before the traces.
    domain_size : int, optional
        GPUs that NVLink joins. None: those of a host.
    gpus_per_host : int, optional
        GPUs of a host; None: as many as the traces show, or as ranks are on a host.
    joined : bool, optional
        Whether NVLink may join hosts; None: as the names of GPUs tell.

    Returns
    -------
    Places
        A domain of more GPUs than a host has is made of consecutive hosts, in order of
        their lowest rank, unless `given` names domains: which hosts a rack holds no trace
        tells.

    Raises
    ------
    ValueError
        If `domain_size` or `gpus_per_host` is below 1.
    """
    for size in (domain_size, gpus_per_host):
        if size is not None and size < 1:
            raise ValueError(f"domains of {domain_size} GPUs, hosts of {gpus_per_host}")
    listed = np.empty(0, np.int64) if given is None else given.rank
    told = np.array([seat.rank for seat in seats], np.int64)
    every = np.unique(np.concatenate([ranks, told, listed]))
    names, moved = _host_names(every, seats, given)
    stands = same_hosts(name for name in names if name)
    names = [stands.get(name, "") for name in names]
    codes: dict[str, int] = {}
    host = np.array(
        [codes.setdefault(name, len(codes)) if name else ABSENT for name in names], np.int64
    )
    local, by_order = _local(every, host, seats, given)
    on_host = int(np.bincount(host + 1)[1:].max(initial=0))
    width = gpus_per_host or max([on_host, *(seat.least_gpus for seat in seats)])
    known = _Known(every, host, tuple(codes), local, width)
    found = _domains(known, given, domain_size)
    source = "" if given is None else given.source
    notes = (
        Note(
            "host_from_file", len(moved), f"ranks that {source} puts elsewhere than traces"
        ),
        Note(
            "local_index_from_order",
            by_order,
            "ranks whose place on their host is taken from the order of ranks there, as "
            "traces do not tell their GPUs apart",
        ),
    )
    return Places(
        rank=every,
        host=host,
        domain=found.domain,
        local=local,
        hosts=known.hosts,
        domains=found.names,
        domain_size=domain_size,
        domain_known_by=found.known_by,
        unknown_because=found.because,
        notes=tuple(note for note in notes if note.count),
        guess=found.guess,
        moved=moved,
        gpus_per_host=width,
        joined=hosts_joined([seat.model for seat in seats]) if joined is None else joined,
    )


def _host_names(
    every: I64, seats: Sequence[Seat], given: HostMap | None
) -> tuple[list[str], tuple[Moved, ...]]:
    """Name the host of every rank, and list those whose trace is overruled."""
    names = [""] * every.size
    at = np.searchsorted(every, np.array([seat.rank for seat in seats], np.int64))
    for where, seat in zip(at.tolist(), seats, strict=True):
        names[where] = seat.host
    if given is None:
        return names, ()
    moved = []
    stands = same_hosts([*given.host, *(name for name in names if name)])
    at = np.searchsorted(every, given.rank)
    for where, host in zip(at.tolist(), given.host, strict=True):
        before = names[where]
        if before != "" and stands[before] != stands[host]:
            moved.append(Moved(int(every[where]), before, host, given.source))
        names[where] = host
    return names, tuple(moved)


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """Ranks, and what is known before domains are: as in `Places`."""

    rank: I64
    host: I64
    hosts: tuple[str, ...]
    local: I64
    width: int

    @property
    def unknown(self) -> int:
        """Ranks whose host is not known."""
        return int((self.host < 0).sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Domains:
    domain: I64
    names: tuple[str, ...]
    known_by: str
    because: str = ""
    guess: Guess = ""


def _local(
    every: I64, host: I64, seats: Sequence[Seat], given: HostMap | None
) -> tuple[I64, int]:
    """Find the local index of every rank, and count those taken from the order of ranks.

    A process that sees one GPU numbers it 0 whichever it is.
    """
    traced = np.full(every.size, ABSENT, np.int64)
    at = np.searchsorted(every, np.array([seat.rank for seat in seats], np.int64))
    for where, seat in zip(at.tolist(), seats, strict=True):
        if len(seat.gpus) == 1 and seat.visible != 1:
            traced[where] = seat.gpus[0]
    listed = np.full(every.size, ABSENT, np.int64)
    if given is not None:
        listed[np.searchsorted(every, given.rank)] = given.gpu
    whole = bool((host >= 0).all())
    local, by_order = np.full(every.size, ABSENT, np.int64), 0
    order = np.argsort(host, kind="stable")
    first = runs(host[order])
    for low, high in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        mine = order[low:high]
        if host[mine[0]] < 0:
            continue
        numbers = traced[mine]
        told = numbers[numbers >= 0]
        if (listed[mine] >= 0).any():
            local[mine] = listed[mine]
        elif told.size and np.unique(told).size == told.size:
            local[mine] = numbers
        elif whole:
            local[mine] = np.arange(mine.size)
            by_order += mine.size
    return local, by_order


def _domains(known: _Known, given: HostMap | None, size: int | None) -> _Domains:
    if given is not None and any(given.domain):
        return _named(known, given)
    if size is None or size == known.width or not known.hosts:
        word = "taken for" if size is None else "is"
        return _Domains(
            known.host,
            known.hosts,
            f"each host {word} one domain",
            _no_hosts(known),
            "hosts" if size is None else "",
        )
    if size < known.width:
        return _parts(known, size)
    return _racks(known, size)


def _no_hosts(known: _Known, more: str = "") -> str:
    if not known.unknown:
        return ""
    return (
        f"the host of {counted(known.unknown, 'rank')} is not known: give --hosts FILE "
        f"with the columns rank,host{more}"
    )


def _named(known: _Known, given: HostMap) -> _Domains:
    """Take the domains that a file names; a host lies in one."""
    names: dict[str, int] = {}
    of_rank = np.full(known.rank.size, ABSENT, np.int64)
    of_host = np.full(len(known.hosts) + 1, ABSENT, np.int64)
    at = np.searchsorted(known.rank, given.rank)
    for where, name in zip(at.tolist(), given.domain, strict=True):
        if name:
            of_rank[where] = names.setdefault(name, len(names))
    told = of_rank >= 0
    of_host[known.host[told]] = of_rank[told]
    of_host[-1] = ABSENT
    domain = np.where(told, of_rank, of_host[known.host])
    left = int((domain < 0).sum())
    because = f"{given.source} names no domain for {counted(left, 'rank')}" if left else ""
    return _Domains(domain, tuple(names), f"domains as in {given.source}", because)


def _parts(known: _Known, size: int) -> _Domains:
    """Split hosts that hold several domains by the numbers of their GPUs."""
    a_host = -(-known.width // size)
    code = np.where(
        (known.host >= 0) & (known.local >= 0),
        known.host * a_host + known.local // size,
        -1,
    )
    numbers, domain = np.unique(np.append(code, ABSENT), return_inverse=True)
    names = tuple(
        f"{known.hosts[one // a_host]} GPUs {one % a_host * size}-"
        f"{one % a_host * size + size - 1}"
        for one in numbers[1:].tolist()
    )
    left = int((code < 0).sum())
    because = (
        f"the GPU of {counted(left, 'rank')} is not known: give --hosts FILE with the "
        "columns rank,host,gpu"
        if left
        else ""
    )
    known_by = f"hosts of {known.width} GPUs hold several domains of {size}, in order"
    return _Domains(domain[:-1] - 1, names, known_by, because)


def _racks(known: _Known, size: int) -> _Domains:
    """Put consecutive hosts into domains, in order of their lowest ranks."""
    a_domain = size // known.width
    if len(known.hosts) * known.width < known.rank.size:
        none = np.full(known.rank.size, ABSENT, np.int64)
        because = _no_hosts(known, ",domain: a domain holds several hosts")
        return _Domains(none, (), f"domains of {size} GPUs", because)
    # codes are in order of the lowest ranks already
    domain = np.where(known.host >= 0, known.host // a_domain, ABSENT)
    names = []
    for first in range(0, len(known.hosts), a_domain):
        inside = known.hosts[first : first + a_domain]
        ends = inside[0] if len(inside) == 1 else f"{inside[0]} to {inside[-1]}"
        names.append(f"domain {first // a_domain} ({ends})")
    guess: Guess = "racks" if a_domain > 1 else ""
    known_by = (
        f"every {a_domain} consecutive hosts of {known.width} GPUs, in order of their "
        "ranks, taken for one domain; --hosts with a column domain tells better"
    )
    return _Domains(domain, tuple(names), known_by, _no_hosts(known), guess)
