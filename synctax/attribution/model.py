"""What attribution passes from stage to stage: tasks and answers of ranks."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import I8, I32, I64, U64, Bool
from synctax.notes import Note

NO_FENCE = np.iinfo(np.int64).min
"""Beginning of a window that no fence begins: that of the rank's trace."""


@dataclass(frozen=True, slots=True)
class GroupTask:
    """Collectives of one group on one rank.

    Parameters
    ----------
    group : int
        Number of the group in `Matches.groups`.
    slot : (c,) int64
        Collectives, numbers in `Matches`, in order of start on this rank.
    start_ns, duration_ns, stream : (c,) int64
        Of this rank's participation, on its own clock: they identify its event.
    begin_ns : (c,) int64
        Where the window begins on this rank; `NO_FENCE` for none.
    divides : (c,) bool
        Matched on all ranks: it divides the trace into parts that ranks have in common.
    walked : (c,) bool
        Whether the path to it is wanted.
    reach_ns : (c,) int64
        How far before the window its prelude may reach.
    sampled : (c,) bool
        Whether random walks to it are wanted.
    """

    group: int
    slot: I64
    start_ns: I64
    duration_ns: I64
    stream: I64
    begin_ns: I64
    divides: Bool
    walked: Bool
    reach_ns: I64
    sampled: Bool


@dataclass(frozen=True, slots=True)
class Items:
    """Items of paths, flat; all (i,) arrays.

    Parameters
    ----------
    kind : int8
        `NodeKind`.
    source : int8
        `EventKind` of the event, -1 for gaps outside of annotations.
    name, context : int32
        Codes into the strings of the rank: what the item is; the annotation that a gap
        lies in, -1 for none.
    lane : int32
        Thread or stream.
    start_ns, stop_ns : int64
        When it decided, clipped to the window.
    full_start_ns, full_end_ns : int64
        Of the node as a whole.
    gap_ns : int64
        Idle time between it and the next item.
    edge, provenance : int8
        Of the edge that leads on.
    key : uint64
        Its name on all ranks (`keys.NodeNames.named`).
    kin : uint64
        What it has in common with other occurrences of its name (`keys.Named`).
    kin_count, kin_ns : int64
        How many of these the rank has, and how long they take in all.
    slot : int64
        The collective it is, -1 for none.
    unknown : bool
        The gap after it is longer than the host and the GPU explain, and the launch of
        what follows is not known.
    """

    kind: I8
    source: I8
    name: I32
    context: I32
    lane: I32
    start_ns: I64
    stop_ns: I64
    full_start_ns: I64
    full_end_ns: I64
    gap_ns: I64
    edge: I8
    provenance: I8
    key: U64
    kin: U64
    kin_count: I64
    kin_ns: I64
    slot: I64
    unknown: Bool

    def __len__(self) -> int:
        return int(self.kind.size)

    @property
    def duration_ns(self) -> I64:
        """Time each item decided, (i,) int64."""
        duration: I64 = self.stop_ns - self.start_ns
        return duration

    def take(self, index: "I64 | Bool | slice") -> "Items":
        """Take items by number."""
        return Items(*(getattr(self, name)[index] for name in Items.__slots__))


def nothing() -> Items:
    """Return no items."""
    byte, code = np.empty(0, np.int8), np.empty(0, np.int32)
    ns, key, flag = np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0, np.bool_)
    names, times = (code, code, code), (ns, ns, ns, ns, ns)
    return Items(byte, byte, *names, *times, byte, byte, key, key, ns, ns, ns, flag)


def concatenate(parts: "list[Items]") -> Items:
    """Join items, one after the other."""
    return Items(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in Items.__slots__
        )
    )


@dataclass(frozen=True, slots=True)
class GroupPaths:
    """Paths of one rank to the collectives of one group.

    Parameters
    ----------
    group : int
    slot : (p,) int64
        The collective each path leads to, ascending.
    begin_ns, end_ns : (p,) int64
        Its window.
    first : (p + 1,) int64
        Items of path i are `first[i]` up to `first[i + 1]`, in order of time.
    items : Items
    head_gap_ns : (p,) int64
        From the beginning of the window to the first item.
    head_edge : (p,) int8
        `EdgeKind` of the edge behind that gap.
    head_unknown : (p,) bool
        As `Items.unknown`, for that gap.
    before_first : (p + 1,) int64
    before : Items
        The prelude: what led to the first item, from before the window.
    longest, last : Items
        Of each path the largest, and the last, kernel that ended in the window before the
        collective; `kind` is -1 where there was none.
    block_slot : (b,) int64
        Collectives that divide the trace, with a path or not: each ends a block of
        compute kernels, which the group's collective before it begins.
    work, geometry : (b,) uint64
        Hash of the kernels of each block, in order of
        launch: names; names and launch geometry.
    kernels : (b,) int64
        How many they are.
    random_ns : (seeds, p) int64
        Sum of the items of random walks, -1 where not sampled.
    ancestor : (p,) int64
        Slot of the group's collective that the unclipped path meets first, -1: the root.
    """

    group: int
    slot: I64
    begin_ns: I64
    end_ns: I64
    first: I64
    items: Items
    head_gap_ns: I64
    head_edge: I8
    head_unknown: Bool
    before_first: I64
    before: Items
    longest: Items
    last: Items
    block_slot: I64
    work: U64
    geometry: U64
    kernels: I64
    random_ns: I64
    ancestor: I64


@dataclass(frozen=True, slots=True)
class HostUsual:
    """Usual durations of host items on a rank: (k,) hash of what, median ns, how many."""

    what: U64
    median_ns: I64
    count: I64


@dataclass(frozen=True, slots=True)
class RankPaths:
    """What one rank's graph tells: paths by group, and what names mean.

    `lanes` are the names of threads and streams, `strings` those of items.
    """

    groups: tuple[GroupPaths, ...]
    usual: HostUsual
    strings: tuple[str, ...]
    lanes: tuple[str, ...]
    nodes: int
    edges: int
    skew_ns: int
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """Keys whose counterparts are wanted from one rank and group.

    `key` (q,) uint64 are unique and ascending, `kin` (q,) uint64 is that of each; the
    collectives that divide the trace are as in `GroupTask`.
    """

    group: int
    slot: I64
    start_ns: I64
    duration_ns: I64
    stream: I64
    key: U64
    kin: U64


@dataclass(frozen=True, slots=True)
class Answer:
    """Counterparts: (q,) int64 start and end on the rank's clock, found or not.

    `kin_count` and `kin_ns` (q,) int64 are as in `Items`, of the rank that was asked.
    """

    group: int
    found: Bool
    start_ns: I64
    end_ns: I64
    kin_count: I64
    kin_ns: I64
