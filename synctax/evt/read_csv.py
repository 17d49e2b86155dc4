"""Block times and normalised maxima out of CSV files, and into the columns of one."""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from os import PathLike
from pathlib import Path

import numpy as np

from synctax.arrays import F64
from synctax.errors import BadInputError
from synctax.evt.model import Block, BlockTimes
from synctax.notes import Note

REQUIRED = ("block", "instance", "rank", "us")
OF_BLOCK = ("group", "op", "gpu", "dtype", "phase")
"""Columns that say something of the block: one value for each block."""

OPTIONAL = ("series", "measured_us", *OF_BLOCK)

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_COUNT = re.compile(r"[0-9]{1,18}(?:\.0)?")
"""`.0`: tables with absent values turn whole numbers into floats."""


def read_block_times(path: str | PathLike[str]) -> tuple[BlockTimes, tuple[Note, ...]]:
    """Read block times from a CSV file, a line for each block, instance and rank.

    Parameters
    ----------
    path : path
        A file with the columns `block`, `instance`, `rank` and `us`, and any of `series`,
        `measured_us`, `group`, `op`, `gpu`, `dtype`, `phase`; separated by commas,
        semicolons or tabs. `instance`, `rank` and `series` are whole numbers, `us` the
        block time in µs; `measured_us` may be empty, and series are one where the column
        is absent. Lines may be in any order: instances are in order of time as they stand
        where the numbers of each block of a series ascend, else they are sorted by them.

    Returns
    -------
    BlockTimes
        `Block.source` is the path. Times are taken for told in whole µs (`resolution_us`
        1) where they all are.
    tuple of Note
        Instances that were left out, having another number of ranks than most.

    Raises
    ------
    BadInputError
        If the file cannot be read, has other columns, a value that is none, a rank twice
        in an instance, values that contradict each other, or one rank an instance.
    """
    source = str(path)
    table = _Table.read(source, REQUIRED, OPTIONAL)
    found = _Found(table)
    for line, cells in table.rows:
        found.add(line, cells)
    return found.times()


def read_maxima(path: str | PathLike[str]) -> F64:
    """Read normalised block maxima from the column `z` of a CSV file.

    Parameters
    ----------
    path : path
        A file with a column `z`, (maximum - a) / b of each instance; others do not count.

    Returns
    -------
    (n,) float64

    Raises
    ------
    BadInputError
        If the file cannot be read, has no such column, no line, or a value that is none.
    """
    table = _Table.read(str(path), ("z",), None)
    return np.array([table.number(line, cells, "z") for line, cells in table.rows])


def rows(times: BlockTimes) -> dict[str, list[int] | list[float] | list[str]]:
    """Lay block times out as the columns that `read_block_times` reads.

    Parameters
    ----------
    times : BlockTimes

    Returns
    -------
    dict of str to list
        `block`, `instance`, `rank`, `us`, `series`, `group`, `op`, `gpu`, `dtype`,
        `phase`, `measured_us`: a row for each instance and rank, in their order. Read
        back they are the same but for what has no column: source, GEMM and number of
        kernels of a block. NaN stands for a wait that is not known.
    """
    of_row = np.repeat(np.arange(len(times)), times.m)
    block = [times.blocks[number] for number in times.block[of_row].tolist()]
    return {
        "block": [one.name for one in block],
        "instance": times.instance[of_row].tolist(),
        "rank": times.rank.reshape(-1).tolist(),
        "us": times.us.reshape(-1).tolist(),
        "series": times.series[of_row].tolist(),
        **{name: [getattr(one, name) for one in block] for name in OF_BLOCK},
        "measured_us": times.measured_us[of_row].tolist(),
    }


@dataclass(frozen=True, slots=True)
class _Table:
    """A CSV file: where each column stands, and (line, cells) of each row."""

    source: str
    place: Mapping[str, int]
    rows: Sequence[tuple[int, list[str]]]

    @classmethod
    def read(
        cls, source: str, required: Sequence[str], optional: Sequence[str] | None
    ) -> "_Table":
        """Read all rows; `optional` None allows any further columns."""
        lines = _lines(source)
        line, header = next(lines, (1, []))
        names = [name.strip() for name in header]
        expected = f"the columns {', '.join(required)}"
        if not names:
            raise BadInputError(f"{source} is empty; expected a line with {expected}")
        wrong = _wrong_columns(names, required, optional)
        if wrong:
            more = f" and any of {', '.join(optional)}" if optional else ""
            raise BadInputError(
                f"{source}, line {line} {wrong}: found {', '.join(names)}; expected "
                f"{expected}{more}"
            )
        rows = [cls._checked(source, names, row) for row in lines]
        if not rows:
            raise BadInputError(
                f"{source} has no line below its header; expected values of {expected}"
            )
        return cls(source, {name: at for at, name in enumerate(names)}, rows)

    @staticmethod
    def _checked(
        source: str, names: list[str], row: tuple[int, list[str]]
    ) -> tuple[int, list[str]]:
        line, cells = row
        if len(cells) != len(names):
            raise BadInputError(
                f"{source}, line {line} has {len(cells)} values; expected "
                f"{len(names)}, one for each column of the header"
            )
        return line, cells

    def text(self, cells: list[str], name: str) -> str:
        """Take a cell; "" where there is no such column."""
        return cells[self.place[name]].strip() if name in self.place else ""

    def number(self, line: int, cells: list[str], name: str) -> float:
        """Take a cell as a finite number."""
        text = self.text(cells, name)
        value = math.nan
        if _NUMBER.fullmatch(text):
            value = float(text)
        if not math.isfinite(value):
            raise self.wrong(line, name, text, "a finite number with a decimal point")
        return value

    def positive(self, line: int, cells: list[str], name: str) -> float:
        """Take a cell as a finite number that is not negative."""
        value = self.number(line, cells, name)
        if value < 0:
            raise self.wrong(line, name, self.text(cells, name), "a time, 0 or more, in µs")
        return value

    def count(self, line: int, cells: list[str], name: str) -> int:
        """Take a cell as a whole number that is not negative."""
        text = self.text(cells, name)
        if not _COUNT.fullmatch(text):
            raise self.wrong(line, name, text, "a whole number, 0 or more")
        return int(text.removesuffix(".0"))

    def wrong(self, line: int, name: str, found: str, expected: str) -> BadInputError:
        """Say what is wrong with a value."""
        return BadInputError(
            f"{self.source}, line {line}: {name} is {found!r}; expected {expected}"
        )


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


def _lines(source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of each line that is not blank, the header first."""
    try:
        # `utf-8-sig`: spreadsheets begin a file with a byte order mark
        text = Path(source).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInputError(
            f"{source} cannot be read: {error.strerror or error}; expected a CSV file"
        ) from error
    except UnicodeDecodeError as error:
        raise BadInputError(
            f"{source} is no UTF-8 text (byte {error.start:,}); save it as CSV in UTF-8"
        ) from error
    header = next((line for line in text.splitlines() if line.strip()), "")
    separator = max(",;\t", key=header.count)
    reader = csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise BadInputError(
            f"{source}, line {reader.line_num} is no CSV: {error}; expected values "
            f"separated by {separator!r}"
        ) from error


@dataclass(slots=True)
class _Instance:
    """What the lines of one instance say; `us` and `line` by rank."""

    block: int
    measured_us: float
    line: int
    us: dict[int, float] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)


_Key = tuple[int, int, int]
"""Series, block, instance."""

_Values = tuple[str, str, str, str, str]
"""Of `OF_BLOCK`."""


@dataclass(slots=True)
class _Found:
    """Blocks and instances, as the lines name them."""

    table: _Table
    blocks: dict[str, tuple[int, int, _Values]] = field(default_factory=dict)
    """By name: number, first line, and the values of `OF_BLOCK`."""
    instances: dict[_Key, _Instance] = field(default_factory=dict)

    @property
    def described(self) -> bool:
        """Whether there is any column of `OF_BLOCK`."""
        return not self.table.place.keys().isdisjoint(OF_BLOCK)

    def add(self, line: int, cells: list[str]) -> None:
        """Add a line."""
        table = self.table
        block = self._block(line, cells)
        series = table.count(line, cells, "series") if "series" in table.place else 0
        key = (series, block, table.count(line, cells, "instance"))
        measured_us = math.nan
        if table.text(cells, "measured_us"):
            measured_us = table.positive(line, cells, "measured_us")
        one = self.instances.setdefault(key, _Instance(block, measured_us, line))
        if not _same(one.measured_us, measured_us):
            raise table.wrong(
                line,
                "measured_us",
                table.text(cells, "measured_us"),
                f"what line {one.line} has for the same instance",
            )
        rank = table.count(line, cells, "rank")
        if rank in one.us:
            raise table.wrong(
                line,
                "rank",
                str(rank),
                f"a rank of this block and instance that is not on line {one.lines[rank]} "
                "already (instances of several groups need a column series)",
            )
        one.us[rank] = table.positive(line, cells, "us")
        one.lines[rank] = line

    def _block(self, line: int, cells: list[str]) -> int:
        table = self.table
        name = table.text(cells, "block")
        if not name:
            raise table.wrong(line, "block", name, "a name")
        if name in self.blocks and not self.described:
            return self.blocks[name][0]
        group, op, gpu, dtype, phase = (table.text(cells, column) for column in OF_BLOCK)
        values = (group, op, gpu, dtype, phase)
        number, first, known = self.blocks.setdefault(
            name, (len(self.blocks), line, values)
        )
        for column, value, before in zip(OF_BLOCK, values, known, strict=True):
            if value != before:
                expected = f"{before!r} as on line {first}, for the same block"
                raise table.wrong(line, column, value, expected)
        return number

    def times(self) -> tuple[BlockTimes, tuple[Note, ...]]:
        """Put together what was found."""
        sizes = Counter(len(one.us) for one in self.instances.values())
        # of sizes that are equally frequent the larger stays
        size = max(sizes, key=lambda one: (sizes[one], one))
        if size < 2:
            raise BadInputError(
                f"{self.table.source}: most instances have one rank; expected the times "
                "of all ranks of a group, at least two"
            )
        keys = [key for key in self._in_order() if len(self.instances[key].us) == size]
        kept = [self.instances[key] for key in keys]
        ranks = [sorted(one.us) for one in kept]
        us = [[one.us[rank] for rank in own] for one, own in zip(kept, ranks, strict=True)]
        whole = all(value.is_integer() for row in us for value in row)
        times = BlockTimes(
            blocks=tuple(
                Block(name, self.table.source, group, op, gpu=gpu, dtype=dtype, phase=phase)
                for name, (_, _, (group, op, gpu, dtype, phase)) in self.blocks.items()
            ),
            block=np.array([one.block for one in kept], np.int64),
            instance=np.array([key[2] for key in keys], np.int64),
            series=np.array([key[0] for key in keys], np.int64),
            rank=np.array(ranks, np.int64),
            us=np.array(us),
            measured_us=np.array([one.measured_us for one in kept]),
            resolution_us=1.0 if whole else 0.0,
        )
        return times, self._left_out(size, len(kept))

    def _in_order(self) -> list[_Key]:
        """Instances by series, then in order of time."""
        latest: dict[tuple[int, int], int] = {}
        for series, block, instance in self.instances:
            if latest.get((series, block), -1) > instance:
                return sorted(self.instances, key=lambda key: (key[0], key[2], key[1]))
            latest[series, block] = instance
        return sorted(self.instances, key=lambda key: key[0])

    def _left_out(self, size: int, kept: int) -> tuple[Note, ...]:
        others = [one for one in self.instances.values() if len(one.us) != size]
        if not others:
            return ()
        return (
            Note(
                "other_size",
                len(others),
                f"instances with another number of ranks than the {size} of {kept} others",
                f"line {others[0].line}",
            ),
        )


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))
