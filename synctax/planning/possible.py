"""What numbers of a model, a machine or a training step can be at all.

Shapes, platforms and steps are checked by these wherever they come from: files of users,
plans that were written before, options, or code.
"""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, Final

from synctax.errors import SynctaxError

LARGEST_COUNT: Final = 2**31 - 1
"""Of layers, tokens, ranks and all else that is counted: products of two fit into int64."""

COUNT: Final = "a whole number of 1 or more"
NUMBER: Final = "a number above 0"


class ImpossibleError(SynctaxError):
    """A value that no model, machine or step can have.

    Parameters
    ----------
    key : str
        Field, after a dot where it is one of a part: `experts.top_k`, `tiers[0].gpus`.
    value : object
    expected : str
    """

    def __init__(self, key: str, value: object, expected: str) -> None:
        shown = f"{value:.6g}" if isinstance(value, float) else f"{value!r:.80}"
        super().__init__(f"{key} is {shown}; expected {expected}")
        self.key = key
        self.expected = expected


def counts(where: object, names: Iterable[str], *, path: str = "", least: int = 1) -> None:
    """Refuse fields that are no whole numbers in range.

    Parameters
    ----------
    where : object
        Whose fields.
    names : iterable of str
    path : str
        What stands before the names in messages.
    least : int

    Raises
    ------
    ImpossibleError
    """
    for name in names:
        value = getattr(where, name)
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not least <= int(value) <= LARGEST_COUNT:
            expected = COUNT if least == 1 else f"a whole number of {least} or more"
            if whole and int(value) > LARGEST_COUNT:
                expected += f", at most {LARGEST_COUNT:,}"
            raise ImpossibleError(path + name, value, expected)


def positive(where: object, names: Iterable[str], *, most: float, what: str) -> None:
    """Refuse fields that are no numbers above 0.

    Parameters
    ----------
    where : object
    names : iterable of str
    most : float
        What is above is written in another unit.
    what : str
        The unit, for messages.

    Raises
    ------
    ImpossibleError
    """
    for name in names:
        value = getattr(where, name)
        if not is_number(value) or not value > 0:
            raise ImpossibleError(name, value, NUMBER)
        if not value <= most:
            raise ImpossibleError(name, value, f"at most {most:g}: it is in {what}")


def shares(
    where: object, names: Iterable[str], *, path: str = "", zero: bool = False
) -> None:
    """Refuse fields that are no shares of a whole.

    Parameters
    ----------
    where : object
    names : iterable of str
    path : str
    zero : bool
        Whether nothing is a share, too.

    Raises
    ------
    ImpossibleError
    """
    expected = "a share from 0 to 1" if zero else "a share above 0, up to 1"
    for name in names:
        value = getattr(where, name)
        if not is_number(value) or not 0 <= value <= 1 or (value == 0 and not zero):
            raise ImpossibleError(path + name, value, expected)


def flags(where: object, names: Iterable[str]) -> None:
    """Refuse fields that are neither true nor false.

    Raises
    ------
    ImpossibleError
    """
    for name in names:
        value = getattr(where, name)
        if not isinstance(value, bool):
            raise ImpossibleError(name, value, "True or False")


def one_of(where: object, name: str, allowed: tuple[Any, ...]) -> None:
    """Refuse a field that is none of some values.

    Raises
    ------
    ImpossibleError
    """
    value = getattr(where, name)
    if value not in allowed:
        raise ImpossibleError(name, value, f"one of {', '.join(map(repr, allowed))}")


def is_number(value: object) -> bool:
    """Tell whether a value is a number, and neither true nor false.

    Examples
    --------
    >>> is_number(2.5), is_number(True), is_number("2.5")
    (True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool)
