"""The part of a JSON text that is held in memory, and where events lie in it."""

import re
from collections.abc import Callable

import numpy as np

MAX_EVENT_BYTES = 4 * 1024 * 1024
"""What has not ended after so many bytes is no event."""
_BOUNDARY_TRIES = 8
"""Braces looked at for a boundary, and one more for every `_BYTES_A_TRY` bytes."""
_BYTES_A_TRY = 1_024
_NESTED_TRIES = 10_000
_MAX_DEPTH = 1_000
_MARGIN = 256
"""The beginning of an event, with its white space, is shorter than this."""

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'  # possessive: long texts must not fill the stack
_TOKEN = re.compile(_STRING + rb'|["{}\[\]]', re.DOTALL)


def _whole_object(depth: int) -> bytes:
    """Build a pattern of an object whose brackets match and nest no deeper."""
    rest = rb'[^"{}\[\]]*+'
    body = rest + rb"(?:" + _STRING + rest + rb")*+"
    for _ in range(depth):
        nested = rb"|\{" + body + rb"\}|\[" + body + rb"\]"
        body = rest + rb"(?:(?:" + _STRING + nested + rb")" + rest + rb")*+"
    return rb"\{" + body + rb"\}"


_SHALLOW = re.compile(_whole_object(3), re.DOTALL)
"""What nearly every event is; found at once rather than token by token."""
_NOT_SPACE = re.compile(rb"\S")
_LIST_END = re.compile(rb'\}\s*+(\])\s*+(?:,\s*+"[^"\\]{1,80}"\s*+:|\}?+\s*+\Z)')
"""Possessive: white space that two parts may share takes the square of its length."""
_OPENS = {ord("}"): ord("{"), ord("]"): ord("[")}
_COMMA, _COLON, _OPEN, _CLOSE, _OPEN_LIST, _QUOTE = b',:{}["'
_SPACES = b" \t\r\n"
_NEWLINE = b"\n"


def _lines(text: bytearray, end: int) -> int:
    """Count line ends before `end`; lines are short, so `bytes.count` stops often."""
    marks = np.frombuffer(text, np.uint8, count=end) == ord(_NEWLINE)
    return int(np.count_nonzero(marks))


class Undecided(Exception):  # noqa: N818 (a request for more text, not a fault)
    """The text so far does not settle what comes next."""


class Window:
    """A growing text whose beginning is dropped once it was dealt with.

    Parameters
    ----------
    event_start : pattern
        How an event begins: `{"ph":`. Inside a valid JSON string no text matches, since
        a quote would be escaped there.
    """

    def __init__(self, event_start: "re.Pattern[bytes]") -> None:
        self.buf = bytearray()
        self.offset = 0
        self.final = False
        self.reused = False
        """Whether nothing that was decoded points into the text."""
        self._lines = 0
        self._event_start = event_start
        self._candidate: int | None = None
        self._searched = 0, 0  # no event begins between, except the candidate at the end

    def __len__(self) -> int:
        return len(self.buf)

    def drop(self, count: int) -> None:
        """Forget the first `count` bytes."""
        if not count:
            return
        self._lines += _lines(self.buf, count)
        if self.reused:
            del self.buf[:count]
        else:  # a new buffer: decoded events may still point into the old one
            self.buf = bytearray(memoryview(self.buf)[count:])
        self.offset += count
        self._searched = max(0, self._searched[0] - count), self._searched[1] - count
        if self._candidate is not None:
            self._candidate -= count

    def drop_space(self, at: int) -> bool:
        """Forget white space between the byte at `at` and the end, if that is all there is.

        The byte then stands at the very end, in place of the last of the white space.
        """
        if at < 0 or len(self) - at <= _MARGIN or self.solid(at + 1) < len(self):
            return False
        mark, last = self.buf[at], self.buf[-1]
        self.drop(len(self) - 1)
        self._lines += last == ord(_NEWLINE)
        self.buf[0] = mark
        return True

    def where(self, at: int) -> Callable[[], str]:
        """Name a place in the file: its line, from 1, and byte, from 0."""
        return lambda: (
            f"line {self._lines + self.buf.count(_NEWLINE, 0, at) + 1:,}, "
            f"byte {self.offset + at:,}"
        )

    def solid(self, at: int) -> int:
        """Find the first byte from `at` on that is no white space; the end if none is."""
        found = _NOT_SPACE.search(self.buf, at)
        return found.start() if found else len(self.buf)

    def solid_but(self, passed: bytes, at: int) -> int:
        """Find the first byte from `at` on that is neither white space nor `passed`."""
        found = re.compile(rb"[^\s" + re.escape(passed) + rb"]").search(self.buf, at)
        return found.start() if found else len(self.buf)

    def before(self, at: int) -> int:
        """Find the last byte before `at` that is no white space; -1 if none is."""
        at -= 1
        while at >= 0 and self.buf[at] in _SPACES:
            at -= 1
        return at

    def boundary(self, low: int, high: int) -> int | None:
        """Find the last comma in (low, high) that seems to stand between two events."""
        at = min(high, len(self.buf))
        for _ in range(_BOUNDARY_TRIES + (at - low) // _BYTES_A_TRY):
            at = self.buf.rfind(b"{", low + 1, at)
            if at < 0:
                return None
            comma = self.before(at)
            if comma <= low:
                return None
            if self.buf[comma] == _COMMA and self.buf[self.before(comma)] == _CLOSE:
                return comma
        return None

    def horizon(self, at: int) -> int:
        """Return the end of the text that may decide about the event at `at`."""
        return min(len(self.buf), at + MAX_EVENT_BYTES)

    def decided(self, at: int) -> bool:
        """Tell whether no more text may change what becomes of the event at `at`."""
        return self.final or len(self.buf) - at >= MAX_EVENT_BYTES

    def next_start(self, at: int) -> int | None:
        """Find the next place after `at` where an event seems to begin."""
        low, high = self._searched
        known = low <= at + 1 <= high
        if known and self._candidate is not None and self._candidate > at:
            return self._candidate
        begin = max(at + 1, high - _MARGIN) if known else at + 1
        self._candidate = None
        for found in self._event_start.finditer(self.buf, begin):
            before = self.before(found.start())
            if before < 0 or self.buf[before] != _COLON:
                self._candidate = found.start()
                break
        high = len(self.buf) if self._candidate is None else self._candidate
        self._searched = (low if known else at + 1), high
        return self._candidate

    def list_end(self, at: int, limit: int) -> int | None:
        """Find the bracket that seems to close the list in (at, limit)."""
        found = _LIST_END.search(self.buf, at, limit)
        if found is None or (found.end() == limit and limit < len(self.buf)):
            return None
        return found.start(1)

    def span(self, at: int) -> tuple[int | None, int | None]:
        """Find where the object at `at` ends, and where the next event begins.

        Returns
        -------
        int or None
            One past the closing brace; None if the object is damaged.
        int or None
            Where the next event seems to begin; None if it does not in this text. What
            seems to begin inside the object is passed over.

        Raises
        ------
        Undecided
            If that needs text that has not been read yet.
        """
        stack: list[int] = []
        scanned, start = at, self.next_start(at)
        for _ in range(_NESTED_TRIES):
            limit = self.horizon(at) if start is None else min(start, self.horizon(at))
            end = self._scan(scanned, limit, stack)
            if end:
                return end, self.next_start(end - 1)
            damaged = end is not None or stack[-1] != _OPEN_LIST
            if limit == start and damaged:  # an object cannot begin here
                return None, start
            if limit != start:
                break
            scanned, start = start, self.next_start(start)
        if not self.decided(at):
            raise Undecided
        return None, start

    def _scan(self, at: int, limit: int, stack: list[int]) -> int | None:
        """Follow brackets from `at`; 0 for damage, None if the limit comes first."""
        if not stack and (whole := _SHALLOW.match(self.buf, at, limit)):
            return whole.end()
        for token in _TOKEN.finditer(self.buf, at, limit):
            mark = self.buf[token.start()]
            if mark == _QUOTE:
                if token.end() - token.start() == 1:
                    return 0 if limit < len(self.buf) or self.final else None
            elif mark in _OPENS:
                if stack.pop() != _OPENS[mark]:
                    return 0
                if not stack:
                    return token.end()
            elif len(stack) < _MAX_DEPTH:
                stack.append(mark)
            else:
                return 0
        return None
