"""Read a PyTorch-profiler (Kineto) file into typed columns."""

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Protocol

import orjson

from synctax.trace.chunks import EventList
from synctax.trace.columns import Columns
from synctax.trace.kineto_columns import Collector
from synctax.trace.kineto_finish import (
    base_time,
    take_all,
    take_lanes,
    take_strings,
)
from synctax.trace.kineto_keys import GRAMMAR, Event, decode
from synctax.trace.kineto_meta import read_meta
from synctax.trace.kineto_spilled import take_spilled
from synctax.trace.model import RankTrace
from synctax.trace.native import NativeCollector, NativeEvents
from synctax.trace.readers import NATIVE, chosen, variants
from synctax.trace.sniff import NotATraceError, require_trace
from synctax.trace.source import Damage, open_file, plain_blocks, read_ahead
from synctax.trace.spill import Spill, asked_for
from synctax.trace.tally import Tally

DEFAULT_CHUNK_BYTES = 1024 * 1024
"""Text decoded at once; measured: a quarter of it and four times as much are slower."""
NATIVE_CHUNK_BYTES = 256 * 1024
"""Text that the compiled scanner takes at once: it stays in the core's own cache."""


class Scanner(Protocol):
    """Bytes in, columns out."""

    def feed(self, block: bytes) -> None:
        """Take the next block of plain JSON text, of any size."""

    def finish(self, damage: Damage) -> RankTrace:
        """Take the end of the text, and what is known of why it ended; give the columns."""


class _Scanner:
    """What is the same whoever decodes events."""

    def __init__(
        self,
        path: str,
        tally: Tally,
        events: EventList[Event],
        collector: Collector | NativeCollector,
        spill: Spill | None,
    ) -> None:
        self._path = path
        self._tally, self._events, self._collector = tally, events, collector
        self._spill = spill

    def feed(self, block: bytes) -> None:
        """Take the next block of plain JSON text, of any size.

        Raises
        ------
        NotATraceError
            If no list of events began in many megabytes.
        """
        for events in self._events.feed(block):
            self._collector.add(events)
        self._collector.settle()
        if self._events.hopeless:
            raise NotATraceError(self._no_list("begins"))

    def finish(self, damage: Damage) -> RankTrace:
        """Take the end of the text and give the columns.

        Raises
        ------
        NotATraceError
            If the text is complete and has no list of events.
        """
        listed, tally = self._events, self._tally
        for decoded in listed.finish():
            self._collector.add(decoded)
        collector = self._collector.close()
        if damage.reason:
            tally.add(damage.reason, damage.detail)
        listed_in_full = listed.closed or self._without_list()
        if not listed.found and not listed_in_full:
            tally.add("truncated", "the file ends before its events begin")
        if GRAMMAR.list_start.search(listed.tail):
            tally.add("second_list")
        meta = read_meta(listed.head, listed.tail, tally, closed=listed.closed)
        base_ns = base_time(collector, meta.base_time_ns, tally)
        starts, ends = collector.start_marks_ns, collector.end_marks_ns
        strings, merged = take_strings(collector)
        take = take_all if self._spill is None else partial(take_spilled, self._spill)
        events, kernels, syncs, comms = take(collector, base_ns, merged, tally)
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
            kernels=kernels,
            syncs=syncs,
            comms=comms,
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


class MsgspecScanner(_Scanner):
    """The scanner in Python: msgspec decodes, numpy holds.

    Parameters
    ----------
    path : str
        As shown in messages and kept in the result.
    chunk_bytes : int
        Text decoded at once; the result does not depend on it.
    spill : Spill, optional
        Where columns go; default: memory.
    """

    def __init__(
        self,
        path: str,
        chunk_bytes: int = DEFAULT_CHUNK_BYTES,
        *,
        spill: Spill | None = None,
    ) -> None:
        tally = Tally()
        events = EventList(decode, tally, GRAMMAR, chunk_bytes)
        collector = Collector(tally, columns=spill.columns if spill else Columns)
        super().__init__(path, tally, events, collector, spill)


class NativeScanner(_Scanner):
    """The scanner in C, for what profilers write; the rest as `MsgspecScanner`.

    Parameters
    ----------
    path : str
        As shown in messages and kept in the result.
    chunk_bytes : int
        Text scanned at once; the result does not depend on it.
    variant : str, optional
        Vector unit to use, one of `readers.variants()`. Default: the best.
    spill : Spill, optional
        Where columns go; default: memory.
    """

    def __init__(
        self,
        path: str,
        chunk_bytes: int = NATIVE_CHUNK_BYTES,
        variant: str | None = None,
        *,
        spill: Spill | None = None,
    ) -> None:
        tally = Tally()
        events = NativeEvents(tally, chunk_bytes, variant or variants()[0])
        collector = NativeCollector(tally, events.scanner, spill)
        super().__init__(path, tally, events, collector, spill)
        self._scanner = events.scanner

    @property
    def kept(self) -> int:
        """Events that are rows without a detour through Python."""
        return self._scanner.rows("events")


def scanner_of(
    path: str, chunk_bytes: int | None = None, spill: Spill | None = None
) -> Scanner:
    """Make the scanner that is in use (`readers.chosen`); columns go where `spill` says.

    Raises
    ------
    SynctaxError
        If one is asked for that is not there.
    """
    if chosen() == NATIVE:
        return NativeScanner(path, chunk_bytes or NATIVE_CHUNK_BYTES, spill=spill)
    return MsgspecScanner(path, chunk_bytes or DEFAULT_CHUNK_BYTES, spill=spill)


def read_rank(
    path: str | os.PathLike[str],
    *,
    chunk_bytes: int | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> RankTrace:
    """Read one rank's profiler window.

    Parameters
    ----------
    path : path or URL
        Kineto JSON, plain, gzip or zstd by content; an fsspec URL (`s3://...`) with the
        extra `cloud`.
    chunk_bytes : int, optional
        Text decoded at once; the result does not depend on it. Default: what suits the
        reader.
    on_bytes : callable
        Called with counts of bytes of the file itself, as they are consumed.

    Returns
    -------
    RankTrace
        Its notes list every repair and everything that was left out. With
        `SYNCTAX_LOW_MEMORY=1` in the environment its columns lie in files without a name
        (in `TMPDIR`), and reading holds some megabytes of them at a time.

    Raises
    ------
    NotATraceError
        If the file is something else, with what it is and what to do.
    BadInputError
        If the file cannot be read.
    SynctaxError
        If the path is a URL and fsspec is not installed, a reader is asked for that was
        not built (`synctax.trace.readers`), or there is no room for columns in files.
    """
    name = os.fspath(path)
    sniffed = require_trace(name)
    scanner = scanner_of(name, chunk_bytes, asked_for())
    # the compiled scanner is hardly slower than copying: of plain text on a disk, which the
    # system reads ahead, handing blocks from thread to thread costs more than it gains
    direct = isinstance(scanner, NativeScanner) and not sniffed.compression
    direct &= "://" not in name
    damage = Damage()
    with open_file(name) as file:
        plain = plain_blocks(file, damage, on_bytes)
        blocks = plain if direct else read_ahead(plain, chunk_bytes or DEFAULT_CHUNK_BYTES)
        with closing(blocks):
            for block in blocks:
                scanner.feed(block)
    return scanner.finish(damage)
