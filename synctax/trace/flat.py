"""FlatBuffers, as far as the headers of an Arrow stream need them.

A table is a row of slots, each absent, a number, or how far ahead something lies that it
refers to; a second table in front of it tells where each slot is. Numbers lie on multiples
of their size. See https://flatbuffers.dev/internals/.
"""

from collections.abc import Sequence
from struct import calcsize, error, pack, pack_into, unpack_from
from typing import NamedTuple, Union


class FlatError(ValueError):
    """Bytes are no FlatBuffer, or not that of which something is asked."""


class Number(NamedTuple):
    """A number, in a format of `struct`."""

    format: str
    value: int


class Structs(NamedTuple):
    """So many records of numbers of 8 bytes, one after the other."""

    number: int
    content: bytes


class Table(NamedTuple):
    """The slots of a table in their order."""

    slots: "Sequence[Number | Referred | None]"


Referred = Union[Table, Structs, str, "list[Table]"]


def encode(root: Table) -> bytes:
    """Write a table and all that it refers to.

    The length depends on what there is, and not on what numbers there are.
    """
    out = bytearray(4)
    pack_into("<I", out, 0, _put_table(out, root))
    return bytes(out)


def _put(out: bytearray, what: Referred) -> int:
    """Append something; return where it is."""
    if isinstance(what, Table):
        return _put_table(out, what)
    if isinstance(what, Structs):
        out += bytes(-(len(out) + 4) % 8)
        at = len(out)
        out += pack("<I", what.number) + what.content
        return at
    out += bytes(-len(out) % 4)
    at = len(out)
    if isinstance(what, str):
        text = what.encode()
        out += pack("<I", len(text)) + text + b"\0"
        return at
    out += pack("<I", len(what)) + bytes(4 * len(what))
    for number, one in enumerate(what):
        _refer(out, at + 4 + 4 * number, one)
    return at


def _put_table(out: bytearray, table: Table) -> int:
    sizes = [_size(slot) for slot in table.slots]
    offsets, end = [0] * len(sizes), 4
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        if sizes[number]:
            offsets[number], end = end, end + sizes[number]
    where = pack(f"<{len(sizes) + 2}H", 4 + 2 * len(sizes), end, *offsets)
    # the slots begin after four bytes, the widest first
    out += bytes(-(len(out) + len(where) + 4) % 8) + where
    at = len(out)
    out += pack("<i", len(where)) + bytes(end - 4)
    for slot, offset in zip(table.slots, offsets, strict=True):
        if isinstance(slot, Number):
            pack_into(f"<{slot.format}", out, at + offset, slot.value)
        elif slot is not None:
            _refer(out, at + offset, slot)
    return at


def _size(slot: "Number | Referred | None") -> int:
    if slot is None:
        return 0
    return calcsize(f"<{slot.format}") if isinstance(slot, Number) else 4


def _refer(out: bytearray, at: int, what: Referred) -> None:
    pack_into("<I", out, at, _put(out, what) - at)


class Reader:
    """A table in a FlatBuffer, which nobody has looked at yet.

    Whatever the bytes are, what is asked is answered or refused with a `FlatError`.
    """

    def __init__(self, data: bytes, at: int | None = None) -> None:
        self._data = data
        self._at = self._referred(0) if at is None else at
        self._where = self._at - self._number("i", self._at)
        self._slots = (self._number("H", self._where) - 4) // 2

    def number(self, slot: int, form: str, default: int = 0) -> int:
        """Read a number."""
        at = self._place(slot)
        return default if at is None else self._number(form, at)

    def table(self, slot: int) -> "Reader":
        """Read a table."""
        return Reader(self._data, self._required(slot))

    def text(self, slot: int) -> str:
        """Read a text."""
        at = self._required(slot)
        first, count = at + 4, self._number("I", at)
        self._check(first, count)
        try:
            return self._data[first : first + count].decode()
        except UnicodeDecodeError as error:
            raise FlatError(f"a text is no UTF-8: {error}") from error

    def tables(self, slot: int) -> "list[Reader]":
        """Read a list of tables; an absent one has none."""
        at, count = self._list(slot, 4)
        return [
            Reader(self._data, self._referred(at + 4 * number)) for number in range(count)
        ]

    def structs(self, slot: int, form: str) -> list[tuple[int, ...]]:
        """Read a list of records of numbers; an absent one has none."""
        size = calcsize(form)
        at, count = self._list(slot, size)
        return [unpack_from(form, self._data, at + size * n) for n in range(count)]

    def _list(self, slot: int, size: int) -> tuple[int, int]:
        if self._place(slot) is None:
            return 0, 0
        at = self._required(slot)
        count = self._number("I", at)
        self._check(at + 4, size * count)
        return at + 4, count

    def _place(self, slot: int) -> int | None:
        if slot >= self._slots:
            return None
        offset = self._number("H", self._where + 4 + 2 * slot)
        return self._at + offset if offset else None

    def _required(self, slot: int) -> int:
        at = self._place(slot)
        if at is None:
            raise FlatError(f"slot {slot} of a table is absent")
        return self._referred(at)

    def _referred(self, at: int) -> int:
        return at + self._number("I", at)

    def _number(self, form: str, at: int) -> int:
        if at < 0:  # of which `unpack_from` counts from the end
            raise FlatError(f"something lies {-at} bytes before the beginning")
        try:
            number: int = unpack_from(f"<{form}", self._data, at)[0]
        except error as refused:
            raise FlatError(f"something lies behind the end: {refused}") from refused
        return number

    def _check(self, first: int, count: int) -> None:
        if first + count > len(self._data):
            raise FlatError(f"{count} bytes at {first} of {len(self._data)}")
