"""The two grids that the ranks of a layout lie on: that of dense layers, that of experts.

Megatron-Core lays experts on the same ranks anew, without context parallelism. Here one
layout is taken apart into ranks; `domains.strides` says the same of tables of layouts.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from synctax.arrays import I64
from synctax.planning.groups import Groups, contiguous
from synctax.planning.layout import Layout
from synctax.planning.training import ORDERS, Order


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of a grid.

    Parameters
    ----------
    name : str
        `tp`, `pp`, `dp` or `cp`; `etp` (ranks that an expert is split over), `ep`, `edp`
        (ranks that hold the same experts) or `pp`.
    size : int
        Ranks along it.
    stride : int
        How far apart neighbours are, in ranks.
    """

    name: str
    size: int
    stride: int


def axes(names: Sequence[str], sizes: Sequence[int]) -> tuple[Axis, ...]:
    """Lay ranks on a grid.

    Parameters
    ----------
    names : sequence of str
        The innermost first.
    sizes : sequence of int

    Returns
    -------
    tuple of Axis
        The innermost first.
    """
    found = []
    stride = 1
    for name, size in zip(names, sizes, strict=True):
        found.append(Axis(name, size, stride))
        stride *= size
    return tuple(found)


def dense_axes(layout: Layout, order: Order) -> tuple[Axis, ...]:
    """Tell the grid of dense layers.

    Parameters
    ----------
    layout : Layout
    order : Order

    Returns
    -------
    tuple of Axis
        The innermost first.

    Examples
    --------
    >>> found = dense_axes(Layout(tp=8, pp=16, dp=8), "tp-cp-ep-pp-dp")
    >>> [(one.name, one.stride) for one in found]
    [('tp', 1), ('cp', 8), ('pp', 8), ('dp', 128)]
    """
    names, sizes = ["tp", "cp", "dp", "pp"], [layout.tp, layout.cp, layout.dp, layout.pp]
    return axes(*_ordered(names, sizes, order))


def expert_axes(layout: Layout, order: Order, *, split: bool) -> tuple[Axis, ...] | None:
    """Tell the grid of experts.

    Parameters
    ----------
    layout : Layout
    order : Order
    split : bool
        Whether TP splits experts, too (`Training.expert_tp`).

    Returns
    -------
    tuple of Axis or None
        The innermost first. None where there is no such grid: experts do not spread evenly
        over the ranks of a stage, or stages would be other ranks than those of dense
        layers, which Megatron-Core refuses.

    References
    ----------
    Megatron-Core, parallel_state.py, `expert_decoder_rank_generator`.

    Examples
    --------
    >>> found = expert_axes(Layout(tp=2, pp=2, dp=8, ep=4), "tp-cp-ep-dp-pp", split=False)
    >>> [(one.name, one.size) for one in found]
    [('etp', 1), ('ep', 4), ('edp', 4), ('pp', 2)]
    """
    across = expert_split(layout, split=split)
    replicas, rest = divmod(layout.gpus // layout.pp, across * layout.ep)
    if rest or (order == ORDERS[1] and layout.pp > 1 and replicas != layout.dp):
        return None
    names, sizes = ["etp", "ep", "edp", "pp"], [across, layout.ep, replicas, layout.pp]
    return axes(*_ordered(names, sizes, order))


def expert_split(layout: Layout, *, split: bool) -> int:
    """Tell how many ranks an expert is split over: t, or 1."""
    return layout.tp if split else 1


def _ordered(
    names: list[str], sizes: list[int], order: Order
) -> tuple[list[str], list[int]]:
    """Put stages, which are last, before data parallelism where the order has it last."""
    if order == ORDERS[1]:
        names[2:], sizes[2:] = names[:1:-1], sizes[:1:-1]
    return names, sizes


def members(grid: Sequence[Axis], names: Collection[str]) -> I64:
    """List the groups that run along some axes of a grid.

    Parameters
    ----------
    grid : sequence of Axis
        All axes, the innermost first.
    names : collection of str
        Those along which the ranks of a group differ.

    Returns
    -------
    (g, n) int64
        Ranks, ascending in each group.

    Examples
    --------
    >>> members(dense_axes(Layout(tp=2, pp=2, dp=2), "tp-cp-ep-dp-pp"), ["pp"]).tolist()
    [[0, 4], [1, 5], [2, 6], [3, 7]]
    """
    inside = _ranks([axis for axis in grid if axis.name in names])
    first = _ranks([axis for axis in grid if axis.name not in names])
    groups: I64 = first[:, None] + np.sort(inside)
    return groups


def runs(grid: Sequence[Axis], names: Collection[str]) -> list[tuple[int, int]]:
    """List strides and sizes of some axes of a grid, those that follow each other as one.

    Parameters
    ----------
    grid : sequence of Axis
        All axes, the innermost first.
    names : collection of str

    Returns
    -------
    list of (int, int)
        The innermost first; axes of one rank are left out.
    """
    found: list[tuple[int, int]] = []
    for axis in grid:
        if axis.name not in names or axis.size == 1:
            continue
        if found and found[-1][0] * found[-1][1] == axis.stride:
            found[-1] = found[-1][0], found[-1][1] * axis.size
        else:
            found.append((axis.stride, axis.size))
    return found


def laid(grid: Sequence[Axis], names: Collection[str]) -> Groups:
    """Tell how the groups along some axes lie, as a table of one row.

    Parameters
    ----------
    grid : sequence of Axis
        All axes, the innermost first.
    names : collection of str
        Those along which the ranks of a group differ: one or several that follow each
        other, or two such with others between them, the outer one the outermost of all.

    Returns
    -------
    Groups

    Raises
    ------
    ValueError
        If they are others.
    """
    ranks = prod(axis.size for axis in grid)
    (stride, run), *further = runs(grid, names) or [(1, 1)]
    total = np.array([ranks], np.int64)
    one, many = np.array([stride], np.int64), np.array([run], np.int64)
    if not further:
        return contiguous(one, many, total)
    (again, times), *more = further
    if more or again * times != ranks:
        raise ValueError(f"groups along {', '.join(names)} are no two runs that fill ranks")
    tiles = np.array([again // (stride * run)], np.int64)
    return Groups(one, many, tiles, np.array([times], np.int64), total)


def _ranks(along: Sequence[Axis]) -> I64:
    """Number the ranks on some axes through, the innermost fastest."""
    ranks = np.zeros(1, np.int64)
    for axis in along:
        ranks = (axis.stride * np.arange(axis.size)[:, None] + ranks).ravel()
    return ranks
