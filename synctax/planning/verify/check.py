"""What is checked of a job: a rule, for how many groups it holds, and which break it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from synctax.planning.verify.observed import Observed, ObservedGroup
from synctax.texts import counted

Level = Literal["rule", "warning", "remark"]
"""A broken rule fails a job; a warning does where it is asked for; a remark never does."""

Status = Literal["ok", "broken", "unknown"]


@dataclass(frozen=True, slots=True)
class Broken:
    """A group, or some ranks, that break a rule.

    Parameters
    ----------
    ranks : tuple of int
        Empty where the whole job does.
    hosts : tuple of str
        Hosts that these are known to be on.
    found : str
        What is wrong with it.
    """

    ranks: tuple[int, ...]
    hosts: tuple[str, ...]
    found: str


@dataclass(frozen=True, slots=True)
class Check:
    """One rule, of one role of groups.

    Parameters
    ----------
    name : str
        Stable identifier: `domain`, `size`, ...
    role : str
        Of the groups; empty for the whole job.
    level : Level
    expected, found : str
    checked : int
        Groups that could be judged.
    unknown : int
        Groups that could not.
    broken : tuple of Broken
    because : str
        Why some could not be judged, and what would help; or what else is to be said.
    unit : str
        What is counted.
    """

    name: str
    role: str
    level: Level
    expected: str
    found: str
    checked: int
    unknown: int = 0
    broken: tuple[Broken, ...] = ()
    because: str = ""
    unit: str = "group"

    @property
    def status(self) -> Status:
        """Whether it holds: unknown where nothing could be judged."""
        if self.broken:
            return "broken"
        return "ok" if self.checked else "unknown"

    def fails(self, *, strict: bool) -> bool:
        """Whether a job that breaks it fails."""
        levels = ("rule", "warning") if strict else ("rule",)
        return self.status == "broken" and self.level in levels


def broken(observed: Observed, group: ObservedGroup, found: str) -> Broken:
    """Say that a group breaks a rule."""
    return Broken(group.ranks, observed.places.host_names(group.ranks), found)


def tally(sizes: Sequence[int]) -> str:
    """Count groups by size, largest first.

    Examples
    --------
    >>> tally([8, 8, 4]), tally([])
    ('2 groups of 8 ranks, 1 of 4', 'none')
    """
    counts = {size: sizes.count(size) for size in sorted(set(sizes), reverse=True)}
    if not counts:
        return "none"
    (size, count), *rest = counts.items()
    first = f"{counted(count, 'group')} of {counted(size, 'rank')}"
    return ", ".join([first, *(f"{count:,} of {size:,}" for size, count in rest)])
