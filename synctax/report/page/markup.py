"""HTML and JSON in which no text of a trace can be anything but text."""

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from synctax.report.streams import visible
from synctax.urls import without_secrets

MAX_NAME = 400
"""Characters of one text that the page shows; the rest of a longer one is left out."""

NAMES_OF_SENTENCE = 5
"""A sentence may be so many times as long."""

_VOID = frozenset({"meta", "input", "br"})
"""Elements that have no end."""


class Html(str):
    """Markup made here: everything else is text, and escaped."""

    __slots__ = ()


@dataclass(slots=True)
class Texts:
    """Texts on their way to the page, and how many of them were cut.

    Parameters
    ----------
    limit : int
        Characters that are kept of each.
    """

    limit: int = MAX_NAME
    _cut: set[str] = field(default_factory=set)

    def plain(self, text: str) -> str:
        r"""Cut a text that is too long, and escape what does not print.

        Examples
        --------
        >>> Texts(limit=5).plain("gemm\x00_kernel")
        'gemm\\x00…'
        """
        return self._shown(text, self.limit)

    def sentence(self, text: str) -> str:
        """Do the same to a sentence, which may be longer than a name."""
        return self._shown(text, NAMES_OF_SENTENCE * self.limit)

    def _shown(self, text: str, limit: int) -> str:
        if len(text) > limit:
            self._cut.add(text)
            return visible(text[:limit]) + "…"
        return visible(text)

    @property
    def cut(self) -> int:
        """How many different texts were cut."""
        return len(self._cut)


Child = str | Iterable["Child"] | None
"""Markup, or text that will be escaped, or several of both; None is nothing."""


def element(name: str, *inside: Child, attributes: Mapping[str, Any] | None = None) -> Html:
    r"""Write an element; texts in it and in its attributes are escaped.

    Parameters
    ----------
    name : str
    *inside : str, Html, or iterables of these
    attributes : mapping, optional
        True stands for an attribute without a value; None and False leave it out.

    Examples
    --------
    >>> element("p", "a < b", attributes={"class": 'x" onload="', "hidden": True})
    '<p class="x&quot; onload=&quot;" hidden>a &lt; b</p>'
    """
    told = "".join(_attribute(*pair) for pair in (attributes or {}).items())
    if name in _VOID:
        return Html(f"<{name}{told}>")
    return Html(f"<{name}{told}>{joined(inside)}</{name}>")


def joined(parts: Child) -> Html:
    """Put parts after each other, escaping what is no markup."""
    if parts is None:
        return Html("")
    if isinstance(parts, Html):
        return parts
    if isinstance(parts, str):
        return Html(html.escape(visible(parts), quote=True))
    return Html("".join(map(joined, parts)))


def script_json(value: Any) -> Html:
    r"""Write JSON that is only JSON wherever it stands in HTML.

    Parameters
    ----------
    value
        Of mappings, lists, numpy arrays, numbers and texts that UTF-8 can hold; not a
        number becomes null.

    Examples
    --------
    >>> script_json({"name": "</script>&"})
    '{"name":"\\u003c/script\\u003e\\u0026"}'
    """
    import orjson

    text = without_secrets(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode())
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Html(text)


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    return f' {name}="{html.escape(visible(str(value)), quote=True)}"'
