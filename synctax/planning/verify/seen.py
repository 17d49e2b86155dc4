"""The layout that a job shows: its degrees of parallelism, from the sizes of its groups."""

from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import Final

from synctax.planning.layout import Layout
from synctax.planning.verify.observed import DEFAULT, Observed
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


def sizes(observed: Observed, role: str) -> dict[int, int]:
    """Tell how many ranks the groups of a role cover, by their size; most first."""
    covered: Counter[int] = Counter()
    for group in observed.groups:
        if group.role == role:
            covered[group.size] += group.size
    return dict(sorted(covered.items(), key=lambda item: (-item[1], -item[0])))


def usual(observed: Observed, role: str) -> int | None:
    """Tell the size of groups that most ranks are in; None where there is no group."""
    return next(iter(sizes(observed, role)), None)


def whole_sizes(observed: Observed, role: str) -> tuple[int, ...]:
    """Tell the sizes whose groups cover as many ranks as those of any other size."""
    covered = sizes(observed, role)
    most = max(covered.values(), default=0)
    return tuple(size for size, ranks in covered.items() if ranks == most)


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
    data = _data_sizes(observed, degrees["cp"])
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


def _data_sizes(observed: Observed, cp: int) -> tuple[int, ...]:
    """List what dp·cp may be: the groups of it, or shards times replicas."""
    shards, replicas = usual(observed, "fsdp"), usual(observed, "dp_replicate")
    reduced, dp = usual(observed, "dp_cp"), whole_sizes(observed, "dp")
    found: list[int] = []
    if reduced is not None:
        found.append(reduced)
    if shards is not None:
        both = shards * (replicas or 1)
        found += [both, both * cp]
    elif replicas is not None:
        found.append(replicas * cp)
    if dp:
        found += [max(dp) * cp, prod(dp) * cp]
        # shards in one group, replicas in another
        found += [shards * max(dp)] if shards is not None else []
    return tuple(dict.fromkeys(found))


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
