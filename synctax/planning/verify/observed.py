"""Which process groups a job had, and where their ranks sat, from what its traces say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synctax.arrays import I64
from synctax.collectives.groups import from_config
from synctax.collectives.load import FileRow, Job
from synctax.collectives.model import UNLABELLED, Group, Origin
from synctax.collectives.pool import JobGroup
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.planning.verify.hosts_file import MOST_RANKS, HostMap, of_job
from synctax.planning.verify.places import Places, Seat, place
from synctax.trace.assign import FileStatus
from synctax.trace.names import known_roles

DEFAULT = "default"
"""Role of the group of all ranks that every job begins with."""


@dataclass(frozen=True, slots=True)
class ObservedGroup:
    """A process group, whatever windows and traces it was seen in.

    Parameters
    ----------
    role : str
        `tp`, `dp`, ... as in names.toml, else its description.
    name : str
    ranks : tuple of int
        Its global ranks in ascending order, as far as traces tell.
    size : int
        Ranks that it has.
    origin : str
        `Origin`: how its ranks are known.
    communicates : bool
        Whether a collective of it was recorded; else it was only declared.
    """

    role: str
    name: str
    ranks: tuple[int, ...]
    size: int
    origin: str
    communicates: bool

    @property
    def complete(self) -> bool:
        """Whether all of its ranks are known."""
        return len(self.ranks) == self.size

    @property
    def labelled(self) -> bool:
        """Whether metadata tells what it is, rather than the stream it ran on."""
        return self.origin != Origin.INFERRED


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """What is known of a job's groups and ranks.

    Parameters
    ----------
    groups : tuple of ObservedGroup
        In order of role, size and first rank.
    places : Places
        Where ranks sit.
    world : int or None
        Ranks of the job.
    traced : (r,) int64
        Ranks whose traces were read, ascending.
    telling : (s,) int64
        Of these, the ones whose trace declares its process groups.
    notes : tuple of Note
        What was inferred.
    """

    groups: tuple[ObservedGroup, ...]
    places: Places
    world: int | None
    traced: I64
    telling: I64
    notes: tuple[Note, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether every rank of the job was read."""
        return self.world is not None and self.traced.size >= self.world

    def of(self, role: str) -> list[ObservedGroup]:
        """List the groups of a role that have more than one rank."""
        return [group for group in self.groups if group.role == role and group.size > 1]

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles of groups of more than one rank, in order."""
        return tuple(dict.fromkeys(group.role for group in self.groups if group.size > 1))


def observe(
    job: Job,
    groups: Sequence[JobGroup],
    hosts: HostMap | None = None,
    *,
    domain_size: int | None = None,
    gpus_per_host: int | None = None,
    joined: bool | None = None,
) -> Observed:
    """Put together what the traces of a job say of its groups, and where its ranks sat.

    Parameters
    ----------
    job : Job
        As `load` returns it.
    groups : sequence of JobGroup
        Groups whose collectives were recorded, as `match` or `gather` tells them.
    hosts : HostMap, optional
        Where a user says that ranks are.
    domain_size, gpus_per_host, joined : optional
        As for `place`.

    Returns
    -------
    Observed
        Groups that are only declared (in `distributedInfo`) are among them: these tell of
        ranks that were not read, and of groups that were silent in the window.

    Raises
    ------
    BadInputError
        If `hosts` names ranks that the job does not have, and not all that it has.
    """
    used = [row for row in job.files if row.status is FileStatus.USED]
    found = _merge([*map(_recorded, groups), *_declared(used, groups)])
    seats = _seats(used)
    world = job.world_size or _largest(found)
    ranks = {rank for group in found for rank in group.ranks}
    if world is not None and world <= MOST_RANKS:  # else a damaged number
        ranks |= set(range(world))
    beyond: tuple[Note, ...] = ()
    if hosts is not None:
        hosts, beyond = of_job(hosts, world)
    places = place(
        np.array(sorted(ranks), np.int64),
        seats,
        hosts,
        domain_size=domain_size,
        gpus_per_host=gpus_per_host,
        joined=joined,
    )
    return Observed(
        groups=found,
        places=places,
        world=world,
        traced=np.array([seat.rank for seat in seats], np.int64),
        telling=np.array(sorted(_telling(used)), np.int64),
        notes=(*beyond, *places.notes),
    )


def _recorded(group: JobGroup) -> ObservedGroup:
    return ObservedGroup(
        group.role, group.name, group.ranks, group.size, group.origin, communicates=True
    )


def _declared(
    used: Sequence[FileRow], recorded: Sequence[JobGroup]
) -> Iterable[ObservedGroup]:
    """List the groups in the metadata of traces.

    One whose list of ranks was cut is left to the kernels that name its ranks.
    """
    known = {
        (group.name, rank) for group in recorded if group.labelled for rank in group.ranks
    }
    seen: set[Group] = set()
    for row in used:
        for config in row.facts.meta.groups if row.facts else ():
            group = from_config(config)
            if group.ranks is None and row.rank is not None and group.size:
                if (group.name, row.rank) in known:
                    continue
                group = replace(group, ranks=(row.rank,))
            if group.ranks and group not in seen:
                seen.add(group)
                yield ObservedGroup(
                    group.role,
                    group.name,
                    group.ranks,
                    max(group.size or 0, len(group.ranks)),
                    group.origin,
                    communicates=False,
                )


def _merge(groups: Iterable[ObservedGroup]) -> tuple[ObservedGroup, ...]:
    """Unite what is one group: of several windows, or a twin on the same ranks."""
    kept: dict[tuple[str, tuple[int, ...]], ObservedGroup] = {}
    for group in groups:
        key = (group.role, group.ranks)
        before = kept.get(key)
        if before is None:
            kept[key] = group
        elif group.communicates and not before.communicates:
            kept[key] = replace(group, size=max(group.size, before.size))
    whole = {
        (group.role, group.name, rank)
        for group in kept.values()
        if group.complete
        for rank in group.ranks
    }
    left = [
        group
        for group in kept.values()
        if group.complete or (group.role, group.name, group.ranks[0]) not in whole
    ]
    return tuple(sorted(left, key=lambda one: (one.role, -one.size, one.ranks, one.name)))


def _seats(used: Sequence[FileRow]) -> list[Seat]:
    seats: dict[int, Seat] = {}
    for row in used:
        if row.rank is None or row.facts is None:
            continue
        gpus = tuple(device.id for device in row.facts.devices)
        visible = row.facts.meta.devices
        model = next((device.name for device in visible if device.name), "")
        seat = Seat(row.rank, row.host, gpus, len(visible), model)
        before = seats.setdefault(row.rank, seat)
        if before.host == "" != row.host and before.model == model:
            seats[row.rank] = seat
    return [seats[rank] for rank in sorted(seats)]


def _telling(used: Sequence[FileRow]) -> set[int]:
    return {
        row.rank
        for row in used
        if row.rank is not None and row.facts is not None and row.facts.meta.groups
    }


def _largest(groups: Sequence[ObservedGroup]) -> int | None:
    """Ranks of the default group, which has all of a job's."""
    return max((group.size for group in groups if group.role == DEFAULT), default=None)


def answering(observed: Observed, role: str) -> tuple[Observed, str]:
    """Find the role that a user means: by a role, or by the name of a group.

    Where no group has it, but a lone group's role is not told, that one answers.

    Parameters
    ----------
    observed : Observed
    role : str

    Returns
    -------
    Observed, str
        The groups, and the role that is meant.

    Raises
    ------
    SynctaxError
        If there is no such group.
    """
    if role in observed.roles:
        return observed, role
    named = [group.role for group in observed.groups if group.name == role]
    if named:
        return observed, named[0]
    nameless = unnamed(observed)
    if nameless and role in known_roles():
        return taken_for(observed, role), role
    there = ", ".join(observed.roles) or "none of more than one rank"
    raise SynctaxError(f"no group {role}; there are {there}")


def unnamed(observed: Observed) -> tuple[ObservedGroup, ...]:
    """List the groups that communicate and whose role is not told.

    They are the lone group of streams without metadata (siblings, where it splits), or,
    where nothing else communicates, the default group. Empty where there are several.
    """
    active = [group for group in observed.groups if group.communicates and group.size > 1]
    roles = {group.role for group in active}
    return tuple(active) if roles in ({UNLABELLED}, {DEFAULT}) else ()


def taken_for(observed: Observed, role: str) -> Observed:
    """Take the groups whose role is not told for those of a role, and say so.

    Parameters
    ----------
    observed : Observed
    role : str
    """
    nameless = unnamed(observed)
    renamed = tuple(
        replace(group, role=role) if group in nameless else group
        for group in observed.groups
    )
    note = Note(
        "group_taken_for_role",
        len(nameless),
        f"groups that the traces give no role, taken for {role}",
    )
    return replace(observed, groups=renamed, notes=(*observed.notes, note))
