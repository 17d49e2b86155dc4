"""Sorts columns in files: blocks in memory first, then what they are merged into."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

import numpy as np

from synctax.trace.spill import Block, Spill, SpilledColumns

_END: Final = float("inf")
"""The key behind the last row of a run: it is above all."""


def in_order(blocks: Iterable[Block], key: str, spill: Spill) -> SpilledColumns:
    """Sort rows by a column, those of equal keys as they come: an external merge sort.

    Parameters
    ----------
    blocks : iterable of dict of arrays
        Rows, a block at a time, each with the same columns; at least one block.
    key : str
        The column of int64 to sort by.
    spill : Spill

    Raises
    ------
    SpillError
        If there is no room.
    """
    runs: SpilledColumns | None = None
    ends, bounds = [0], []
    for block in blocks:
        if runs is None:
            runs = spill.columns(**{name: column.dtype for name, column in block.items()})
        keys = block[key]
        if not keys.size:
            continue
        order = np.argsort(keys, kind="stable")
        runs.append(**{name: column[order] for name, column in block.items()})
        bounds.append((int(keys[order[0]]), int(keys[order[-1]])))
        ends.append(runs.size)
    if runs is None:
        raise ValueError("no block tells which columns there are")
    if all(last <= first for (_, last), (first, _) in pairwise(bounds)):
        return runs
    merged = _Merge(runs, ends, [first for first, _ in bounds], key, spill).run()
    runs.close()
    return merged


class _Merge:
    """Merges runs, each in order, that lie one behind the other in columns."""

    def __init__(
        self,
        runs: SpilledColumns,
        ends: list[int],
        heads: list[int],
        key: str,
        spill: Spill,
    ) -> None:
        self._runs = runs
        self._at, self._end = ends[:-1], ends[1:]
        self._heads: list[float] = list(heads)  # integers, or the end
        self._key = key
        self._rows = runs.block_rows
        self._out = spill.columns(**runs.dtypes)

    def run(self) -> SpilledColumns:
        """Merge all."""
        while (lowest := min(self._heads)) != _END:
            bound = self._key_at(self._heads.index(lowest), self._rows)
            active = [run for run, head in enumerate(self._heads) if head <= bound]
            share = max(1, self._rows // len(active))
            bound = min(self._key_at(run, share) for run in active)
            if bound == lowest:
                self._take_equal(active, lowest)
            else:
                self._take_below(active, bound, share)
        return self._out

    def _key_at(self, run: int, ahead: int) -> float:
        at = self._at[run] + ahead
        if at >= self._end[run]:
            return _END
        return int(self._runs.part(self._key, at, at + 1)[0])

    def _take_below(self, active: list[int], bound: float, share: int) -> None:
        """Take the rows whose keys are below; no run has more of them than its share."""
        pieces = []
        for run in active:
            first = self._at[run]
            last = min(first + share, self._end[run])
            if bound != _END:
                keys = self._runs.part(self._key, first, last)
                last = first + int(np.searchsorted(keys, bound))
            if last > first:
                pieces.append(self._runs.block(first, last))
                self._go_to(run, last)
        whole = {name: np.concatenate([p[name] for p in pieces]) for name in pieces[0]}
        order = np.argsort(whole[self._key], kind="stable")
        self._out.append(**{name: column[order] for name, column in whole.items()})

    def _take_equal(self, active: list[int], key: float) -> None:
        """Take all rows of one key, run by run: there may be more than can be held."""
        for run in active:
            while self._heads[run] == key:
                first = self._at[run]
                last = min(first + self._rows, self._end[run])
                keys = self._runs.part(self._key, first, last)
                last = first + int(np.searchsorted(keys, key, side="right"))
                self._out.append(**self._runs.block(first, last))
                self._go_to(run, last)

    def _go_to(self, run: int, at: int) -> None:
        self._at[run] = at
        self._heads[run] = self._key_at(run, 0)
