"""Arrow's streams of one row of lists of whole numbers, written and read without Arrow.

Whatever reads Arrow reads them (`pyarrow.ipc.open_stream`). Arrow itself is not used:
loading it takes each worker process some 30 MB and as long as two files of columns do.

The stream has a schema, whose metadata is a text, and one batch: a column is a list of
numbers, packed with zstd. Columns are packed and unpacked a piece at a time, so that beside
them little memory is taken. See https://arrow.apache.org/docs/format/Columnar.html.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from struct import pack, unpack
from typing import Any, BinaryIO, Final, cast

import numpy as np
import numpy.typing as npt

from synctax.trace.flat import Number, Reader, Structs, Table, encode

Column = npt.NDArray[Any]

LEVEL: Final = 1
"""Of zstd."""

PIECE_BYTES: Final = 1 << 20
"""Of a column, packed at a time."""

_READ_BYTES: Final = 128 * 1024
_CONTINUES: Final = b"\xff\xff\xff\xff"
_END: Final = _CONTINUES + bytes(4)
_VERSION: Final = Number("h", 4)
"""The fifth of Arrow's format."""
_SCHEMA, _BATCH = 1, 3
"""What a message may be."""
_INT, _LARGE_LIST = 2, 21
"""What a type may be."""
_ZSTD: Final = 1
_DATA: Final = 3
"""Of the four buffers of a list of numbers: which are valid (all), where lists end, which
numbers are valid (all), the numbers."""
_BUFFERS: Final = 4
_WIDTHS: Final = (8, 16, 32, 64)
_ALIGNED: Final = 64
"""Bytes: columns in memory begin on multiples, as vector units like it."""
_SIZE_BYTES: Final = 8
"""In front of what is packed: how many bytes it unpacks to."""
_MOST: Final = 2**16
"""How many bytes one of zstd can stand for, at most: a block of 128 kB takes four."""


class StreamError(ValueError):
    """A file is no stream as `write` leaves one."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A column in a stream: what it is, and where it is packed.

    Parameters
    ----------
    name : str
    dtype : dtype
        Of whole numbers.
    rows : int
        How many there are.
    first : int
        Where its packed bytes begin in the file.
    packed_bytes : int
        0 where there is no row.
    """

    name: str
    dtype: np.dtype[Any]
    rows: int
    first: int
    packed_bytes: int


def write(file: BinaryIO, columns: Sequence[tuple[str, Column]], metadata: str) -> None:
    """Write a stream to an empty file that can be written anywhere.

    Parameters
    ----------
    file : binary file
    columns : names, and arrays of one dimension
        Whole numbers, of any length each.
    metadata : str
        A text that goes with them.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    schema = _message(_SCHEMA, _schema(columns, metadata), 0)
    # where buffers lie is known when they are there; the batch is as long whatever it is
    unknown = [(0, 0)] * (_BUFFERS * len(columns))
    head_bytes = len(schema) + len(_message(_BATCH, _batch(columns, unknown), 0))
    file.write(bytes(head_bytes))
    buffers: list[tuple[int, int]] = []
    for _, values in columns:
        at = file.tell() - head_bytes
        file.write(pack("<qqq", -1, 0, values.size))  # one list, not packed
        data = at + 24
        packed_bytes = _pack(file, values) if values.size else 0
        buffers += [(at, 0), (at, 24), (data, 0), (data, packed_bytes)]
        file.write(bytes(-packed_bytes % 8))
    body_bytes = file.tell() - head_bytes
    file.write(_END)
    file.seek(0)
    file.write(schema + _message(_BATCH, _batch(columns, buffers), body_bytes))
    file.seek(0, os.SEEK_END)


def _pack(file: BinaryIO, values: Column) -> int:
    """Write a column packed, its size in front; return how many bytes that takes."""
    import zstandard

    first = file.tell()
    file.write(pack("<q", values.nbytes))
    packing = zstandard.ZstdCompressor(level=LEVEL).compressobj(size=values.nbytes)
    rows = max(1, PIECE_BYTES // values.itemsize)
    for begin in range(0, values.size, rows):
        piece: Any = np.ascontiguousarray(values[begin : begin + rows])
        file.write(packing.compress(memoryview(piece).cast("B")))
    file.write(packing.flush())
    return file.tell() - first


def _schema(columns: Sequence[tuple[str, Column]], metadata: str) -> Table:
    return Table((
        Number("h", 0),  # the smallest byte first
        [_list_of(name, values.dtype) for name, values in columns],
        [Table(("synctax", metadata))],
    ))  # fmt: skip


def _list_of(name: str, dtype: np.dtype[Any]) -> Table:
    kind = Table((Number("i", 8 * dtype.itemsize), Number("B", dtype.kind == "i")))
    numbers = Table(("item", Number("B", 1), Number("B", _INT), kind, None, []))
    return Table((
        name, Number("B", 1), Number("B", _LARGE_LIST), Table(()), None, [numbers],
    ))  # fmt: skip


def _batch(
    columns: Sequence[tuple[str, Column]], buffers: Sequence[tuple[int, int]]
) -> Table:
    lengths = [pack("<qqqq", 1, 0, values.size, 0) for _, values in columns]
    places = [pack("<qq", *place) for place in buffers]
    return Table((
        Number("q", 1),
        Structs(2 * len(columns), b"".join(lengths)),
        Structs(len(buffers), b"".join(places)),
        Table((Number("b", _ZSTD), Number("b", 0))),
    ))  # fmt: skip


def _message(kind: int, header: Table, body_bytes: int) -> bytes:
    text = encode(Table((_VERSION, Number("B", kind), header, Number("q", body_bytes))))
    text += bytes(-len(text) % 8)
    return _CONTINUES + pack("<i", len(text)) + text


# ------------------------------------------------------------------------- reading


def read(file: BinaryIO) -> tuple[str, list[Stored]]:
    """Read what a stream holds, and no column yet.

    Returns
    -------
    str
        Its metadata.
    list of Stored

    Raises
    ------
    StreamError, ValueError
        If it is none, or one of other things.
    OSError
        If it cannot be read.
    """
    size = file.seek(0, os.SEEK_END)
    schema, at, _ = _header(file, 0, size, _SCHEMA)
    batch, body, body_bytes = _header(file, at, size, _BATCH)
    told = {pair.text(0): pair.text(1) for pair in schema.tables(2)}
    fields, nodes = schema.tables(1), batch.structs(1, "<qq")
    buffers = batch.structs(2, "<qq")
    packed = batch.table(3)
    if packed.number(0, "b") != _ZSTD or "synctax" not in told:
        raise StreamError("it is packed in another way, or without metadata")
    if len(nodes) != 2 * len(fields) or len(buffers) != _BUFFERS * len(fields):
        raise StreamError(f"{len(fields)} columns with {len(buffers)} buffers")
    columns = []
    for number, field in enumerate(fields):
        first, packed_bytes = buffers[_BUFFERS * number + _DATA]
        if min(first, packed_bytes) < 0 or first + packed_bytes > body_bytes:
            raise StreamError(f"{packed_bytes} bytes at {first} of {body_bytes}")
        rows = nodes[2 * number + 1][0]
        columns.append(
            Stored(field.text(0), _dtype(field), rows, body + first, packed_bytes)
        )
    return told["synctax"], columns


def _header(file: BinaryIO, at: int, size: int, kind: int) -> tuple[Reader, int, int]:
    """Read a message; return what it says, where its body begins, and how long that is."""
    file.seek(at)
    begin = file.read(8)
    if len(begin) < 8 or begin[:4] != _CONTINUES:
        raise StreamError(f"no message begins at {at}")
    (length,) = unpack("<i", begin[4:])
    body = at + 8 + length
    if not 0 < length <= size - at - 8:
        raise StreamError(f"a message of {length} bytes at {at} of {size}")
    message = Reader(file.read(length))
    body_bytes = message.number(3, "q")
    if message.number(1, "B") != kind or not 0 <= body_bytes <= size - body:
        raise StreamError(f"another message than {kind} at {at}")
    return message.table(2), body, body_bytes


def _dtype(field: Reader) -> np.dtype[Any]:
    items = field.tables(5)
    if field.number(2, "B") != _LARGE_LIST or len(items) != 1:
        raise StreamError("a column is no list")
    kind = items[0].table(3)
    width = kind.number(0, "i")
    if items[0].number(2, "B") != _INT or width not in _WIDTHS:
        raise StreamError("a column holds no whole numbers")
    return np.dtype(f"<{'i' if kind.number(1, 'B') else 'u'}{width // 8}")


def unpacked(file: BinaryIO, columns: Sequence[Stored]) -> dict[str, Column]:
    """Unpack columns into memory; they are read-only.

    All lie in one piece, which systems give in larger pages than many small ones: to
    touch fresh memory takes as long as half of the unpacking otherwise.

    Raises
    ------
    StreamError
        If there are not as many numbers as the stream says.
    OSError
        If it cannot be read.
    """
    sizes = [_size(column) for column in columns]
    places = [0, *accumulate(-(-size // _ALIGNED) * _ALIGNED for size in sizes)]
    try:
        memory: Any = np.empty(places[-1], np.uint8)
    except MemoryError as error:
        raise StreamError(f"{places[-1]} bytes are more than fit into memory") from error
    for column, size, at in zip(columns, sizes, places, strict=False):
        with _unpacking(file, column) as fill:
            fill(memory[at : at + size])
    memory.flags.writeable = False
    return {
        column.name: memory[at : at + size].view(column.dtype)
        for column, size, at in zip(columns, sizes, places, strict=False)
    }


def unpacked_blocks(file: BinaryIO, column: Stored, block_rows: int) -> Iterator[Column]:
    """Unpack a column, so many rows at a time; nothing where there is no row.

    Raises
    ------
    StreamError, OSError
        As `unpacked`.
    """
    _size(column)
    with _unpacking(file, column) as fill:
        for first in range(0, column.rows, block_rows):
            block: Any = np.empty(min(block_rows, column.rows - first), column.dtype)
            fill(block)
            yield block


def _size(column: Stored) -> int:
    """How many bytes a column unpacks to, if it can be so many."""
    size = column.rows * column.dtype.itemsize
    if (
        size < 0
        or size > column.packed_bytes * _MOST
        or bool(size) != bool(column.packed_bytes)
    ):
        raise StreamError(f"{column.name} cannot be {column.rows} numbers")
    return size


@contextmanager
def _unpacking(file: BinaryIO, column: Stored) -> Iterator[Callable[[Any], None]]:
    """Go to a column; calls fill arrays with it, one after the other, to its end."""
    import zstandard

    if not column.packed_bytes:
        yield lambda _: None
        return
    file.seek(column.first)
    part = _Part(file, column.packed_bytes)
    if part.read(_SIZE_BYTES) != pack("<q", _size(column)):
        raise StreamError(f"{column.name} is not {column.rows} numbers")
    stream = zstandard.ZstdDecompressor().stream_reader(
        cast("BinaryIO", part), read_size=_READ_BYTES
    )

    def fill(values: Any) -> None:
        left = memoryview(values).cast("B")
        while left.nbytes and (count := stream.readinto(left)):
            left = left[count:]
        if left.nbytes:
            raise StreamError(f"{column.name} has fewer than {column.rows} numbers")

    try:
        yield fill
        if stream.read(1):
            raise StreamError(f"{column.name} has more than {column.rows} numbers")
    except zstandard.ZstdError as error:
        raise StreamError(f"{column.name} is damaged: {error}") from error


class _Part:
    """So many bytes of a file, from where it stands."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size

    def read(self, size: int) -> bytes:
        """Read some of what is left; nothing at its end."""
        found = self._file.read(min(size, self._left))
        self._left -= len(found)
        return found

    def close(self) -> None:
        """Leave the file open for the next part."""
