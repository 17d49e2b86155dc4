"""Split the text of a long JSON list into chunks of whole events and decode them.

The fast way: cut a chunk where an event seems to end and let a strict decoder read it
whole. A decoder that reads everything has proved the cut right. Where it refuses, ever
smaller pieces, in the end single events, are tried, repaired or given up. What becomes of
an event depends on the text from its first byte on and on nothing else, so the result
does not depend on where chunks happen to end.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Generic, TypeVar

from synctax.trace.salvage import (
    MAX_REPAIR_BYTES,
    Repaired,
    not_finite_at,
    quote_not_finite,
    repair,
)
from synctax.trace.tally import Tally
from synctax.trace.window import MAX_EVENT_BYTES, Undecided, Window

MAX_OUTSIDE_BYTES = 8 * 1024 * 1024
"""The most text outside the list (metadata) that is kept."""
_SMALL = 2_048
_MANY = 2_000
_LIST_CLOSED = re.compile(rb'\]\s*(?:,\s*"|\}|\Z)')
_COMMA, _OPEN, _OPEN_LIST, _CLOSE_LIST = b",{[]"

E = TypeVar("E")


class UndecodableError(ValueError):
    """The decoder cannot read the text; `at` is where that showed, where it is known."""

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True, slots=True)
class Grammar:
    """How the list and its events look in bytes.

    `list_start` matches up to and with the opening bracket, `event_start` the beginning
    of an event (`{"ph":`), `event_key` a key of an event with its colon (`"ts":`),
    `event_mark` one that nothing but events has.
    """

    list_start: "re.Pattern[bytes]"
    event_start: "re.Pattern[bytes]"
    event_key: "re.Pattern[bytes]"
    event_mark: "re.Pattern[bytes]"


class State(Enum):
    """Where in the text the reader stands."""

    HEAD = "before the list"
    EVENTS = "in the list"
    TAIL = "after the list"


class EventList(Generic[E]):
    """The events of one list in a JSON text, fed block by block.

    Parameters
    ----------
    decode : callable
        Decodes a JSON list of events; raises UndecodableError for any text it cannot
        read.
    tally : Tally
        Told of every repair and loss, with the first place of each.
    grammar : Grammar
    chunk_bytes : int
        Text to gather before it is decoded.
    """

    def __init__(
        self,
        decode: Callable[[bytes | memoryview], list[E]],
        tally: Tally,
        grammar: Grammar,
        chunk_bytes: int,
    ) -> None:
        self._decode = decode
        self._tally = tally
        self._grammar = grammar
        self._chunk_bytes = min(max(chunk_bytes, 1), MAX_EVENT_BYTES // 2)
        self._wanted = self._chunk_bytes
        self._text = Window(grammar.event_start)
        self._at = 0  # the byte before the next item: bracket, comma or a spent brace
        self._state = State.HEAD
        self.head = b""
        self.tail = b""

    @property
    def found(self) -> bool:
        """Whether the list began."""
        return self._state is not State.HEAD

    @property
    def hopeless(self) -> bool:
        """Whether so much text came without a list that none is to be expected."""
        return self._state is State.HEAD and len(self._text) >= MAX_OUTSIDE_BYTES

    @property
    def closed(self) -> bool:
        """Whether the list ended before the text did."""
        return self._state is State.TAIL

    @property
    def bytes_read(self) -> int:
        """Bytes of text so far."""
        return self._text.offset + len(self._text)

    def feed(self, block: bytes) -> Iterator[list[E]]:
        """Take the next block of text; yield the events that it completes."""
        self._text.buf += block
        if len(self._text) >= self._wanted:
            yield from self._run()

    def finish(self) -> Iterator[list[E]]:
        """Take the end of the text; yield the events that are left."""
        self._text.final = True
        yield from self._run()
        if self._state is State.HEAD:
            self.head = bytes(self._text.buf)
        elif self._state is State.EVENTS:
            self._tally.add(
                "truncated",
                "the file ends before its list of events does",
                where=self._text.where(len(self._text)),
            )

    def _run(self) -> Iterator[list[E]]:
        if self._state is State.HEAD:
            self._begin()
        if self._state is State.EVENTS:
            yield from self._events()
            if not self._text.drop_space(self._at):
                self._text.drop(self._at)
            self._at = 0
        if self._state is State.TAIL:
            self._keep_tail()
        # what is left over is looked at again when it has doubled: linear in all
        left = 0 if self._state is State.TAIL else 2 * len(self._text)
        self._wanted = max(self._chunk_bytes, left)

    def _begin(self) -> None:
        head = self._text.buf
        first = self._text.solid(3 if head.startswith(b"\xef\xbb\xbf") else 0)
        found = self._grammar.list_start.search(head, 0, MAX_OUTSIDE_BYTES)
        if head[first : first + 1] == b"[":
            self._start_at(first, first)
        elif found:
            self._start_at(found.start(), found.end() - 1)
        elif self._text.final or len(head) >= MAX_OUTSIDE_BYTES:
            start = self._first_event()
            if start is not None:
                self._tally.add(
                    "list_start_damaged",
                    "the list of events has no readable beginning",
                    where=self._text.where(start),
                )
                self._start_at(start, start - 1)

    def _first_event(self) -> int | None:
        """Find an event where the list has no readable beginning."""
        mark = self._grammar.event_mark.search(self._text.buf)
        start = -1 if mark is None else self._text.buf.rfind(b"{", 0, mark.start())
        return start if start >= 0 else None

    def _start_at(self, head_end: int, at: int) -> None:
        self.head = bytes(self._text.buf[:head_end])
        if at >= 0 and self._text.buf[at] == _OPEN:  # the bracket itself is damaged
            self._tally.add(
                "list_start_damaged",
                "the list of events has no opening bracket",
                where=self._text.where(at),
            )
            at -= 1
        self._at = at
        self._state = State.EVENTS

    def _keep_tail(self) -> None:
        room = MAX_OUTSIDE_BYTES - len(self.tail)
        if len(self._text) > room and "metadata_too_long" not in self._tally:
            self._tally.add(
                "metadata_too_long", "text after the events", where=self._text.where(room)
            )
        self.tail += self._text.buf[:room]
        self._text.drop(len(self._text))

    def _events(self) -> Iterator[list[E]]:
        """Decode what can be decided, in lists long enough to be worth a call."""
        ready: list[E] = []
        # blocks may be longer than a chunk; what is decoded at once must not be
        size = most = max(self._chunk_bytes, 2 * _SMALL)
        while self._state is State.EVENTS:
            comma = self._text.boundary(self._at, self._at + size)
            events, good = (None, 0) if comma is None else self._region(comma)
            if events is not None:
                size = min(size * 4, most)
            elif comma is not None and (good or comma - self._at > _SMALL):
                size = good or max(_SMALL, (comma - self._at) // 4)
                continue
            else:
                try:
                    events = self._step()
                except Undecided:
                    break
                size = 2 * _SMALL
            if ready:
                ready.extend(events)
            else:
                ready = events
            if len(ready) >= _MANY:
                yield ready
                ready = []
        if ready:
            yield ready

    def _region(self, comma: int) -> tuple[list[E] | None, int]:
        """Decode the events up to the comma, as they stand.

        Returns
        -------
        list or None
            None if that is not possible.
        int
            Then how much of the text may be read, less than all; 0 if that is not known.
        """
        at, buf, before = self._at, self._text.buf, self._text.buf[self._at]
        buf[at], buf[comma] = _OPEN_LIST, _CLOSE_LIST  # a list without a copy
        text = memoryview(buf)[at : comma + 1]
        events, good, quoted = None, 0, None
        try:
            events = self._decode(text)
        except UndecodableError as error:
            good = error.at or 0
            if good and not_finite_at(text, good):
                quoted = quote_not_finite(text)
        buf[at], buf[comma] = before, _COMMA
        if quoted:  # only now, since lines are counted in the text: `before` may end one
            events = self._repaired(quoted, at)
        if events is not None:
            self._at = comma
        return events, good if good < comma - at else 0

    def _strictly(self, text: bytes, at: int) -> list[E] | None:
        """Decode text from place `at`; None if it is no valid JSON, `inf` aside."""
        try:
            return self._decode(text)
        except UndecodableError:
            return self._quoted(text, at)

    def _quoted(self, text: bytes | memoryview, at: int) -> list[E] | None:
        quoted = quote_not_finite(text)
        return None if quoted is None else self._repaired(quoted, at)

    def _repaired(self, fixed: Repaired, at: int) -> list[E] | None:
        try:
            events = self._decode(fixed.text)
        except UndecodableError:
            return None
        for reason, count in fixed.repairs.count.items():
            first = self._text.where(at + fixed.repairs.first[reason])
            self._tally.add(reason, count=count, where=first)
        return events

    def _step(self) -> list[E]:
        """Deal with whatever comes next: an event, a comma too many, the end, junk."""
        text, at = self._text, self._text.solid(self._at + 1)
        if at == len(text):
            raise Undecided
        mark = text.buf[at]
        if mark == _OPEN:
            return self._event(at)
        if mark == _COMMA:
            end = text.solid_but(b",", at)
            count = text.buf.count(b",", at, end)
            self._tally.add("extra_comma", count=count, where=text.where(at))
            self._at = text.buf.rfind(b",", at, end)
        elif mark == _CLOSE_LIST and self._closes(at):
            if text.buf[self._at] == _COMMA:
                self._tally.add("extra_comma", where=text.where(self._at))
            self._state, self._at = State.TAIL, at + 1
        else:
            self._give_up("junk_between_events", at, text.next_start(at))
        return []

    def _closes(self, at: int) -> bool:
        text, after = self._text, self._text.solid(at + 1)
        if text.buf[after : after + 1] == b",":
            after = text.solid(after + 1)
        if after == len(text) and not text.final:
            raise Undecided
        return _LIST_CLOSED.match(text.buf, at) is not None

    def _event(self, at: int) -> list[E]:
        text = self._text
        end, start = text.span(at)
        if end is not None:
            after = self._after(end)
            events = self._strictly(b"[" + text.buf[at:end] + b"]", at - 1)
            if events is not None:
                self._pass(end, after)
                return events
        if start is None and not text.decided(at):
            raise Undecided
        limit = text.horizon(at) if start is None else start
        damaged = bytes(text.buf[at : min(limit, at + MAX_REPAIR_BYTES)])
        fixed = repair(damaged, self._grammar.event_key)
        if fixed:
            after = self._after(at + fixed.end)
            events = self._repaired(replace(fixed, text=b"[" + fixed.text + b"]"), at)
            if events is not None:
                self._pass(at + fixed.end, after)
                return events
        self._give_up("unreadable_event", at, start)
        return []

    def _after(self, end: int) -> int:
        after = self._text.solid(end)
        if after == len(self._text) and not self._text.final:
            raise Undecided
        return after

    def _pass(self, end: int, after: int) -> None:
        """Stand on the comma after an event, or on its brace where none follows."""
        follows = self._text.buf[after : after + 1]
        if follows == b"{":
            self._tally.add("missing_comma", where=self._text.where(after))
        self._at = after if follows == b"," else end - 1

    def _give_up(self, reason: str, at: int, start: int | None) -> None:
        """Skip to where the next event or the end of the list seems to be."""
        text = self._text
        if start is None and not text.decided(at):
            raise Undecided
        limit = text.horizon(at) if start is None else start
        end = text.list_end(at, limit)
        if start is None and end is None and text.final:
            self._at = len(text) - 1  # cut within an event: told once, by `finish`
            if reason != "unreadable_event":
                self._tally.add(reason, where=text.where(at))
            return
        self._tally.add(reason, where=text.where(at))
        self._at = (limit if end is None else end) - 1
