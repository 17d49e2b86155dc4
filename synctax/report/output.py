"""Write a result as table, JSON, CSV or Parquet, to stdout or whole to a file.

stdout carries the result and nothing else; notes go to stderr.
"""

import errno
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from synctax.errors import SynctaxError
from synctax.files import replacing
from synctax.report.json_text import dumps, json_bytes, utf8
from synctax.report.streams import (
    CLOSED_STDOUT,
    discard,
    encoding_of,
    say,
    spelled,
    visible,
)
from synctax.schema import Rows, Table

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

Format = Literal["table", "json", "csv", "parquet"]
FORMATS: tuple[Format, ...] = ("table", "json", "csv", "parquet")
SUFFIXES: dict[str, Format] = {
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
    ".txt": "table",
}
"""The format that a file's name asks for."""

PARQUET_KEY = b"synctax"
"""Key of a Parquet file's metadata that holds the envelope without its rows, as JSON."""


ROWS_AT_A_TIME = 10_000
"""Rows that are turned into text at a time."""

MADE_AT_A_TIME = 50_000
"""Rows of a long result that are made at a time: each time costs some, each row memory."""


class NoteLike(Protocol):
    """What was left out, repaired or inferred; `trace.model.Note` is one."""

    @property
    def reason(self) -> str:
        """Stable identifier."""

    @property
    def count(self) -> int:
        """How often."""

    @property
    def detail(self) -> str:
        """Words for people, or empty."""


@dataclass(frozen=True, slots=True)
class Output:
    """Where and how a command shows its result.

    Parameters
    ----------
    fmt : "table", "json", "csv" or "parquet"
    path : Path, optional
        None is stdout.
    verbosity : int
        -1 for no notes and no progress, 0, or more.
    """

    fmt: Format = "table"
    path: Path | None = None
    verbosity: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What a command found.

    Parameters
    ----------
    table : schema.Table
        Declares the rows.
    data : DataFrame or schema.Rows
        The rows, built by `table.to_frame` or `table.rows`.
    parameters : mapping
        What was asked, defaults included.
    excluded : notes
        What did not enter the rows.
    extra : mapping
        Further keys of the envelope, such as `gpu_hours_waited`.
    """

    table: Table
    data: "pd.DataFrame | Rows"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    excluded: Sequence[NoteLike] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def frame(self) -> "pd.DataFrame":
        """The rows as pandas has them; made now if they are none of its yet."""
        return self.data.to_frame() if isinstance(self.data, Rows) else self.data

    @property
    def empty(self) -> bool:
        """Whether there is no row."""
        return self.data.empty

    def column(self, name: str) -> list[Any]:
        """Return the values of a column; absent ones are None, NaN or pandas' NA."""
        if isinstance(self.data, Rows):
            return self.data.column(name)
        return list(self.data[name].astype(object))


@dataclass(frozen=True, slots=True)
class LongResult(Result):
    """A result of so many rows that they are made a part at a time.

    Parameters
    ----------
    rows : int
        How many there are; `frame` has none of them.
    part : callable
        Makes those from one number to before another.
    """

    rows: int = 0
    part: "Callable[[int, int], pd.DataFrame] | None" = None


Render = Callable[[Result], "Iterable[RenderableType]"]
"""Turns a result into what people read: rich tables and plain strings, in order."""


def emit(result: Result, output: Output, *, render: Render | None = None) -> None:
    """Write a result where `output` says.

    Parameters
    ----------
    result : Result
    output : Output
    render : callable, optional
        What `table` shows; every column of every row if absent.

    Raises
    ------
    OSError
        If the file cannot be written; what was there before is then untouched.
    """
    if output.fmt == "table":
        from synctax.report import tables

        show((render or tables.plain)(result), output)
    else:
        write(_ENCODERS[output.fmt](result), output.path)


def show(parts: "Iterable[RenderableType]", output: Output) -> None:
    """Write what people read where `output` says, for which no frame need be built.

    Parameters
    ----------
    parts : iterable
        Rich tables and plain strings, in order.
    output : Output
        Its format is not looked at.

    Raises
    ------
    OSError
        As `emit`.
    """
    from synctax.report import tables

    text = tables.to_text(parts, to_file=bool(output.path))
    write(_encoded(text, output.path), output.path)


def write(data: bytes | Iterable[bytes], path: Path | None) -> None:
    """Write to stdout (`path` None) or, whole or not at all, to a file.

    Raises
    ------
    SynctaxError
        If stdout is closed.
    OSError
        If it, or the file, cannot be written.
    """
    pieces = [data] if isinstance(data, bytes) else data
    if path is not None:
        with replacing(path) as file:
            file.writelines(pieces)
        return
    try:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
    except OSError as error:
        discard(sys.stdout)
        if error.errno == errno.EBADF:
            raise SynctaxError(CLOSED_STDOUT) from error
        error.filename = "stdout"
        raise


def notes(found: Iterable[NoteLike | str], output: Output) -> None:
    """Write one `note:` line for each note to stderr; none with `-q`."""
    if output.verbosity < 0:
        return
    for note in found:
        say(f"note: {visible(note if isinstance(note, str) else note_text(note))}")


def note_text(note: NoteLike) -> str:
    """Say a note in one line: how often, what, where first.

    Examples
    --------
    >>> from synctax.notes import Note
    >>> note_text(Note("duration_negative", 1200, "durations below 0", "line 12"))
    '1,200 × durations below 0 [duration_negative] (first: line 12)'
    >>> note_text(Note("head", 3))
    '3 × head'
    """
    text = f"{note.count:,} × {note.detail or note.reason}"
    if note.detail:
        text += f" [{note.reason}]"
    where = getattr(note, "where", "")
    return f"{text} (first: {where})" if where else text


def envelope(result: Result) -> dict[str, Any]:
    """Return what JSON holds, without the rows.

    Keys in order: `schema`, `parameters`, `excluded`, then those of `extra`.

    Raises
    ------
    ValueError
        If `extra` uses a key of the envelope.
    """
    taken = {"schema", "parameters", "excluded", "rows"} & set(result.extra)
    if taken:
        raise ValueError(f"extra keys {sorted(taken)} belong to the envelope")
    return {
        "schema": result.table.schema,
        "parameters": dict(result.parameters),
        "excluded": [_note(note) for note in result.excluded],
        **result.extra,
    }


def to_json(result: Result) -> Iterator[bytes]:
    """Encode the envelope with its rows; absent and not-a-number become null.

    Yields
    ------
    bytes
        Pieces of one document: a million rows as Python objects would take gigabytes.
    """
    head = json_bytes({**envelope(result), "rows": []}, indent=True)
    yield head.removesuffix(b"]\n}")
    separator = b""
    for part in _parts(result):
        columns = {name: _column(part[name]) for name in part}
        rows = [
            dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)
        ]
        # newlines within texts are escaped, so every newline is one of the layout
        listed = dumps(rows, indent=True).replace(b"\n", b"\n  ")
        yield separator + listed.removeprefix(b"[").removesuffix(b"\n  ]")
        separator = b","
    yield b"\n  ]\n}\n" if separator else b"]\n}\n"


def to_csv(result: Result) -> Iterator[bytes]:
    """Encode a header and the rows; floats keep every digit, absent is empty."""
    yield f"{','.join(result.table.names)}\n".encode()
    texts = [c.name for c in result.table.columns if c.dtype == "str"]
    for part in _parts(result):
        shown = part.assign(**{name: _column(part[name]) for name in texts})
        text = shown.to_csv(index=False, header=False, lineterminator="\n")
        yield text.encode("utf-8", "backslashreplace")


def _parts(result: Result) -> "Iterator[pd.DataFrame]":
    names = list(result.table.names)
    for whole in _made(result):
        frame = whole[names]
        for start in range(0, len(frame), ROWS_AT_A_TIME):
            yield frame.iloc[start : start + ROWS_AT_A_TIME]


def _made(result: Result) -> "Iterator[pd.DataFrame]":
    if not isinstance(result, LongResult) or result.part is None:
        yield result.frame
        return
    for start in range(0, result.rows, MADE_AT_A_TIME):
        yield result.part(start, min(start + MADE_AT_A_TIME, result.rows))


def to_parquet(result: Result) -> bytes:
    """Encode the rows; the file's metadata holds the rest of the envelope as JSON."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {
        "int": pa.int64(),
        "float": pa.float64(),
        "str": pa.string(),
        "bool": pa.bool_(),
    }
    schema = pa.schema([(c.name, types[c.dtype]) for c in result.table.columns])
    schema = schema.with_metadata({PARQUET_KEY: json_bytes(envelope(result))})

    batches = [
        pa.record_batch(
            [
                pa.array([None if v != v else v for v in _column(part[f.name])], f.type)
                for f in schema
            ],
            schema=schema,
        )
        for part in _parts(result)
    ]
    table = pa.Table.from_batches(batches, schema)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


_ENCODERS: dict[str, Callable[[Result], bytes | Iterable[bytes]]] = {
    "json": to_json,
    "csv": to_csv,
    "parquet": to_parquet,
}


def _note(note: NoteLike) -> dict[str, Any]:
    entry: dict[str, Any] = {"reason": note.reason, "count": note.count}
    if note.detail:
        entry["detail"] = note.detail
    if where := getattr(note, "where", ""):
        entry["where"] = where
    return entry


def _column(values: "pd.Series[Any]") -> list[Any]:
    """Return Python values, None where absent, text that UTF-8 can hold."""
    if values.dtype.kind == "f":
        return list(values.tolist())
    filled: list[Any] = values.astype(object).where(values.notna(), None).tolist()
    return [utf8(v) if isinstance(v, str) else v for v in filled]


def _encoded(text: str, path: Path | None) -> bytes:
    encoding = "utf-8" if path else encoding_of(sys.stdout)
    return spelled(text, encoding).encode(encoding, "backslashreplace")
