"""What kind of file a file is, from its first kilobytes; names are only a hint."""

import io
import os
import re
from dataclasses import dataclass
from enum import Enum

from synctax.errors import BadInputError
from synctax.trace.source import (
    GZIP_MAGIC,
    ZSTD_MAGIC,
    Damage,
    open_file,
    plain_blocks,
)

PREFIX_BYTES = 32 * 1024

_EXPORT = "export the trace with prof.export_chrome_trace('rank0.json.gz')"


class Format(Enum):
    """Kinds of files that lie beside traces; the value says what it is."""

    KINETO = "a PyTorch profiler trace"
    EXECUTION_TRACE = "a PyTorch execution trace (nodes without GPU times)"
    PERFETTO = "a Perfetto protobuf trace"
    STACKS = "a list of collapsed stacks"
    MEMORY_SNAPSHOT = "a CUDA memory snapshot"
    SYNTH_TRUTH = "the true waits of a made-up job"
    RECORD_NOTES = "what was done to a recorded job"
    OVERLAY = "an overlay of all ranks of a job"
    OTHER_JSON = "JSON without traceEvents"
    TEXT = "text"
    ARCHIVE = "an archive or compressed in a way that is not read"
    BINARY = "binary data"
    EMPTY = "empty"


_ADVICE = {
    Format.KINETO: "",
    Format.EXECUTION_TRACE: f"an execution trace has no kernels; {_EXPORT}",
    Format.PERFETTO: f"this format is not read; {_EXPORT}",
    Format.STACKS: f"stacks have no times; {_EXPORT}",
    Format.MEMORY_SNAPSHOT: f"a snapshot has no kernels; {_EXPORT}",
    Format.SYNTH_TRUTH: "give the folder of its traces",
    Format.RECORD_NOTES: "give the folder of its traces",
    Format.OVERLAY: "it is for viewers; give the traces that it was made of, or take them "
    "out of it with synctax.split_overlay(FILE, FOLDER)",
    Format.OTHER_JSON: f"a trace has a list of traceEvents; {_EXPORT}",
    Format.TEXT: f"a trace is JSON, plain, .gz or .zst; {_EXPORT}",
    Format.ARCHIVE: "unpack it; traces are read plain, as .gz or as .zst",
    Format.BINARY: f"a trace is JSON, plain, .gz or .zst; {_EXPORT}",
    Format.EMPTY: "the profiler or the copy was stopped before anything was written",
}


class NotATraceError(BadInputError):
    """The file is something else than a profiler trace, or nothing."""


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What a file is: its format, and its compression (`gzip`, `zstd` or empty)."""

    format: Format
    compression: str = ""

    @property
    def is_trace(self) -> bool:
        """Whether it can be read as a trace."""
        return self.format is Format.KINETO

    @property
    def sentence(self) -> str:
        """What it is and what to do, for a message."""
        advice = _ADVICE[self.format]
        return f"it is {self.format.value}" + (f": {advice}" if advice else "")


def sniff(path: str | os.PathLike[str]) -> Sniffed:
    """Recognise a file by its content; reads a few kilobytes.

    Raises
    ------
    BadInputError
        If the file cannot be opened.
    """
    with open_file(os.fspath(path), PREFIX_BYTES) as file:
        raw = file.read(PREFIX_BYTES)
        plain = bytearray()
        for block in plain_blocks(io.BytesIO(raw), Damage()):
            plain += block
            if len(plain) >= PREFIX_BYTES:
                break
    return Sniffed(_format(bytes(plain), raw, os.fspath(path)), _compression(raw))


def require_trace(path: str | os.PathLike[str]) -> Sniffed:
    """Refuse a file that is no profiler trace; say how one is compressed.

    Raises
    ------
    NotATraceError
        With a sentence that says what the file is and what to do.
    """
    found = sniff(path)
    if not found.is_trace:
        raise NotATraceError(f"{os.fspath(path)}: no profiler trace; {found.sentence}")
    return found


def _compression(raw: bytes) -> str:
    if raw.startswith(GZIP_MAGIC):
        return "gzip"
    return "zstd" if raw.startswith(ZSTD_MAGIC) else ""


_ARCHIVES = (b"PK\x03\x04", b"BZh", b"\xfd7zXZ\x00", b"7z\xbc\xaf", b"\x04\x22\x4d\x18")
_TRACE_KEY = re.compile(
    rb'"(?:traceEvents|schemaVersion|deviceProperties|distributedInfo|displayTimeUnit'
    rb'|baseTimeNanoseconds)"'
)
_EVENT = re.compile(rb'\A[\s\xef\xbb\xbf]*+\[(?:\s*+\]|[,\s]*+\{[^{}]*"ph"\s*+:)')
_TRUTH = re.compile(rb'\A\{\s*"schema"\s*:\s*"synctax\.synth-truth/')
_NOTES = re.compile(rb'\A\{\s*"schema"\s*:\s*"synctax\.(?:record[a-z-]*|delays|plan)/')
_OVERLAY = re.compile(
    rb'\A\{\s*"displayTimeUnit"\s*:\s*"ms"\s*,\s*"otherData"\s*:\s*\{\s*"synctax"\s*:'
    rb'\s*"synctax\.overlay/'
)
_OWN = (
    (_TRUTH, Format.SYNTH_TRUTH),
    (_NOTES, Format.RECORD_NOTES),
    (_OVERLAY, Format.OVERLAY),
)
"""What synctax itself writes."""
_EXECUTION = re.compile(rb'"schema"\s*:\s*"[^"]*"')
_NODES = re.compile(rb'"(?:nodes|start_ts|finish_ts)"\s*:')
_SNAPSHOT = re.compile(rb'"(?:segments|device_traces|allocator_settings)"\s*:')
_STACK = re.compile(rb"[^\n{;]*+;[^\n]*\s\d+\s*(?:\n|\Z)")
"""Of the first semicolon only, or each would have the line behind it searched."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def _format(plain: bytes, raw: bytes, path: str) -> Format:
    text = plain.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        return Format.EMPTY
    if raw.startswith(_ARCHIVES) or text[257:262] == b"ustar":
        return Format.ARCHIVE
    if not _TRACE_KEY.search(text) and _is_binary(text):
        named = path.lower().endswith((".pftrace", ".perfetto-trace"))
        return Format.PERFETTO if plain.startswith(b"\n") or named else Format.BINARY
    if text[:1] in (b"{", b"[") or _TRACE_KEY.search(text):
        return _json_format(text)
    return Format.STACKS if _STACK.match(text) else Format.TEXT


def _json_format(text: bytes) -> Format:
    for pattern, kind in _OWN:
        if pattern.match(text):
            return kind
    if b'"traceEvents"' in text or _EVENT.match(text):
        return Format.KINETO
    if _EXECUTION.search(text) and _NODES.search(text):
        return Format.EXECUTION_TRACE
    if _TRACE_KEY.search(text):
        return Format.KINETO
    return Format.MEMORY_SNAPSHOT if _SNAPSHOT.search(text) else Format.OTHER_JSON


def _is_binary(text: bytes) -> bool:
    if text.startswith(_UTF16):
        return True
    return any(byte < 9 or 13 < byte < 32 for byte in text[:512])
