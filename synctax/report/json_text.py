"""Values of any result as JSON text: what has no place in UTF-8 or JSON becomes text."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from synctax.urls import without_secrets


def utf8(text: str) -> str:
    """Escape what UTF-8 cannot hold, and leave secrets out of URLs."""
    text = without_secrets(text)
    if text.isascii():
        return text
    # a file name that is no UTF-8 reaches us with lone surrogates
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def json_bytes(value: Any, *, indent: bool = False) -> bytes:
    """Encode a value; texts that UTF-8 cannot hold are escaped."""
    return dumps(_plain(value), indent=indent)


def dumps(value: Any, *, indent: bool) -> bytes:
    """Encode what holds no text that UTF-8 cannot."""
    import orjson

    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    if indent:
        options |= orjson.OPT_INDENT_2
    return orjson.dumps(value, default=_other, option=options)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return utf8(value)
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _other(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return utf8(os.fspath(value))
    if isinstance(value, range):
        return [value.start, value.stop if value.stop < sys.maxsize else None]
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no place in JSON")
