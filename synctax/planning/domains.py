"""Where the groups of a layout come to lie: inside a domain of NVLink, or across NICs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import F64, I8, I64, Bool
from synctax.planning.layout import Layouts
from synctax.planning.platform import Platform
from synctax.planning.training import DIMENSIONS, ORDERS, Order, Training

PP_LAST: Final = 0
"""Index in ORDERS of the order that has pipeline stages outermost."""

DP_LAST: Final = 1

TP, PP, DP, CP, EP = range(len(DIMENSIONS))
"""Rows of what is told of every dimension."""


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Where each dimension's groups lie; rows of the arrays as in DIMENSIONS.

    Parameters
    ----------
    order : (k,) int8
        Of ranks: index in ORDERS.
    inside : (5, k) bool
        Whether no group of it leaves a domain; so too where it has one rank.
    oversubscription : (5, k) float64
        What the rate of NICs is divided by for it: 1 where it crosses no tier, or no NIC.
    rails : (5, k) bool
        Whether ranks that talk over NICs have one local index; so too inside a domain.
    together : (5, k) int64
        Ranks of a group that lie in one domain.
    """

    order: I8
    inside: Bool
    oversubscription: F64
    rails: Bool
    together: I64


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


def spans(training: Training, layouts: Layouts, order: Order) -> I64:
    """Tell how many contiguous ranks hold whole groups: the least such block.

    The block of data parallelism holds the ranks that gradients are reduced over, those
    of context parallelism too where `shard_over` says so.

    Parameters
    ----------
    training : Training
    layouts : Layouts
        k of them.
    order : Order

    Returns
    -------
    (5, k) int64
        Rows as in DIMENSIONS; 1 where a dimension has one rank.

    Examples
    --------
    >>> from synctax.planning.layout import Layout
    >>> one = Layouts.of([Layout(tp=8, pp=16, dp=8)])
    >>> spans(Training(2048, 8192), one, "tp-cp-ep-pp-dp")[:, 0].tolist()
    [8, 128, 1024, 1, 1]
    """
    degree = sizes(layouts)
    whole = strides(training, layouts, order) * degree
    whole[degree == 1] = 1
    if training.shard_over == "d*c":
        whole[DP] = np.where(layouts.dp == 1, whole[CP], whole[DP])
    return whole


def apart(training: Training, layouts: Layouts, order: Order) -> I64:
    """Tell how far apart ranks are that talk to each other, at least.

    As `strides`, but gradients are reduced over ranks of context parallelism too where
    `shard_over` says so.

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
    """
    far = strides(training, layouts, order)
    if training.shard_over == "d*c":
        far[DP] = np.where(layouts.cp > 1, far[CP], far[DP])
    return far


def own_order(
    of: Callable[[Training, Layouts, Order], I64],
    training: Training,
    layouts: Layouts,
    order: I8,
) -> I64:
    """Tell strides or spans of layouts that have each an order of their own.

    Parameters
    ----------
    of : callable
        `strides`, `spans` or `apart`.
    training : Training
    layouts : Layouts
        k of them.
    order : (k,) int8
        Index in ORDERS.

    Returns
    -------
    (5, k) int64
        Rows as in DIMENSIONS.
    """
    both = [of(training, layouts, one) for one in ORDERS]
    return np.where(order == DP_LAST, both[DP_LAST], both[PP_LAST])


def place(
    platform: Platform, training: Training, layouts: Layouts, volumes_bytes: F64
) -> Placement:
    """Place layouts on a platform, ranks in order on its GPUs, domain after domain.

    A group stays in a domain iff its block divides the domain: blocks of 16 that merely
    fit into 72 straddle its end every few domains, and the slowest group sets the pace.

    Parameters
    ----------
    platform : Platform
    training : Training
        Its `order`, where it tells one, else for each layout the one with less time on
        NICs; the first of ORDERS where both take the same.
    layouts : Layouts
        k of them.
    volumes_bytes : (5, k) float64
        What a GPU sends in a step, by dimension.

    Returns
    -------
    Placement

    References
    ----------
    Mapping TP, PP and DP to NVLink and InfiniBand Domains, placement rules.
    """
    if training.order is not None:
        return _in_order(platform, training, layouts, training.order)
    both = [_in_order(platform, training, layouts, order) for order in ORDERS]
    over_nic = [
        (np.where(one.inside, 0.0, volumes_bytes) * one.oversubscription).sum(axis=0)
        for one in both
    ]
    # of equal ones Megatron-Core's default
    other = (over_nic[DP_LAST] < over_nic[PP_LAST]) & dp_may_be_last(training, layouts)
    first, second = both
    return Placement(
        np.where(other, DP_LAST, PP_LAST).astype(np.int8),
        np.where(other, second.inside, first.inside),
        np.where(other, second.oversubscription, first.oversubscription),
        np.where(other, second.rails, first.rails),
        np.where(other, second.together, first.together),
    )


def dp_may_be_last(training: Training, layouts: Layouts) -> Bool:
    """Tell where Megatron-Core allows data parallelism outermost.

    With experts and stages both grids need the same data parallelism, else their stages
    would not be the same ranks.

    Parameters
    ----------
    training : Training
    layouts : Layouts
        k of them.

    Returns
    -------
    (k,) bool
    """
    replicas = layouts.tp * layouts.cp * layouts.dp
    same = replicas == layouts.dp * expert_tp(training, layouts) * layouts.ep
    return np.asarray((layouts.ep == 1) | (layouts.pp == 1) | same)


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
    platform: Platform, training: Training, layouts: Layouts, order: Order
) -> Placement:
    whole = spans(training, layouts, order)
    ranks = layouts.tp * layouts.pp * layouts.dp * layouts.cp
    # all ranks in one domain: nothing is left to straddle
    inside = (platform.domain % whole == 0) | (ranks <= platform.domain)
    divided = np.ones(whole.shape)
    for tier in platform.tiers:
        crosses = ~inside & (whole > tier.gpus) & (ranks > tier.gpus)
        worse = np.maximum(divided, tier.oversubscription)
        divided = np.where(crosses, worse, divided)
    near = apart(training, layouts, order)
    rails = inside | (near % platform.gpus_per_host == 0)
    first = np.full(len(layouts), ORDERS.index(order), np.int8)
    together = _together(platform, training, layouts, near, order)
    return Placement(first, inside, divided, rails, together)


def _together(
    platform: Platform, training: Training, layouts: Layouts, near: I64, order: Order
) -> I64:
    """Count the ranks of a group in one domain, by how far apart neighbours are."""
    degree = sizes(layouts)
    if training.shard_over == "d*c":
        # stages lie between the ranks of CP and those of DP where DP comes last
        apart_by_stages = (order == ORDERS[DP_LAST]) & (layouts.cp > 1) & (layouts.pp > 1)
        degree[DP] *= np.where(apart_by_stages, 1, layouts.cp)
        degree[DP] = np.where(apart_by_stages, layouts.cp, degree[DP])
    return np.clip(platform.domain // near, 1, degree)
