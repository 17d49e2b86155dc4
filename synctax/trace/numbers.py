"""Numbers as traces write them, kept within what a trace can mean.

A damaged or hostile file holds numbers of any size. What is beyond these bounds is absent
to everything that follows, so that no sum, product or list made of it can run over.
"""

import re

MAX_RANK = 2**31 - 1
"""Ranks, and sizes of groups."""
MAX_COUNT = 2**48
"""Elements, sequence and step numbers: with the widest type still far below int64."""
MAX_BYTES = 2**53
"""Bytes of one collective: exact as a float, and a thousand of them add up in int64."""

_DIGITS = re.compile(r"0*([0-9]{1,18})", re.ASCII)


def bounded(digits: str, limit: int) -> int | None:
    """Read a number of any length; None beyond the limit, or where it is no number.

    Examples
    --------
    >>> bounded("0042", MAX_RANK), bounded("9" * 5_000, MAX_RANK), bounded("x", MAX_RANK)
    (42, None, None)
    """
    found = _DIGITS.fullmatch(digits)
    number = int(found[1]) if found else None
    return number if number is not None and number <= limit else None
