"""Profiler times, microseconds as text, to int64 ns; and which times cannot be true.

The digits are parsed, not the float: at 1.7e15 µs since the epoch a float has steps of
a quarter of a microsecond.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from enum import IntEnum

import numpy as np

from synctax.arrays import I8, I64, NS_PER_S, Bool

LIMIT_NS = 2**62
"""Times beyond are no times; sums of two below cannot overflow."""

SLACK_NS = 3_600 * NS_PER_S
"""A duration below an hour is never called impossible, however short the window."""
SPAN_FACTOR = 10
"""A duration of so many times the spread of all starts, and beyond the slack, is not."""
FAR_NS = 24 * 3_600 * NS_PER_S
FAR_FACTOR = 100
"""A start so many times the spread of the middle 90 % from the median, and a day."""

_SAMPLE = 100_000
"""Starts that are looked at for the middle of the window."""
_MIN, _MAX = -(2**63), 2**63 - 1

_NUMBER = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,6})?")
_NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_DIGITS = 16
"""Digits of a time since 1970 in µs; those that begin with 5 are far beyond the limit."""
_MAX_TEXT = 400
_DOT, _COMMA, _ZERO, _TOO_HIGH = b".,05"


class TimeStatus(IntEnum):
    """Whether a text was a time."""

    OK = 0
    MISSING = 1
    NOT_FINITE = 2
    UNREADABLE = 3
    OUT_OF_RANGE = 4


def parse_us(texts: Sequence[bytes]) -> tuple[I64, I8]:
    """Convert microseconds as JSON text to ns, rounding half to even.

    Parameters
    ----------
    texts : n buffers
        JSON numbers or strings of numbers; an empty one is missing.

    Returns
    -------
    (n,) int64
        Nanoseconds; 0 where the status is not OK.
    (n,) int8
        `TimeStatus`.

    Examples
    --------
    >>> parse_us([b"1712195495505582.988", b'"12"', b"1.5e3", b""])[0]
    array([1712195495505582988,               12000,             1500000,
                             0])
    """
    status = np.zeros(len(texts), np.int8)
    if not texts:
        return np.zeros(0, np.int64), status
    ns, odd = _parse_plain(b",".join(texts) + b",", len(texts))
    for at in odd.tolist():
        ns[at], status[at] = _parse_one(bytes(texts[at]))
    return ns, status


def _parse_plain(joined: bytes, count: int) -> tuple[I64, I64]:
    """Parse digits with at most three decimals; return what is not of this form."""
    text = np.frombuffer(joined, np.uint8)
    end = np.flatnonzero(text == _COMMA)
    if end.size != count:  # a comma inside a string: nothing can be told apart
        return np.zeros(count, np.int64), np.arange(count)
    start = np.concatenate(([0], end[:-1] + 1))
    dot = np.flatnonzero(text == _DOT)
    decimals = np.zeros(count, np.int64)
    owner = np.searchsorted(end, dot)
    decimals[owner] = end[owner] - dot - 1
    length = end - start
    length[owner] -= 1
    bad = (length < 1) | (length > _DIGITS + 3) | (decimals > 3) | (decimals == length)
    bad |= (decimals == 0) & (text[end - 1] == _DOT)
    strange = np.flatnonzero((text - _ZERO > 9) & (text != _COMMA) & (text != _DOT))
    bad[np.searchsorted(end, strange)] = True
    bad[owner[1:][owner[1:] == owner[:-1]]] = True
    whole = length - decimals
    bad |= (whole > _DIGITS) | ((whole == _DIGITS) & (text[start] >= _TOO_HIGH))
    if bad.any():
        parts = joined.split(b",")[:-1]
        for at in np.flatnonzero(bad).tolist():
            parts[at] = b"0"
        joined = b",".join(parts) + b","
        decimals[bad] = 3
    digits = np.fromstring(joined[:-1].replace(b".", b"").decode(), np.int64, sep=",")
    ns = digits * 10 ** (3 - decimals)
    return ns, np.flatnonzero(bad | (ns >= LIMIT_NS))


def _parse_one(text: bytes) -> tuple[int, TimeStatus]:
    text = text.strip().strip(b'"').strip()
    if not text or text == b"null":
        return 0, TimeStatus.MISSING
    if _NOT_FINITE.fullmatch(text):
        return 0, TimeStatus.NOT_FINITE
    if len(text) > _MAX_TEXT or not _NUMBER.fullmatch(text):
        return 0, TimeStatus.UNREADABLE
    value = Decimal(text.decode())
    if value.adjusted() > len(str(LIMIT_NS)):
        return 0, TimeStatus.OUT_OF_RANGE
    if value.adjusted() < -_DIGITS:
        return 0, TimeStatus.OK
    exact = Context(prec=len(text) + 30, rounding=ROUND_HALF_EVEN)
    ns = int(exact.to_integral_value(exact.scaleb(value, 3)))
    return (ns, TimeStatus.OK) if abs(ns) < LIMIT_NS else (0, TimeStatus.OUT_OF_RANGE)


Part = tuple[I64, I64, Bool]
"""Of some events: start, duration, whether each ran on a GPU."""


class Doubts:
    """Says which times cannot be true, beside the rest of the window.

    Parameters
    ----------
    parts : callable
        Gives the events of the window, in order of the file and in any parts, each time it
        is called: (n,) int64 starts and durations in ns as written in the trace, before a
        base time is added, and (n,) bool whether they ran on a GPU. There, a start and a
        duration of 0 mean "never filled in".
    count : int
        How many events there are.
    end_ns : int, optional
        When the profiler says that its window ended; it records nothing that ends later.
    base_ns : int
        From 0 on; will be added to starts. An event whose end int64 cannot hold then is
        beyond the window.
    """

    def __init__(
        self,
        parts: Callable[[], Iterable[Part]],
        count: int,
        end_ns: int | None = None,
        base_ns: int = 0,
    ) -> None:
        self._last_ns = _MAX - base_ns
        self._zero_below_ns: int | None = None
        self._far: tuple[int, int] | None = None
        self._longest_ns, self._slack_ns = _MAX, _MAX
        self._end_ns: int | None = None
        lowest, highest, zeros = _bounds(parts)
        if zeros:
            gap = max(NS_PER_S, SPAN_FACTOR * (highest - lowest))
            below = min(max(lowest - gap, _MIN), _MAX) if lowest <= highest else _MIN
            self._zero_below_ns = below
        sample, good = self._sampled(parts, max(1, count // _SAMPLE), zeros=zeros)
        if not good or not sample.size:
            return
        # the nearest quantiles, as of `np.quantile`, which imports masked arrays
        at = [round(share * (sample.size - 1)) for share in (0.05, 0.5, 0.95)]
        low, middle, high = np.partition(sample, at)[at].tolist()
        allowed = max(FAR_NS, FAR_FACTOR * (high - low))
        self._far = max(middle - allowed, _MIN), min(middle + allowed, _MAX)
        if zeros or lowest < self._far[0] or highest > self._far[1]:
            lowest, highest = self._bounds_of_good(parts)
        span = highest - lowest
        self._longest_ns = min(max(SLACK_NS, SPAN_FACTOR * span), _MAX)
        if end_ns is not None and end_ns >= middle:
            self._slack_ns, self._end_ns = max(NS_PER_S, span), end_ns

    def of(self, start_ns: I64, duration_ns: I64, on_gpu: Bool) -> dict[str, Bool]:
        """Mark events of one part.

        Returns
        -------
        dict of str to (n,) bool
            `start_zero`, `start_outside_window` and `duration_beyond_window`; an event is
            in one of them at most. Reasons that no event of the window can have are left
            out.
        """
        found = {}
        good: Bool | None = None
        if self._zero_below_ns is not None:
            found["start_zero"] = zero = self._zero(start_ns, duration_ns, on_gpu)
            good = ~zero
        if self._far is None:
            return found
        low, high = self._far
        far: Bool = (start_ns < low) | (start_ns > high)
        if good is not None:
            far &= good
        found["start_outside_window"] = far
        long: Bool = duration_ns > self._longest_ns
        if self._end_ns is not None:
            doubtful = np.flatnonzero(duration_ns > self._slack_ns)
            ends = start_ns[doubtful] + np.minimum(duration_ns[doubtful], LIMIT_NS // 2)
            long[doubtful] |= ends > self._end_ns + self._slack_ns
        # the sum of two times fits, that of three may not
        if start_ns.size and int(start_ns.max()) + int(duration_ns.max()) > self._last_ns:
            long |= start_ns + duration_ns > self._last_ns
        long &= ~far if good is None else good & ~far
        found["duration_beyond_window"] = long
        return found

    def _zero(self, start_ns: I64, duration_ns: I64, on_gpu: Bool) -> Bool:
        """Which starts were never filled in; there are starts of 0."""
        unfilled = on_gpu & (duration_ns == 0)
        unfilled |= duration_ns < (self._zero_below_ns or 0)
        found: Bool = unfilled & (start_ns == 0)
        return found

    def _sampled(
        self, parts: Callable[[], Iterable[Part]], step: int, *, zeros: bool
    ) -> tuple[I64, bool]:
        """Take every so many starts, and say whether any was filled in."""
        taken, skip, unfilled, good = [], 0, False, False
        for start_ns, duration_ns, on_gpu in parts():
            zero = self._zero(start_ns, duration_ns, on_gpu) if zeros else None
            taken.append(start_ns[skip::step].copy())  # a view would hold the part
            skip = (skip - start_ns.size) % step
            unfilled |= zero is not None and bool(zero.any())
            good |= bool(start_ns.size) if zero is None else not zero.all()
        sample = np.concatenate(taken) if taken else np.empty(0, np.int64)
        return (sample[sample != 0] if unfilled else sample), good

    def _bounds_of_good(self, parts: Callable[[], Iterable[Part]]) -> tuple[int, int]:
        lowest, highest = _MAX, _MIN
        for start_ns, duration_ns, on_gpu in parts():
            good = np.ones(start_ns.size, np.bool_)
            for found in self.of(start_ns, duration_ns, on_gpu).values():
                good &= ~found
            lowest = min(lowest, int(start_ns.min(where=good, initial=_MAX)))
            highest = max(highest, int(start_ns.max(where=good, initial=_MIN)))
        return lowest, highest


def _bounds(parts: Callable[[], Iterable[Part]]) -> tuple[int, int, bool]:
    """The first and last start that is not 0, and whether any is 0."""
    lowest, highest, zeros = _MAX, _MIN, False
    for start_ns, _, _ in parts():
        zero = start_ns == 0
        here = bool(zero.any())
        filled = start_ns[~zero] if here else start_ns
        zeros |= here
        if filled.size:
            lowest = min(lowest, int(filled.min()))
            highest = max(highest, int(filled.max()))
    return lowest, highest, zeros
