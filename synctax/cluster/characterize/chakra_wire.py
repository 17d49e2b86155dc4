"""Protocol Buffers' wire format, read strictly: every length is checked before it is used.

Only what a Chakra execution trace needs: messages behind their lengths, and the fields of
a message. Nothing is copied and nothing nests by itself, so hostile input costs no more
than its own size.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from synctax.errors import BadInputError

VARINT: Final = 0
FIXED64: Final = 1
LENGTH: Final = 2
FIXED32: Final = 5

_FIXED: Final = {FIXED64: 8, FIXED32: 4}
_LONGEST_VARINT: Final = 10
_LARGEST: Final = 2**64 - 1
_LARGEST_FIELD: Final = 2**29 - 1


class Field(NamedTuple):
    """One field of a message.

    Parameters
    ----------
    number : int
    kind : int
        `VARINT`, `FIXED64`, `LENGTH` or `FIXED32`.
    value : int
        Of a varint, as unsigned; else 0.
    begin, end : int
        Bytes of the value.
    """

    number: int
    kind: int
    value: int
    begin: int
    end: int


class Wire:
    """Bytes of a file, with its name for messages.

    Parameters
    ----------
    data : bytes
    name : str
    kind : str
        What the file should be, for messages.
    """

    def __init__(self, data: bytes, *, name: str, kind: str) -> None:
        self.data = data
        self._name, self._kind = name, kind

    def bad(self, at: int, problem: str) -> BadInputError:
        """Say that something at a byte cannot be."""
        return BadInputError(
            f"{self._name}, byte {at:,}: expected {self._kind}, found {problem}"
        )

    def messages(self) -> Iterator[tuple[int, int]]:
        """Yield where each message of the file begins and ends, without its length.

        Raises
        ------
        BadInputError
            If one is longer than what is left.
        """
        at, size = 0, len(self.data)
        while at < size:
            length, begin = self.varint(at, size)
            if length > size - begin:
                raise self.bad(
                    at, f"a message of {length:,} bytes where {size - begin:,} are left"
                )
            at = begin + length
            yield begin, at

    def fields(self, begin: int, end: int) -> Iterator[Field]:
        """Yield the fields of the message between two bytes.

        Raises
        ------
        BadInputError
            If a field does not end within the message, or is of a kind that nothing uses.
        """
        at, data = begin, self.data
        while at < end:
            # most tags and values are a byte, and a call costs as much as all else
            tag, value_at = data[at], at + 1
            if tag >= 0x80:
                tag, value_at = self.varint(at, end)
            number, kind = tag >> 3, tag & 7
            if not 0 < number <= _LARGEST_FIELD:
                raise self.bad(at, f"a field of number {number:,}")
            if kind == VARINT:
                if value_at < end and data[value_at] < 0x80:
                    value, after = data[value_at], value_at + 1
                else:
                    value, after = self.varint(value_at, end)
                yield Field(number, kind, value, value_at, after)
            elif kind in _FIXED or kind == LENGTH:
                length, start = (
                    (_FIXED[kind], value_at)
                    if kind in _FIXED
                    else self.varint(value_at, end)
                )
                if length > end - start:
                    raise self.bad(
                        at,
                        f"field {number:,} of {length:,} bytes where {end - start:,} are "
                        "left of its message",
                    )
                after = start + length
                yield Field(number, kind, 0, start, after)
            else:
                raise self.bad(at, f"field {number:,} of wire type {kind}")
            at = after

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """Read an unsigned number of variable length.

        Returns
        -------
        int, int
            The number, and where what follows begins.

        Raises
        ------
        BadInputError
            If it does not end before `end`, or does not fit into 64 bits.
        """
        data, value = self.data, 0
        for place in range(min(_LONGEST_VARINT, end - at)):
            byte = data[at + place]
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                if value > _LARGEST:
                    raise self.bad(at, "a number of more than 64 bits")
                return value, at + place + 1
        if end - at >= _LONGEST_VARINT:
            raise self.bad(at, "a number of more than 64 bits")
        raise self.bad(at, "a number that is cut off")

    def text(self, field: Field) -> str:
        """Return the text of a field.

        Raises
        ------
        BadInputError
            If it is no UTF-8.
        """
        try:
            return self.data[field.begin : field.end].decode()
        except UnicodeDecodeError as error:
            raise self.bad(field.begin + error.start, "a text that is no UTF-8") from error


def signed(value: int) -> int:
    """Read a varint as the signed number of 64 bits that it stands for.

    Examples
    --------
    >>> signed(5), signed(2**64 - 1)
    (5, -1)
    """
    return value - 2**64 if value >= 2**63 else value
