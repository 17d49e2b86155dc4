"""Reads one text with both readers."""

from typing import Any

from synctax.trace.kineto import MsgspecScanner, NativeScanner
from synctax.trace.model import RankTrace
from synctax.trace.sniff import NotATraceError
from synctax.trace.source import Damage
from tests.trace.reading import difference


def fed(scanner: Any, text: bytes, block: int) -> RankTrace | str:
    """The columns, or in words why there are none."""
    try:
        for at in range(0, len(text), block):
            scanner.feed(text[at : at + block])
        return scanner.finish(Damage())
    except NotATraceError as error:
        return str(error)


def native(
    text: bytes, *, chunk: int = 5_000, block: int = 1 << 16, variant: str | None = None
) -> RankTrace | str:
    return fed(NativeScanner("rank0.json", chunk, variant), text, block)


def python(text: bytes) -> RankTrace | str:
    return fed(MsgspecScanner("rank0.json"), text, 1 << 20)


def told_apart(one: RankTrace | str, other: RankTrace | str) -> str:
    if isinstance(one, str) or isinstance(other, str):
        return "" if one == other else f"{one} != {other}"
    return difference(one, other)
