"""The paths of all ranks in one set of columns, with names that ranks agree on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synctax.arrays import ABSENT, I8, I32, I64, U64, Bool
from synctax.attribution.model import GroupPaths, Items, RankPaths, concatenate

_Ends = tuple[I64, I32 | I64]
"""Where paths lead: slots, and positions of ranks."""


@dataclass(frozen=True, slots=True)
class PathSet:
    """Paths of one job; columns as in `GroupPaths`, `rank` (p,) is the rank's position."""

    rank: I32
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
    random_ns: I64
    ancestor: I64

    def __len__(self) -> int:
        return int(self.slot.size)

    def find(self, slot: I64, rank: I32 | I64) -> I64:
        """Number of the path of each rank to each slot, -1 where there is none."""
        return find_paths((self.slot, self.rank), (slot, rank))

    def take(self, index: I64) -> "PathSet":
        """Take paths by number."""
        rows, first = _rows(self.first, index)
        before_rows, before_first = _rows(self.before_first, index)
        flat = {name: getattr(self, name)[index] for name in _BY_PATH}
        return PathSet(
            first=first,
            items=self.items.take(rows),
            before_first=before_first,
            before=self.before.take(before_rows),
            longest=self.longest.take(index),
            last=self.last.take(index),
            random_ns=self.random_ns[:, index],
            **flat,
        )

    @property
    def path(self) -> I64:
        """Path of each item, (i,) int64."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))

    def sum(self, values: I64) -> I64:
        """Add up values of items over each path, (p,) int64."""
        total = np.concatenate([[0], np.cumsum(values)])
        sums: I64 = total[self.first[1:]] - total[self.first[:-1]]
        return sums


def find_paths(known: _Ends, wanted: _Ends) -> I64:
    """Find paths by the collective that each leads to, and its rank.

    Parameters
    ----------
    known, wanted : pair of (p,) and of (w,) int
        Slots, and positions of ranks.

    Returns
    -------
    (w,) int64
        Number of the path, -1 where there is none.
    """
    width = 1 + max(int(np.max(rank, initial=0)) for _, rank in (known, wanted))
    have, want = (slot * width + rank for slot, rank in (known, wanted))
    if not have.size:
        return np.full(want.size, ABSENT, np.int64)
    order = np.argsort(have, kind="stable")
    at = np.minimum(np.searchsorted(have[order], want), have.size - 1)
    return np.where(have[order[at]] == want, order[at], ABSENT)


_BY_PATH = (
    "rank", "slot", "begin_ns", "end_ns", "head_gap_ns", "head_edge", "head_unknown",
    "ancestor",
)  # fmt: skip


def _rows(first: I64, index: I64) -> tuple[I64, I64]:
    """Rows of chosen stretches, one stretch after the other, and where each begins."""
    count = np.diff(first)[index]
    begin = np.concatenate([[0], np.cumsum(count)])
    rows = np.arange(begin[-1]) - np.repeat(begin[:-1] - first[index], count)
    return rows, begin


@dataclass(slots=True)
class Names:
    """Texts of all ranks, each once."""

    code: dict[str, int]

    def recode(self, items: Items, strings: tuple[str, ...]) -> Items:
        """Let the items of a rank name their texts by codes that all ranks share."""
        used = np.unique(np.concatenate([items.name, items.context]))
        table = np.full(len(strings) + 1, ABSENT, np.int32)
        for own in used[used >= 0].tolist():
            table[own] = self.code.setdefault(strings[own], len(self.code))
        return replace(items, name=table[items.name], context=table[items.context])

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts by code."""
        return tuple(self.code)


def pool(ranks: Mapping[int, RankPaths], names: Names) -> PathSet:
    """Put the paths of all ranks together.

    Parameters
    ----------
    ranks : mapping of position to RankPaths
    names : Names
        Grows by what the ranks name.
    """
    parts: list[tuple[int, GroupPaths, dict[str, Items]]] = []
    for rank, found in sorted(ranks.items()):
        for group in found.groups:
            coded = {
                name: names.recode(getattr(group, name), found.strings)
                for name in ("items", "before", "longest", "last")
            }
            parts.append((rank, group, coded))
    seeds = max((group.random_ns.shape[0] for _, group, _ in parts), default=0)

    def join(name: str) -> np.ndarray:
        return np.concatenate([getattr(group, name) for _, group, _ in parts])

    def starts(name: str) -> I64:
        counts = [np.diff(getattr(group, name)) for _, group, _ in parts]
        return np.concatenate([[0], np.cumsum(np.concatenate(counts))])

    ranks_of = [np.full(group.slot.size, rank, np.int32) for rank, group, _ in parts]
    return PathSet(
        rank=np.concatenate(ranks_of),
        first=starts("first"),
        items=concatenate([coded["items"] for _, _, coded in parts]),
        before_first=starts("before_first"),
        before=concatenate([coded["before"] for _, _, coded in parts]),
        longest=concatenate([coded["longest"] for _, _, coded in parts]),
        last=concatenate([coded["last"] for _, _, coded in parts]),
        random_ns=_random([group for _, group, _ in parts], seeds),
        **{name: join(name) for name in _BY_PATH if name != "rank"},
    )


def _random(groups: Sequence[GroupPaths], seeds: int) -> I64:
    wide = [
        group.random_ns
        if group.random_ns.shape[0] == seeds
        else np.full((seeds, group.slot.size), ABSENT, np.int64)
        for group in groups
    ]
    return np.concatenate(wide, axis=1)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of compute kernels of all ranks; (b,) arrays as in `GroupPaths`."""

    slot: I64
    work: U64
    geometry: U64
    kernels: I64

    @classmethod
    def none(cls) -> "Blocks":
        """Know of no block."""
        ns, key = np.empty(0, np.int64), np.empty(0, np.uint64)
        return cls(ns, key, key, ns)

    @classmethod
    def of(cls, ranks: Iterable[RankPaths]) -> "Blocks":
        """Put the blocks of all ranks together."""
        groups = [group for rank in ranks for group in rank.groups]
        return cls(
            np.concatenate([group.block_slot for group in groups]),
            np.concatenate([group.work for group in groups]),
            np.concatenate([group.geometry for group in groups]),
            np.concatenate([group.kernels for group in groups]),
        )

    def equal(self, slot: I64) -> tuple[Bool, Bool]:
        """Tell before which collectives all ranks launched the same.

        Parameters
        ----------
        slot : (s,) int64

        Returns
        -------
        (s,) bool, (s,) bool
            The same kernels by name; by name and launch geometry.
        """
        count = max(int(self.slot.max(initial=-1)), int(slot.max(initial=-1))) + 1
        same = np.ones(count, np.bool_)
        alike = np.ones(count, np.bool_)
        order = np.argsort(self.slot, kind="stable")
        next_to = self.slot[order[1:]] == self.slot[order[:-1]]
        for column, flags in (
            (self.kernels, (same, alike)),
            (self.work, (same, alike)),
            (self.geometry, (alike,)),
        ):
            differs = next_to & (column[order[1:]] != column[order[:-1]])
            for flag in flags:
                flag[self.slot[order[1:]][differs]] = False
        return same[slot], alike[slot]
