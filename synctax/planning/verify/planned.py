"""Which ranks each process group of a layout should have."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import I64
from synctax.planning.layout import Layout
from synctax.planning.training import ORDERS, Order

DENSE_ROLES: Final = {
    "tp": "t",
    "pp": "p",
    "cp": "c",
    "dp": "d",
    "dp_cp": "dc",
    "fsdp": "dc",
    "mp": "tp",
    "tp_cp": "tc",
    "tp_dp": "td",
    "tp_dp_cp": "tdc",
}
"""Which axes of t, p, d and c a role's groups run along."""

EXPERT_ROLES: Final = {
    "ep": "e",
    "edp": "r",
    "etp": "x",
    "tp_ep": "xe",
    "tp_ep_pp": "xep",
}
"""The same of the grid that experts lie on: x (ranks an expert is split over), e, r (the
ranks that hold the same experts) and p."""

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
            grid, names = self._expert_grid(order)
            if grid is not None:
                found.append(_groups(grid, names, EXPERT_ROLES[role]))
        elif role in SPLIT_ROLES:
            found += self._data_groups(role, size, order)
        elif role in DENSE_ROLES:
            grid, names = self._grid(order)
            found.append(_groups(grid, names, DENSE_ROLES[role]))
        return tuple(groups for groups in found if groups.shape[1] == size)

    def _usual_size(self, role: str) -> int | None:
        one = self.layout
        degree = {"t": one.tp, "p": one.pp, "d": one.dp, "c": one.cp, "e": one.ep}
        degree["x"] = one.tp if self.expert_tp else 1
        degree["r"] = max(one.gpus // (one.pp * one.ep * degree["x"]), 1)
        axes = DENSE_ROLES.get(role) or EXPERT_ROLES.get(role)
        return None if axes is None else int(np.prod([degree[axis] for axis in axes]))

    def _grid(self, order: Order) -> tuple[I64, str]:
        """Number the ranks: an axis for each of the names, innermost last."""
        one = self.layout
        ranks = np.arange(one.gpus, dtype=np.int64)
        if order == ORDERS[0]:
            return ranks.reshape(one.pp, one.dp, one.cp, one.tp), "pdct"
        return ranks.reshape(one.dp, one.pp, one.cp, one.tp), "dpct"

    def _expert_grid(self, order: Order) -> tuple[I64 | None, str]:
        """Number the ranks as experts lie on them, anew and without context parallelism.

        None where the layout cannot be so: stages would not be the same ranks.
        """
        one = self.layout
        split = one.tp if self.expert_tp else 1
        inside = split * one.ep * one.pp
        names = "prex" if order == ORDERS[0] else "rpex"
        if one.gpus % inside:
            return None, names
        same = one.gpus // inside
        ranks = np.arange(one.gpus, dtype=np.int64)
        if order == ORDERS[0]:
            return ranks.reshape(one.pp, same, one.ep, split), names
        if one.pp > 1 and same != one.dp:
            return None, names
        return ranks.reshape(same, one.pp, one.ep, split), names

    def _data_groups(self, role: str, size: int, order: Order) -> list[I64]:
        """Split data parallelism: shards are neighbours, replicas their likes."""
        grid, names = self._grid(order)
        d, c = self.layout.dp, self.layout.cp
        ways = {
            "dp": [("s", size), ("r", d // size)],
            "dp_cp": [("sc", size // c)],
            "fsdp": [("s", size), ("sc", size // c)],
            "dp_replicate": [("r", d // size)],
        }
        found = []
        for axes, shards in ways[role]:
            if shards < 1 or d % shards:
                continue
            at = names.index("d")
            shape = [*grid.shape[:at], d // shards, shards, *grid.shape[at + 1 :]]
            found.append(_groups(grid.reshape(shape), names.replace("d", "rs"), axes))
        return found


def _groups(grid: I64, names: str, axes: str) -> I64:
    """List the groups that run along some axes of a grid, (g, size), each ascending."""
    along = [names.index(axis) for axis in axes]
    rest = [axis for axis in range(grid.ndim) if axis not in along]
    moved = grid.transpose(*rest, *along)
    size = int(np.prod([grid.shape[axis] for axis in along]))
    groups: I64 = np.sort(moved.reshape(-1, size), axis=1)
    return groups
