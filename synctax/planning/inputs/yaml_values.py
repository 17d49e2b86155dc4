"""Values of a YAML file written by hand: each knows its line, none is guessed."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from synctax.errors import BadInputError
from synctax.planning.possible import COUNT, LARGEST_COUNT, NUMBER

_WHOLE = r"(?:0|[1-9][0-9]*(?:_[0-9]+)*)"
_NUMBER = re.compile(rf"[-+]?(?:{_WHOLE}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NULL = ("", "~", "null", "Null", "NULL")
_FLAGS = {"true": True, "True": True, "TRUE": True}
_FLAGS |= {"false": False, "False": False, "FALSE": False}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value as it was written; `plain` without quotes."""

    text: str
    plain: bool
    line: int

    def __str__(self) -> str:
        """Show it, cut where it is long."""
        shown = self.text if len(self.text) <= 40 else f"{self.text[:40]}..."
        return repr(shown) if self.plain else f"{shown!r} in quotes"


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list of values."""

    items: "tuple[Node, ...]"
    line: int

    def __str__(self) -> str:
        """Say what it is."""
        return "a list"


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping of keys to values, with what reads single values of it.

    Parameters
    ----------
    file : str
        For messages.
    path : str
        Keys that lead here, each with a dot behind; empty for the whole file.
    entries : dict of str to Node
    line : int
    """

    file: str
    path: str
    entries: "Mapping[str, Node]"
    line: int

    def __str__(self) -> str:
        """Say what it is."""
        return "a mapping"

    def allow(self, keys: tuple[str, ...], synonyms: Mapping[str, str]) -> None:
        """Refuse keys that mean nothing here.

        Parameters
        ----------
        keys : tuple of str
            Those that mean something.
        synonyms : dict of str to str
            What a key of other programs is called here, with its path from the top.

        Raises
        ------
        BadInputError
            Names every unknown key that is like a known one with that, the others by
            some, and those that are known where nothing is like them.
        """
        unknown = [key for key in self.entries if key not in keys]
        if not unknown:
            return
        meant = {key: [synonyms[key]] if key in synonyms else [] for key in unknown}
        if not any(meant.values()):  # of another program's names none is a misspelling
            meant = {key: self._near(key, keys) for key in unknown}
        first, *more = sorted(unknown, key=lambda key: not meant[key])
        hint = (
            f"did you mean {' or '.join(meant[first])}?"
            if meant[first]
            else f"keys are {', '.join(keys)}"
        )
        raise BadInputError(
            f"{self.file}, line {self.entries[first].line}: unknown key "
            f"{self.path}{first[:40]}; {hint}{_unknown_too(more, meant)}"
        )

    def has(self, key: str) -> bool:
        """Whether a key stands here with a value."""
        node = self.entries.get(key)
        return node is not None and not is_null(node)

    def count(self, key: str, default: int | None = None, *, least: int = 1) -> int:
        """Read a whole number.

        Parameters
        ----------
        key : str
        default : int, optional
            Where there is none; else one has to be there.
        least : int

        Raises
        ------
        BadInputError
            If it is missing, no whole number, or out of range.
        """
        expected = COUNT if least == 1 else f"a whole number of {least} or more"
        if default is not None and not self.has(key):
            return default
        value = self._number(key, expected)
        if not value.is_integer() or not least <= value <= LARGEST_COUNT:
            most = f", at most {LARGEST_COUNT:,}" if value > LARGEST_COUNT else ""
            raise self.wrong(key, expected + most)
        return int(value)

    def number(
        self, key: str, default: float | None = None, *, least: float | None = None
    ) -> float:
        """Read a finite number above 0, or of `least` or more.

        Raises
        ------
        BadInputError
            As `count`.
        """
        expected = NUMBER if least is None else f"a number of {least:g} or more"
        if default is not None and not self.has(key):
            return default
        value = self._number(key, expected)
        if value <= 0 if least is None else value < least:
            raise self.wrong(key, expected)
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """Read true or false.

        Raises
        ------
        BadInputError
            If something else is written.
        """
        if not self.has(key):
            return default
        node = self.entries[key]
        if not isinstance(node, Scalar) or not node.plain or node.text not in _FLAGS:
            raise self.wrong(key, "true or false")
        return _FLAGS[node.text]

    def text(self, key: str, default: str) -> str:
        """Read a text, whatever it looks like.

        Raises
        ------
        BadInputError
            If it is no single value.
        """
        if not self.has(key):
            return default
        node = self.entries[key]
        if not isinstance(node, Scalar):
            raise self.wrong(key, "a text")
        return node.text.strip()

    def section(self, key: str, example: str) -> "Section":
        """Return the mapping under a key.

        Raises
        ------
        BadInputError
            If it is none.
        """
        node = self.entries[key]
        if not isinstance(node, Section):
            raise self.wrong(key, f"a mapping such as {example}")
        return node

    def sections(self, key: str, example: str) -> "tuple[Section, ...]":
        """Return the list of mappings under a key; none where it is not there.

        Raises
        ------
        BadInputError
            If it is something else.
        """
        if not self.has(key):
            return ()
        node = self.entries[key]
        items = node.items if isinstance(node, Sequence) else ()
        found = tuple(item for item in items if isinstance(item, Section))
        if not isinstance(node, Sequence) or len(found) < len(items):
            raise self.wrong(key, f"a list of mappings such as {example}")
        return found

    def wrong(self, key: str, expected: str) -> BadInputError:
        """Say that a value is not what it should be.

        Parameters
        ----------
        key : str
        expected : str
            What it should be.
        """
        node = self.entries.get(key)
        if node is None:
            place, found = (f", line {self.line}" if self.path else ""), "missing"
        else:
            place, found = f", line {node.line}", "empty" if is_null(node) else str(node)
        return BadInputError(
            f"{self.file}{place}: {self.path}{key} is {found}; expected {expected}"
        )

    def impossible(self, path: str, expected: str) -> BadInputError:
        """Say that a value, of here or of a part, is not what it should be.

        Parameters
        ----------
        path : str
            Keys from here: `kv_heads`, `experts.top_k`, `tiers[0].gpus`.
        expected : str
            What it should be.
        """
        first, dot, rest = path.partition(".")
        if not dot:
            return self.wrong(path, expected)
        name, _, place = first.partition("[")
        node = self.entries[name]
        if isinstance(node, Sequence):
            node = node.items[int(place.rstrip("]"))]
        if not isinstance(node, Section):
            return self.wrong(name, expected)
        return node.impossible(rest, expected)

    def _number(self, key: str, expected: str) -> float:
        node = self.entries.get(key)
        if not isinstance(node, Scalar) or not node.plain or is_null(node):
            raise self.wrong(key, expected)
        if not _NUMBER.fullmatch(node.text):
            raise self.wrong(key, f"{expected}, such as 16384 or 405e9")
        value = float(node.text)
        if not math.isfinite(value):
            raise self.wrong(key, expected)
        return value

    def _near(self, key: str, keys: tuple[str, ...]) -> list[str]:
        known = {name.lower(): name for name in keys}
        found = get_close_matches(key.lower(), known, n=2, cutoff=0.6)
        return [self.path + known[name] for name in found]


Node = Scalar | Sequence | Section

MOST_NAMED: Final = 8
"""Unknown keys that are named though nothing is like them."""


def _unknown_too(keys: "list[str]", meant: "Mapping[str, list[str]]") -> str:
    """Name further unknown keys, with what each may mean."""
    like = [f"{key[:40]} ({' or '.join(meant[key])})" for key in keys if meant[key]]
    unlike = [key[:40] for key in keys if not meant[key]]
    said = [*like, *unlike[:MOST_NAMED]]
    if not said:
        return ""
    left = len(unlike) - MOST_NAMED
    return f"; unknown too: {', '.join(said)}" + (f", {left} more" if left > 0 else "")


def is_null(node: Node) -> bool:
    """Whether a value was left empty, or is YAML's null."""
    return isinstance(node, Scalar) and node.plain and node.text in _NULL
