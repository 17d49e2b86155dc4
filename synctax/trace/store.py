"""Parsed columns on disk: one Arrow file a trace, whole or refused, never half.

The file is an Arrow IPC stream with zstd (`pyarrow.ipc.open_stream` reads it): one row,
one list column for each column of the trace, the rest as JSON in the schema's metadata.
A trailer holds a checksum, so that damage is found first; what damage that a checksum does
not show could lead to, `coherent` finds.
"""

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar, get_args, get_type_hints
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.trace import arrow_stream
from synctax.trace.arrow_stream import Stored
from synctax.trace.model import (
    CommArgs,
    Events,
    KernelArgs,
    Lanes,
    RankTrace,
    SyncArgs,
    TraceMeta,
)
from synctax.trace.spill import Spill

FORMAT_VERSION: Final = 2
"""Of this file's layout; a file of another version is refused."""

PARSER_VERSION: Final = 3
"""Counts what the reader puts into columns: raise it when the same file gives others."""

TEMPORARY_SUFFIX: Final = ".tmp"

_MAGIC: Final = b"synctax" + bytes([FORMAT_VERSION])
_TRAILER_BYTES: Final = len(_MAGIC) + 4
_BLOCK_BYTES: Final = 1 << 20
_SECTIONS: Final = {
    "events": Events,
    "lanes": Lanes,
    "kernels": KernelArgs,
    "syncs": SyncArgs,
    "comms": CommArgs,
}
_TEXTS: Final = ("strings.bytes", "strings.end")

T = TypeVar("T")
Column = npt.NDArray[Any]


class StoreError(SynctaxError):
    """Stored columns are absent, damaged or of another version: read the trace again."""


class AbsentError(StoreError):
    """There are none, or none that this process may read."""


@dataclass(frozen=True, slots=True)
class _Rest:
    """What of a trace is no column, as it stands in the file."""

    path: str
    meta: TraceMeta
    labels: tuple[str, ...]
    notes: tuple[Note, ...]
    truncated: bool
    bytes_read: int


def save(trace: RankTrace, path: Path) -> None:
    """Write the columns of a trace; an existing file is replaced as a whole.

    Parameters
    ----------
    trace : RankTrace
    path : Path
        In an existing directory, where a temporary file lives meanwhile.

    Raises
    ------
    OSError
        If the file cannot be written; nothing of it is left then.
    """
    rest = _Rest(
        trace.path,
        trace.meta,
        trace.lanes.label,
        trace.notes,
        trace.truncated,
        trace.bytes_read,
    )
    with writing(path) as file:
        # Only ASCII leaves `dumps`, so even text that is no Unicode survives.
        arrow_stream.write(file, list(_columns(trace)), json.dumps(asdict(rest)))
        end = file.tell()
        file.write(_MAGIC + _checksum(file, end))


def load(path: Path, spill: Spill | None = None) -> RankTrace:
    """Read what `save` wrote: every column, string, note and metadatum exactly.

    Parameters
    ----------
    path : Path
    spill : Spill, optional
        Where columns go; default: memory. They are read-only.

    Raises
    ------
    AbsentError
        If the file cannot be read.
    StoreError
        If it is damaged or of another version, or its columns cannot be those of a trace.
    """
    try:
        with path.open("rb", buffering=0) as file:
            return _load(file, spill)
    except OSError as error:
        raise AbsentError(f"{path}: no stored columns: {error.strerror}") from error
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"{path}: stored columns have another layout: {error}") from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that appears under its name complete or not at all.

    Raises
    ------
    OSError
        If it cannot be written; the temporary file is removed.
    """
    with writing(path) as file:
        file.write(content)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that appears under its name when the block ends well, or not at all.

    Raises
    ------
    OSError
        If it cannot be written; the temporary file is removed.
    """
    temporary = path.with_name(f"{path.name}.{uuid4().hex}{TEMPORARY_SUFFIX}")
    try:
        with temporary.open("w+b") as file:
            yield file
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _checksum(file: BinaryIO, size: int) -> bytes:
    """Sum up the first bytes of a file, and leave it behind them."""
    found = 0
    file.seek(0)
    while size > 0 and (block := file.read(min(size, _BLOCK_BYTES))):
        found, size = zlib.crc32(block, found), size - len(block)
    return found.to_bytes(4, "little")


def _columns(trace: RankTrace) -> Iterator[tuple[str, Column]]:
    for section in _SECTIONS:
        part = getattr(trace, section)
        for field in fields(part):
            values = getattr(part, field.name)
            if isinstance(values, np.ndarray):
                yield f"{section}.{field.name}", values
    encoded = [text.encode("utf-8", "surrogatepass") for text in trace.strings]
    yield _TEXTS[0], np.frombuffer(b"".join(encoded), np.uint8)
    yield _TEXTS[1], np.cumsum([len(text) for text in encoded], dtype=np.int64)


# ------------------------------------------------------------------------- reading


def _load(file: BinaryIO, spill: Spill | None) -> RankTrace:
    import msgspec

    from synctax.trace.coherent import check

    size = file.seek(0, os.SEEK_END) - _TRAILER_BYTES
    file.seek(max(size, 0))
    trailer = file.read(_TRAILER_BYTES)
    if trailer[:-4] != _MAGIC:
        raise StoreError("not columns that this version of synctax stored")
    if trailer[-4:] != _checksum(file, size):
        raise StoreError("stored columns are damaged: the checksum differs")
    metadata, listed = arrow_stream.read(file)
    rest = msgspec.convert(json.loads(metadata), _Rest)
    stored = {column.name: column for column in listed}
    if len(stored) < len(listed) or {n: c.dtype for n, c in stored.items()} != _dtypes():
        raise ValueError("other columns, or of other types")

    texts = arrow_stream.unpacked(file, [stored.pop(name) for name in _TEXTS])
    rows = {name: {c.rows for c in _of(name, stored).values()} for name in _SECTIONS}
    for name, different in rows.items():
        if len(different) > 1:
            raise ValueError(f"columns of {name} differ in length")
    if spill is None:
        values = arrow_stream.unpacked(file, list(stored.values()))
    else:
        values = {name: _spilled(file, c, spill) for name, c in stored.items()}
    trace = RankTrace(
        path=rest.path,
        meta=rest.meta,
        strings=_strings(*(texts[name] for name in _TEXTS)),
        notes=rest.notes,
        truncated=rest.truncated,
        bytes_read=rest.bytes_read,
        events=Events(**_of("events", values)),
        lanes=Lanes(**_of("lanes", values), label=rest.labels),
        kernels=KernelArgs(**_of("kernels", values)),
        syncs=SyncArgs(**_of("syncs", values)),
        comms=CommArgs(**_of("comms", values)),
    )
    check(trace)
    return trace


@cache
def _dtypes() -> dict[str, np.dtype[Any]]:
    """List the columns that a file has, as the types of the model say."""
    types: list[npt.DTypeLike] = [np.uint8, np.int64]
    found = {name: np.dtype(one) for name, one in zip(_TEXTS, types, strict=True)}
    for section, kind in _SECTIONS.items():
        for name, hint in get_type_hints(kind).items():
            if name != "label":
                (scalar,) = get_args(get_args(hint)[1])
                found[f"{section}.{name}"] = np.dtype(scalar)
    return found


def _of(section: str, columns: dict[str, T]) -> dict[str, T]:
    prefix = f"{section}."
    return {
        name.removeprefix(prefix): column
        for name, column in columns.items()
        if name.startswith(prefix)
    }


def _spilled(file: BinaryIO, column: Stored, spill: Spill) -> Column:
    spilled = spill.columns(values=column.dtype)
    for block in arrow_stream.unpacked_blocks(file, column, spilled.block_rows):
        spilled.append(values=block)
    values: Column = spilled.arrays()["values"]
    return values


def _strings(content: Column, ends: Column) -> tuple[str, ...]:
    data = content.tobytes()
    bounds = [0, *ends.tolist()]
    if bounds != sorted(bounds) or bounds[-1] != len(data):
        raise ValueError("strings do not end one after the other")
    return tuple(
        data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(bounds)
    )
