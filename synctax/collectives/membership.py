"""Give every participation its group: labelled, inferred, or one for its stream."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I32, I64, distinct
from synctax.collectives import groups
from synctax.collectives.distinct import distinct_rows
from synctax.collectives.groups import GroupFacts
from synctax.collectives.model import Group, Origin
from synctax.collectives.sources import Described, Sources, op_code
from synctax.notes import Note
from synctax.trace import names
from synctax.trace.model import GroupConfig, RankTrace, TraceMeta
from synctax.trace.names import by_name

THREADS_A_GROUP = 2
"""Threads that gloo runs for each process group, by PyTorch's default."""


@dataclass(frozen=True, slots=True)
class Membership:
    """`group` (n,) int32 indexes `groups`; `notes` say what was inferred."""

    group: I32
    groups: tuple[Group, ...]
    notes: tuple[Note, ...]

    def sizes(self) -> I64:
        """Ranks of each participation's group, -1 where unknown."""
        size = [ABSENT if g.size is None else g.size for g in self.groups]
        return np.array(size, np.int64)[self.group]


def labelled(trace: RankTrace, described: Described) -> tuple[I64, list[Group]]:
    """Resolve the groups that metadata names.

    Returns
    -------
    (n,) int64, list of Group
        Group of each participation, -1 where no metadata names one.
    """
    comms = trace.comms
    columns = (
        comms.group_name,
        comms.group_ranks,
        comms.group_description,
        comms.group_size,
        comms.rank_start,
        comms.rank_stride,
    )
    facts = np.stack([described.first(column) for column in columns])
    has_label = np.flatnonzero((facts[0] >= 0) | (facts[1] >= 0))
    told = facts[:, has_label]
    first, number = distinct_rows(*told)
    resolved = [_resolve(row, trace.strings, trace.meta) for row in told.T[first].tolist()]
    united, kept = _deduplicate(resolved)
    group = np.full(facts.shape[1], ABSENT, np.int64)
    group[has_label] = united[number]
    return group, kept


def _resolve(row: list[int], strings: tuple[str, ...], meta: TraceMeta) -> Group:
    name, ranks, description = (strings[code] if code >= 0 else "" for code in row[:3])
    return groups.resolve(GroupFacts(name, ranks, description, *row[3:]), meta)


def _deduplicate(resolved: list[Group]) -> tuple[I64, list[Group]]:
    """Unite groups of equal name and ranks; one without ranks with its only namesake."""
    full: dict[str, set[tuple[int, ...]]] = {}
    for group in resolved:
        if group.ranks is not None:
            full.setdefault(group.name, set()).add(group.ranks)
    kept: dict[tuple[str, tuple[int, ...] | None], Group] = {}
    keys = []
    for group in resolved:
        namesakes = full.get(group.name, set())
        ranks = group.ranks
        if ranks is None and len(namesakes) == 1:
            (ranks,) = namesakes
        key = (group.name, ranks)
        keys.append(key)
        if key not in kept or kept[key].ranks is None:
            kept[key] = group
    place = {key: i for i, key in enumerate(kept)}
    return np.array([place[key] for key in keys], np.int64), list(kept.values())


def of_kernels(trace: RankTrace, sources: Sources, described: Described) -> Membership:
    """Give every kernel a group.

    A kernel without metadata belongs to the group that all labelled kernels of its library
    on its stream belong to; else to the only group that the process has made; else to a
    group that stands for its stream. Stream numbers mean nothing to other ranks, so such
    groups count streams.
    """
    events = trace.events
    group, known = labelled(trace, described)
    inferred = int(((group >= 0) & sources.adopted).sum())
    stream = events.stream[sources.event]
    device = events.device[sources.event]
    libraries: dict[str, int] = {"nccl": 0, "rccl": 0}  # RCCL goes by NCCL's names
    library = by_name(
        trace.strings,
        events.name[sources.event],
        lambda name: libraries.setdefault(names.kernel(name).library, len(libraries)),
        np.int32,
    )
    before = group.copy()
    _spread(group, distinct_rows(device, stream, library)[1])
    only = _only_group(trace.meta)
    if only is not None and (group < 0).any():
        group[group < 0] = _number(known, only)
    inferred += int(((before < 0) & (group >= 0)).sum())

    lost = np.flatnonzero(group < 0)
    streams, ordinal = distinct_rows(device[lost], stream[lost])
    group[lost] = len(known) + ordinal
    known += [groups.unlabelled(i) for i in range(streams.size)]
    notes = (
        *_inferred(inferred),
        *_note(
            "group_unlabelled",
            lost.size,
            f"no metadata: taken as one group a stream, {streams.size} in all",
        ),
        *_ranks_unknown(group, known),
    )
    return Membership(group.astype(np.int32), tuple(known), notes)


def _only_group(meta: TraceMeta) -> Group | None:
    """Find the group of a process that has made one.

    Traces made on demand declare only groups they saw, ranks cut: they do not tell.
    """
    if len(meta.groups) != 1 or meta.groups[0].ranks is None:
        return None
    return groups.from_config(meta.groups[0])


def _spread(group: I64, where: I64) -> None:
    """Where all labelled members of a place agree on their group, give it to the others."""
    n = int(where.max(initial=-1)) + 1
    low, high = np.full(n, np.iinfo(np.int64).max), np.full(n, ABSENT, np.int64)
    has_label = group >= 0
    np.minimum.at(low, where[has_label], group[has_label])
    np.maximum.at(high, where[has_label], group[has_label])
    agreed = np.where(low == high, high, ABSENT)
    group[~has_label] = agreed[where[~has_label]]


def _ranks_unknown(group: I64, known: list[Group]) -> tuple[Note, ...]:
    unknown = [
        i for i, g in enumerate(known) if g.ranks is None and g.origin != Origin.INFERRED
    ]
    shown = ", ".join(sorted({known[i].role for i in unknown}))
    count = int(np.isin(group, unknown).sum())
    return _note("group_ranks_unknown", count, f"no full list of ranks for {shown}")


def _inferred(count: int) -> tuple[Note, ...]:
    return _note(
        "group_inferred",
        count,
        "no group metadata of their own: taken from neighbours on the stream or thread",
    )


def _note(reason: str, count: int, detail: str) -> tuple[Note, ...]:
    return (Note(reason, int(count), detail),) if count else ()


def of_spans(
    trace: RankTrace, sources: Sources, described: Described, op: I64
) -> Membership:
    """Give every span of a CPU backend a group.

    A span carries no group, and runs on a thread that the backend keeps for one group:
    gloo has two a group, made with it. In turn: metadata around the span; records of the
    same operation, in order; the only group of this rank; the threads in order of their
    numbers, where there are as many as the groups of this rank should have.
    """
    group, known = labelled(trace, described)
    before = group < 0
    _by_record(trace, group, known, op)
    own = [c for c in groups.own_groups(trace.meta) if _has_spans(c)]
    threads = trace.meta.runner_threads
    told = not threads or len(threads) == THREADS_A_GROUP * len(own)
    if len(own) == 1 and told and (group < 0).any():
        (config,) = own
        group[group < 0] = _number(known, groups.from_config(config))
        before[:] = False
    elif own:
        _by_thread(trace, sources, group, [groups.from_config(c) for c in own], known)
    inferred = int((before & (group >= 0)).sum())
    lost = group < 0
    if lost.any():
        group[lost] = _number(known, groups.unlabelled(0))
    detail = "no metadata tells the group: taken as one group"
    notes = (
        *_inferred(inferred),
        *_note("group_unlabelled", int(lost.sum()), detail),
        *_ranks_unknown(group, known),
    )
    return Membership(group.astype(np.int32), tuple(known), notes)


def _has_spans(config: GroupConfig) -> bool:
    """Whether a group's backend may have ranges on the CPU; one that is not told may."""
    backends = [part.rpartition(":")[2] for part in config.backend.split(",")]
    return not config.backend or any(names.is_span(f"{one}:") for one in backends)


def _number(known: list[Group], group: Group) -> int:
    """Number of a group among the known ones, where it is put if it is new."""
    for i, other in enumerate(known):
        if (other.name, other.ranks, other.stream) == (
            group.name,
            group.ranks,
            group.stream,
        ):
            return i
    known.append(group)
    return len(known) - 1


def _by_record(trace: RankTrace, group: I64, known: list[Group], op: I64) -> None:
    """Pair the spans of an operation with the records of it, in order of start."""
    comms = trace.comms
    named = np.flatnonzero((comms.group_name >= 0) & (comms.collective >= 0))
    if not named.size:
        return
    facts = Described(trace, (named, named, named, named))
    record_group, resolved = labelled(trace, facts)
    number = np.array([_number(known, g) for g in resolved], np.int64)
    record_op = by_name(trace.strings, comms.collective[named], op_code, np.int8) - 1
    for code in distinct(op[group < 0]).tolist():
        spans = np.flatnonzero((group < 0) & (op == code))
        records = number[record_group[record_op == code]]
        if records.size and (records == records[0]).all():
            group[spans] = records[0]
        elif records.size == spans.size:
            group[spans] = records


def _by_thread(
    trace: RankTrace,
    sources: Sources,
    group: I64,
    own: list[Group],
    known: list[Group],
) -> None:
    """Deal the backend's threads out to the groups, two each, oldest first.

    All of them, where the recorder lists them; else those that ran something must be all.
    """
    issuing = distinct(trace.events.lane[sources.operator[sources.operator >= 0]])
    lane = trace.events.lane[sources.event]
    lost = (group < 0) & ~np.isin(lane, issuing)
    ran = np.sort(trace.lanes.thread[distinct(lane[lost])]).tolist()
    threads = trace.meta.runner_threads or ran
    if len(threads) != THREADS_A_GROUP * len(own) or not {*ran} <= {*threads}:
        return
    group_of = {thread: own[i // THREADS_A_GROUP] for i, thread in enumerate(threads)}
    number = {thread: _number(known, group_of[thread]) for thread in ran}
    group[lost] = [number[one] for one in trace.lanes.thread[lane[lost]].tolist()]
