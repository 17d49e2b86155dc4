"""What is wrong with JSON, in words that need no knowledge of who reads it."""

import re

from msgspec import DecodeError

_FOUND = re.compile(r"Expected `(.+?)`, got `(.+?)`(?: - at `\$\.?(.*)`)?")
_PLACE = re.compile(r"\(byte (\d+)\)")
_TYPES = {
    "array": "a list",
    "object": "an object",
    "str": "a text",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
}
_SHOWN = 40


def fault(error: DecodeError | RecursionError, text: bytes) -> str:
    """Say what is wrong with a text that should be JSON.

    Examples
    --------
    >>> from msgspec.json import decode
    >>> def of(text):
    ...     try:
    ...         decode(text, type=dict[str, list[int]])
    ...     except DecodeError as error:
    ...         return fault(error, text)
    >>> of(b'{"a": "b"}')
    'a text, expected a list'
    >>> of(b'{"a": [1, 2}')
    'no JSON from "}" on'
    >>> of(b'{"a": [1, 2')
    'it ends in the middle'
    """
    said = str(error)
    if found := _FOUND.match(said):
        expected, got, where = found.groups()
        where = "" if where is None or "[...]" in where else f"{where} is "
        return f"{where}{_words(got)}, expected {_words(expected)}"
    if place := _PLACE.search(said):
        rest = text[int(place[1]) :][:_SHOWN].decode("utf-8", "replace")
        return f'no JSON from "{rest}" on'
    if "truncated" in said:
        return "it ends in the middle"
    if isinstance(error, RecursionError):
        return "lists in lists, too many"
    return "a number is too large" if "range" in said else "no JSON that can be read"


def _words(types: str) -> str:
    return " or ".join(_TYPES.get(one, one) for one in types.split(" | "))
