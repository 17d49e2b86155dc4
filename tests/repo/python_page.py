"""The page of what `import synctax` gives, made from its docstrings."""

import enum
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import synctax

KINDS = ("Functions", "Results, jobs and options", "Errors")


def page() -> str:
    """Every public name with how it is called, and what its docstring says."""
    lines = [
        "# Python",
        "",
        "Made from the code by `pytest -m repo --update-docs`; do not edit.",
        "",
        "What `import synctax` gives. The other pages show it at work: the",
        "[tutorial](../tutorial.md) from traces to an answer, and each page of the",
        "[index](../index.md) what its command is in Python. Results have `to_frame()`,",
        "whose columns are those of [Tables](tables.md).",
    ]
    found: dict[str, list[tuple[str, Any]]] = {kind: [] for kind in KINDS}
    for name in sorted(synctax.__all__, key=str.lower):
        if not name.startswith("_"):
            value = getattr(synctax, name)
            found[_kind(value)].append((name, value))
    taken: Counter[str] = Counter()
    for kind, entries in found.items():
        lines += ["", f"## {kind}", "", "| | |", "|---|---|"]
        for name, value in entries:
            first = _summary(value).replace("|", r"\|")
            lines.append(f"| [`{name}`](#{_anchor(name, taken)}) | {first} |")
        for name, value in entries:
            lines += ["", f"### {name}", "", *_entry(name, value)]
    return "\n".join(lines) + "\n"


def _anchor(name: str, taken: Counter[str]) -> str:
    """The heading's anchor: `plan` and `Plan` differ by the number that the second gets."""
    base = name.lower()
    taken[base] += 1
    return base if taken[base] == 1 else f"{base}-{taken[base] - 1}"


def _kind(value: Any) -> str:
    if not inspect.isclass(value):
        return KINDS[0]
    return KINDS[2] if issubclass(value, Exception) else KINDS[1]


def _summary(value: Any) -> str:
    """The first sentence of a docstring."""
    text = inspect.getdoc(value) or ""
    return " ".join(text.split("\n\n")[0].split())


def _entry(name: str, value: Any) -> Iterator[str]:
    yield "```text"
    yield from _called(name, value)
    yield ""
    yield from (inspect.getdoc(value) or "").splitlines()
    members = list(_members(value)) if inspect.isclass(value) else []
    if members:
        yield ""
        yield from members
    yield "```"


def _called(name: str, value: Any) -> Iterator[str]:
    """How it is called; a parameter a line where they are many."""
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        yield f"{name}: " + ", ".join(value.__members__)
        return
    if inspect.isclass(value) and issubclass(value, Exception):
        yield f"{name}({', '.join(base.__name__ for base in value.__bases__)})"
        return
    signature = inspect.signature(value)
    # annotations are types of the code: what they mean stands in the docstring
    parts = [
        str(p.replace(annotation=inspect.Parameter.empty))
        for p in signature.parameters.values()
    ]
    bare = [_short(part) for part in parts]
    stars = [p.kind for p in signature.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in stars:
        bare.insert(stars.index(inspect.Parameter.KEYWORD_ONLY), "*")
    line = f"{name}({', '.join(bare)})"
    if len(line) <= 88:
        yield line
        return
    yield f"{name}("
    yield from (f"    {part}," for part in bare)
    yield ")"


def _short(part: str) -> str:
    """Without what differs from run to run, or is longer than it tells."""
    return re.sub(r"=<.*>$", "=...", part)


def _members(value: type) -> Iterator[str]:
    """Public methods and properties, each with its first sentence."""
    for name, member in sorted(vars(value).items()):
        if name.startswith("_") or (
            not isinstance(member, (property, classmethod, staticmethod))
            and not inspect.isfunction(member)
        ):
            continue
        target = member.fget if isinstance(member, property) else member
        said = _summary(target)
        called = name if isinstance(member, property) else f"{name}()"
        if said:
            yield f".{called}: {said}"
