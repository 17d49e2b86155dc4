"""Lines of a file of any compression, with their numbers, in bounded memory."""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

from synctax.cluster.convert.found import Tally
from synctax.cluster.convert.reasons import COLUMNS, LeftOutError
from synctax.errors import BadInputError
from synctax.trace.source import Damage, open_file, plain_blocks

HEAD_BYTES: Final = 64 * 1024
"""What of a file tells its format."""

MOST_BYTES: Final = 8 * 1024 * 1024
"""No line, and no job of a JSON list, is longer."""

_TAR_AT: Final = 257


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
    """

    path: str
    head: str
    on_bytes: Callable[[int], None] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The last part of its path."""
        return PurePath(self.path).name

    @property
    def first_line(self) -> str:
        """The first line with something in it."""
        return next((one for one in self.head.splitlines() if one.strip()), "").rstrip()

    def blocks(self, tally: Tally) -> Iterator[bytes]:
        """Read the plain content, which ends where a compressed file is damaged."""
        damage = Damage()
        with open_file(self.path) as file:
            yield from plain_blocks(file, damage, self.on_bytes)
        if damage.reason:
            tally.note(damage.reason, damage.detail)

    def lines(self, tally: Tally) -> Iterator[str]:
        """Read the lines that have something in them; `tally` knows which is in hand."""
        tally.file, tally.line, rest = self.path, 0, b""
        for block in self.blocks(tally):
            whole, newline, end = block.rpartition(b"\n")
            if newline:
                yield from _numbered(rest + whole, tally)
                rest = end
            else:
                rest += block
                if len(rest) > MOST_BYTES:
                    raise BadInputError(
                        f"{self.path} has a line of more than {MOST_BYTES:,} bytes; a "
                        "trace has a job a line"
                    )
        yield from _numbered(rest, tally)


def _numbered(text: bytes, tally: Tally) -> Iterator[str]:
    for line in text.decode("utf-8", "replace").split("\n"):
        tally.line += 1
        if line and not line.isspace():
            yield line.removesuffix("\r")


def look(path: str, on_bytes: Callable[[int], None] | None = None) -> Source:
    """Read how a file begins.

    Raises
    ------
    BadInputError
        If it cannot be read, is empty, or is an archive.
    """
    head = b""
    with open_file(path) as file:
        for block in plain_blocks(file, Damage()):
            head += block
            if len(head) >= HEAD_BYTES:
                break
    if head[_TAR_AT : _TAR_AT + 5] == b"ustar" or head.startswith(b"PK\3\4"):
        raise BadInputError(f"{path} is an archive; unpack it and give the file with jobs")
    if head.startswith(b"version https://git-lfs"):
        raise BadInputError(
            f"{path} stands for a file in Git LFS; get it with git lfs pull"
        )
    text = head[:HEAD_BYTES].decode("utf-8", "replace").lstrip("\ufeff")
    if not text.strip("\0 \r\n\t"):
        raise BadInputError(f"{path} is empty; expected a trace of jobs")
    return Source(path, text, on_bytes)


def cells(line: str, delimiter: str) -> list[str]:
    """Split a line.

    A quotation mark that is never closed spoils its own line and no other: no format has
    a row of several lines.

    Raises
    ------
    LeftOutError
        If it cannot be split.
    """
    if '"' not in line or delimiter != ",":
        return line.split(delimiter)
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise LeftOutError(COLUMNS, str(error)) from None
