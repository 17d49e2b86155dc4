"""All ranks' participations in one set of columns, with groups that ranks agree on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from synctax.arrays import I8, I32, I64, U64, Bool, distinct
from synctax.collectives.model import Group, Origin, RankCollectives
from synctax.collectives.streams import stream_numbers
from synctax.notes import Note


@dataclass(frozen=True, slots=True)
class JobGroup:
    """A process group of the job, in one profiler window.

    `ranks` are its global ranks in ascending order: all of them where the trace tells,
    else those that were seen in it; `size` is its declared size (at least `len(ranks)`);
    `members` are the positions of those of its ranks that were read; `origin` is as in
    `model.Group`.
    """

    role: str
    name: str
    ranks: tuple[int, ...]
    size: int
    members: tuple[int, ...]
    origin: str
    window: str

    @property
    def labelled(self) -> bool:
        """Whether the trace's metadata names the group."""
        return self.origin != Origin.INFERRED


@dataclass(frozen=True, slots=True)
class Participations:
    """One row a communication kernel of any rank; columns as in `RankCollectives`.

    Rows are in order of rank.

    `rank` (n,) int32 is the position of the rank among those read, `group` (n,) int32
    the number of its `JobGroup`; `dtype` codes index `dtypes`. `own_rank` (r,) int64 is
    the global rank at each position.
    """

    rank: I32
    group: I32
    start_ns: I64
    duration_ns: I64
    launch_ns: I64
    op: I8
    dtype: I32
    payload_bytes: I64
    seq: I64
    comms_id: U64
    step: I64
    uneven: Bool
    named: Bool
    peer: I64
    own_rank: I64
    dtypes: tuple[str, ...]

    @property
    def end_ns(self) -> I64:
        """Ends on each rank's own clock, (n,) int64."""
        end: I64 = self.start_ns + self.duration_ns
        return end

    def of_rank(self, position: int) -> slice:
        """Where the rows of a rank are: they lie together."""
        low, high = np.searchsorted(self.rank, (position, position + 1)).tolist()
        return slice(low, high)


_Key = tuple[str, str, tuple[int, ...] | None, int]
"""Window, name, members and number of the stream of a group."""


def gather(
    ranks: Sequence[RankCollectives],
) -> tuple[Participations, tuple[JobGroup, ...], tuple[Note, ...]]:
    """Put the participations of all ranks together and say which groups they form.

    Identity of a group is its name and its ranks: sibling groups may share a name. Where
    a rank knows only the name, the one group of that name that contains the rank is
    meant. Streams without any metadata on which the same runs are one group, over all
    ranks.

    Parameters
    ----------
    ranks : sequence of RankCollectives
        In any order; `rank` and `window` are assigned.

    Returns
    -------
    Participations, groups, notes
        The groups in order of window, role, first rank and name.
    """
    keys: dict[_Key, list[tuple[int, Group]]] = {}
    local: list[list[_Key]] = []
    known = _known_groups(ranks)
    streams = stream_numbers(ranks)
    completed = 0
    for position, rank in enumerate(ranks):
        mine = []
        for group in rank.groups:
            members = group.ranks
            if members is None and group.name:
                members = known.get((rank.window, group.name, rank.rank))
                completed += members is not None
            stream = streams[position].get(group.stream, group.stream)
            key = (rank.window, group.name, members, stream)
            keys.setdefault(key, []).append((position, group))
            mine.append(key)
        local.append(mine)
    groups = {key: _job_group(key, seen, ranks) for key, seen in keys.items()}
    groups = _tell_streams_apart(groups)
    order = sorted(
        groups, key=lambda k: (k[0], groups[k].role, groups[k].ranks, k[1], k[3])
    )
    number = {key: index for index, key in enumerate(order)}
    maps = [np.array([number[key] for key in mine], np.int32) for mine in local]
    strangers = sum(_has_strangers(key, seen, ranks) for key, seen in keys.items())
    notes = tuple(
        note
        for note in (
            Note(
                "group_ranks_from_other_ranks", completed, "member lists taken from peers"
            ),
            Note(
                "group_ranks_contradicted",
                strangers,
                "groups in which ranks took part that are none of their members: their "
                "ranks are taken from the files",
            ),
        )
        if note.count
    )
    return _concatenate(ranks, maps), tuple(groups[key] for key in order), notes


def _known_groups(
    ranks: Sequence[RankCollectives],
) -> dict[tuple[str, str, int], tuple[int, ...] | None]:
    """Members by (window, name, member), None where siblings make it ambiguous."""
    lists = {
        (rank.window, group.name, group.ranks)
        for rank in ranks
        for group in rank.groups
        if group.ranks is not None
    }
    known: dict[tuple[str, str, int], tuple[int, ...] | None] = {}
    for window, name, members in lists:
        for member in members:
            key = (window, name, member)
            known[key] = None if key in known else members
    return known


def _job_group(
    key: _Key, seen: list[tuple[int, Group]], ranks: Sequence[RankCollectives]
) -> JobGroup:
    window, name, members, _ = key
    here = sorted({position for position, _ in seen})
    if _has_strangers(key, seen, ranks):
        members = None
    if members is not None:
        here = [i for i, r in enumerate(ranks) if r.window == window and r.rank in members]
    first = seen[0][1]
    named = [group for _, group in seen if group.role != f"pg {name}"]
    shown = members or tuple(sorted(ranks[position].rank for position in here))
    size = max([len(shown), *(group.size or 0 for _, group in seen)])
    origin = first.origin if members is not None else Origin.INFERRED
    role = named[0].role if named else first.role
    return JobGroup(role, name, shown, size, tuple(here), origin, window)


def _has_strangers(
    key: _Key, seen: list[tuple[int, Group]], ranks: Sequence[RankCollectives]
) -> bool:
    """Whether ranks took part in a group that its list of members does not name."""
    members = key[2]
    return members is not None and any(
        ranks[position].rank not in members for position, _ in seen
    )


def _tell_streams_apart(groups: dict[_Key, JobGroup]) -> dict[_Key, JobGroup]:
    """Give several unlabelled streams of a window different roles."""
    streams = [key for key, group in groups.items() if not (key[1] or group.labelled)]
    if len({key[3] for key in streams}) < 2:
        return groups
    apart = {k: replace(groups[k], role=f"{groups[k].role} stream {k[3]}") for k in streams}
    return groups | apart


def _concatenate(ranks: Sequence[RankCollectives], maps: list[I32]) -> Participations:
    dtypes: dict[str, int] = {}

    def join(name: str, dtype: type[np.generic]) -> np.ndarray:
        parts = [getattr(rank, name) for rank in ranks]
        return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype, copy=False)

    def recode(rank: RankCollectives) -> I32:
        names = [dtypes.setdefault(text, len(dtypes)) for text in _used(rank)]
        table = np.full(len(rank.strings) + 1, -1, np.int32)
        table[distinct(rank.dtype[rank.dtype >= 0])] = names
        return table[rank.dtype]

    codes = [recode(rank) for rank in ranks]
    pairs = zip(maps, ranks, strict=True)
    groups = [table[rank.group] for table, rank in pairs if len(rank)]
    return Participations(
        rank=np.repeat(
            np.arange(len(ranks), dtype=np.int32), [len(rank) for rank in ranks]
        ).astype(np.int32),
        group=np.concatenate([np.empty(0, np.int32), *groups]),
        start_ns=join("start_ns", np.int64),
        duration_ns=join("duration_ns", np.int64),
        launch_ns=join("launch_ns", np.int64),
        op=join("op", np.int8),
        dtype=np.concatenate([np.empty(0, np.int32), *codes]),
        payload_bytes=join("payload_bytes", np.int64),
        seq=join("seq", np.int64),
        comms_id=join("comms_id", np.uint64),
        step=join("step", np.int64),
        uneven=join("uneven", np.bool_),
        named=join("named", np.bool_),
        peer=join("peer", np.int64),
        own_rank=np.array([rank.rank for rank in ranks], np.int64),
        dtypes=tuple(dtypes),
    )


def _used(rank: RankCollectives) -> list[str]:
    return [rank.strings[code] for code in distinct(rank.dtype[rank.dtype >= 0])]
