"""Lines of a file of any compression, with their numbers, in bounded memory."""

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePath
from stat import S_ISCHR, S_ISFIFO, S_ISSOCK
from typing import IO, Final

from synctax.cluster.convert.found import Tally
from synctax.cluster.convert.reasons import QUOTES, LeftOutError
from synctax.errors import BadInputError
from synctax.trace.source import Damage, open_file, plain_blocks

HEAD_BYTES: Final = 64 * 1024
"""What of a file tells its format."""

MOST_BYTES: Final = 8 * 1024 * 1024
"""No line, and no job of a JSON list, is longer."""

STDIN: Final = "-"
"""What stands for the standard input."""

SEPARATORS: Final = (",", ";", "\t", "|")
"""What stands between the columns of tables."""

_QUOTED = frozenset((",", ";", "\t"))
"""Separators of tables whose cells may be quoted."""

_SHOWN = 120
_TAR_AT: Final = 257
_UTF16 = b"\xff\xfe", b"\xfe\xff"


@dataclass(frozen=True, slots=True)
class Source:
    """A file of a trace.

    Parameters
    ----------
    path : str
    head : str
        How it begins.
    on_bytes : callable, optional
        Told how many bytes of the file were read since the last call.
    damage : Damage, optional
        What was wrong with a compressed file before the end of its head.
    once : iterator of bytes, optional
        The content of what can be read once only.
    """

    path: str
    head: str
    on_bytes: Callable[[int], None] | None = field(default=None, repr=False)
    damage: Damage = field(default_factory=Damage, repr=False, compare=False)
    once: Iterator[bytes] | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The last part of its path."""
        return PurePath(self.path).name

    @property
    def first_line(self) -> str:
        """The first line with something in it."""
        lines = self.head.split(self.newline)
        return next((one for one in lines if one.strip()), "").rstrip()

    @property
    def newline(self) -> str:
        """What ends a line: a carriage return alone in files of old Macs."""
        return "\r" if "\r" in self.head and "\n" not in self.head else "\n"

    def blocks(self, tally: Tally) -> Iterator[bytes]:
        """Read the plain content, which ends where a compressed file is damaged."""
        damage = self.damage if self.once else Damage()
        yield from self.once or _plain(self.path, damage, self.on_bytes)
        if damage.reason:
            tally.note(damage.reason, damage.detail)

    def lines(self, tally: Tally) -> Iterator[str]:
        """Read the lines that have something in them; `tally` knows which is in hand."""
        tally.file, tally.line, rest = self.path, 0, b""
        ends = self.newline.encode()
        for block in self.blocks(tally):
            whole, newline, end = block.rpartition(ends)
            if newline:
                yield from _numbered(rest + whole, ends, tally)
                rest = end
            else:
                rest += block
                if len(rest) > MOST_BYTES:
                    raise BadInputError(
                        f"{self.path} has a line of more than {MOST_BYTES:,} bytes; a "
                        "trace has a job a line"
                    )
        yield from _numbered(rest, ends, tally)


def _numbered(text: bytes, ends: bytes, tally: Tally) -> Iterator[str]:
    lines: Sequence[str | bytes]
    try:
        lines = text.decode().split(ends.decode())
    except UnicodeDecodeError:
        lines = text.split(ends)
    for one in lines:
        tally.line += 1
        line = one if isinstance(one, str) else _decoded(one, tally)
        if line and not line.isspace():
            yield line.removesuffix("\r")


def _decoded(line: bytes, tally: Tally) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        # not one sign for all: ids that differ stay apart
        text = line.decode("utf-8", "backslashreplace")
        tally.note("not_utf8", "lines with bytes that are no UTF-8, written as \\x..", text)
        return text


def _plain(
    path: str, damage: Damage, on_bytes: Callable[[int], None] | None
) -> Iterator[bytes]:
    opened: AbstractContextManager[IO[bytes]]
    opened = nullcontext(sys.stdin.buffer) if path == STDIN else open_file(path)
    with opened as file:
        yield from plain_blocks(file, damage, on_bytes)


def _read_once(path: str) -> bool:
    if path == STDIN:
        return True
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return False  # a URL, or what cannot be opened either
    return S_ISFIFO(mode) or S_ISCHR(mode) or S_ISSOCK(mode)


def look(path: str, on_bytes: Callable[[int], None] | None = None) -> Source:
    """Read how a file begins; a pipe, and stdin as `-`, is read once.

    Raises
    ------
    BadInputError
        If it cannot be read, is empty, is an archive or no text.
    """
    damage, once = Damage(), _read_once(path)
    blocks = _plain(path, damage, on_bytes if once else None)
    taken, size = [], 0
    for block in blocks:
        taken.append(block)
        size += len(block)
        if size >= HEAD_BYTES:
            break
    path = "stdin" if path == STDIN else path
    head = b"".join(taken)[:HEAD_BYTES]
    text = head.decode("utf-8", "replace").lstrip("\ufeff")
    _check(path, head, text, damage)
    return Source(path, text, on_bytes, damage, chain(taken, blocks) if once else None)


def _check(path: str, head: bytes, text: str, damage: Damage) -> None:
    if head[_TAR_AT : _TAR_AT + 5] == b"ustar" or head.startswith(b"PK\3\4"):
        raise BadInputError(f"{path} is an archive; unpack it and give the file with jobs")
    if head.startswith(b"version https://git-lfs"):
        raise BadInputError(
            f"{path} stands for a file in Git LFS; get it with git lfs pull"
        )
    if not text.strip("\0 \r\n\t"):
        found = damage.detail or "it is empty"
        raise BadInputError(f"{path} has no jobs: {found}; expected a trace of jobs")
    # every other byte of plain words in UTF-16 is 0
    if head.startswith(_UTF16) or 0 in head[:2]:
        raise BadInputError(f"{path} is written in UTF-16; save it as UTF-8")


def shown(text: str) -> str:
    """Quote a text, cut where it is long."""
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}...")


def cells(line: str, delimiter: str) -> list[str]:
    """Split a line.

    A quotation mark that is never closed spoils its own line and no other: no format has
    a row of several lines.

    Raises
    ------
    LeftOutError
        If it cannot be split.
    """
    if '"' not in line or delimiter not in _QUOTED:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        raise LeftOutError(QUOTES, line) from None
