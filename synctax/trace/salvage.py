"""Repair one damaged JSON object, so that a strict decoder can read it.

Profilers wrote names without escaping them, `inf` as a number and commas too many. What
is put right here is syntax only: a number is never guessed, an object that stays
ambiguous is given up. Every repair is named.
"""

import re
from collections import Counter
from dataclasses import dataclass

import orjson

MAX_DEPTH = 64
MAX_REPAIR_BYTES = 1024 * 1024
"""An object that is longer and damaged is given up: its pieces would fill the memory."""

_NOT_FINITE = rb"[+-]?(?:nan|inf|NaN|Infinity|NAN|INF|Inf)"
_NOT_FINITE_VALUE = re.compile(rb"(:\s*)(" + _NOT_FINITE + rb")(?=\s*[,}])")
_NOT_FINITE_LITERAL = re.compile(_NOT_FINITE)
_LITERAL = re.compile(rb'[^\s,{}\[\]":]+')
_JSON_LITERAL = re.compile(rb"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_SPACE = re.compile(rb"\s*")
_QUOTE = re.compile(rb'\\.|"', re.DOTALL)
_KEY_FOLLOWS = rb'"[^"\\]{1,80}"\s*:'
_MEMBER_FOLLOWS = re.compile(rb",\s*" + _KEY_FOLLOWS)
_END_OF_KEY = re.compile(rb"\s*:")
_END_IN_OBJECT = re.compile(
    rb"\s*(?:,\s*(?:"
    + _KEY_FOLLOWS
    + rb"|[,}])|\}\s*(?:[,}\]\{]|\Z)|"
    + _KEY_FOLLOWS
    + rb")"
)
_END_IN_ARRAY = re.compile(rb'\s*(?:\]|,\s*(?:["\[{\]\d-]|true|false|null))')
_PLAIN_KEY = rb'"[A-Za-z0-9_ ]{1,40}"\s*+:'
_PLAIN_MEMBERS = re.compile(
    rb"(?:\s*+" + _PLAIN_KEY + rb'\s*+(?:"[^"\\\x00-\x1f\x7f-\xff]*+"'
    rb"|-?(?:0|[1-9]\d*+)(?:\.\d++)?+(?:[eE][+-]?\d++)?+|true|false|null)"
    rb"\s*+,(?=\s*+" + _KEY_FOLLOWS + rb"))++"
)
"""Members without any damage, each followed by another."""
_PLAIN_KEYS = re.compile(_PLAIN_KEY)
_PLAIN_PARTS = {
    b"{": re.compile(rb"\{[^{}]*+\}"),
    b"[": re.compile(rb"\[(?:[^\[\]{}]|\[[^\[\]{}]*+\])*+\]"),
}
"""Where a part without damage may end, by its first character."""
_TO_ESCAPE = re.compile(r'\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]|\\|"|[\x00-\x1f]')
_LONE_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(\\u[dD][c-fC-F][0-9a-fA-F]{2})?"
    r"|\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


@dataclass(frozen=True, slots=True)
class Repaired:
    """Valid JSON, where the object ended in the damaged text, and what was repaired."""

    text: bytes
    end: int
    repairs: "Repairs"


class Repairs:
    """How often each kind of repair was made, and where in the text first."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.first: dict[str, int] = {}

    def add(self, reason: str, at: int, count: int = 1) -> None:
        """Count a repair at an offset."""
        self.count[reason] += count
        self.first.setdefault(reason, at)


def not_finite_at(text: bytes | memoryview, at: int) -> bool:
    """Tell whether `inf` or `nan` stands around a place, such as where decoding failed."""
    return _NOT_FINITE_LITERAL.search(bytes(text[max(at - 2, 0) : at + 9])) is not None


def quote_not_finite(text: bytes | memoryview) -> Repaired | None:
    """Turn `inf` and `nan` as values into strings; None where there are none.

    Right only if the result is valid JSON: the words may also stand inside a string.
    """
    first = _NOT_FINITE_VALUE.search(text)
    if first is None:
        return None
    quoted, count = _NOT_FINITE_VALUE.subn(rb'\1"\2"', bytes(text))
    repairs = Repairs()
    repairs.add("nonfinite_value", first.start(2), count)
    return Repaired(quoted, len(text), repairs)


def repair(text: bytes, event_key: "re.Pattern[bytes]") -> Repaired | None:
    r"""Repair the JSON object at the beginning of `text`.

    Parameters
    ----------
    text : bytes
        Begins with `{`; may go on beyond the object.
    event_key : pattern
        Matches a key of the object itself (`"ts":`): a string that seems to contain one
        has lost its closing quote, and no repair can tell where.

    Returns
    -------
    Repaired or None
        None if the object does not end in `text` or cannot be repaired for certain.

    Examples
    --------
    >>> repair(b'{"name": "d["k"]", "pid": 1,}, {', re.compile(b'"pid":')).text
    b'{"name":"d[\\"k\\"]","pid":1}'
    """
    parser = _Parser(text, event_key)
    try:
        parser.value(0)
    except _HopelessError:
        return None
    return Repaired(b"".join(parser.out), parser.at, parser.repairs)


class _HopelessError(Exception):
    """The text cannot be repaired for certain."""


class _Parser:
    def __init__(self, text: bytes, event_key: "re.Pattern[bytes]") -> None:
        self.text = text
        self.at = 0
        self.out: list[bytes] = []
        self.repairs = Repairs()
        self._event_key = event_key

    def peek(self) -> bytes:
        """Return the next character that is not white space; empty at the end."""
        mark = self.text[self.at : self.at + 1]
        if mark and not mark.isspace():
            return mark
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        return self.text[self.at : self.at + 1]

    def value(self, depth: int, closing: "re.Pattern[bytes]" = _END_IN_OBJECT) -> None:
        first = self.peek()
        if depth > MAX_DEPTH or not first:
            raise _HopelessError
        if depth and first in _PLAIN_PARTS and self._undamaged(first):
            return
        if first == b"{":
            self._object(depth)
        elif first == b"[":
            self._array(depth)
        elif first == b'"':
            self._string(closing)
        else:
            self._literal(first)

    def _object(self, depth: int) -> None:
        self._open(b"{")
        keys: set[bytes] = set()
        while self._more(b"}", first=not keys):
            self._pass_plain(keys, depth)
            if self.peek() != b'"':
                raise _HopelessError
            key = self._string(_END_OF_KEY)
            self._once(key, keys, depth)
            if self.peek() != b":":
                raise _HopelessError
            self._open(b":")
            self.value(depth + 1)
        self._open(b"}")

    def _undamaged(self, first: bytes) -> bool:
        """Pass a part that a strict decoder can read as it stands."""
        found = _PLAIN_PARTS[first].match(self.text, self.at)
        if found is None:
            return False
        try:
            orjson.loads(found[0])
        except orjson.JSONDecodeError:
            return False
        self.out.append(found[0])
        self.at = found.end()
        return True

    def _pass_plain(self, keys: set[bytes], depth: int) -> None:
        """Pass members that need no look at their characters, up to the next that does."""
        plain = _PLAIN_MEMBERS.match(self.text, self.at)
        if plain is None:
            return
        for key in _PLAIN_KEYS.findall(plain[0]):
            self._once(key[:-1].rstrip(), keys, depth)
        self.out.append(plain[0])
        self.at = plain.end()

    def _once(self, key: bytes, keys: set[bytes], depth: int) -> None:
        if depth == 0 and key in keys:  # two events run into one
            raise _HopelessError
        keys.add(key)

    def _array(self, depth: int) -> None:
        self._open(b"[")
        first = True
        while self._more(b"]", first=first):
            self.value(depth + 1, _END_IN_ARRAY)
            first = False
        self._open(b"]")

    def _open(self, mark: bytes) -> None:
        self.out.append(mark)
        self.at += 1

    def _more(self, close: bytes, *, first: bool) -> bool:
        """Pass the commas before the next member; tell whether there is one."""
        commas = 0
        while self.peek() == b",":
            commas += 1
            self.at += 1
        end = self.peek() == close
        wanted = 0 if first or end else 1
        if commas > wanted:
            self.repairs.add("extra_comma", self.at, commas - wanted)
        elif commas < wanted:
            if close == b"]":
                raise _HopelessError
            self.repairs.add("missing_comma", self.at)
        if wanted:
            self.out.append(b",")
        return not end

    def _literal(self, first: bytes) -> None:
        if first in (b",", b"}"):
            self.repairs.add("missing_value", self.at)
            self.out.append(b"null")
            return
        literal = _LITERAL.match(self.text, self.at)
        if literal is None:
            raise _HopelessError
        if _JSON_LITERAL.fullmatch(literal[0]):
            self.out.append(literal[0])
        elif _NOT_FINITE_LITERAL.fullmatch(literal[0]):
            self.repairs.add("nonfinite_value", self.at)
            self.out.append(b'"' + literal[0] + b'"')
        else:
            raise _HopelessError
        self.at = literal.end()

    def _string(self, closing: "re.Pattern[bytes]") -> bytes:
        start = self.at + 1
        for mark in _QUOTE.finditer(self.text, start):
            if mark[0] == b'"' and closing.match(self.text, mark.end()):
                raw = self.text[start : mark.start()]
                break
        else:
            raise _HopelessError
        if b'"' in raw and self._swallowed(raw, closing):
            raise _HopelessError
        clean = self._clean(raw)
        self.out.append(clean)
        self.at = mark.end()
        return clean

    def _swallowed(self, raw: bytes, closing: "re.Pattern[bytes]") -> bool:
        """Tell whether text with quotes in it rather is several members run into one."""
        return (
            closing is _END_OF_KEY
            or self._event_key.search(raw) is not None
            or _MEMBER_FOLLOWS.search(raw) is not None
        )

    def _clean(self, raw: bytes) -> bytes:
        text = raw.decode("utf-8", "replace")
        if "\ufffd" in text and text.encode() != raw:
            self.repairs.add("invalid_utf8", self.at)
        text = _TO_ESCAPE.sub(self._escape, text)
        if "\\u" in text:
            text = _LONE_SURROGATE.sub(self._surrogate, text)
        return b'"' + text.encode() + b'"'

    def _escape(self, match: "re.Match[str]") -> str:
        found = match[0]
        if found == "\\":
            self.repairs.add("bad_escape", self.at)
            return "\\\\"
        if found == '"':
            self.repairs.add("unescaped_quote", self.at)
            return '\\"'
        if found < " ":
            self.repairs.add("control_character", self.at)
            return f"\\u{ord(found):04x}"
        return found

    def _surrogate(self, match: "re.Match[str]") -> str:
        if match[1]:
            return match[0]
        self.repairs.add("lone_surrogate", self.at)
        return "\\ufffd"


def member(text: bytes, key: str) -> object:
    """Read one member of a JSON object that as a whole cannot be read.

    Returns None where the key is absent or its value is damaged, and where it stands
    within damaged values of its own so often that looking at each would take long.
    """
    looked = 0
    for match in re.finditer(rb'"' + re.escape(key.encode()) + rb'"\s*:\s*', text):
        end = _value_end(text, match.end())
        try:
            return orjson.loads(text[match.end() : end])
        except orjson.JSONDecodeError:
            looked += end - match.end()
        if looked > 2 * len(text):  # each may reach to the end of the text
            break
    return None


_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\],]', re.DOTALL)


def _value_end(text: bytes, start: int) -> int:
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] == b'"':  # without an end: all behind it would be looked at again
            break
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
            if depth <= 0:
                return token.end() if depth == 0 else token.start()
        elif token[0] == b"," and depth == 0:
            return token.start()
    return len(text)
