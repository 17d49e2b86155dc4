"""CSV files as columns of checked values; what is wrong is named with file and line."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from itertools import chain, compress, islice
from os import PathLike
from pathlib import Path

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.errors import BadInputError

LARGEST_US = 1e15
"""Longer times, of 30 years and more, are none; their squares would overflow."""

ROWS_AT_ONCE = 2_048
"""Lines whose text is held at once: memory, not the result, depends on it."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_COUNT = re.compile(r"[0-9]{1,18}(?:\.0)?")
"""`.0`: tables with absent values turn whole numbers into floats."""

_FINITE = "a finite number with a decimal point"

_Row = tuple[int, list[str]]
"""Number of a line, and its cells."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some lines of a file, as columns of text.

    Parameters
    ----------
    source : str
        The file.
    line : tuple of int
        Number of each line.
    columns : mapping of str to tuple of str
        Cells of each column, without blanks around them.
    """

    source: str
    line: tuple[int, ...]
    columns: Mapping[str, tuple[str, ...]]

    def texts(self, name: str) -> tuple[str, ...]:
        """Take a column as it stands; empty where there is none of that name."""
        return self.columns.get(name) or ("",) * len(self.line)

    def names(self, name: str) -> tuple[str, ...]:
        """Take a column of names, none of them empty."""
        self._check(name, self.columns[name], "a name")
        return self.columns[name]

    def numbers(self, name: str) -> F64:
        """Take a column as finite numbers."""
        self._check(name, map(_NUMBER.fullmatch, self.columns[name]), _FINITE)
        values = np.array(list(map(float, self.columns[name])), np.float64)
        self._check(name, np.isfinite(values), _FINITE)
        return values

    def times_us(self, name: str) -> F64:
        """Take a column as times in µs."""
        values = self.numbers(name)
        self._check(name, values >= 0, "a time, 0 or more, in µs")
        self._check(name, values <= LARGEST_US, f"a time of at most {LARGEST_US:g} µs")
        return values

    def known_times_us(self, name: str) -> F64:
        """Take a column as times in µs, NaN where a cell is empty or there is none."""
        values = np.full(len(self.line), np.nan)
        known = [bool(text) for text in self.texts(name)]
        if any(known):
            columns = {name: tuple(compress(self.columns[name], known))}
            lines = tuple(compress(self.line, known))
            values[known] = Chunk(self.source, lines, columns).times_us(name)
        return values

    def counts(self, name: str) -> I64:
        """Take a column as whole numbers that are not negative; 0 where there is none."""
        if name not in self.columns:
            return np.zeros(len(self.line), np.int64)
        texts: Iterable[str] = self.columns[name]
        self._check(name, map(_COUNT.fullmatch, texts), "a whole number, 0 or more")
        if "." in "".join(texts):
            texts = (text.removesuffix(".0") for text in texts)
        return np.array(list(map(int, texts)), np.int64)

    def _check(self, name: str, fits: Iterable[object] | Bool, expected: str) -> None:
        told = fits if isinstance(fits, np.ndarray) else list(map(bool, fits))
        if np.all(told):
            return
        at = int(np.argmin(told))
        raise wrong(self.source, self.line[at], name, self.columns[name][at], expected)


def wrong(source: str, line: int, name: str, found: str, expected: str) -> BadInputError:
    """Say what is wrong with a value.

    Parameters
    ----------
    source : str
        The file.
    line : int
    name : str
        The column.
    found, expected : str

    Returns
    -------
    BadInputError
        To be raised.
    """
    return BadInputError(f"{source}, line {line}: {name} is {found!r}; expected {expected}")


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file whose header was read and checked.

    Parameters
    ----------
    source : str
        The file.
    text : bytes
        What it holds.
    names : tuple of str
        Its columns.
    """

    source: str
    text: bytes
    names: tuple[str, ...]

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        required: Sequence[str],
        optional: Sequence[str] | None = None,
    ) -> "Table":
        """Read a file and check its header.

        Parameters
        ----------
        path : path
            A file of values separated by commas, semicolons or tabs, in UTF-8.
        required : sequence of str
            Columns that it needs.
        optional : sequence of str, optional
            Columns that it may have beside these; any if absent.

        Returns
        -------
        Table

        Raises
        ------
        BadInputError
            If the file cannot be read, is not in UTF-8 or has other columns.
        """
        source = str(path)
        try:
            text = Path(path).read_bytes()
            text.decode("utf-8")
        except OSError as error:
            raise BadInputError(
                f"{source} cannot be read: {error.strerror or error}; expected a CSV file"
            ) from error
        except UnicodeDecodeError as error:
            raise BadInputError(
                f"{source} is no UTF-8 text (byte {error.start:,}); save it as CSV in UTF-8"
            ) from error
        line, header = next(_lines(source, text), (1, []))
        names = tuple(name.strip() for name in header)
        expected = f"the columns {', '.join(required)}"
        if not names:
            raise BadInputError(f"{source} is empty; expected a line with {expected}")
        problem = _wrong_columns(names, required, optional)
        if problem:
            more = f" and any of {', '.join(optional)}" if optional else ""
            raise BadInputError(
                f"{source}, line {line} {problem}: found {', '.join(names)}; expected "
                f"{expected}{more}"
            )
        return cls(source, text, names)

    def chunks(self) -> Iterator[Chunk]:
        """Yield all lines below the header, many at a time.

        Raises
        ------
        BadInputError
            If there is none, or one has too many or too few cells or is no CSV.
        """
        rows, empty, width = self._rows(), True, len(self.names)
        while held := list(islice(rows, ROWS_AT_ONCE)):
            lines, cells = zip(*held, strict=True)
            for line, row in held if {*map(len, cells)} != {width} else ():
                if len(row) != width:
                    raise BadInputError(
                        f"{self.source}, line {line} has {len(row)} values; expected "
                        f"{width}, one for each column of the header"
                    )
            columns = (tuple(map(str.strip, one)) for one in zip(*cells, strict=True))
            yield Chunk(self.source, lines, dict(zip(self.names, columns, strict=True)))
            empty = False
        if empty:
            raise BadInputError(
                f"{self.source} has no line below its header; expected values of the "
                f"columns {', '.join(self.names)}"
            )

    def cell(self, line: int, name: str) -> str:
        """Look up a cell again, for a message."""
        at = self.names.index(name)
        return next(cells[at].strip() for number, cells in self._rows() if number == line)

    def _rows(self) -> Iterator[_Row]:
        return islice(_lines(self.source, self.text), 1, None)


def _wrong_columns(
    names: Sequence[str], required: Sequence[str], optional: Sequence[str] | None
) -> str:
    """Say what is wrong with the names of columns, "" for nothing."""
    for name in required:
        if name not in names:
            return f"lacks the column {name}"
    for name, count in Counter(names).items():
        if count > 1:
            return f"has the column {name} {count} times"
        if optional is not None and name not in (*required, *optional):
            return f"has the unknown column {name!r}"
    return ""


def _lines(source: str, text: bytes) -> Iterator[_Row]:
    """Yield number and cells of each line that is not blank, the header first."""
    # `utf-8-sig`: spreadsheets begin a file with a byte order mark
    file = TextIOWrapper(BytesIO(text), encoding="utf-8-sig")
    begin, separator = _begin(file)
    reader = csv.reader(chain(begin, file), delimiter=separator, strict=True)
    try:
        for cells in reader:
            if "".join(cells).strip():
                yield reader.line_num, cells
    except csv.Error as error:
        raise BadInputError(
            f"{source}, line {reader.line_num} is no CSV: {error}; expected values "
            f"separated by {separator!r}"
        ) from error


def _begin(file: TextIOWrapper) -> tuple[list[str], str]:
    """Take the lines up to the header, and the separator that it has most of."""
    begin: list[str] = []
    for text in file:
        begin.append(text)
        if text.strip():
            break
    return begin, max(",;\t", key=begin[-1].count) if begin else ","
