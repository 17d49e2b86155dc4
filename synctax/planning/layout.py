"""A layout: how many ranks each parallel dimension has. One, and a table of many."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from synctax.arrays import I64
from synctax.errors import SynctaxError

_TOKEN = re.compile(r"(tp|pp|dp|cp|ep|v)=?(\d+)", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,·x*+-]+")
_TOP = 2**31 - 1


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
                f"layout {text!r}: tp·pp·cp = {left} does not divide {gpus:,} GPUs "
                f"({gpus:,} mod {left} = {gpus % left})"
            )
        found["dp"] = gpus // left
    stages = found.pop("v", virtual_stages)
    degrees = {name: found.get(name, 1) for name in ("tp", "pp", "dp", "cp", "ep")}
    layout = Layout(**degrees, virtual_stages=stages)
    if gpus is not None and layout.gpus != gpus:
        raise SynctaxError(
            f"layout {text!r} has tp·pp·dp·cp = {layout.gpus:,} ranks, and --gpus is "
            f"{gpus:,}; leave out dp to have it follow"
        )
    return layout


def parse_layouts(
    text: str, gpus: int | None = None, virtual_stages: int = 1
) -> tuple[Layout, ...]:
    """Read several layouts in one text: apart by `;` or `/`, or each beginning anew.

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
    parts: list[str] = []
    for part in re.split(r"[;/]", text):
        seen: set[str] = set()
        tokens: list[str] = []
        for token in filter(None, _BETWEEN.split(part.strip())):
            name = token.rstrip("0123456789=").lower()
            if name in seen:
                parts.append(",".join(tokens))
                seen, tokens = set(), []
            seen.add(name)
            tokens.append(token)
        parts.append(",".join(tokens))
    return tuple(parse_layout(part, gpus, virtual_stages) for part in parts)


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
                f"layout {text!r}: {token!r} is no degree; expected tp, pp, dp, cp, ep "
                "or v with a number, such as tp8,pp16,dp8"
            )
        name, value = match[1].lower(), int(match[2])
        if name in found:
            raise SynctaxError(f"layout {text!r}: {name} is given twice")
        if not 1 <= value <= _TOP:
            raise SynctaxError(f"layout {text!r}: {name} is {value}; expected 1 or more")
        found[name] = value
    if not found:
        raise SynctaxError(f"layout {text!r} is empty; expected one such as tp8,pp16,dp8")
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
