"""Parsed columns on disk: one Arrow file a trace, whole or refused, never half.

The file is an Arrow IPC stream with zstd (`pyarrow.ipc.open_stream` reads it): one row,
one list column for each column of the trace, the rest as JSON in the schema's metadata.
A trailer holds a checksum, so that damage is found before Arrow meets it.
"""

import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.trace.model import (
    CommArgs,
    Device,
    Events,
    GroupConfig,
    KernelArgs,
    Lanes,
    RankTrace,
    SyncArgs,
    TraceMeta,
)

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT_VERSION: Final = 1
"""Of this file's layout; a file of another version is refused."""

PARSER_VERSION: Final = 3
"""Counts what the reader puts into columns: raise it when the same file gives others."""

TEMPORARY_SUFFIX: Final = ".tmp"

_MAGIC: Final = b"synctax" + bytes([FORMAT_VERSION])
_TRAILER_BYTES: Final = len(_MAGIC) + 4
_METADATA_KEY: Final = b"synctax"
_SECTIONS: Final = {
    "events": Events,
    "lanes": Lanes,
    "kernels": KernelArgs,
    "syncs": SyncArgs,
    "comms": CommArgs,
}

S = TypeVar("S")


class StoreError(SynctaxError):
    """Stored columns are absent, damaged or of another version: read the trace again."""


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
    body = _encode(trace)
    trailer = _MAGIC + zlib.crc32(body).to_bytes(4, "little")
    write_atomically(path, body, trailer)


def load(path: Path) -> RankTrace:
    """Read what `save` wrote: every column, string, note and metadatum exactly.

    The arrays are views of the file's contents and read-only.

    Raises
    ------
    StoreError
        If the file is absent, damaged or of another version.
    """
    import pyarrow as pa

    try:
        data = memoryview(path.read_bytes())
    except OSError as error:
        raise StoreError(f"{path}: no stored columns: {error.strerror}") from error
    body, trailer = data[:-_TRAILER_BYTES], bytes(data[-_TRAILER_BYTES:])
    if trailer[:-4] != _MAGIC:
        raise StoreError(f"{path}: not columns that this version of synctax stored")
    if trailer[-4:] != zlib.crc32(body).to_bytes(4, "little"):
        raise StoreError(f"{path}: stored columns are damaged: the checksum differs")
    try:
        return _decode(body)
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path}: stored columns have another layout: {error}") from error


def write_atomically(path: Path, *parts: "bytes | memoryview | pa.Buffer") -> None:
    """Write a file that appears under its name complete or not at all.

    Raises
    ------
    OSError
        If it cannot be written; the temporary file is removed.
    """
    temporary = path.with_name(f"{path.name}.{uuid4().hex}{TEMPORARY_SUFFIX}")
    try:
        with temporary.open("wb") as file:
            for part in parts:
                file.write(part)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


# ------------------------------------------------------------------------- writing


def _encode(trace: RankTrace) -> "pa.Buffer":
    import pyarrow as pa

    columns = dict(_columns(trace))
    rest = {
        "path": trace.path,
        "meta": asdict(trace.meta),
        "labels": trace.lanes.label,
        "notes": [asdict(note) for note in trace.notes],
        "truncated": trace.truncated,
        "bytes_read": trace.bytes_read,
    }
    # Only ASCII leaves `dumps`, so even text that is no Unicode survives.
    metadata = {_METADATA_KEY: json.dumps(rest)}
    arrays = [_to_arrow(values) for values in columns.values()]
    batch = pa.record_batch(arrays, names=list(columns)).replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _columns(trace: RankTrace) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    for section in _SECTIONS:
        part = getattr(trace, section)
        for field in fields(part):
            values = getattr(part, field.name)
            if isinstance(values, np.ndarray):
                yield f"{section}.{field.name}", values
    encoded = [text.encode("utf-8", "surrogatepass") for text in trace.strings]
    yield "strings.bytes", np.frombuffer(b"".join(encoded), np.uint8)
    yield "strings.end", np.cumsum([len(text) for text in encoded], dtype=np.int64)


def _to_arrow(values: npt.NDArray[Any]) -> "pa.Array":
    """Wrap a column as one list, without copying it."""
    import pyarrow as pa

    dense = np.ascontiguousarray(values)
    content = pa.Array.from_buffers(
        pa.from_numpy_dtype(dense.dtype), dense.size, [None, pa.py_buffer(dense)]
    )
    ends = pa.py_buffer(np.array([0, dense.size], np.int64))
    return pa.Array.from_buffers(
        pa.large_list(content.type), 1, [None, ends], children=[content]
    )


# ------------------------------------------------------------------------- reading


def _decode(body: memoryview) -> RankTrace:
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(use_threads=False)
    with pa.ipc.open_stream(pa.py_buffer(body), options=options) as reader:
        batch = reader.read_next_batch()
    rest = json.loads(batch.schema.metadata[_METADATA_KEY])
    columns = {
        name: _to_numpy(column)
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    labels = {"label": tuple(rest["labels"])}
    sections = {
        name: _section(kind, name, columns, labels) for name, kind in _SECTIONS.items()
    }
    return RankTrace(
        path=rest["path"],
        meta=_meta(rest["meta"]),
        strings=_strings(columns["strings.bytes"], columns["strings.end"]),
        notes=tuple(Note(**note) for note in rest["notes"]),
        truncated=rest["truncated"],
        bytes_read=rest["bytes_read"],
        **sections,
    )


def _to_numpy(column: "pa.Array") -> npt.NDArray[Any]:
    # `to_numpy` of pyarrow would import pandas if it is there: 0.2 s.
    content = column.values
    dtype = content.type.to_pandas_dtype()
    return np.frombuffer(content.buffers()[1] or b"", dtype, count=len(content))


def _section(
    kind: Callable[..., S],
    name: str,
    columns: dict[str, npt.NDArray[Any]],
    labels: dict[str, tuple[str, ...]],
) -> S:
    prefix = f"{name}."
    own = {
        key.removeprefix(prefix): values
        for key, values in columns.items()
        if key.startswith(prefix)
    }
    return kind(**own, **(labels if kind is Lanes else {}))


def _strings(content: npt.NDArray[Any], ends: npt.NDArray[Any]) -> tuple[str, ...]:
    data = content.tobytes()
    bounds = [0, *ends.tolist()]
    return tuple(
        data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(bounds)
    )


def _meta(values: dict[str, Any]) -> TraceMeta:
    groups = tuple(
        GroupConfig(**{**g, "ranks": None if g["ranks"] is None else tuple(g["ranks"])})
        for g in values["groups"]
    )
    devices = tuple(Device(**device) for device in values["devices"])
    threads = tuple(values["runner_threads"])
    lists = {"groups": groups, "devices": devices, "runner_threads": threads}
    return TraceMeta(**{**values, **lists})
