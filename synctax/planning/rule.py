"""A rule that layouts keep or break, and what it says of those that break it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.texts import number, time_us

US_PER_S: Final = 1e6
_LONG_S = 60.0

Words = Callable[[I64], list[str]]
"""Says something of each of some rows, asked only for the rows that are shown."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One rule, over k layouts.

    Parameters
    ----------
    name : str
        A stable identifier.
    broken : (k,) bool
    reason : Words
        The number that broke it.
    remedy : Words
        What would keep it; an empty text where nothing is known.
    keeps : str
        The rule itself, with the numbers that all layouts share.
    """

    name: str
    broken: Bool
    reason: Words
    remedy: Words
    keeps: str


def each(say: Callable[[int], str]) -> Words:
    """Make words of many rows from words of one.

    Parameters
    ----------
    say : callable
        From the number of a row.

    Returns
    -------
    Words

    Examples
    --------
    >>> each(lambda at: f"row {at}")(np.array([2, 5]))
    ['row 2', 'row 5']
    """
    return lambda rows: [say(at) for at in rows.tolist()]


def keyed(say: Callable[..., str], *keys: "I64 | F64 | Bool") -> Words:
    """Make words of rows from what they depend on: said once where it is the same.

    Parameters
    ----------
    say : callable
        From one number of each of `keys`.
    keys : (k,) int64, float64 or bool

    Returns
    -------
    Words

    Examples
    --------
    >>> keyed(lambda tp: f"tp {tp}", np.array([1, 2, 2]))(np.array([1, 2]))
    ['tp 2', 'tp 2']
    """

    def words(rows: I64) -> list[str]:
        told = list(zip(*(key[rows].tolist() for key in keys), strict=True))
        said = {key: say(*key) for key in dict.fromkeys(told)}
        return [said[key] for key in told]

    return words


def always(text: str) -> Words:
    """Make words that are the same for every row."""
    return lambda rows: [text] * len(rows)


def nothing(rows: I64) -> list[str]:
    """Say nothing."""
    return [""] * len(rows)


def spoken(rules: tuple[Rule, ...], rows: I64, *, remedy: bool = False) -> list[list[str]]:
    """Collect what rules say of some rows.

    Parameters
    ----------
    rules : tuple of Rule
    rows : (j,) int64
    remedy : bool
        Whether to collect what would keep the rules, in place of the reasons.

    Returns
    -------
    list of list of str
        For each row the words of every rule that it breaks, in the order of the rules.
        A remedy of several rules is there once, and not beside one that begins with it.
    """
    said: list[list[str]] = [[] for _ in range(len(rows))]
    for rule in rules:
        at = np.flatnonzero(rule.broken[rows])
        words = (rule.remedy if remedy else rule.reason)(rows[at])
        for one, text in zip(at.tolist(), words, strict=True):
            if text:
                said[one].append(text)
    return [_once(texts) for texts in said] if remedy else said


def _once(texts: list[str]) -> list[str]:
    """Leave out what is said again, or what another text begins with."""
    distinct = list(dict.fromkeys(texts))
    if len(distinct) == 1:
        return distinct
    return [
        text
        for text in distinct
        if not any(other.startswith(f"{text}, ") for other in distinct)
    ]


def nearest(allowed: I64, value: int) -> str:
    """Name the allowed values next to one that is not: below, above, or both.

    Parameters
    ----------
    allowed : (n,) int64
        Ascending.
    value : int

    Returns
    -------
    str
        Empty where nothing is allowed.

    Examples
    --------
    >>> nearest(np.array([1, 2, 4, 8]), 3), nearest(np.array([1, 2]), 3)
    ('2 or 4', '2')
    """
    at = int(np.searchsorted(allowed, value))
    around = (at - 1, at)
    return " or ".join(f"{allowed[one]:,}" for one in around if 0 <= one < len(allowed))


@cache
def divisors(number: int) -> I64:
    """List what divides a number, ascending.

    Parameters
    ----------
    number : int
        1 or more.

    Returns
    -------
    (n,) int64
        Not to be written to.

    Examples
    --------
    >>> divisors(12)
    array([ 1,  2,  3,  4,  6, 12])
    """
    small = [one for one in range(1, int(number**0.5) + 1) if number % one == 0]
    found = np.array(sorted({*small, *(number // one for one in small)}), np.int64)
    found.flags.writeable = False
    return found


def seconds(value_s: float) -> str:
    """Write a time that is given in seconds, those of a step in seconds however long.

    Examples
    --------
    >>> seconds(7200.0), seconds(162.35), seconds(0.337)
    ('7,200 s', '162 s', '337 ms')
    """
    return f"{number(value_s)} s" if value_s >= _LONG_S else time_us(value_s * US_PER_S)
