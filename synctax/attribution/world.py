"""All that a replay needs of a job: the network, what nodes are, and its barriers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from synctax.arrays import ABSENT, I32, I64, U64, Bool
from synctax.attribution.keys import text_hash
from synctax.attribution.moments import Marks
from synctax.attribution.network import Network, join
from synctax.attribution.replay import Barriers
from synctax.attribution.rounds import OnProgress, OnRound, over_files
from synctax.attribution.seen import Seen, Task, read_and_see
from synctax.attribution.step_ends import StepEnds
from synctax.attribution.walk import Reading
from synctax.collectives.load import Cache
from synctax.collectives.matches import Matches, Status
from synctax.collectives.tax import Tax
from synctax.notes import Note
from synctax.trace.pool import Workers

NS_PER_MS = 1_000_000

BUILDING = "building graphs"
"""What is done with the files, for `OnRound`."""


@dataclass(frozen=True, slots=True)
class World:
    """A job, ready to be replayed.

    Parameters
    ----------
    tax : Tax
    network : Network
        Ranks in the order of `tax.matches.ranks`.
    name : (n,) int32
        Code of each node's name in `strings`, -1 for none.
    launches : (n,) bool
        Slices of calls that launch work.
    memory : (n,) bool
        Copies and memsets on a GPU, whatever they are called.
    key : (n,) uint64
        Equal for counterparts on different ranks, in one profiler window
        (`keys.NodeNames`).
    strings : tuple of str
    node : (p,) int64
        Node of each participation of `tax.matches`, -1 where there is none.
    joint : (m,) bool
        Collectives that are replayed as barriers.
    marks : Marks
        Steps of the ranks that have none in `ends`.
    ends : StepEnds
        Steps of all ranks that launch work on a GPU within them.
    notes : tuple of Note
    """

    tax: Tax
    network: Network
    name: I32
    launches: Bool
    memory: Bool
    key: U64
    strings: tuple[str, ...]
    node: I64
    joint: Bool
    marks: Marks
    ends: StepEnds
    notes: tuple[Note, ...]

    @property
    def rank(self) -> I64:
        """Position of each node's rank, (n,) int64."""
        counts = np.diff(self.network.base)
        return np.repeat(np.arange(counts.size), counts)

    def barriers(self, together: Bool | None = None) -> tuple[Barriers, I64]:
        """Collect the barriers.

        Parameters
        ----------
        together : (m,) bool, optional
            The collectives that ranks leave together, of those that are joint; others
            each rank leaves on its own. Default: all.

        Returns
        -------
        Barriers, (q,) int64
            And the collective of each of its participations.
        """
        matches = self.tax.matches
        slot = np.repeat(np.arange(len(matches)), np.diff(matches.first))
        rows = np.flatnonzero(self.joint[slot])
        mine = slot[rows]
        alone = np.zeros(len(matches), np.bool_) if together is None else ~together
        own = np.where(alone[mine], len(matches) + np.arange(mine.size), mine)
        return Barriers(self.node[rows], np.unique(own, return_inverse=True)[1]), mine


def read_world(
    tax: Tax,
    *,
    workers: Workers = None,
    cache: Cache | None = None,
    on_progress: OnProgress | None = None,
    on_round: OnRound | None = None,
) -> World:
    """Read the traces of all ranks, build their graphs, and find their collectives.

    Parameters
    ----------
    tax : Tax
        What `synctax.measure` found.
    workers, cache
        As for `synctax.load`.
    on_progress, on_round
        As for `synctax.attribute`.

    Raises
    ------
    SynctaxError
        If a file can no longer be read, or there is nothing to build a graph from.
    """
    ranks = tax.matches.ranks
    todo = {rank.path: task for rank, task in zip(ranks, _tasks(tax), strict=True)}
    seen = over_files(
        BUILDING,
        partial(read_and_see, todo=todo, reading=Reading(cache, tolerance_us=0)),
        list(todo),
        workers=workers,
        on_progress=on_progress,
        on_round=on_round,
    )
    return _world(tax, seen)


def _tasks(tax: Tax) -> list[Task]:
    """Each rank, rows of it that divide its trace, and their numbers: equal over ranks.

    Sibling groups of one role do the same, so they count alike.
    """
    matches = tax.matches
    slot = np.repeat(np.arange(len(matches)), np.diff(matches.first))
    role = np.array([text_hash(group.role) >> 2 for group in matches.groups], np.int64)
    number = role[matches.group] + matches.index
    mine = np.flatnonzero(_dividing(matches)[slot])
    position = matches.table.rank[matches.row[mine]]
    order = np.argsort(position, kind="stable")
    mine, position = mine[order], position[order]
    begin = np.searchsorted(matches.table.rank, np.arange(len(matches.ranks)))
    rows = matches.row[mine] - begin[position]
    parts = np.searchsorted(position, np.arange(1, len(matches.ranks)))
    pieces = np.split(rows, parts), np.split(number[slot[mine]], parts)
    return list(zip(matches.ranks, *pieces, strict=True))


def _world(tax: Tax, seen: Sequence[Seen]) -> World:
    """Put together what was seen of all ranks."""
    network = join([one.part for one in seen])
    base = network.base
    strings: dict[str, int] = {}
    matches = tax.matches
    position = matches.table.rank[matches.row]
    own = np.concatenate([one.node for one in seen])[matches.row]
    node = np.where(own >= 0, own + base[position], ABSENT)
    joint, notes = _joint(matches, node)
    idle = np.concatenate([one.part.idle_ns for one in seen])
    if idle.size:
        detail = (
            "times that a GPU idled for a reason that is not in the traces, kept as they "
            f"are: {idle.sum() / NS_PER_MS:,.1f} ms over all ranks"
        )
        notes.append(Note("replay_idle", idle.size, detail))

    def all_of(name: str) -> np.ndarray:
        return np.concatenate([getattr(one, name) for one in seen])

    return World(
        tax=tax,
        network=network,
        name=np.concatenate([_recoded(one, strings) for one in seen]),
        launches=all_of("launches"),
        memory=all_of("memory"),
        key=all_of("key"),
        strings=tuple(strings),
        node=node,
        joint=joint,
        marks=_marks_of([one.marks for one in seen], base),
        ends=StepEnds.join([one.ends for one in seen], base),
        notes=(*notes, *_merged(note for one in seen for note in one.notes)),
    )


def _dividing(matches: Matches) -> Bool:
    """Collectives that every rank read of their group took part in, in known order."""
    members = np.array([len(group.members) for group in matches.groups], np.int64)
    complete = np.diff(matches.first) == members[matches.group]
    result: Bool = complete & (matches.own_status != Status.UNMATCHED)
    return result


def _joint(matches: Matches, node: I64) -> tuple[Bool, list[Note]]:
    """Choose the collectives that all leave together, and say why others do not."""
    slot = np.repeat(np.arange(len(matches)), np.diff(matches.first))
    found = np.ones(len(matches), np.bool_)
    np.logical_and.at(found, slot, node >= 0)
    sure = matches.own_status == Status.OK
    notes = []
    for status in (Status.PARTIAL, Status.INVALID, Status.UNMATCHED):
        count = int((matches.own_status == status).sum())
        if count:
            detail = "collectives replayed with the durations they had, waits included: "
            why = _WHY[status]
            notes.append(Note(f"replay_{status.name.lower()}", count, detail + why))
    lost = int((sure & ~found).sum())
    if lost:
        detail = "collectives replayed with the durations they had: not whole in the graph"
        notes.append(Note("replay_no_node", lost, detail))
    return sure & found, notes


_WHY = {
    Status.PARTIAL: "some ranks did not record them",
    Status.INVALID: "ranks do not leave them together",
    Status.UNMATCHED: "it is not certain which belong together",
}


def _recoded(one: Seen, strings: dict[str, int]) -> I32:
    table = [strings.setdefault(text, len(strings)) for text in one.strings]
    return np.array([*table, ABSENT], np.int32)[one.name]


def _marks_of(parts: Sequence[Marks], base: I64) -> Marks:
    def all_of(name: str) -> I64:
        return np.concatenate([getattr(part, name) for part in parts])

    def shifted(name: str) -> I64:
        pairs = zip(parts, base[:-1].tolist(), strict=True)
        columns = [(getattr(part, name), at) for part, at in pairs]
        return np.concatenate([np.where(one >= 0, one + at, ABSENT) for one, at in columns])

    return Marks(
        all_of("number"),
        shifted("begin_node"),
        shifted("end_node"),
        all_of("begin_ns"),
        all_of("end_ns"),
    )


def _merged(notes: Iterable[Note]) -> list[Note]:
    """One note a reason and text, over all ranks."""
    merged: dict[tuple[str, str], Note] = {}
    for note in notes:
        old = merged.get((note.reason, note.detail))
        count = note.count + (old.count if old else 0)
        merged[note.reason, note.detail] = Note(note.reason, count, note.detail)
    return list(merged.values())
