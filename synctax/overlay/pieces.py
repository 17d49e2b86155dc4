"""Parts of one gzip file that several processes compress."""

import shutil
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from isal import isal_zlib

LEVEL = 1
"""Of ISA-L: as small as zlib's fastest, at several times its rate."""

_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_RAW = -15
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """Compressed text in a file: `plain_bytes` of it, and their `crc`."""

    path: Path
    crc: int
    plain_bytes: int


class Sizes(NamedTuple):
    """Bytes of text, and bytes of the file that it became."""

    text_bytes: int
    file_bytes: int


class Writes(Protocol):
    """Takes bytes."""

    def write(self, data: bytes, /) -> int:
        """Take bytes, and tell how many."""


class _Counting:
    """Counts what is written: what is no regular file does not tell."""

    def __init__(self, out: Writes) -> None:
        self._out = out
        self.count = 0

    def write(self, data: bytes, /) -> int:
        self.count += len(data)
        return self._out.write(data)


class Deflated:
    """Compresses text into an open file so that pieces can be joined.

    Parameters
    ----------
    file : binary file
    """

    def __init__(self, file: Writes) -> None:
        self._file = file
        self._deflate = isal_zlib.compressobj(LEVEL, wbits=_RAW)
        self.crc = 0
        self.plain_bytes = 0

    def write(self, text: bytes) -> None:
        """Add text."""
        self.crc = isal_zlib.crc32(text, self.crc)
        self.plain_bytes += len(text)
        self._file.write(self._deflate.compress(text))

    def flush(self, *, last: bool = False) -> None:
        """End at a byte, so that another piece can follow, or for good."""
        how = isal_zlib.Z_FINISH if last else isal_zlib.Z_FULL_FLUSH
        self._file.write(self._deflate.flush(how))


class Plain:
    """Writes text as it is; otherwise as `Deflated`."""

    def __init__(self, file: Writes) -> None:
        self._file = file
        self.crc = 0
        self.plain_bytes = 0

    def write(self, text: bytes) -> None:
        """Add text."""
        self.plain_bytes += len(text)
        self._file.write(text)

    def flush(self, *, last: bool = False) -> None:
        """Do nothing: text needs no end."""


def join(
    out: Writes,
    head: Iterable[bytes],
    pieces: Iterable[Piece],
    tail: Iterable[bytes],
    *,
    compressed: bool,
) -> Sizes:
    """Write head, pieces and tail as one text; each piece is removed once it is in.

    Compressed it is one member of gzip, which every reader takes.

    Returns
    -------
    Sizes
        Of the text, and of what was written.
    """
    new, out = Deflated if compressed else Plain, _Counting(out)
    crc = size = 0
    if compressed:
        out.write(_HEAD)

    def write(texts: Iterable[bytes], *, last: bool) -> None:
        nonlocal crc, size
        part = new(out)
        for text in texts:
            part.write(text)
        part.flush(last=last)
        crc = isal_zlib.crc32_combine(crc, part.crc, part.plain_bytes)
        size += part.plain_bytes

    write(head, last=False)
    for piece in pieces:
        with piece.path.open("rb") as file:
            shutil.copyfileobj(file, out, _BLOCK_BYTES)
        piece.path.unlink()
        crc = isal_zlib.crc32_combine(crc, piece.crc, piece.plain_bytes)
        size += piece.plain_bytes
    write(tail, last=True)
    if compressed:
        out.write(struct.pack("<II", crc, size & 0xFFFFFFFF))
    return Sizes(size, out.count)
