"""What a user asks to be different: texts such as `class=gemm:median`, parsed."""

import re
from dataclasses import dataclass
from typing import Literal

What = Literal["gpu", "cpu", "launches", "gaps", "tax"]

MAX_FACTOR = 1e6
"""Nothing runs so much longer; durations stay within 64 bits."""

EXAMPLES = (
    "class=gemm:median, rank=3:median, cpu:median, launches:median, gaps*0, "
    "kernel=NAME*0.5, rank=3,class=gemm*0.9, tax=0, group=tp,tax=0"
)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of durations.

    Parameters
    ----------
    what : {"gpu", "cpu", "launches", "gaps", "tax"}
        Work on GPUs; all pieces of host threads; those of launching calls; host time that
        nobody logged; or the waits at collectives.
    factor : float or None
        Durations are multiplied by this; None: they become the median over the ranks of
        the corresponding event, in the same profiler window. For `tax` it is 0.
    rank : int or None
        Only on this global rank.
    kernel_class : str
        Only kernels of this class (`gemm`).
    kernel : str
        Only GPU work whose name contains this; `*` stands for any signs.
    group : str
        For `tax`: only groups of this role.
    """

    what: What
    factor: float | None = None
    rank: int | None = None
    kernel_class: str = ""
    kernel: str = ""
    group: str = ""

    @property
    def text(self) -> str:
        """The change as one would type it; `parse_change` reads it back.

        >>> Change("gpu", None, rank=3, kernel_class="gemm").text
        'rank=3,class=gemm:median'
        """
        parts = [
            f"rank={self.rank}" if self.rank is not None else "",
            f"group={self.group}" if self.group else "",
            f"class={self.kernel_class}" if self.kernel_class else "",
            f"kernel={self.kernel}" if self.kernel else "",
        ]
        named = self.kernel_class or self.kernel or self.rank is not None
        if self.what != "gpu":
            parts.insert(2, "tax=0" if self.what == "tax" else self.what)
        elif not named:
            parts.append("gpu")
        text = ",".join(filter(None, parts))
        if self.what == "tax":
            return text
        return text + (":median" if self.factor is None else f"*{_factor(self.factor)}")


def _factor(factor: float) -> str:
    """Write a factor in six digits if that is all of it, else in as many as it has."""
    short = f"{factor:g}"
    return short if float(short) == factor else repr(float(factor))


@dataclass(frozen=True, slots=True)
class Replace:
    """Another duration of one node.

    Parameters
    ----------
    rank : int
        Global rank.
    node : int
        Node of the graph of the rank (`synctax.graph.build.build_graph`).
    duration_ns : int
        How long it takes instead.
    window : str
        Which profiler window of the rank, where there are several.
    """

    rank: int
    node: int
    duration_ns: int
    window: str = ""

    @property
    def text(self) -> str:
        """What it does, for people."""
        where = f" of window {self.window}" if self.window else ""
        return f"rank {self.rank} node {self.node}{where}: {self.duration_ns:,} ns"


_ACTION = re.compile(r"(?P<who>.*?)(?::median|\*(?P<factor>[^*:,=\s]+))", re.DOTALL)
_TAX = re.compile(r"(?:.*,)?\s*tax\s*(?:[=*:].*)?", re.DOTALL)
_WHAT: dict[str, What] = {
    "gpu": "gpu",
    "cpu": "cpu",
    "launches": "launches",
    "gaps": "gaps",
    "tax=0": "tax",
}


def parse_change(text: str) -> Change:
    """Parse a change.

    Parameters
    ----------
    text : str
        Selectors joined by commas, then what is to be done with them: `:median` or
        `*FACTOR`. Selectors are `gpu` (the default), `cpu`, `launches` or `gaps`;
        `rank=N`; `class=NAME`; `kernel=NAME`, which must be the last, as names contain
        commas. Or `tax=0`, after `group=ROLE,` if wanted.

    Raises
    ------
    ValueError
        If it is none; the message says why.

    Examples
    --------
    >>> parse_change("class=gemm:median")
    Change(what='gpu', factor=None, rank=None, kernel_class='gemm', kernel='', group='')
    >>> parse_change("rank=3,kernel=void f<int>(int, float*)*0.5").kernel
    'void f<int>(int, float*)'
    >>> parse_change("tax=0").what
    'tax'
    """
    who, factor = _action(text.strip())
    found: dict[str, str] = {}
    rest = who
    while rest:
        if rest.startswith("kernel="):
            one, rest = rest, ""
        else:
            one, _, rest = rest.partition(",")
        key, value = _selector(one.strip(), text)
        if key in found:
            raise ValueError(f"{text!r} names two of {key}; give a change for each")
        found[key] = value
    change = Change(
        what=_WHAT[found.get("what", "gpu")],
        factor=factor,
        rank=_rank(found["rank"], text) if "rank" in found else None,
        kernel_class=found.get("class", ""),
        kernel=found.get("kernel", ""),
        group=found.get("group", ""),
    )
    _check(change, text)
    return change


def _action(text: str) -> tuple[str, float | None]:
    if text.endswith("tax=0"):
        return text, 0.0
    if "kernel=" not in text and _TAX.fullmatch(text):
        raise ValueError(
            f"{text!r}: of the tax one can only ask what if there were none: tax=0, or "
            "group=tp,tax=0"
        )
    found = _ACTION.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text!r} says not what to change to: end it in :median or *FACTOR "
            f"(examples: {EXAMPLES})"
        )
    if found["factor"] is None:
        return found["who"], None
    try:
        factor = float(found["factor"])
    except ValueError:
        raise ValueError(f"{text!r}: {found['factor']!r} is no factor") from None
    if not 0 <= factor <= MAX_FACTOR:
        raise ValueError(
            f"{text!r}: the factor must lie from 0 to {MAX_FACTOR:,.0f}, not at {factor:g}"
        )
    return found["who"], factor


def _selector(one: str, text: str) -> tuple[str, str]:
    if one in _WHAT:
        return "what", one
    key, equals, value = one.partition("=")
    if not equals or key not in ("rank", "class", "kernel", "group") or not value:
        raise ValueError(
            f"{text!r}: {one!r} is nothing that can be changed (examples: {EXAMPLES})"
        )
    return key, value


def _rank(value: str, text: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise ValueError(f"{text!r}: {value!r} is no rank; give one number")
    return int(value)


def _check(change: Change, text: str) -> None:
    named = bool(change.kernel_class or change.kernel)
    if change.what == "tax" and (named or change.rank is not None):
        raise ValueError(
            f"{text!r}: nobody waits alone, so tax=0 takes no rank, class or kernel; only "
            "a group, as in group=tp,tax=0"
        )
    if change.what != "tax" and change.group:
        raise ValueError(f"{text!r}: a group goes with tax=0 only")
    if change.what != "gpu" and named:
        raise ValueError(f"{text!r}: a class or a kernel is not among {change.what}")
    bare = named or change.rank is not None or change.what != "gpu"
    if not bare and "gpu" not in text:
        raise ValueError(f"{text!r} names nothing to change (examples: {EXAMPLES})")
