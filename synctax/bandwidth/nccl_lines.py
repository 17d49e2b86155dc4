"""Lines of what nccl-tests printed: decoded, without prefixes, taken apart into columns.

The table is found by its header (`size count type ...`), and the columns by their names
and units there. Launchers and loggers put prefixes before lines; whatever stands before
the header is taken off the lines below it too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BufferedReader, TextIOWrapper
from math import inf, nan
from pathlib import Path
from typing import NamedTuple

from synctax.errors import BadInputError

LARGEST_BYTES = 2**30
"""Longer outputs are not read: something else was written into them."""

LONGEST_LINE = 2**16
"""Characters of a line; no text has longer ones."""

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_PREFIX = re.compile(r"^(?:\[\d+(?:,\d+)*\]<std(?:out|err)>:|\s*\d+: (?=\s*[\d#]))")
_TAG = re.compile(r"\[\d+\]")
"""What some launchers put before every piece that is written, within a line too."""

_HEADER = re.compile(r"#?\s*\b(?:size\s+count|bytes\s+N)\s+type\b")
_UNITS_US = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
_UNITS_BYTES = {"b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}
_LABELS = {"size", "bytes", "count", "N", "type", "redop", "op", "root", "timestamp"}
_STAMP = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d")
_TIMES = ("time", "cputime")


def lines(path: Path) -> Iterator[str]:
    """Read a file line by line, in UTF-8 or, where it begins so, in UTF-16.

    Raises
    ------
    BadInputError
        If it is a device, too long, or has lines that no text has.
    """
    if path.is_char_device() or path.is_block_device():
        raise BadInputError(
            f"{path}: expected an output of nccl-tests, found a device; give a file"
        )
    with path.open("rb") as raw:
        text = TextIOWrapper(raw, encoding=_encoding(raw), errors="replace")
        read = number = 0
        while line := text.readline(LONGEST_LINE):
            number += 1
            read += len(line)
            if len(line) == LONGEST_LINE or read > LARGEST_BYTES:
                raise BadInputError(
                    f"{path}, line {number:,}: expected an output of nccl-tests, found "
                    f"more than {LONGEST_LINE:,} characters in a line, or a gigabyte in "
                    "all; give what the benchmark printed alone"
                )
            yield _ESCAPE.sub("", line.rstrip("\n"))


def _encoding(raw: BufferedReader) -> str:
    peeked = raw.peek(4)
    for mark, zero in ((b"\xff\xfe", 3), (b"\xfe\xff", 2)):
        if peeked[:2] == mark and peeked[zero : zero + 1] == b"\0":
            return "utf-16"
    return "utf-8-sig"


@dataclass(slots=True)
class Prefix:
    """What a launcher or a logger puts before each line, as the header shows it."""

    shape: re.Pattern[str] | None = None

    def off(self, raw: str) -> str:
        """Take prefixes and tags off a line."""
        line = _TAG.sub("", _PREFIX.sub("", raw))
        found = self.shape and self.shape.match(line)
        return line[found.end() :] if found else line

    def learn(self, raw: str) -> str:
        """Return a header without its prefix, and take that off later lines too.

        Numbers of it may change (time, rank), and so may their digits.
        """
        line = _TAG.sub("", _PREFIX.sub("", raw))
        found = _HEADER.search(line)
        before = line[: found.start()] if found else ""
        self.shape = None
        if before.strip():
            parts = re.split(r"\d+", before)
            self.shape = re.compile(r"\d+".join(map(re.escape, parts)))
        return line[len(before) :]


def is_header(raw: str) -> bool:
    """Whether a line names the columns of a table."""
    return "type" in raw and _HEADER.search(_TAG.sub("", raw)) is not None


@dataclass(frozen=True, slots=True)
class Header:
    """Names of the numeric columns, where the second time begins, and both units.

    Parameters
    ----------
    names : tuple of str
    second : int
        Place of the second time in the line.
    swapped : bool
        Whether the in-place run stands on the left.
    rooted : bool
        Whether rows have a column `root`.
    size_bytes : int
        Unit of sizes.
    us : float
        Unit of times in µs.
    """

    names: tuple[str, ...]
    second: int
    swapped: bool
    rooted: bool
    size_bytes: int = 1
    us: float = 1.0

    @property
    def half(self) -> int:
        """Number of columns of one of the two placements."""
        return next(
            (i for i, name in enumerate(self.names) if i and name in _TIMES),
            len(self.names),
        )

    @property
    def of_cpu(self) -> bool:
        """Whether times are those of the processor (`-C 1`), not of the collective."""
        return "cputime" in self.names


def header(line: str, above: str) -> Header:
    """Read the line of names, and the one above it, which names the placements."""
    words = line.lstrip("# ").split()
    times = [match.start() for match in re.finditer(r"\b(?:cpu)?time\b", line)]
    placements = re.findall(r"in-place|out-of-place", above)
    return Header(
        tuple(word for word in words if word not in _LABELS),
        times[1] if len(times) > 1 else len(line),
        swapped=placements[:1] == ["in-place"],
        rooted="root" in words,
        # versions that say `bytes` have milliseconds, and no line of units
        us=1e3 if words[0] == "bytes" else 1.0,
    )


def with_units(found: Header, line: str, path: Path, number: int) -> Header:
    """Read the line below the names: of times and sizes the units.

    Raises
    ------
    BadInputError
        If they are others than nccl-tests have.
    """
    units = [unit.strip("()").lower() for unit in line.lstrip("# ").split()]
    size, rest = units[0], [unit for unit in units[1:] if unit in _UNITS_US]
    if size not in _UNITS_BYTES or not rest:
        raise BadInputError(
            f"{path}, line {number}: units {line.strip('# ').strip()!r} are not those of "
            "nccl-tests; expected sizes in (B) and times in (us)"
        )
    return replace(found, size_bytes=_UNITS_BYTES[size], us=_UNITS_US[rest[0]])


class Row(NamedTuple):
    """Numbers of one placement; `time_us` may be NaN, `wrong` is what failed its check."""

    size_bytes: int
    time_us: float
    algbw: float
    busbw: float
    wrong: float


def row(found: Header, line: str, *, in_place: bool) -> Row | None:
    """Read one placement of a row; None if the line is none, or cut off."""
    cells = list(re.finditer(r"\S+", line))
    while cells and _STAMP.fullmatch(cells[-1][0]):
        cells.pop()
    second = in_place != found.swapped
    labels = _labels([cell[0] for cell in cells], rooted=found.rooted)
    half, left = found.half, len(cells) - labels
    if not labels or left not in (half, len(found.names)):
        return None
    start = labels
    if left == half < len(found.names):
        # only one placement was run, and the place of the other is blank
        if (cells[start].end() > found.second) != second:
            return None
    elif second:
        start += half
    texts = [cell[0] for cell in cells[start : start + half]]
    values = dict(zip(found.names, map(_number, texts), strict=False))
    return Row(
        int(cells[0][0]) * found.size_bytes,
        values.get("time", nan) * found.us,
        values.get("algbw", nan),
        values.get("busbw", nan),
        next((values[name] for name in _CHECKS if name in values), nan),
    )


_CHECKS = ("#wrong", "error", "res")


def _labels(texts: list[str], *, rooted: bool) -> int:
    """Count the columns before the numbers: size, count, type, operator, root."""
    # by length too: no size has more digits, and Python does not parse thousands
    if len(texts) < _LEAST_LABELS or not all(map(_is_size, texts[:2])):
        return 0
    count = _LEAST_LABELS
    # the operator is blank where there is none
    if texts[count : count + 1] and texts[count].isalpha():
        count += 1
    if rooted and texts[count : count + 1] and re.fullmatch(r"-?\d+", texts[count]):
        count += 1
    return count


_LEAST_LABELS = 3

_MOST_DIGITS = 18


def _is_size(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def _number(text: str) -> float:
    """Read a number; what is none (`N/A`) was not told."""
    try:
        return float(text)
    except ValueError:
        return nan


def has_time(found: Row) -> bool:
    """Whether a row tells how long the collective took."""
    return 0 < found.time_us < inf
