"""A page as a browser's parser sees it: elements, attributes, texts, scripts."""

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = frozenset({"meta", "input", "br"})


@dataclass
class Node:
    """An element with its text; `inside` are the elements in it."""

    name: str
    attributes: dict[str, str | None]
    inside: list["Node"] = field(default_factory=list)
    own: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text in it, in no order that matters between elements."""
        return "".join([*self.own, *(one.text for one in self.inside)])

    def all(self, name: str) -> list["Node"]:
        """Elements of a name in it, at any depth."""
        found = [one for one in self.inside if one.name == name]
        return found + [deep for one in self.inside for deep in one.all(name)]

    def by_id(self, key: str) -> "Node":
        """The one element of an id."""
        (found,) = [one for one in self.every() if one.attributes.get("id") == key]
        return found

    def every(self) -> list["Node"]:
        """All elements in it."""
        return [deep for one in self.inside for deep in (one, *one.every())]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        one = Node(tag, dict(attrs))
        self.open[-1].inside.append(one)
        if tag not in VOID:
            self.open.append(one)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].own.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data[:80]}")


def parsed(page: bytes) -> Node:
    """Parse a page; every element is closed in order."""
    reader = _Reader()
    reader.feed(page.decode("utf-8"))
    reader.close()
    assert reader.open == [reader.root]
    return reader.root


def data(root: Node) -> dict[str, Any]:
    """The page's own data."""
    found: dict[str, Any] = json.loads(root.by_id("page-data").text)
    return found


SCRIPTS = [{"type": "application/json", "id": "page-data"}, {}, {}]
"""The only scripts of a page."""

_ELEMENTS = """
    html head meta title style body a header h1 h2 h3 p button noscript nav ul ol li main
    section dl div dt dd form label select option input output table caption thead tbody
    tr th td figure figcaption details summary pre script span
"""
KNOWN = frozenset(_ELEMENTS.split())
"""The only elements of a page."""

ADDRESSES = frozenset({"src", "srcset", "action", "formaction", "data", "poster"})
"""Attributes that would have something loaded or sent."""


def assert_safe(page: bytes) -> Node:
    """Check that a page runs no other script than its own, and asks for nothing."""
    root = parsed(page)
    every = root.every()
    assert {one.name for one in every} <= KNOWN
    assert [one.attributes for one in every if one.name == "script"] == SCRIPTS
    for one in every:
        assert not [name for name in one.attributes if name.startswith("on")]
        assert not ADDRESSES & set(one.attributes)
        assert (one.attributes.get("href") or "#").startswith("#")
    ids = [one.attributes["id"] for one in every if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    data(root)
    return root
