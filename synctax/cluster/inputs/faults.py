"""Rows that cannot be: all counted, the first few told."""

from collections.abc import Callable
from typing import Final, NoReturn

import numpy as np

from synctax.arrays import Bool
from synctax.cluster.inputs.job_table import JobTable
from synctax.errors import BadInputError

SHOWN: Final = 5
"""Rows that a message names."""


class Faults:
    """What is wrong with the rows of a table, of each the first fault.

    Parameters
    ----------
    table : JobTable
    """

    def __init__(self, table: JobTable) -> None:
        self._table = table
        self._bad: Bool = np.zeros(len(table), np.bool_)
        self._said: dict[int, str] = {}

    def add(self, wrong: Bool, say: Callable[[int], str]) -> None:
        """Note rows that are wrong, but for those that are already.

        Parameters
        ----------
        wrong : (n,) bool
        say : callable
            What is wrong with a row: called for the few that may be told.
        """
        new = np.flatnonzero(wrong & ~self._bad)
        self._bad[new] = True
        # of the first few of all, each is among the first few of its own fault
        for at in new[:SHOWN].tolist():
            self._said[at] = say(at)

    def wrong(self, wrong: Bool, column: str, expected: str) -> None:
        """Note values of a column that are wrong."""
        texts = self._table.texts(column)

        def say(at: int) -> str:
            found = f"{texts[at]!r:.60}" if texts[at] else "empty"
            return f"{column} is {found}; expected {expected}"

        self.add(wrong, say)

    def check(self) -> None:
        """Go on if no row is wrong.

        Raises
        ------
        BadInputError
            With the number of rows that are, and what is wrong with the first few.
        """
        if self._bad.any():
            self._refuse()

    def _refuse(self) -> NoReturn:
        table, many = self._table, int(self._bad.sum())
        first = np.flatnonzero(self._bad)[:SHOWN].tolist()
        told = [f"{table.place(at)}: {self._said[at]}" for at in first]
        if many == 1:
            raise BadInputError(f"{table.name}, {told[0]}")
        left = f"; and {many - SHOWN:,} more" if many > SHOWN else ""
        raise BadInputError(
            f"{table.name}: {many:,} of {len(table):,} rows are wrong: "
            f"{'; '.join(told)}{left}"
        )
