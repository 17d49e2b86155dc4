"""Sorts columns in files: blocks in memory first, then what they are merged into."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

import numpy as np

from synctax.arrays import I64
from synctax.trace.spill import Block, Spill, SpilledColumns

_END: Final = float("inf")
"""The key behind the last row of a run: it is above all."""
_APART: Final = 64
"""Every so many rows of a run a key is held, to choose how far to merge next."""


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
    ends, bounds, marks = [0], [], []
    for block in blocks:
        if runs is None:
            runs = spill.columns(**{name: column.dtype for name, column in block.items()})
        keys = block[key]
        if not keys.size:
            continue
        order = np.argsort(keys, kind="stable")
        runs.append(**{name: column[order] for name, column in block.items()})
        bounds.append((int(keys[order[0]]), int(keys[order[-1]])))
        marks.append(keys[order[::_APART]])
        ends.append(runs.size)
    if runs is None:
        raise ValueError("no block tells which columns there are")
    if all(last <= first for (_, last), (first, _) in pairwise(bounds)):
        return runs
    merged = _Merge(runs, ends, marks, key, spill).run()
    runs.close()
    return merged


class _Merge:
    """Merges runs, each in order, that lie one behind the other in columns.

    `marks` are every `_APART`-th key of each.
    """

    def __init__(
        self,
        runs: SpilledColumns,
        ends: list[int],
        marks: list[I64],
        key: str,
        spill: Spill,
    ) -> None:
        self._runs = runs
        self._start, self._end = ends[:-1], ends[1:]
        self._at = list(self._start)
        self._marks = marks
        self._heads: list[float] = [int(run[0]) for run in marks]  # integers, or the end
        self._key = key
        self._out = spill.columns(**runs.dtypes)

    def run(self) -> SpilledColumns:
        """Merge all."""
        while (lowest := min(self._heads)) != _END:
            bound = self._bound()
            if bound == lowest:
                self._take_equal(lowest)
            else:
                self._take_below(bound)
        return self._out

    def _bound(self) -> float:
        """Choose a key below which there are some rows, but no more than a block."""
        live = [run for run, head in enumerate(self._heads) if head != _END]
        most = max(1, self._runs.block_rows // _APART - len(live))
        ahead = np.concatenate([self._ahead(run)[: most + 1] for run in live])
        # of each run there are less than a mark's rows beside those between marks
        return int(np.partition(ahead, most)[most]) if ahead.size > most else _END

    def _ahead(self, run: int) -> I64:
        """The marks that are still to come."""
        return self._marks[run][-((self._start[run] - self._at[run]) // _APART) :]

    def _take_below(self, bound: float) -> None:
        """Take the rows whose keys are below."""
        pieces = []
        for run, head in enumerate(self._heads):
            if head < bound:
                first, last = self._at[run], self._end[run]
                if bound != _END:
                    marks = int(np.searchsorted(self._ahead(run), bound))
                    last = min(last, first + (marks + 1) * _APART)
                    keys = self._runs.part(self._key, first, last)
                    last = first + int(np.searchsorted(keys, bound))
                pieces.append(self._runs.block(first, last))
                self._go_to(run, last)
        whole = {name: np.concatenate([p[name] for p in pieces]) for name in pieces[0]}
        order = np.argsort(whole[self._key], kind="stable")
        self._out.append(**{name: column[order] for name, column in whole.items()})

    def _take_equal(self, key: float) -> None:
        """Take all rows of one key, run by run: there may be more than can be held."""
        for run in range(len(self._heads)):
            while self._heads[run] == key:
                first = self._at[run]
                last = min(first + self._runs.block_rows, self._end[run])
                keys = self._runs.part(self._key, first, last)
                last = first + int(np.searchsorted(keys, key, side="right"))
                self._out.append(**self._runs.block(first, last))
                self._go_to(run, last)

    def _go_to(self, run: int, at: int) -> None:
        self._at[run] = at
        more = at < self._end[run]
        head = self._runs.part(self._key, at, at + 1)[0] if more else _END
        self._heads[run] = int(head) if more else head
