"""Who was last over time: runs of the same rank, and shares of stretches of collectives."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from synctax.arrays import F64, I64, apart, distinct
from synctax.collectives.stragglers import expected_runs, run_lengths

if TYPE_CHECKING:
    from synctax.collectives.summary import Part
    from synctax.collectives.tax import Tax

MOST_COLUMNS: Final = 400
"""Of heat maps: more collectives than these are put together, as no picture shows them."""

ENOUGH_COLUMNS: Final = 60
"""Of heat maps of many ranks, to put more collectives together."""

RANKS_PER_COLLECTIVE: Final = 8
"""A column holds a collective for so many ranks of a group, if there are enough."""

LEAST_SHOWN: Final = 0.05
"""Runs of which equal ranks would have fewer than this are left out of that curve."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of one role and operation over its sibling groups.

    Parameters
    ----------
    lengths : (r,) int64
        Collectives in a row with the same rank last.
    groups : tuple of ((m,) int32, int)
        Of each group: who was last in order of time (-1: ranks tie), and its ranks.
    """

    lengths: I64
    groups: tuple[tuple[np.ndarray, int], ...]

    @classmethod
    def of(cls, tax: "Tax", part: "Part") -> "Runs":
        """Find the runs of the collectives of a part."""
        groups = tuple(_sequences(tax, part.slots))
        lengths = [run_lengths(straggler) for straggler, _ in groups]
        return cls(np.concatenate(lengths), groups)

    def curves(self) -> tuple[I64, F64, F64]:
        """Count the runs that reach each length.

        Returns
        -------
        (k,) int64, (k,) float64, (k,) float64
            Lengths; runs at least so long, NaN for none; how many there would be in the
            mean of equal ranks, NaN where that is below `LEAST_SHOWN`.
        """
        most = int(self.lengths.max())
        every = np.arange(1, max(most, 2) + 1)
        ends = distinct(self.lengths)
        # of long runs only the corners: nothing happens in between
        x = every if every.size <= MOST_COLUMNS else np.union1d(every[:40], ends)
        found = self.lengths.size - np.searchsorted(np.sort(self.lengths), x)
        expected = sum(
            (expected_runs(straggler, ranks, x) for straggler, ranks in self.groups),
            np.zeros(x.size),
        )
        seen = np.where(expected >= LEAST_SHOWN, expected, np.nan)
        return x, np.where(found > 0, found, np.nan), seen


def _sequences(tax: "Tax", slots: I64) -> Iterator[tuple[np.ndarray, int]]:
    """Who was last in each group in order of time, and how many ranks it has."""
    found = tax.matches
    for number, mine in apart(found.group[slots]):
        yield tax.waits.straggler[slots[mine]], len(found.groups[number].members)


@dataclass(frozen=True, slots=True)
class Lasts:
    """How often each rank was last, by place in order of time.

    `share` (ranks, columns) float64 is of the collectives of the rank's group that fall
    into the column and in which no ranks tie; 0 where they tie in all, NaN where none
    falls into it. `together` is how many places a column is, `places` how many all are;
    `equal` the share that all ranks would have if they were equal.
    """

    ranks: I64
    share: F64
    together: int
    places: int
    equal: float

    @classmethod
    def of(cls, tax: "Tax", slots: I64) -> "Lasts":
        """Arrange collectives of one role, of all its sibling groups."""
        found, straggler = tax.matches, tax.waits.straggler
        number = np.array([rank.rank for rank in found.ranks], np.int64)
        series = _series(tax, slots)
        ranks = np.unique([rank for members, _ in series for rank in members])
        longest = max(mine.size for _, mine in series)
        together = _together(longest, max(len(members) for members, _ in series))
        columns = -(-longest // together)
        lasts, untied, every = np.zeros((3, ranks.size, columns))
        for members, mine in series:
            column = np.arange(mine.size) // together
            rows = np.searchsorted(ranks, members)
            last_rank = straggler[mine]
            told = last_rank >= 0
            every[rows] += np.bincount(column, minlength=columns)
            untied[rows] += np.bincount(column[told], minlength=columns)
            row = np.searchsorted(ranks, number[last_rank[told]])
            np.add.at(lasts, (row, column[told]), 1)
        share = np.where(every > 0, lasts / np.maximum(untied, 1), np.nan)
        size = np.mean([len(members) for members, _ in series])
        return cls(ranks, share, together, columns * together, float(1 / size))


def _together(collectives: int, ranks: int) -> int:
    """Choose how many collectives a column holds.

    Of many ranks each is last so rarely that single collectives would be dust.
    """
    least = -(-collectives // MOST_COLUMNS)
    sparse = -(-ranks // RANKS_PER_COLLECTIVE)
    return max(least, min(sparse, -(-collectives // ENOUGH_COLUMNS)))


def _series(tax: "Tax", slots: I64) -> list[tuple[tuple[int, ...], I64]]:
    """Collectives by the ranks of their group, in order of time: windows add up."""
    found = tax.matches
    start_ns = found.table.start_ns[found.row[found.first[:-1]]]
    by_ranks: dict[tuple[int, ...], list[I64]] = {}
    for number, mine in apart(found.group[slots]):
        ranks = tuple(sorted(found.ranks[m].rank for m in found.groups[number].members))
        by_ranks.setdefault(ranks, []).append(slots[mine])
    every = {ranks: np.concatenate(some) for ranks, some in by_ranks.items()}
    return [
        (ranks, mine[np.argsort(start_ns[mine], kind="stable")])
        for ranks, mine in every.items()
    ]
