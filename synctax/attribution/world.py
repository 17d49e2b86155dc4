"""All that a replay needs of a job: the network, what nodes are, and its barriers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I32, I64, U64, Bool
from synctax.attribution.keys import NodeNames, text_hash
from synctax.attribution.moments import Marks, marks
from synctax.attribution.network import Network, RankPart, join, rank_part
from synctax.attribution.replay import Barriers
from synctax.collectives.matches import Matches, Status
from synctax.collectives.model import RankCollectives
from synctax.collectives.tax import Tax
from synctax.graph.build import build_graph
from synctax.graph.model import EdgeKind, Graph, NodeKind
from synctax.trace.model import EventKind, Note, RankTrace

NS_PER_MS = 1_000_000


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
    key : (n,) uint64
        Equal for counterparts on different ranks (`keys.NodeNames`).
    strings : tuple of str
    node : (p,) int64
        Node of each participation of `tax.matches`, -1 where there is none.
    joint : (m,) bool
        Collectives that are replayed as barriers.
    marks : Marks
        Steps of all ranks.
    mark_rank : (s,) int64
        Position of the rank of each.
    notes : tuple of Note
    """

    tax: Tax
    network: Network
    name: I32
    launches: Bool
    key: U64
    strings: tuple[str, ...]
    node: I64
    joint: Bool
    marks: Marks
    mark_rank: I64
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


@dataclass(frozen=True, slots=True)
class _Seen:
    """What stays of one rank when its trace is gone."""

    part: RankPart
    name: I32
    launches: Bool
    key: U64
    strings: tuple[str, ...]
    node: I64
    marks: Marks
    notes: tuple[Note, ...]


def assemble(tax: Tax, traces: Iterable[RankTrace]) -> World:
    """Build the graphs of all ranks and find their collectives in them.

    Parameters
    ----------
    tax : Tax
        What `synctax.measure` found.
    traces : iterable of RankTrace
        In the order of `tax.matches.ranks`. One is held at a time.

    Raises
    ------
    ValueError
        If there are fewer or more traces than ranks.
    """
    ranks = tax.matches.ranks
    dividing = _dividing(tax.matches)
    seen = [
        _see(rank, trace, *_of_rank(tax.matches, dividing, position))
        for position, (rank, trace) in enumerate(zip(ranks, traces, strict=True))
    ]
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
    return World(
        tax=tax,
        network=network,
        name=np.concatenate([_recoded(one, strings) for one in seen]),
        launches=np.concatenate([one.launches for one in seen]),
        key=np.concatenate([one.key for one in seen]),
        strings=tuple(strings),
        node=node,
        joint=joint,
        marks=_marks_of([one.marks for one in seen], base),
        mark_rank=np.repeat(np.arange(len(seen)), [len(one.marks) for one in seen]),
        notes=(*notes, *_merged(note for one in seen for note in one.notes)),
    )


def _see(rank: RankCollectives, trace: RankTrace, rows: I64, number: I64) -> _Seen:
    graph = build_graph(trace)
    nodes = graph.nodes
    node = participations(rank, trace, graph)
    there = node[rows] >= 0
    dividing = nodes.event[node[rows][there]]
    key = NodeNames.of(trace, graph).keys(dividing, number[there])
    names = np.where(nodes.label >= 0, trace.events.name[nodes.label], ABSENT)
    used, code = np.unique(names, return_inverse=True)
    known = int(used.size > 0 and used[0] < 0)
    return _Seen(
        part=rank_part(graph),
        name=(code - known).astype(np.int32),
        launches=_launching(graph, trace),
        key=key,
        strings=tuple(trace.strings[one] for one in used[known:].tolist()),
        node=node,
        marks=marks(trace, graph),
        notes=graph.notes,
    )


def _launching(graph: Graph, trace: RankTrace) -> Bool:
    """All slices of calls from which a launch edge leads."""
    nodes = graph.nodes
    call = np.zeros(len(trace.events) + 1, np.bool_)
    call[nodes.event[graph.parent[graph.kind == EdgeKind.LAUNCH]]] = True
    call[:-1] &= trace.events.kind == EventKind.RUNTIME
    call[-1] = False
    launches: Bool = call[nodes.event] & (nodes.kind == NodeKind.SLICE)
    return launches


def participations(rank: RankCollectives, trace: RankTrace, graph: Graph) -> I64:
    """Find the node of each participation of a rank.

    Parameters
    ----------
    rank : RankCollectives
        As extracted from the trace.
    trace : RankTrace
    graph : Graph
        Of the trace.

    Returns
    -------
    (n,) int64
        -1 where the graph has no node that is the whole of it.
    """
    nodes, events = graph.nodes, trace.events
    rows = np.flatnonzero(nodes.kind == NodeKind.COLLECTIVE)
    event = nodes.event[rows]
    whole = nodes.end_ns[rows] - nodes.start_ns[rows] == events.duration_ns[event]
    rows, event = rows[whole], event[whole]
    thread = np.append(trace.lanes.thread, ABSENT)[events.lane[event]]
    stream = np.where(events.stream[event] >= 0, events.stream[event], thread)
    columns = (events.start_ns[event], events.duration_ns[event], stream)
    found = dict(
        zip(
            zip(*(one.tolist() for one in columns), strict=True), rows.tolist(), strict=True
        )
    )
    wanted = (rank.start_ns, rank.duration_ns, rank.stream)
    return np.array(
        [
            found.get(one, ABSENT)
            for one in zip(*(column.tolist() for column in wanted), strict=True)
        ],
        np.int64,
    )


def _dividing(matches: Matches) -> Bool:
    """Collectives that every rank read of their group took part in, in known order."""
    members = np.array([len(group.members) for group in matches.groups], np.int64)
    complete = np.diff(matches.first) == members[matches.group]
    result: Bool = complete & (matches.own_status != Status.UNMATCHED)
    return result


def _of_rank(matches: Matches, dividing: Bool, position: int) -> tuple[I64, I64]:
    """Rows of a rank that divide its trace, and their numbers: equal over all ranks.

    Sibling groups of one role do the same, so they count alike.
    """
    slot = np.repeat(np.arange(len(matches)), np.diff(matches.first))
    mine = np.flatnonzero((matches.table.rank[matches.row] == position) & dividing[slot])
    begin = int(np.searchsorted(matches.table.rank, position))
    role = [text_hash(group.role) >> 2 for group in matches.groups]
    number = np.array(role, np.int64)[matches.group[slot[mine]]]
    return matches.row[mine] - begin, number + matches.index[slot[mine]]


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


def _recoded(one: _Seen, strings: dict[str, int]) -> I32:
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
