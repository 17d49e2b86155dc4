"""The CSV of jobs as columns of text, each row with its line."""

import csv
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from io import BytesIO, TextIOWrapper
from math import isnan
from pathlib import Path
from shlex import quote
from typing import Final

import numpy as np

from synctax.arrays import I64
from synctax.cluster.job_columns import JOB_COLUMNS, NEEDED_JOB_COLUMNS
from synctax.errors import BadInputError, SynctaxError
from synctax.notes import Note
from synctax.schema.characterize import CHARACTERIZE
from synctax.schema.convert import CONVERT
from synctax.schema.jobs import MOST_JOBS
from synctax.texts import counted
from synctax.trace.whole import whole

SEPARATORS: Final = ",;\t|"

MOST_NAMED: Final = 8
"""Unknown columns that are named."""

SHOWN: Final = 5
"""Rows that a message names."""

HEAD_BYTES: Final = 64 * 1024
"""What of a file tells its separator, and whose it is."""

LONGEST_LINE: Final = 8 * 1024 * 1024
"""Characters; a line of more is no row of jobs."""

_NAMES: Final = tuple(one.name for one in JOB_COLUMNS)
_OURS: Final = frozenset((*CONVERT.names, *CHARACTERIZE.names))
"""What `convert` writes, and what is pasted from `characterize`: not noted, but for the
tax, which somebody may expect to count."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a table of jobs is read for.

    Parameters
    ----------
    kind : str
        For messages.
    needed : tuple of str
        Columns of `JOB_COLUMNS` that it cannot do without, `job_id` among them.
    known : frozenset of str
        Others that say nothing, and are not noted for it.
    """

    kind: str
    needed: tuple[str, ...]
    known: frozenset[str] = frozenset()

    @property
    def expected(self) -> str:
        """Say what is expected."""
        return f"{self.kind} with the columns {', '.join(self.needed)}"


JOBS: Final = Wanted("a CSV of jobs", NEEDED_JOB_COLUMNS, _OURS)
"""To simulate them."""


@dataclass(frozen=True, slots=True, eq=False)
class JobTable:
    """n jobs as text.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    line : (n,) int64
        Where each begins; absent where there is no file.
    columns : mapping of str to sequence of n str
        Of `JOB_COLUMNS`, without blanks around; empty where nothing stands.
    notes : tuple of Note
    """

    name: str
    line: I64 | None
    columns: Mapping[str, Sequence[str]]
    notes: tuple[Note, ...] = ()

    def __len__(self) -> int:
        """Count jobs."""
        return len(self.columns["job_id"])

    def texts(self, name: str) -> Sequence[str]:
        """Take a column; empty texts where the file has none of that name."""
        return self.columns.get(name) or ("",) * len(self)

    def place(self, at: int) -> str:
        """Say where a job stands: `line 12`, or `row 11` where there is no file."""
        return f"row {at + 1:,}" if self.line is None else f"line {self.line[at]:,}"


def job_table(columns: Mapping[str, Sequence[object]], *, name: str) -> JobTable:
    """Make a table of jobs that are in no file.

    Parameters
    ----------
    columns : mapping of str to sequence of n values
        Names of `JOB_COLUMNS`; None and NaN are empty.
    name : str
        What they are called, for messages.

    Raises
    ------
    ValueError
        If a needed column is missing.
    """
    missing = [one for one in NEEDED_JOB_COLUMNS if one not in columns]
    if missing:
        raise ValueError(f"{name} lacks the columns {missing}")
    known = {one: list(map(_text, columns[one])) for one in _NAMES if one in columns}
    return JobTable(name, None, known)


def read_job_table(path: str | Path, wanted: Wanted = JOBS) -> JobTable:
    """Read a CSV of jobs.

    Parameters
    ----------
    path : str or Path
        UTF-8, perhaps compressed by gzip or zstd; values separated by commas,
        semicolons, tabs or `|`; columns in any order, of which those that are unknown are
        noted. At most 1 GiB of plain text and `MOST_JOBS` jobs.
    wanted : Wanted
        What for.

    Returns
    -------
    JobTable

    Raises
    ------
    SynctaxError
        If jobs are asked for from stdin.
    BadInputError
        If the file cannot be read, is too large, is no CSV, or lacks a column; names
        the format of another program that it looks like.
    """
    name = str(path)
    return parse_job_table(_read(name, wanted), name=name, wanted=wanted)


def parse_job_table(data: bytes, *, name: str, wanted: Wanted = JOBS) -> JobTable:
    """Read a CSV of jobs from its bytes, as `read_job_table` does.

    Parameters
    ----------
    data : bytes
        Not compressed.
    name : str
        Of the file, for messages.
    wanted : Wanted
        What for.

    Raises
    ------
    BadInputError
        As `read_job_table`.
    """
    head = data[:HEAD_BYTES].decode("utf-8-sig", "replace")
    if head.lstrip()[:1] in ("[", "{"):
        other = _others(name, head)
        raise BadInputError(f"{name}: found JSON; expected {wanted.expected}{other}")
    rows = _rows(data, _separator(head), name, wanted)
    _line, first = next(rows, (0, []))
    names = [one.strip().lower() for one in first]
    _check_header(names, name, head, wanted)
    lines, cells = _of_width(rows, len(names), name)
    texts = [tuple(map(str.strip, one)) for one in zip(*cells, strict=True)]
    columns = dict(zip(names, texts or [()] * len(names), strict=True))
    known = {key: columns[key] for key in _NAMES if key in columns}
    notes = tuple(_unknown(names, wanted))
    return JobTable(name, np.array(lines, np.int64), known, notes)


def _read(name: str, wanted: Wanted) -> bytes:
    if name.strip() == "-":
        raise SynctaxError("-: jobs are not read from stdin; save them first")
    return whole(name, wanted.expected, pipes=True)


def _separator(head: str) -> str:
    begin = head.lstrip().partition("\n")[0]
    return max(SEPARATORS, key=begin.count)


def _rows(
    data: bytes, separator: str, name: str, wanted: Wanted
) -> Iterator[tuple[int, list[str]]]:
    """Read the rows that are not blank, each with the line in which it begins."""
    reader = csv.reader(_text_lines(data, name, wanted), delimiter=separator, strict=True)
    before = 0
    try:
        for row in reader:
            if row and (row[0].strip() or any(map(str.strip, row))):
                yield before + 1, row
            before = reader.line_num
    except csv.Error as error:
        raise BadInputError(
            f"{name}, line {before + 1:,}: {error}; expected values separated by "
            f"{separator!r}, in double quotes where they hold one"
        ) from error


def _text_lines(data: bytes, name: str, wanted: Wanted) -> Iterator[str]:
    """Decode line by line: the text of a whole file takes several times its bytes."""
    file = TextIOWrapper(BytesIO(data), encoding="utf-8-sig", newline="")
    try:
        for at, line in enumerate(iter(partial(file.readline, LONGEST_LINE), ""), 1):
            if len(line) == LONGEST_LINE:
                raise BadInputError(
                    f"{name}, line {at:,}: found more than {LONGEST_LINE:,} characters; "
                    f"expected {wanted.expected}"
                )
            yield line
    except UnicodeDecodeError:
        if data.startswith(b"PAR1"):
            raise BadInputError(
                f"{name}: found Parquet; expected {wanted.expected}, as -o jobs.csv "
                "writes it"
            ) from None
        at = _no_utf_8(data)
        raise BadInputError(
            f"{name}: found byte {data[at]:#04x} at {at:,}, which is no UTF-8; expected "
            f"{wanted.expected}, saved as UTF-8"
        ) from None


def _no_utf_8(data: bytes) -> int:
    """Find the first byte that is no UTF-8: an error of a part counts from its start."""
    decoder, step = getincrementaldecoder("utf-8")(), 2**20
    for start in range(0, len(data), step):
        held = len(decoder.getstate()[0])
        try:
            decoder.decode(data[start : start + step], final=start + step >= len(data))
        except UnicodeDecodeError as error:
            return start - held + error.start
    raise ValueError("all of it is UTF-8")


def _check_header(names: Sequence[str], name: str, head: str, wanted: Wanted) -> None:
    if not names:
        raise BadInputError(f"{name}: found an empty file; expected {wanted.expected}")
    missing = [one for one in wanted.needed if one not in names]
    if missing:
        near = [f"{one} ({like}?)" for one in names if (like := _near(one, missing))]
        meant = f"; did you mean: {', '.join(near)}" if near else ""
        other = _others(name, head) or f"{meant}; it begins {', '.join(names):.200}"
        lacks = f"no column {', '.join(missing)}"
        raise BadInputError(f"{name}: {lacks}; expected {wanted.expected}{other}")
    twice = [one for one, many in Counter(names).items() if one in _NAMES and many > 1]
    if twice:
        raise BadInputError(f"{name}: the column {twice[0]} is there twice; leave one")


def _others(name: str, head: str) -> str:
    """Say how a trace of another program becomes jobs; "" where none is recognised."""
    from synctax.cluster.convert.formats import FORMATS
    from synctax.cluster.convert.lines import Source

    source = Source(name, head)
    one = next((one for one in FORMATS.values() if one.recognises(source)), None)
    if one is None:
        return ""
    return f"; this looks like {one.title}: synctax convert {quote(name)} -o jobs.csv"


def _of_width(
    rows: Iterable[tuple[int, list[str]]], width: int, name: str
) -> tuple[list[int], list[list[str]]]:
    """Keep the rows; refuse those of other numbers of cells, and more than there can be.

    Empty cells at the end are no cells: spreadsheets write them.
    """
    lines, kept, wrong, many = list[int](), list[list[str]](), list[str](), 0
    for line, row in rows:
        if len(row) > width and not any(row[width:]):
            del row[width:]
        if len(row) == width:
            lines.append(line)
            kept.append(row)
        else:
            many += 1
            wrong += [f"{line:,} ({len(row)})"] if many <= SHOWN else []
        if len(kept) > MOST_JOBS:
            raise BadInputError(f"{name}: found more than {MOST_JOBS:,} jobs")
    if wrong:
        raise BadInputError(
            f"{name}: {counted(many, 'row')} with other numbers of values than the "
            f"{width} columns of the header, such as line {', '.join(wrong)}; "
            "expected a value or an empty cell for each, in double quotes where it holds "
            "the separator"
        )
    return lines, kept


def _unknown(names: Sequence[str], wanted: Wanted) -> Iterator[Note]:
    unknown = [one for one in names if one not in {*_NAMES, *wanted.known}]
    if unknown:
        said = [
            f"{one} ({near}?)" if (near := _near(one, _NAMES)) else one or "(no name)"
            for one in unknown[:MOST_NAMED]
        ]
        more = len(unknown) - MOST_NAMED
        left = f" and {more:,} more" if more > 0 else ""
        yield Note(
            "columns_unknown",
            len(unknown),
            f"columns that say nothing here: {', '.join(said)}{left}",
        )


def _near(name: str, among: Sequence[str]) -> str:
    return next(iter(get_close_matches(name, among, n=1, cutoff=0.75)), "")


def _text(value: object) -> str:
    missing = value is None or (isinstance(value, float) and isnan(value))
    return "" if missing else str(value).strip()
