"""Columns that grow chunk by chunk, and the dictionary of their strings."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from synctax.arrays import ABSENT, I64


class Codes(dict[str, int]):
    """Numbers strings 0, 1, ... in order of first appearance."""

    def __missing__(self, text: str) -> int:
        code = self[text] = len(self)
        return code

    def code(self, texts: Iterable[str]) -> list[int]:
        """Code of each text."""
        return list(map(self.__getitem__, texts))


class Columns:
    """Arrays of equal length under names, appended to in pieces.

    Each array grows in place by a sixteenth, so the peak is hardly more than the data;
    joining pieces in the end would need the data twice.
    """

    def __init__(self, **dtypes: Any) -> None:
        self._arrays = {name: np.zeros(0, dtype) for name, dtype in dtypes.items()}
        self.size = 0

    @classmethod
    def of(cls, **columns: Any) -> "Columns":
        """Make columns of arrays of equal length that are there already."""
        made = cls()
        made._arrays = columns
        made.size = len(next(iter(columns.values())))
        return made

    def append(self, **columns: Any) -> None:
        """Append one piece to every column; narrower types are converted."""
        end = self.size + len(next(iter(columns.values())))
        for name, array in self._arrays.items():
            if end > array.size:
                array.resize(max(end, array.size * 17 // 16, _FIRST_SIZE), refcheck=False)
            array[self.size : end] = columns[name]
        self.size = end

    def head(self, name: str, count: int) -> Any:
        """Copy the first entries of a column."""
        return self._arrays[name][: min(count, self.size)].copy()

    def take(self, name: str) -> Any:
        """Give a column away; it can be taken once."""
        array = self._arrays.pop(name)
        if array.size != self.size:
            array.resize(self.size, refcheck=False)
        return array

    def take_all(self) -> dict[str, Any]:
        """Give every column away."""
        return {name: self.take(name) for name in tuple(self._arrays)}


_FIRST_SIZE = 1_024


def integers(
    values: Sequence[Any], on_oversized: Callable[[int], None] | None = None
) -> I64:
    """Convert numbers, or texts of numbers, to int64; `ABSENT` for anything else.

    Integers beyond int64 and what is no number become `ABSENT`; floats are truncated.
    `on_oversized` is told how many did not fit.

    Examples
    --------
    >>> integers([7, "0x10", None, 2**70])
    array([ 7, 16, -1, -1])
    """
    if set(map(type, values)) <= {int}:
        with suppress(OverflowError):  # where one does not fit, each is looked at
            return np.fromiter(values, np.int64, len(values))
    numbers = [whole(value) for value in values]
    oversized = sum(number is not None and not _fits(number) for number in numbers)
    if oversized and on_oversized:
        on_oversized(oversized)
    return np.array([ABSENT if n is None or not _fits(n) else n for n in numbers], np.int64)


def _fits(number: int) -> bool:
    return -(2**63) <= number < 2**63


def integer(value: Any) -> int:
    """Convert one number, or text of a number, to an int64; `ABSENT` for anything else."""
    number = whole(value)
    return number if number is not None and _fits(number) else ABSENT


def whole(value: Any) -> int | None:
    """Convert one number, or text of a number (decimal or 0x), to an int of any size."""
    if isinstance(value, str):
        return _whole_text(value.strip())
    if isinstance(value, float):
        return int(value) if np.isfinite(value) else None
    return int(value) if isinstance(value, int) else None


MOST_DIGITS = 80
"""Of a number in text: more than any has. What is read and written is cut there, so that a
number of any length costs no more, and means the same wherever it stands."""


def _whole_text(text: str) -> int | None:
    digits = text.removeprefix("-")
    if digits.isdecimal() and digits.isascii():
        # longer ones are beyond every bound all the same
        return int(text[: MOST_DIGITS + 1])
    if len(digits) > MOST_DIGITS:
        return None
    if digits.lower().startswith("0x"):
        try:
            return int(text, 16)
        except ValueError:
            return None
    return None
