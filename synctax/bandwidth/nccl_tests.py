"""What nccl-tests printed: sizes and times, whatever stands between them.

The table is found by its header (`size count type ...`), and the columns by their names
and units there. Launchers put prefixes before lines, NCCL writes warnings in between, and
options add columns; rows are read from the right, where the columns are numbers.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf, nan
from pathlib import Path
from typing import cast

from synctax.bandwidth.topology import LEAST_RANKS, OPS, Op
from synctax.errors import BadInputError, SynctaxError
from synctax.notes import Note

MAX_ERROR = 1e-2
"""Largest deviation in the column `error` of old versions that is still rounding."""

MAX_BUSBW_OFF = 0.05
"""By how much bus over algorithm bandwidth may miss the factor of operation and ranks."""

MIN_RATE = 1.0
"""Below so many GB/s the two decimals of the bandwidths say nothing of that factor."""

_PREFIX = re.compile(r"^(?:\[\d+(?:,\d+)*\]<std(?:out|err)>:|\s*\d+: (?=\s*[\d#]))")
_TAG = re.compile(r"\[\d+\]")
"""What some launchers put before every piece that is written, within a line too."""

_RANK = re.compile(r"^[#\s]*Rank\s+(\d+)\s.*\bon\b")
_NRANKS = re.compile(r"\bnranks (\d+)\b")
_PROGRAM = re.compile(
    r"(?<![a-z])(all_?reduce|reduce_?scatter|all_?gather|all_?to_?all)(?=_perf|[^a-z]|$)"
)
_UNITS_US = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
_UNITS_BYTES = {"b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}
_TIMES = ("time", "cputime")
_LABELS = {"size", "count", "type", "redop", "root"}


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of a benchmark.

    Parameters
    ----------
    file : str
        Where it stands.
    op : Op
    n : int
        Ranks.
    payload_bytes : int
        Size as nccl-tests say it: the larger of a rank's input and output.
    time_us : float
        Mean time of the collective, in µs.
    """

    file: str
    op: Op
    n: int
    payload_bytes: int
    time_us: float


@dataclass(frozen=True, slots=True)
class _Header:
    """Names of the numeric columns, where the second time begins, and both units.

    `swapped` tells that the in-place run stands on the left.
    """

    names: tuple[str, ...]
    second: int
    swapped: bool
    size_bytes: int = 1
    us: float = 1.0

    @property
    def half(self) -> int:
        """Number of columns of one of the two placements."""
        return next(
            (i for i, name in enumerate(self.names) if i and name in _TIMES),
            len(self.names),
        )


@dataclass(slots=True)
class _Table:
    """What was seen of one file so far."""

    path: Path
    ranks: set[int] = field(default_factory=set)
    nranks: set[int] = field(default_factory=set)
    programs: set[str] = field(default_factory=set)
    rows: list[tuple[int, int, float, float, float]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)

    def drop(self, reason: str, line: int) -> None:
        self.left_out[reason] += 1
        self.first.setdefault(reason, line)


def read_nccl_tests(
    paths: Sequence[Path], *, op: Op | None = None, in_place: bool = False
) -> tuple[tuple[Measured, ...], tuple[Note, ...]]:
    """Read outputs of `all_reduce_perf`, `reduce_scatter_perf`, `all_gather_perf`, ...

    Parameters
    ----------
    paths : sequence of Path
        Outputs; each may be of another operation and number of ranks.
    op : Op, optional
        Operation of files that do not tell theirs, by the line "Collective test
        starting", a command in the file, or the file's name.
    in_place : bool
        Take the times of the in-place run.

    Returns
    -------
    measured : tuple of Measured
        In order of files and lines.
    notes : tuple of Note
        Lines that were left out: wrong results, empty buffers, no time, unreadable.

    Raises
    ------
    BadInputError
        If a file has no such table, does not tell its ranks or operation, or its
        bandwidths do not fit them.
    """
    found: list[Measured] = []
    notes: list[Note] = []
    for path in paths:
        table = _read(path, in_place=in_place)
        found += _measured(table, op, in_place=in_place)
        notes += [
            Note(reason, count, _WHY[reason], f"{path}, line {table.first[reason]}")
            for reason, count in table.left_out.items()
        ]
    return tuple(found), tuple(notes)


_WHY = {
    "nccl_wrong_result": "lines whose results are wrong",
    "nccl_empty_buffer": "lines of size 0",
    "nccl_no_time": "lines without a time",
    "nccl_line_unreadable": "lines that begin as a row of the table and are none",
}


def _read(path: Path, *, in_place: bool) -> _Table:
    table = _Table(path)
    header: _Header | None = None
    above = ""
    text = path.read_bytes().decode("utf-8", "replace")
    for number, raw in enumerate(text.splitlines(), 1):
        line = _TAG.sub("", _PREFIX.sub("", raw))
        words = line.lstrip("# ").split()
        if words[:2] == ["size", "count"]:
            header = _header(line, above)
        elif header and words[:1] and words[0].startswith("(") and "elem" in line:
            header = _with_units(header, line, path, number)
        elif header and words and words[0].isdecimal() and not line.startswith("#"):
            _take(table, header, line, number, in_place=in_place)
        else:
            _facts(table, line)
        above = line
    if header is None:
        raise BadInputError(
            f"{path}: no table of nccl-tests in {len(text.splitlines()):,} lines; expected "
            "a header `# size count type ... time algbw busbw`, as all_reduce_perf prints"
        )
    if not table.rows and not table.left_out:
        raise BadInputError(
            f"{path}: the table of nccl-tests has no rows; did the benchmark end early?"
        )
    return table


def _header(line: str, above: str) -> _Header:
    names = [word for word in line.lstrip("# ").split() if word not in _LABELS]
    names = [name for name in names if name != "timestamp"]
    times = [match.start() for match in re.finditer(r"\b(?:cpu)?time\b", line)]
    placements = re.findall(r"in-place|out-of-place", above)
    return _Header(
        tuple(names),
        times[1] if len(times) > 1 else len(line),
        swapped=placements[:1] == ["in-place"],
    )


def _with_units(header: _Header, line: str, path: Path, number: int) -> _Header:
    """Read the line below the names: of times and sizes the units."""
    units = [unit.strip("()").lower() for unit in line.lstrip("# ").split()]
    size, rest = units[0], [unit for unit in units[1:] if unit in _UNITS_US]
    if size not in _UNITS_BYTES or not rest:
        raise BadInputError(
            f"{path}, line {number}: units {line.strip('# ').strip()!r} are not those of "
            "nccl-tests; expected sizes in (B) and times in (us)"
        )
    return replace(header, size_bytes=_UNITS_BYTES[size], us=_UNITS_US[rest[0]])


def _take(
    table: _Table, header: _Header, line: str, number: int, *, in_place: bool
) -> None:
    """Take one row, or count why not."""
    numbers = _numbers(header, line, second=in_place != header.swapped)
    if numbers is None:
        table.drop("nccl_line_unreadable", number)
        return
    time, algbw, busbw, wrong = numbers
    size = int(line.split(maxsplit=1)[0]) * header.size_bytes
    if wrong > (0 if "#wrong" in header.names else MAX_ERROR):
        table.drop("nccl_wrong_result", number)
    elif size == 0:
        table.drop("nccl_empty_buffer", number)
    elif not 0 < time < inf:
        table.drop("nccl_no_time", number)
    else:
        table.rows.append((number, size, time * header.us, algbw, busbw))


def _numbers(
    header: _Header, line: str, *, second: bool
) -> tuple[float, float, float, float] | None:
    """Read time, both bandwidths and the error of one placement; None of another line."""
    cells = list(re.finditer(r"\S+", line))
    while cells and _STAMP.fullmatch(cells[-1][0]):
        cells.pop()
    half, whole = header.half, len(header.names)
    if len(cells) - whole in _LABELS_OF_A_ROW:
        start = len(cells) - whole + (half if second else 0)
    elif len(cells) - half in _LABELS_OF_A_ROW:
        # only one placement was run, and the place of the other is blank
        start = len(cells) - half
        if (cells[start].end() > header.second) != second:
            return None
    else:
        return None
    texts = [cell[0] for cell in cells[start : start + half]]
    values = dict(zip(header.names, map(_number, texts), strict=False))
    time = next((values[name] for name in _TIMES if name in values), nan)
    wrong = values.get("#wrong", values.get("error", nan))
    return time, values.get("algbw", nan), values.get("busbw", nan), wrong


_STAMP = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d")
_LABELS_OF_A_ROW = range(3, 6)
"""Size, count and type; the operator and the root may be blank or missing."""


def _number(text: str) -> float:
    """Read a number; what is none (`N/A`) was not told."""
    try:
        return float(text)
    except ValueError:
        return nan


def _facts(table: _Table, line: str) -> None:
    """Take from any other line what it tells of ranks and operation."""
    if found := _RANK.match(line):
        table.ranks.add(int(found[1]))
    elif found := _NRANKS.search(line):
        table.nranks.add(int(found[1]))
    elif "_perf" in line or "Collective test starting" in line:
        table.programs.update(_operations(line))


def _operations(text: str) -> set[str]:
    return {_OF_NAME[name.replace("_", "")] for name in _PROGRAM.findall(text.lower())}


_OF_NAME = {op.replace("_", ""): op for op in OPS}


def _measured(table: _Table, asked: Op | None, *, in_place: bool) -> Iterator[Measured]:
    op, n = _operation(table, asked), _ranks(table)
    if op == "all_to_all" and in_place:
        raise SynctaxError(
            f"{table.path}: nccl-tests do not support all-to-all in place, and its times "
            "mean nothing; leave out --in-place"
        )
    for line, size, time_us, algbw, busbw in table.rows:
        factor = (2 if op == "all_reduce" else 1) * (n - 1) / n
        if algbw >= MIN_RATE and abs(busbw / algbw / factor - 1) > MAX_BUSBW_OFF:
            raise BadInputError(
                f"{table.path}, line {line}: busbw / algbw is {busbw / algbw:.3f}, but "
                f"{op} over {n} ranks has {factor:.3f}; if the operation is another, "
                "give --op; if lines `# Rank ...` are missing, give the whole output"
            )
        yield Measured(str(table.path), op, n, size, time_us)


def _operation(table: _Table, asked: Op | None) -> Op:
    told = table.programs or _operations(table.path.name)
    if len(told) == 1:
        return cast("Op", next(iter(told)))
    if asked is None:
        what = f"names {', '.join(sorted(told))}" if told else "does not say"
        raise BadInputError(
            f"{table.path}: the output {what} as its operation; give --op, or a file name "
            "such as all_reduce.txt"
        )
    return asked


def _ranks(table: _Table) -> int:
    n = max(table.nranks, default=0) or max(table.ranks, default=-1) + 1
    if n >= LEAST_RANKS:
        return n
    if table.ranks:
        raise BadInputError(
            f"{table.path}: the benchmark ran over 1 rank; a collective needs at least 2 "
            "(several outputs with rank 0 each mean that nccl-tests were built without MPI)"
        )
    raise BadInputError(
        f"{table.path}: neither lines `# Rank 0 ...` nor `nranks` tell the number of "
        "ranks; give the whole output of nccl-tests"
    )
