"""A layout: how many ranks each parallel dimension has. One, and a table of many."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from synctax.arrays import I64
from synctax.errors import SynctaxError

_TOKEN = re.compile(r"(tp|pp|dp|cp|ep|v)=?([0-9]+)", re.IGNORECASE)
_APART = r"\s,·x*+-"
_BETWEEN = re.compile(f"[{_APART}]+")
_WRITTEN = re.compile(f"[^{_APART}]+")
_END = re.compile(f"[{_APART}]+$")
_TOP = 2**31 - 1
_MOST_DIGITS = 20
_MOST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Layout:
    """Degrees of parallelism of one layout.

    Parameters
    ----------
    tp, pp, dp, cp, ep : int
        t, p, d, c, e. The ranks are t·p·d·c: experts sit on ranks of the others.
    virtual_stages : int
        v: chunks of layers that a pipeline rank holds.
    """

    tp: int
    pp: int
    dp: int
    cp: int = 1
    ep: int = 1
    virtual_stages: int = 1

    @property
    def gpus(self) -> int:
        """Ranks of the layout."""
        return self.tp * self.pp * self.dp * self.cp

    def __str__(self) -> str:
        """Write it as `--layout` reads it; cp, ep and v where they are not 1."""
        text = f"tp{self.tp},pp{self.pp},dp{self.dp}"
        more = (("cp", self.cp), ("ep", self.ep), ("v", self.virtual_stages))
        return text + "".join(f",{name}{value}" for name, value in more if value != 1)


def parse_layout(text: str, gpus: int | None = None, virtual_stages: int = 1) -> Layout:
    """Read a layout such as `tp8,pp16,dp8`.

    Parameters
    ----------
    text : str
        Of tp, pp, dp, cp, ep and v, each at most once, in any order; what is missing is 1.
        A missing dp takes the ranks that are left of `gpus`.
    gpus : int, optional
        Ranks that the layout must have.
    virtual_stages : int
        v where the text does not tell it.

    Raises
    ------
    SynctaxError
        If the text is no layout, or one of other ranks than `gpus`.

    Examples
    --------
    >>> str(parse_layout("pp16 tp8", 1024))
    'tp8,pp16,dp8'
    """
    found = parse_degrees(text)
    left = prod(found.get(name, 1) for name in ("tp", "pp", "cp"))
    if "dp" not in found and gpus is not None:
        if gpus % left:
            raise SynctaxError(
                f"layout {_quoted(text)}: tp·pp·cp = {left} does not divide {gpus:,} GPUs "
                f"({gpus:,} mod {left} = {gpus % left})"
            )
        found["dp"] = gpus // left
    stages = found.pop("v", virtual_stages)
    degrees = {name: found.get(name, 1) for name in ("tp", "pp", "dp", "cp", "ep")}
    layout = Layout(**degrees, virtual_stages=stages)
    if gpus is not None and layout.gpus != gpus:
        raise SynctaxError(
            f"layout {_quoted(text)} has tp·pp·dp·cp = {layout.gpus:,} ranks, and --gpus "
            f"is {gpus:,}; leave out dp to have it follow"
        )
    return layout


def parse_layouts(
    text: str, gpus: int | None = None, virtual_stages: int = 1
) -> tuple[Layout, ...]:
    """Read several layouts in one text: apart by `;` or `/`, or each beginning anew.

    Each that begins anew must begin with the same dimension and have two or more, and those
    that are apart must have a dimension in common: `tp8,tp8` and `tp8/pp2` are slips.

    Parameters
    ----------
    text : str
    gpus, virtual_stages : int
        As for `parse_layout`.

    Raises
    ------
    SynctaxError
        As `parse_layout`.

    Examples
    --------
    >>> [str(one) for one in parse_layouts("tp8,pp16,dp8,tp8,pp8,dp8,cp2")]
    ['tp8,pp16,dp8', 'tp8,pp8,dp8,cp2']
    """
    parts = [
        part for apart in re.split(r"[;/]", text) for part in _beginning_anew(apart, text)
    ]
    if not all(parts):
        raise SynctaxError(
            f"layout {_quoted(text)} is empty, or a part of it; expected one such as "
            "tp8,pp16,dp8"
        )
    found = tuple(parse_layout(part, gpus, virtual_stages) for part in parts)
    if len(parts) > 1:
        named = [set(parse_degrees(part)) for part in parts]
        alone = next((at for at in range(1, len(parts)) if not named[0] & named[at]), None)
        if alone is not None:
            raise SynctaxError(
                f"layout {_quoted(text)}: {parts[0]!r} and {parts[alone]!r} would be two "
                "layouts with no dimension in common; put a comma between degrees of one"
            )
    return found


def _beginning_anew(part: str, text: str) -> list[str]:
    """Split at degrees that are given again, where that is clearly meant."""
    tokens = [(one.group(), one.start()) for one in _WRITTEN.finditer(part)]
    names = [_name(token) for token, _ in tokens]
    first: list[int] = [0]
    for at, name in enumerate(names):
        if name in names[first[-1] : at]:
            first.append(at)
    if len(first) == 1:
        return [part.strip()]
    for start, end in zip(first, [*first[1:], len(names)], strict=True):
        if names[start] != names[0] or end - start == 1:
            again = names[first[1]]
            raise SynctaxError(
                f"layout {_quoted(text)}: {again} is given twice; between layouts put /, "
                "such as tp8,pp16/tp8,pp8,cp2"
            )
    starts = [tokens[at][1] for at in first]
    return [
        _END.sub("", part[start:end])
        for start, end in zip(starts, [*starts[1:], len(part)], strict=True)
    ]


def _quoted(text: str) -> str:
    shown = text.strip()
    return repr(shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}...")


def _name(token: str) -> str:
    return token.rstrip("0123456789=").lower()


def parse_degrees(text: str) -> dict[str, int]:
    """Read degrees such as `tp8,cp1`: some of tp, pp, dp, cp, ep and v, each once.

    Raises
    ------
    SynctaxError
        If the text holds anything else, or nothing.

    Examples
    --------
    >>> parse_degrees("tp8, cp=1")
    {'tp': 8, 'cp': 1}
    """
    found: dict[str, int] = {}
    for token in filter(None, _BETWEEN.split(text.strip())):
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise SynctaxError(
                f"layout {_quoted(text)}: {token[:40]!r} is no degree; expected tp, pp, "
                "dp, cp, ep or v with a number, such as tp8,pp16,dp8"
            )
        name = match[1].lower()
        # by length first: Python does not parse thousands of digits
        value = int(match[2]) if len(match[2]) <= _MOST_DIGITS else _TOP + 1
        if name in found:
            raise SynctaxError(f"layout {_quoted(text)}: {name} is given twice")
        if not 1 <= value <= _TOP:
            shown = match[2] if len(match[2]) <= _MOST_DIGITS else f"{match[2][:8]}..."
            raise SynctaxError(
                f"layout {_quoted(text)}: {name} is {shown}; expected from 1 to {_TOP:,}"
            )
        found[name] = value
    if not found:
        raise SynctaxError(
            f"layout {_quoted(text)} is empty; expected one such as tp8,pp16,dp8"
        )
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Layouts:
    """A table of k layouts, a column a degree.

    Parameters
    ----------
    tp, pp, dp, cp, ep, virtual_stages : (k,) int64
    """

    tp: I64
    pp: I64
    dp: I64
    cp: I64
    ep: I64
    virtual_stages: I64

    def __len__(self) -> int:
        """Layouts."""
        return len(self.tp)

    def __getitem__(self, at: int) -> Layout:
        """Return one of them."""
        return Layout(
            int(self.tp[at]),
            int(self.pp[at]),
            int(self.dp[at]),
            int(self.cp[at]),
            int(self.ep[at]),
            int(self.virtual_stages[at]),
        )

    @classmethod
    def of(cls, layouts: Sequence[Layout]) -> "Layouts":
        """Put single layouts into a table."""
        rows = [
            (one.tp, one.pp, one.dp, one.cp, one.ep, one.virtual_stages) for one in layouts
        ]
        return cls(*np.array(rows, np.int64).reshape(len(rows), 6).T.copy())


def take(layouts: Layouts, rows: I64) -> Layouts:
    """Take some layouts of a table.

    Parameters
    ----------
    layouts : Layouts
    rows : (j,) int64

    Returns
    -------
    Layouts
        j of them.
    """
    return Layouts(
        layouts.tp[rows],
        layouts.pp[rows],
        layouts.dp[rows],
        layouts.cp[rows],
        layouts.ep[rows],
        layouts.virtual_stages[rows],
    )
