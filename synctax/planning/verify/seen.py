"""The layout that a job shows: its degrees of parallelism, from the sizes of its groups."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Final

from synctax.planning.layout import Layout
from synctax.planning.verify.observed import DEFAULT, Observed, ObservedGroup
from synctax.planning.verify.planned import DENSE_ROLES, EXPERT_ROLES, SPLIT_ROLES

CORE_ROLES: Final = (*DENSE_ROLES, *EXPERT_ROLES, "dp_replicate")
"""Roles whose groups a layout tells."""

SPREADING: Final = ("tp", "pp", "cp", "ep", *SPLIT_ROLES, "edp")
"""Roles of which every rank is in one group."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the groups of a job tell of its layout.

    Parameters
    ----------
    layout : Layout or None
        Where the sizes of groups and the number of ranks agree.
    degrees : dict of str to int
        tp, pp, cp, ep as far as groups tell; 1 where traces declare groups and none of it.
    data : tuple of int
        What the groups of data parallelism may say of dp·cp.
    world : int or None
        Ranks of the job.
    because : str
        Why there is no layout.
    """

    layout: Layout | None
    degrees: dict[str, int]
    data: tuple[int, ...]
    world: int | None
    because: str = ""

    def __str__(self) -> str:
        """Write the layout, or what is known of one."""
        if self.layout is not None:
            return str(self.layout)
        parts = [f"{name}{n}" for name, n in self.degrees.items() if n > 1]
        return ",".join(parts)


def families(observed: Observed, role: str, size: int) -> int:
    """Tell in how many groups of a role and size each rank is.

    One, but for data parallelism: where its shards and replicas have one role and one
    size, a rank is in a group of either.

    Parameters
    ----------
    observed : Observed
    role : str
    size : int
        Ranks of a group.
    """
    if role not in SPLIT_ROLES and role != "edp":
        return 1
    times = memberships(observed, [g for g in observed.of(role) if g.size == size])
    return min(times.values(), default=1)


def memberships(observed: Observed, groups: Sequence[ObservedGroup]) -> dict[int, int]:
    """Count the groups that a rank is in, of ranks all of whose groups are known.

    Parameters
    ----------
    observed : Observed
    groups : sequence of ObservedGroup

    Returns
    -------
    dict of int to int
        Ranks that are in one or more.
    """
    times = Counter(rank for group in groups for rank in group.ranks)
    sure = observed.telling if observed.telling.size else observed.traced
    return {rank: times[rank] for rank in sure.tolist() if rank in times}


def sizes(observed: Observed, role: str) -> dict[int, int]:
    """Tell how many ranks the groups of a role cover, by their size; most first."""
    covered: Counter[int] = Counter()
    for group in observed.groups:
        if group.role == role:
            covered[group.size] += group.size
    every = {size: n // families(observed, role, size) for size, n in covered.items()}
    return dict(sorted(every.items(), key=lambda item: (-item[1], -item[0])))


def usual(observed: Observed, role: str) -> int | None:
    """Tell the size of groups that most ranks are in; None where there is no group."""
    return next(iter(sizes(observed, role)), None)


def whole_sizes(observed: Observed, role: str) -> tuple[int, ...]:
    """Tell the sizes whose groups cover as many ranks as those of any other size.

    A size stands there as often as a rank is in a group of it.
    """
    covered = sizes(observed, role)
    most = max(covered.values(), default=0)
    return tuple(
        size
        for size, ranks in covered.items()
        if ranks == most
        for _ in range(families(observed, role, size))
    )


def seen_layout(observed: Observed) -> Seen:
    """Read the layout off the groups of a job.

    Parameters
    ----------
    observed : Observed

    Returns
    -------
    Seen
        dp is what is left of the ranks, where the groups of data parallelism agree.
    """
    told = [name for name in CORE_ROLES if usual(observed, name) is not None]
    world = observed.world
    if not told:
        return Seen(None, {}, (), world, _no_roles(observed))
    degrees = {name: usual(observed, name) or 1 for name in ("tp", "pp", "cp", "ep")}
    data = _data_sizes(observed)
    inner = degrees["tp"] * degrees["pp"]
    if world is None:
        return Seen(
            None, degrees, data, None, "the traces do not tell the ranks of the job"
        )
    left, rest = divmod(world, inner)
    fits = left in data or (not data and left == degrees["cp"])
    if rest or not fits or left % degrees["cp"]:
        return Seen(None, degrees, data, world, _unaccounted(observed, degrees, data))
    dp = left // degrees["cp"]
    layout = Layout(degrees["tp"], degrees["pp"], dp, degrees["cp"], degrees["ep"])
    return Seen(layout, degrees, data, world)


def _data_sizes(observed: Observed) -> tuple[int, ...]:
    """List what dp·cp may be: the most ranks that groups of data and of CP span.

    Megatron-LM declares the whole and its parts alike, and one role may mean either, so
    groups make up a grid where they meet in one rank. Where members are not all known,
    any product may be it.
    """
    parts = [
        _Part(size**times, mine)
        for role in (*SPLIT_ROLES, "cp")
        for size in dict.fromkeys(whole_sizes(observed, role))
        if (times := families(observed, role, size))
        and (mine := [g for g in observed.groups if (g.role, g.size) == (role, size)])
    ]
    if not any(part.groups[0].role in SPLIT_ROLES for part in parts):
        return ()
    sure = all(group.complete for part in parts for group in part.groups)
    spans = {
        prod(part.ranks for part in some)
        for count in range(1, min(len(parts), _MOST_PARTS) + 1)
        for some in combinations(parts, count)
        if not sure or all(_meet_once(*pair) for pair in combinations(some, 2))
    }
    return (max(spans),) if sure else tuple(sorted(spans, reverse=True))


_MOST_PARTS = 3
"""Shards, replicas and context parallelism."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Groups of one role and size, and how many ranks they reach from one."""

    ranks: int
    groups: list[ObservedGroup]


def _meet_once(one: _Part, other: _Part) -> bool:
    """Whether groups that share a rank share no other."""
    number = {rank: at for at, group in enumerate(one.groups) for rank in group.ranks}
    met = Counter(
        (number[rank], at)
        for at, group in enumerate(other.groups)
        for rank in group.ranks
        if rank in number
    )
    return max(met.values(), default=0) == 1


def _no_roles(observed: Observed) -> str:
    if any(group.role == DEFAULT for group in observed.groups):
        return (
            "only the default group is there, and nothing tells which dimension it is "
            "(--group dp, or tp, does)"
        )
    return (
        "no trace names the role of a group (PyTorch 2.4 and later write it where the "
        "framework gives a description); --group ROLE tells that of a lone group"
    )


def _unaccounted(observed: Observed, degrees: dict[str, int], data: tuple[int, ...]) -> str:
    known = prod(degrees[name] for name in ("tp", "pp")) * max([degrees["cp"], *data])
    active = [
        group for group in observed.groups if group.role == DEFAULT and group.communicates
    ]
    if active and known * active[0].size == observed.world:
        return (
            f"the default group of {active[0].size:,} ranks carries collectives, and "
            "nothing tells which dimension it is (--group tp, or dp, does)"
        )
    if not data:
        return f"no group of data parallelism: the groups account for {known:,} ranks"
    return ""
