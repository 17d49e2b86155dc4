"""Profiler times, microseconds as text, to int64 ns; and which times cannot be true.

The digits are parsed, not the float: at 1.7e15 µs since the epoch a float has steps of
a quarter of a microsecond.
"""

import re
from collections.abc import Sequence
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


def impossible(
    start_ns: I64,
    duration_ns: I64,
    on_gpu: Bool,
    *,
    end_ns: int | None = None,
    base_ns: int = 0,
) -> dict[str, Bool]:
    """Find events whose times cannot be true, beside the rest of the window.

    Parameters
    ----------
    start_ns, duration_ns : (n,) int64
        As written in the trace: before a base time is added.
    on_gpu : (n,) bool
        Whether it ran on a GPU: there, a start and a duration of 0 mean "never filled in".
    end_ns : int, optional
        When the profiler says that its window ended; it records nothing that ends later.
    base_ns : int
        From 0 on; will be added to starts. An event whose end int64 cannot hold then is
        beyond the window.

    Returns
    -------
    dict of str to (n,) bool
        `start_zero`, `start_outside_window` and `duration_beyond_window`; an event is
        in one of them at most.
    """
    zero = _zero_starts(start_ns, duration_ns, on_gpu)
    good = ~zero
    far = np.zeros_like(zero)
    long = np.zeros_like(zero)
    sample = start_ns[:: max(1, start_ns.size // _SAMPLE)]
    sample = sample[sample != 0] if zero.any() else sample
    if not good.any() or not sample.size:
        return _marks(zero, far, long)
    low, middle, high = (
        int(ns) for ns in np.quantile(sample, (0.05, 0.5, 0.95), method="nearest")
    )
    allowed = max(FAR_NS, FAR_FACTOR * (high - low))
    far |= start_ns < max(middle - allowed, _MIN)
    far |= start_ns > min(middle + allowed, _MAX)
    far &= good
    good &= ~far
    first, last = _first_last(start_ns, good)
    longest = max(SLACK_NS, SPAN_FACTOR * (last - first))
    long |= good & (duration_ns > min(longest, _MAX))
    if end_ns is not None and end_ns >= middle:
        slack_ns = max(NS_PER_S, last - first)
        doubtful = np.flatnonzero(good & (duration_ns > slack_ns))
        ends = start_ns[doubtful] + np.minimum(duration_ns[doubtful], LIMIT_NS // 2)
        long[doubtful] |= ends > end_ns + slack_ns
    # the sum of two times fits, that of three may not
    if int(start_ns.max()) + int(duration_ns.max()) > _MAX - base_ns:
        long |= good & (start_ns + duration_ns > _MAX - base_ns)
    return _marks(zero, far, long)


def _marks(zero: Bool, far: Bool, long: Bool) -> dict[str, Bool]:
    return {
        "start_zero": zero,
        "start_outside_window": far,
        "duration_beyond_window": long,
    }


def _first_last(start_ns: I64, among: Bool) -> tuple[int, int]:
    first = start_ns.min(where=among, initial=_MAX)
    last = start_ns.max(where=among, initial=_MIN)
    return int(first), int(last)


def _zero_starts(start_ns: I64, duration_ns: I64, on_gpu: Bool) -> Bool:
    zero: Bool = start_ns == 0
    if not zero.any():
        return zero
    unfilled = zero & on_gpu & (duration_ns == 0)
    first, last = _first_last(start_ns, ~zero)
    if first <= last:
        gap = max(NS_PER_S, SPAN_FACTOR * (last - first))
        unfilled |= zero & (duration_ns < min(max(first - gap, _MIN), _MAX))
    found: Bool = unfilled
    return found
