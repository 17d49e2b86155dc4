"""Numbers for what Kineto writes as text: categories, lanes, streams, geometries."""

from itertools import islice
from struct import Struct
from typing import Any

import numpy as np
import orjson

from synctax.arrays import ABSENT, I32, I64, Bool
from synctax.trace.columns import MOST_DIGITS, Codes, integer, whole
from synctax.trace.kineto_keys import CATEGORIES, COMMUNICATION, PHASES, SKIPPED

METADATA, MARK, SKIP = -1, -2, -3
"""What is done with a class of events that is not kept."""
_HANDLES = 2**30
"""Streams that are pointers are numbered from here: they do not fit into int32."""
_NO_STREAM = 2**32 - 1
_MOST_PAIRS = 256
"""Processes with their threads that are looked up as they stand: no trace has so many."""
_PAIR = Struct("=qq")


class Classes(dict[tuple[str, str | None], int]):
    """Numbers the pairs of phase and category; knows what is done with each."""

    def __init__(self) -> None:
        super().__init__()
        self.kind: list[int] = []
        self.count: list[int] = []
        self.special: set[int] = set()

    def __missing__(self, key: tuple[str, str | None]) -> int:
        number = self[key] = len(self)
        phase, category = key
        kind = SKIP
        if phase == "X":
            kind = CATEGORIES.get(category or "", SKIP)
        elif phase == "M":
            kind = METADATA
        elif PHASES.get(phase) == "instant":
            kind = MARK
        if kind in (METADATA, MARK):
            self.special.add(number)
        self.kind.append(int(kind))
        self.count.append(0)
        return number


def skip_reason(phase: str, category: str | None) -> tuple[str, str]:
    """Name the reason for which events are skipped, and their category."""
    if '"' in phase or '"' in (category or ""):  # several members run into one
        return "unreadable_event", ""
    if phase != "X":
        kind = PHASES.get(phase)
        named = category or (kind or (f"ph {phase!r}" if phase else "no ph"))
        return ("skipped_category" if kind else "unknown_category"), named
    if category in SKIPPED:
        return "skipped_category", category or ""
    return "unknown_category", category or "no category"


class Lanes(dict[tuple[Any, Any], int]):
    """Numbers the pairs of process and thread; texts get numbers below -1.

    Hashes of numbers can be told beforehand, so numbers can be chosen that all meet in one
    place of a dictionary; those of bytes cannot. So few pairs are looked up as numbers.

    Attributes
    ----------
    first : list
        Of each lane, the pair that it was met as first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first: list[tuple[Any, Any]] = []
        self._places: dict[bytes, int] = {}
        self._names: dict[str, int] = {}

    def __missing__(self, key: tuple[Any, Any]) -> int:
        lane = self._places.setdefault(self._place(key), len(self._places))
        if lane == len(self.first):
            self.first.append(key)
        if len(self) < _MOST_PAIRS:
            self[key] = lane
        return lane

    def known(self, key: tuple[Any, Any]) -> int | None:
        """Return the lane of a pair, None where it is none of these."""
        return self._places.get(self._place(key))

    def places(self) -> I64:
        """Return process and thread of each lane as numbers, in two columns."""
        return np.frombuffer(b"".join(self._places), np.int64).reshape(-1, 2)

    def _place(self, key: tuple[Any, Any]) -> bytes:
        return _PAIR.pack(self._number(key[0]), self._number(key[1]))

    def _number(self, value: Any) -> int:
        if isinstance(value, str) and whole(value) is None:
            return self._names.setdefault(value, -2 - len(self._names))
        return integer(value)


class Handles(dict[str, int]):
    """Numbers devices or streams; pointers, which do not fit, get numbers of their own.

    By their text: see `Lanes` on numbers.
    """

    def place(self, value: Any) -> int:
        """Return the number of a device or stream, however it is written."""
        if type(value) is int and -1 <= value < _HANDLES:
            return value
        number = whole(value)
        if number is None and not isinstance(value, str):
            return ABSENT
        if number is not None and (number < 0 or number == _NO_STREAM):
            return ABSENT
        if number is not None and number < _HANDLES:
            return number
        key = value if number is None else str(number)[:MOST_DIGITS]
        return self.setdefault(key, _HANDLES + len(self))


class Geometry(dict[tuple[bytes, bytes], int]):
    """Codes of launch geometries by the text of grid and block."""

    def __init__(self, strings: Codes) -> None:
        super().__init__()
        self._strings = strings

    def __missing__(self, key: tuple[bytes, bytes]) -> int:
        code = ABSENT
        if any(key):
            code = self._strings["/".join(map(_sizes, key))]
        self[key] = code
        return code


def _sizes(text: bytes) -> str:
    try:
        sizes = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text.decode("utf-8", "replace")
    return "x".join(map(str, sizes)) if isinstance(sizes, list) else str(sizes)


class Communicates:
    """Which names tell of communication, by code; grows with the dictionary."""

    def __init__(self) -> None:
        self._known = bytearray()

    def of(self, codes: I32, strings: Codes) -> Bool:
        """Tell for each code whether its string is such a name."""
        missing = len(strings) - len(self._known)
        if missing:
            # from the end: with each chunk all that is known would be listed again
            fresh = islice(reversed(strings), missing)
            told = [COMMUNICATION.match(text) is not None for text in fresh]
            self._known.extend(told[::-1])
        found: Bool = np.frombuffer(self._known, np.bool_)[codes]
        return found
