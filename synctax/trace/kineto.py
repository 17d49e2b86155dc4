"""Read a PyTorch-profiler (Kineto) file into typed columns."""

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Protocol

import orjson

from synctax.trace.chunks import EventList
from synctax.trace.kineto_columns import Collector
from synctax.trace.kineto_finish import (
    base_time,
    take_comms,
    take_events,
    take_kernels,
    take_lanes,
    take_strings,
    take_syncs,
)
from synctax.trace.kineto_keys import GRAMMAR, decode
from synctax.trace.kineto_meta import read_meta
from synctax.trace.model import RankTrace
from synctax.trace.sniff import NotATraceError, require_trace
from synctax.trace.source import Damage, open_file, plain_blocks, read_ahead
from synctax.trace.tally import Tally

DEFAULT_CHUNK_BYTES = 1024 * 1024
"""Text decoded at once; measured: a quarter of it and four times as much are slower."""


class Scanner(Protocol):
    """Bytes in, columns out."""

    def feed(self, block: bytes) -> None:
        """Take the next block of plain JSON text, of any size."""

    def finish(self, damage: Damage) -> RankTrace:
        """Take the end of the text, and what is known of why it ended; give the columns."""


class MsgspecScanner:
    """The scanner in Python: msgspec decodes, numpy holds.

    Parameters
    ----------
    path : str
        As shown in messages and kept in the result.
    chunk_bytes : int
        Text decoded at once; the result does not depend on it.
    """

    def __init__(self, path: str, chunk_bytes: int = DEFAULT_CHUNK_BYTES) -> None:
        self._path = path
        self._tally = Tally()
        self._collector = Collector(self._tally)
        self._events = EventList(decode, self._tally, GRAMMAR, chunk_bytes)

    def feed(self, block: bytes) -> None:
        """Take the next block of plain JSON text, of any size.

        Raises
        ------
        NotATraceError
            If no list of events began in many megabytes.
        """
        for events in self._events.feed(block):
            self._collector.add(events)
        if self._events.hopeless:
            raise NotATraceError(self._no_list("begins"))

    def finish(self, damage: Damage) -> RankTrace:
        """Take the end of the text and give the columns.

        Raises
        ------
        NotATraceError
            If the text is complete and has no list of events.
        """
        listed, tally, collector = self._events, self._tally, self._collector
        for decoded in listed.finish():
            collector.add(decoded)
        if damage.reason:
            tally.add(damage.reason, damage.detail)
        listed_in_full = listed.closed or self._without_list()
        if not listed.found and not listed_in_full:
            tally.add("truncated", "the file ends before its events begin")
        meta = read_meta(listed.head, listed.tail, tally, closed=listed.closed)
        base_ns = base_time(collector, meta.base_time_ns, tally)
        starts, ends = collector.start_marks_ns, collector.end_marks_ns
        strings, merged = take_strings(collector)
        events, row = take_events(collector, base_ns, tally)
        for reason, category, count in collector.skipped():
            tally.add(reason, category, count=count)
        if not len(events):
            tally.add("no_events")
        return RankTrace(
            path=self._path,
            meta=replace(
                meta,
                base_time_ns=base_ns,
                profiler_start_ns=min(starts) + base_ns if starts else None,
                profiler_end_ns=max(ends) + base_ns if ends else None,
            ),
            events=events,
            lanes=take_lanes(collector),
            kernels=take_kernels(collector, row, merged),
            syncs=take_syncs(collector, row),
            comms=take_comms(collector, row, merged),
            strings=tuple(strings),
            notes=tally.notes(),
            truncated=not listed_in_full,
            bytes_read=listed.bytes_read,
        )

    def _without_list(self) -> bool:
        """Whether a complete text says that there are no events."""
        if self._events.found:
            return False
        try:
            document = orjson.loads(self._events.head.removeprefix(b"\xef\xbb\xbf"))
        except orjson.JSONDecodeError:
            return False
        if not isinstance(document, dict) or "traceEvents" not in document:
            raise NotATraceError(self._no_list("exists"))
        return True

    def _no_list(self, verb: str) -> str:
        return (
            f"{self._path}: no profiler trace; no list of traceEvents {verb} in "
            f"{self._events.bytes_read:,} bytes of JSON; "
            "export the trace with prof.export_chrome_trace('rank0.json.gz')"
        )


def read_rank(
    path: str | os.PathLike[str],
    *,
    chunk_bytes: int = DEFAULT_CHUNK_BYTES,
    on_bytes: Callable[[int], None] | None = None,
) -> RankTrace:
    """Read one rank's profiler window.

    Parameters
    ----------
    path : path or URL
        Kineto JSON, plain, gzip or zstd by content; an fsspec URL (`s3://...`) with the
        extra `cloud`.
    chunk_bytes : int
        Text decoded at once; the result does not depend on it.
    on_bytes : callable
        Called with counts of bytes of the file itself, as they are consumed.

    Returns
    -------
    RankTrace
        Its notes list every repair and everything that was left out.

    Raises
    ------
    NotATraceError
        If the file is something else, with what it is and what to do.
    BadInputError
        If the file cannot be read.
    SynctaxError
        If the path is a URL and fsspec is not installed.
    """
    name = os.fspath(path)
    require_trace(name)
    scanner: Scanner = MsgspecScanner(name, chunk_bytes)
    damage = Damage()
    with open_file(name) as file:
        blocks = read_ahead(plain_blocks(file, damage, on_bytes), chunk_bytes)
        with closing(blocks):
            for block in blocks:
                scanner.feed(block)
    return scanner.finish(damage)
