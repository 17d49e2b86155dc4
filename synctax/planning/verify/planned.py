"""Which ranks each process group of a layout should have."""

from collections.abc import Collection
from dataclasses import dataclass
from math import prod
from typing import Final

from synctax.arrays import I64
from synctax.planning.grid import Axis, dense_axes, expert_axes, expert_split, members
from synctax.planning.layout import Layout
from synctax.planning.training import DIMENSIONS, ORDERS, Order

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
    expert_tp : bool
        Whether TP shards experts.
    """

    layout: Layout
    order: Order | None = None
    expert_tp: bool = True

    @property
    def orders(self) -> tuple[Order, ...]:
        """The orders that ranks may have."""
        return ORDERS if self.order is None else (self.order,)

    def sizes(self, role: str, seen: Collection[int] = ()) -> tuple[int, ...]:
        """Tell how many ranks a group of a role may have.

        Parameters
        ----------
        role : str
        seen : collection of int
            Sizes of the groups of data parallelism in the job: where it is shared between
            shards and replicas, their product is that of the layout.

        Returns
        -------
        tuple of int
            Empty where the layout does not tell; the first is the usual one.
        """
        whole = self._usual_size(role)
        if role not in SPLIT_ROLES:
            return () if whole is None else (whole,)
        d, c = self.layout.dp, self.layout.cp
        usual = {"dp": (d,), "dp_cp": (d * c,), "fsdp": (d * c, d), "dp_replicate": ()}
        parts = tuple(
            one
            for one in sorted(set(seen), reverse=True)
            if any(one * other in (d, d * c) for other in (*seen, c) if other > 1)
        )
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
            grid = self._expert_axes(order)
            if grid is not None:
                found.append(members(grid, EXPERT_ROLES[role]))
        elif role in SPLIT_ROLES:
            found += self._data_groups(role, size, order)
        elif role in DENSE_ROLES:
            found.append(members(dense_axes(self.layout, order), DENSE_ROLES[role]))
        return tuple(groups for groups in found if groups.shape[1] == size)

    def _usual_size(self, role: str) -> int | None:
        one = self.layout
        degree = {name: getattr(one, name) for name in DIMENSIONS}
        degree["etp"] = expert_split(one, split=self.expert_tp)
        degree["edp"] = max(one.gpus // (one.pp * one.ep * degree["etp"]), 1)
        names = DENSE_ROLES.get(role) or EXPERT_ROLES.get(role)
        return None if names is None else prod(degree[name] for name in names)

    def _expert_axes(self, order: Order) -> tuple[Axis, ...] | None:
        return expert_axes(self.layout, order, split=self.expert_tp)

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
            found.append(members(_split(grid, shards), names))
        return found


def _split(grid: tuple[Axis, ...], shards: int) -> list[Axis]:
    """Take data parallelism apart into shards, which are neighbours, and their replicas."""
    parts: list[Axis] = []
    for axis in grid:
        if axis.name != "dp":
            parts.append(axis)
            continue
        parts.append(Axis("shard", shards, axis.stride))
        parts.append(Axis("replica", axis.size // shards, axis.stride * shards))
    return parts
