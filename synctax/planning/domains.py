"""Where the groups of a layout come to lie: inside a domain of NVLink, or across NICs."""

from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from synctax.arrays import F64, I8, I64, Bool
from synctax.planning.crossings import Traffic, links, worse
from synctax.planning.groups import Groups, contiguous
from synctax.planning.layout import Layouts, take
from synctax.planning.platform import Platform
from synctax.planning.training import DIMENSIONS, ORDERS, Order, Training

PP_LAST: Final = 0
"""Index in ORDERS of the order that has pipeline stages outermost."""

DP_LAST: Final = 1

TP, PP, DP, CP, EP = range(len(DIMENSIONS))
"""Rows of what is told of every dimension."""

EXPERT_DP: Final = len(DIMENSIONS)
"""Where `placed_groups` has those that reduce gradients of experts."""

TRAFFIC: Final[tuple[Traffic, ...]] = ("ring", "pairs", "ring", "ring", "all", "ring")
"""Whom ranks of `placed_groups` send to."""


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Where each dimension's groups lie; rows of the arrays as in DIMENSIONS.

    Parameters
    ----------
    order : (k,) int8
        Of ranks: index in ORDERS.
    inside : (5, k) bool
        Whether no group of it leaves a domain; so too where it has one rank.
    span : (5, k) int64
        Contiguous ranks that hold whole groups: the least such block; 1 for one rank.
    stride : (5, k) int64
        How far apart neighbours of a group are, in ranks.
    crowding : (5, k) float64
        Flows that leave a block of a tier, over the NICs that its uplinks carry, where
        that is most: 0 where it crosses no tier, or no NIC.
    rails : (5, k) bool
        Whether ranks that talk over NICs have one local index, or a group the same ones
        on every host; so too inside a domain.
    together : (5, k) int64
        Ranks of a group in a domain that it touches, where they are fewest.

    Notes
    -----
    Rows of DP are of the ranks that gradients are reduced over: those of CP too where
    `Training.shard_over` says so. Gradients of experts have groups of their own, see
    `placed_groups`; of both what is worse counts.
    """

    order: I8
    inside: Bool
    span: I64
    stride: I64
    crowding: F64
    rails: Bool
    together: I64

    @property
    def oversubscription(self) -> F64:
        """What the rate of one NIC is divided by, (5, k): 1 where uplinks suffice."""
        return np.maximum(self.crowding, 1.0)


def sizes(layouts: Layouts) -> I64:
    """Tell the ranks of every dimension, a row each, as in DIMENSIONS.

    Parameters
    ----------
    layouts : Layouts
        k of them.

    Returns
    -------
    (5, k) int64
    """
    return np.array([getattr(layouts, name) for name in DIMENSIONS]).reshape(5, -1)


def expert_tp(training: Training, layouts: Layouts) -> I64:
    """Tell how many ranks an expert is split over: t, or 1.

    Parameters
    ----------
    training : Training
    layouts : Layouts
        k of them.

    Returns
    -------
    (k,) int64
    """
    return layouts.tp if training.expert_tp else np.ones_like(layouts.tp)


def strides(training: Training, layouts: Layouts, order: Order) -> I64:
    """Tell how far apart neighbours of a group are, in ranks.

    Megatron-Core lays experts on the same ranks anew, as tp-ep-dp-pp without context
    parallelism, so EP's neighbours are as far apart as an expert is split.

    Parameters
    ----------
    training : Training
    layouts : Layouts
        k of them.
    order : Order

    Returns
    -------
    (5, k) int64
        Rows as in DIMENSIONS.

    References
    ----------
    Megatron-Core, parallel_state.py, RankGenerator.

    Examples
    --------
    >>> from synctax.planning.layout import Layout
    >>> one = Layouts.of([Layout(tp=8, pp=16, dp=8)])
    >>> strides(Training(2048, 8192), one, "tp-cp-ep-pp-dp")[:, 0].tolist()
    [1, 8, 128, 8, 8]
    """
    t, c = layouts.tp, layouts.cp
    near = t * c
    pp_last = order == ORDERS[PP_LAST]
    pp = near * layouts.dp if pp_last else near
    dp = near if pp_last else near * layouts.pp
    return np.array([np.ones_like(t), pp, dp, t, expert_tp(training, layouts)])


def placed_groups(training: Training, layouts: Layouts, order: Order) -> tuple[Groups, ...]:
    """Tell how the groups of every dimension lie.

    Parameters
    ----------
    training : Training
    layouts : Layouts
        k of them.
    order : Order

    Returns
    -------
    tuple of Groups
        As in DIMENSIONS, and then those that reduce gradients of experts: the t·d·c ranks
        of a stage, or as many as are left beside experts and what they are split over.

    References
    ----------
    Megatron-Core, parallel_state.py, RankGenerator.
    """
    t, p, d, c, e = layouts.tp, layouts.pp, layouts.dp, layouts.cp, layouts.ep
    ranks = t * p * d * c
    far = strides(training, layouts, order)
    split = expert_tp(training, layouts) * e
    of_experts = split if order == ORDERS[PP_LAST] else split * p
    replicas = np.maximum(t * d * c // split, 1)
    return (
        contiguous(far[TP], t, ranks),
        contiguous(far[PP], p, ranks),
        _replicas(training, layouts, order, far[DP]),
        contiguous(far[CP], c, ranks),
        contiguous(far[EP], e, ranks),
        contiguous(of_experts, replicas, ranks),
    )


def _replicas(training: Training, layouts: Layouts, order: Order, far: I64) -> Groups:
    """Lay the ranks that hold the same of what is not of experts."""
    t, p, d, c = layouts.tp, layouts.pp, layouts.dp, layouts.cp
    ranks = t * p * d * c
    if training.shard_over == "d":
        return contiguous(far, d, ranks)
    stages_between = p if order == ORDERS[DP_LAST] else np.ones_like(p)
    several = (stages_between > 1) & (c > 1) & (d > 1)
    runs = np.where(several, d, 1)
    stride = np.where(c > 1, t, far)
    run = np.where(several, c, c * d)
    tiles = np.where(several, p, np.maximum(ranks // (stride * run), 1))
    return Groups(stride, run, tiles, runs, ranks)


def place(
    platform: Platform,
    training: Training,
    layouts: Layouts,
    volumes_bytes: F64,
    *,
    experts: bool = False,
) -> Placement:
    """Place layouts on a platform, ranks in order on its GPUs, domain after domain.

    A group stays in a domain iff its block divides the domain: blocks of 16 that merely
    fit into 72 straddle its end every few domains, and the slowest group sets the pace.
    The same holds for the blocks of a tier, see `crossings.crosses`.

    Parameters
    ----------
    platform : Platform
    training : Training
        Its `order`, where it tells one, else for each layout the one with less time on
        NICs, each group at the rate of one; the first of ORDERS where both take the same.
    layouts : Layouts
        k of them.
    volumes_bytes : (5, k) float64
        What a GPU sends in a step, by dimension.
    experts : bool
        Whether the model has experts, whose gradients are reduced in groups of their own.

    Returns
    -------
    Placement

    References
    ----------
    Mapping TP, PP and DP to NVLink and InfiniBand Domains, placement rules.
    """
    if training.order is not None:
        return _in_order(platform, training, layouts, training.order, experts=experts)
    both = [
        _in_order(platform, training, layouts, order, experts=experts) for order in ORDERS
    ]
    over_nic = [
        (np.where(one.inside, 0.0, volumes_bytes) * one.oversubscription).sum(axis=0)
        for one in both
    ]
    # of equal ones Megatron-Core's default
    less = over_nic[DP_LAST] < over_nic[PP_LAST]
    other = less & dp_may_be_last(training, layouts, experts=experts)
    first, second = both
    chosen = {
        field.name: np.where(other, getattr(second, field.name), getattr(first, field.name))
        for field in fields(Placement)
    }
    return Placement(**chosen)


def dp_may_be_last(training: Training, layouts: Layouts, *, experts: bool = True) -> Bool:
    """Tell where Megatron-Core allows data parallelism outermost.

    With stages both grids need the same data parallelism, else their stages would not be
    the same ranks. That is asserted of models without experts too, whose other grid has
    TP and no CP.

    Parameters
    ----------
    training : Training
    layouts : Layouts
        k of them.
    experts : bool
        Whether the model has experts.

    Returns
    -------
    (k,) bool
    """
    replicas = layouts.tp * layouts.cp * layouts.dp
    split = expert_tp(training, layouts) if experts else layouts.tp
    same = replicas == layouts.dp * split * layouts.ep
    return np.asarray((layouts.pp == 1) | same)


def straddles(block: int, span: int, ranks: int) -> int | None:
    """Find the first block of ranks that holds a group and lies in two domains.

    Parameters
    ----------
    block : int
        GPUs of a domain.
    span : int
        Contiguous ranks of a group.
    ranks : int
        All of them.

    Returns
    -------
    int or None
        Its first rank; None where every group is inside a domain.

    Examples
    --------
    >>> straddles(72, 16, 1008), straddles(72, 8, 1008)
    (64, None)
    """
    first = np.arange(0, ranks, span)
    apart = np.flatnonzero(first // block != (first + span - 1) // block)
    return int(first[apart[0]]) if apart.size else None


def _in_order(
    platform: Platform,
    training: Training,
    layouts: Layouts,
    order: Order,
    *,
    experts: bool,
) -> Placement:
    # virtual stages move no rank
    first, kind = _runs(layouts)
    groups = placed_groups(training, take(layouts, first), order)
    each = [links(platform, *one) for one in zip(groups, TRAFFIC, strict=True)]
    if experts:
        each[DP] = worse(each[DP], each[EXPERT_DP])
    rows = each[:EXPERT_DP]
    return Placement(
        np.full(len(layouts), ORDERS.index(order), np.int8),
        np.array([one.inside[kind] for one in rows]),
        np.array([one.span[kind] for one in rows]),
        np.array([one.stride[kind] for one in rows]),
        np.array([one.crowding[kind] for one in rows]),
        np.array([one.rails[kind] for one in rows]),
        np.array([one.together[kind] for one in rows]),
    )


def _runs(layouts: Layouts) -> tuple[I64, I64]:
    """Find runs of layouts of the same degrees: where each begins, and which each is in."""
    degrees = sizes(layouts)
    new = np.ones(len(layouts), np.bool_)
    new[1:] = (degrees[:, 1:] != degrees[:, :-1]).any(axis=0)
    return np.flatnonzero(new), np.cumsum(new) - 1
