"""Lines of SimAI's texts, none so long that it is something else."""

from typing import Final

from synctax.errors import BadInputError

LARGEST_BYTES: Final = 2**26

LONGEST_LINE: Final = 2**16
"""Bytes; a layer takes some hundreds."""


def lines_of(data: bytes, *, name: str, kind: str) -> list[str]:
    """Cut a text into lines.

    Parameters
    ----------
    data : bytes
    name : str
        Of the file, for messages.
    kind : str
        What it should be, for messages.

    Raises
    ------
    BadInputError
        If it is no UTF-8 text, or has a line that is too long.
    """
    lines = data.removeprefix(b"\xef\xbb\xbf").splitlines()
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE:
            raise BadInputError(
                f"{name}, line {number}: expected {kind}, found a line of {len(line):,} "
                "bytes"
            )
    try:
        return [line.decode() for line in lines]
    except UnicodeDecodeError as error:
        at = data.find(error.object) + error.start
        raise BadInputError(
            f"{name}, byte {at:,}: expected {kind}, found no UTF-8 text"
        ) from error
