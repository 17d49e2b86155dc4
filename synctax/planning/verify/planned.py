"""Which ranks each process group of a layout should have."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Final

from synctax.arrays import I64
from synctax.errors import SynctaxError
from synctax.planning.grid import Axis, dense_axes, expert_axes, expert_split, members
from synctax.planning.layout import Layout
from synctax.planning.training import ORDERS, Order
from synctax.planning.verify.hosts_file import MOST_RANKS

DENSE_ROLES: Final = {
    "tp": ("tp",),
    "pp": ("pp",),
    "cp": ("cp",),
    "dp": ("dp",),
    "dp_cp": ("dp", "cp"),
    "fsdp": ("dp", "cp"),
    "mp": ("tp", "pp"),
    "tp_cp": ("tp", "cp"),
    "tp_dp": ("tp", "dp"),
    "tp_dp_cp": ("tp", "dp", "cp"),
}
"""Which axes of the grid of dense layers a role's groups run along."""

EXPERT_ROLES: Final = {
    "ep": ("ep",),
    "edp": ("edp",),
    "etp": ("etp",),
    "tp_ep": ("etp", "ep"),
    "tp_ep_pp": ("etp", "ep", "pp"),
}
"""The same of the grid of experts."""

SPLIT_ROLES: Final = ("dp", "dp_cp", "fsdp", "dp_replicate")
"""Roles that may share data parallelism: shards inside, replicas outside."""


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """A layout, and how ranks are numbered in it.

    Parameters
    ----------
    layout : Layout
    order : Order or None
        None: either of ORDERS is as good.
    expert_tp : bool or None
        Whether TP shards experts; None: either is as good.
    """

    layout: Layout
    order: Order | None = None
    expert_tp: bool | None = None

    @property
    def orders(self) -> tuple[Order, ...]:
        """The orders that ranks may have."""
        return ORDERS if self.order is None else (self.order,)

    @property
    def splits(self) -> tuple[bool, ...]:
        """Whether TP shards experts: what may be."""
        if self.expert_tp is not None:
            return (self.expert_tp,)
        return (True, False) if self.layout.tp > 1 else (True,)

    @property
    def ways(self) -> tuple["Planned", ...]:
        """Each way in which ranks may be numbered, with nothing left open."""
        splits = self.splits if self.layout.ep > 1 else self.splits[:1]
        return tuple(
            Planned(self.layout, order, split) for order in self.orders for split in splits
        )

    def sizes(self, role: str, seen: Collection[int] = ()) -> tuple[int, ...]:
        """Tell how many ranks a group of a role may have.

        Parameters
        ----------
        role : str
        seen : collection of int
            Sizes of the groups of data parallelism in the job (for `edp` of its own), each
            as often as a rank is in one: where it is shared between shards and replicas,
            their product is that of the layout.

        Returns
        -------
        tuple of int
            Empty where the layout does not tell; the first is the usual one.
        """
        if role in EXPERT_ROLES:
            return self._expert_sizes(role, seen)
        if role not in SPLIT_ROLES:
            return (self._size(role),) if role in DENSE_ROLES else ()
        d, c = self.layout.dp, self.layout.cp
        usual = {"dp": (d,), "dp_cp": (d * c,), "fsdp": (d * c, d), "dp_replicate": ()}
        parts = [size for size in _parts((*seen, c), (d, d * c)) if size in seen]
        return tuple(dict.fromkeys((*usual[role], *parts)))

    def members(self, role: str, size: int, order: Order) -> tuple[I64, ...]:
        """List the groups that ranks should form, in each way that a size may mean.

        Parameters
        ----------
        role : str
        size : int
            Ranks of a group, one of `sizes`.
        order : Order

        Returns
        -------
        tuple of (g, size) int64
            Global ranks, ascending in each group; empty where the layout does not tell.
        """
        found = []
        if role in EXPERT_ROLES:
            for split in self.splits:
                grid = expert_axes(self.layout, order, split=split)
                found += [] if grid is None else _expert_groups(grid, role, size)
        elif role in SPLIT_ROLES:
            found += self._data_groups(role, size, order)
        elif role in DENSE_ROLES:
            found.append(members(dense_axes(self.layout, order), DENSE_ROLES[role]))
        return tuple(groups for groups in found if groups.shape[1] == size)

    def _size(self, role: str) -> int:
        return prod(getattr(self.layout, name) for name in DENSE_ROLES[role])

    def _expert_sizes(self, role: str, seen: Collection[int]) -> tuple[int, ...]:
        one, every = self.layout, []
        for split in self.splits:
            across = expert_split(one, split=split)
            alike = max(one.gpus // (one.pp * one.ep * across), 1)
            degree = {"etp": across, "ep": one.ep, "pp": one.pp, "edp": alike}
            every.append(prod(degree[name] for name in EXPERT_ROLES[role]))
        if role == "edp":
            every += _parts(tuple(seen), every)
        return tuple(dict.fromkeys(every))

    def _data_groups(self, role: str, size: int, order: Order) -> list[I64]:
        """Split data parallelism: shards are neighbours, replicas their likes."""
        grid = dense_axes(self.layout, order)
        d, c = self.layout.dp, self.layout.cp
        ways: dict[str, list[tuple[tuple[str, ...], int]]] = {
            "dp": [(("shard",), size), (("replica",), d // size)],
            "dp_cp": [(("shard", "cp"), size // c)],
            "fsdp": [(("shard",), size), (("shard", "cp"), size // c)],
            "dp_replicate": [(("replica",), d // size)],
        }
        found = []
        for names, shards in ways[role]:
            if shards < 1 or d % shards:
                continue
            found.append(members(_split(grid, shards, "dp"), names))
        return found


def _expert_groups(grid: tuple[Axis, ...], role: str, size: int) -> list[I64]:
    """List the groups of a role; of a part of the ranks that hold the same experts, too."""
    whole = prod(axis.size for axis in grid if axis.name in EXPERT_ROLES[role])
    if role != "edp" or size == whole or whole % size:
        return [members(grid, EXPERT_ROLES[role])]
    return [
        members(_split(grid, size, role), ["shard"]),
        members(_split(grid, whole // size, role), ["replica"]),
    ]


def _parts(seen: Sequence[int], whole: Sequence[int]) -> list[int]:
    """List the sizes that make up one of some wholes with another."""
    found = {
        size
        for one, other in combinations(seen, 2)
        if one > 1 and other > 1 and one * other in whole
        for size in (one, other)
    }
    return sorted(found, reverse=True)


def _split(grid: tuple[Axis, ...], shards: int, name: str) -> list[Axis]:
    """Take an axis apart into shards, which are neighbours, and their replicas."""
    parts: list[Axis] = []
    for axis in grid:
        if axis.name != name:
            parts.append(axis)
            continue
        parts.append(Axis("shard", shards, axis.stride))
        parts.append(Axis("replica", axis.size // shards, axis.stride * shards))
    return parts


def check_ranks(layout: Layout) -> None:
    """Refuse a layout of more ranks than a job has, before they are listed.

    Raises
    ------
    SynctaxError
        If it has, or if its experts spread over no ranks.
    """
    if layout.gpus > MOST_RANKS:
        raise SynctaxError(
            f"layout {layout} has {layout.gpus:,} ranks; expected {MOST_RANKS:,} at most"
        )
    over = (layout.dp * layout.cp, layout.tp * layout.dp * layout.cp)
    if all(ranks % layout.ep for ranks in over):
        raise SynctaxError(
            f"layout {layout}: ep {layout.ep:,} divides neither dp·cp = {over[0]:,} nor "
            f"tp·dp·cp = {over[1]:,}, the ranks that experts spread over"
        )
