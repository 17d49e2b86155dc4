"""Names of hosts: which are one host, and many of them in few words."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

_NUMBERED: Final = re.compile(r"([^.]*?)(\d+)([^.\d]*(?:\..*)?)")
"""The last number before a dot, and what is around it."""


def same_hosts(names: Iterable[str]) -> dict[str, str]:
    """Tell which names are one host's: a short name and one with its domain, any case.

    Parameters
    ----------
    names : iterable of str

    Returns
    -------
    dict of str to str
        The name that stands for each: of those of one host the first.

    Examples
    --------
    >>> same_hosts(["n1", "N1.cluster.local", "n2.a", "n2.b"])
    {'n1': 'n1', 'N1.cluster.local': 'n1', 'n2.a': 'n2.a', 'n2.b': 'n2.b'}
    """
    every = list(dict.fromkeys(names))
    long: dict[str, set[str]] = defaultdict(set)
    for name in every:
        first, dot, _ = _folded(name).partition(".")
        if dot and not first.isdigit():
            long[first].add(_folded(name))
    stands: dict[str, str] = {}
    found = {}
    for name in every:
        folded = _folded(name)
        # a short name is that of the only long one it may be
        whole = long.get(folded, set())
        key = next(iter(whole)) if len(whole) == 1 else folded
        found[name] = stands.setdefault(key, name)
    return found


def _folded(name: str) -> str:
    return name.strip().rstrip(".").casefold()


def host_text(names: Sequence[str]) -> str:
    """Write names of hosts, more than a few in few words: `node[0-7]`, as Slurm does.

    Parameters
    ----------
    names : sequence of str

    Examples
    --------
    >>> host_text(["n01", "n02", "n03", "n07", "login"]), host_text(["a0", "a1"])
    ('n[01-03,07], login', 'a0, a1')
    """
    if len(names) <= _PLAIN:
        return ", ".join(names)
    runs: dict[tuple[str, ...], list[str]] = {}
    for name in dict.fromkeys(names):
        found = _NUMBERED.fullmatch(name)
        before, digits, after = found.groups() if found else (name, "", "")
        runs.setdefault((before, after, "" if found else name), []).append(digits)
    return ", ".join(
        before + _numbers(digits) + after for (before, after, _), digits in runs.items()
    )


def _numbers(digits: list[str]) -> str:
    """Write numbers as `3`, or as `[0-3,7]`."""
    if len(digits) < _SEVERAL:
        return "".join(digits)
    parts: list[list[str]] = []
    for text in sorted(digits, key=lambda one: (int(one), one)):
        if parts and _follows(parts[-1][-1], text):
            parts[-1].append(text)
        else:
            parts.append([text])
    ends = (f"{run[0]}-{run[-1]}" if len(run) > 1 else run[0] for run in parts)
    return f"[{','.join(ends)}]"


def _follows(before: str, text: str) -> bool:
    """Whether a number comes next and is padded alike."""
    padded = before.startswith("0") and len(before) > 1
    return int(text) == int(before) + 1 and (len(text) == len(before) or not padded)


_SEVERAL = 2
_PLAIN = 4
"""So many are written one by one."""
