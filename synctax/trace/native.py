"""The scanner in C: what profilers write goes to columns at the speed of memory.

It does what the scanner in Python does for events that are written as profilers write
them, and refuses any other, one at a time: damaged ones, numbers of unusual forms, keys
that occur twice. Those are repaired or decoded in Python, and their rows are put between
the others in the end. So there is one description of what becomes of an event, and what
the C code may do is decided by it: less.
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from synctax.trace.chunks import EventList, State
from synctax.trace.columns import Columns
from synctax.trace.kineto_columns import Collector
from synctax.trace.kineto_keys import (
    CATEGORIES,
    COMMUNICATES,
    END_MARK,
    GRAMMAR,
    START_MARK,
    Args,
    Event,
    decode,
)
from synctax.trace.native_columns import Joiner
from synctax.trace.spill import Spill
from synctax.trace.tally import Tally
from synctax.trace.window import MAX_EVENT_BYTES, Undecided

if TYPE_CHECKING:
    from synctax.trace import _scan

_FEW_BYTES = 64 * 1024
"""An unfinished event that is shorter waits for more text."""
_MANY = 2_000
"""Events that are gathered before they are made rows in Python."""
_SEED = int.from_bytes(os.urandom(8), "little")


class NativeEvents(EventList[Event]):
    """The events of a list; those that C can keep are kept at once, others are yielded.

    Parameters
    ----------
    tally : Tally
    chunk_bytes : int
        Text to gather before it is scanned.
    variant : str
        One of `readers.variants()`.
    """

    def __init__(self, tally: Tally, chunk_bytes: int, variant: str) -> None:
        super().__init__(decode, tally, GRAMMAR, chunk_bytes)
        self.scanner = _scanner(variant)
        self._text.reused = True

    def _events(self) -> Iterator[list[Event]]:
        from synctax.trace import _scan

        padding = bytes(_scan.PADDING)
        # in the end the text itself is too short for what may be read behind it
        padded = self._text.buf + padding if self._text.final else None
        while self._state is State.EVENTS:
            stopped, self._at = self.scanner.scan(padded or self._text.buf, self._at)
            left = len(self._text) - self._at
            if stopped == _scan.MORE_TEXT and not self._text.final and left < _FEW_BYTES:
                return
            try:
                events = self._step()
            except Undecided:
                return
            if events:
                yield events


class NativeCollector:
    """The columns of one file: rows of the scanner, and of what it refused.

    Parameters
    ----------
    tally : Tally
    scanner : Scanner
    spill : Spill, optional
        Where columns go, a block at a time; default: they stay in memory.
    """

    def __init__(
        self, tally: Tally, scanner: "_scan.Scanner", spill: Spill | None = None
    ) -> None:
        self._tally = tally
        self._scanner = scanner
        self._spill = spill
        self._out = Collector(tally, columns=spill.columns if spill else Columns)
        self._joiner = Joiner(scanner, self._out, tally)
        self._refused = Collector(tally, placed=True)
        self._waiting: list[Event] = []
        self._places: list[int] = []

    def add(self, events: list[Event]) -> None:
        """Take events that the scanner refused, where they stand between its rows."""
        self._waiting += events
        self._places += [self._scanner.rows("events")] * len(events)
        if len(self._waiting) >= _MANY:
            self._pass_on()

    def settle(self) -> None:
        """Write to files what has become a block of rows, if that is where columns go."""
        if self._spill is None:
            return
        rows = self._scanner.rows("events") + self._refused.events.size
        if rows >= self._out.events.block_rows:
            self._pass_on()
            self._joiner.take_some(self._refused)
            self._refused = Collector(self._tally, placed=True)

    def close(self) -> Collector:
        """Give the columns; the scanner loses them."""
        self._pass_on()
        if self._spill is None:
            self._joiner.take_all(self._refused)
        else:
            self._joiner.take_rest(self._refused)
        return self._out

    def _pass_on(self) -> None:
        if self._waiting:
            self._refused.add(self._waiting, self._places)
            self._waiting, self._places = [], []


def told() -> dict[str, Any]:
    """What the scanner is told of keys, categories and limits, as its arguments."""
    return {
        "event_keys": [
            (field.encode_name.encode(), field.name) for field in _fields(Event)
        ],
        "args_keys": [
            (field.encode_name.encode(), _ROLES.get(field.name, field.name))
            for field in _fields(Args)
        ],
        "categories": [(name.encode(), int(kind)) for name, kind in CATEGORIES.items()],
        "communication": [prefix.encode() for prefix in COMMUNICATES],
        "marks": [START_MARK.encode(), END_MARK.encode()],
        "longest": MAX_EVENT_BYTES,
    }


def _scanner(variant: str) -> "_scan.Scanner":
    from synctax.trace import _scan

    return _scan.Scanner(**told(), seed=_SEED, variant=variant)


def _fields(struct: type[msgspec.Struct]) -> tuple[Any, ...]:
    return msgspec.structs.fields(struct)


_ROLES = {"name": "args_name"}
"""Of arguments that are called as a member of the event is."""
