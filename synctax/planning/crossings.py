"""What groups of ranks do where they leave a domain or a block of a tier."""

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.planning.groups import (
    Groups,
    alike,
    flows,
    leaving_shares,
    same_indices,
    smallest_part,
)
from synctax.planning.platform import Platform, Tier

Traffic = Literal["ring", "pairs", "all"]
"""Whom a rank of a group sends to: the next one, neighbours in a pipeline, all others."""


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """What the groups of k layouts send over, as in `domains.Placement`.

    Parameters
    ----------
    inside, rails : (k,) bool
    span, stride, together : (k,) int64
    crowding : (k,) float64
    alone : (k,) bool
        Whether a group has one rank, and sends nothing.
    """

    inside: Bool
    span: I64
    stride: I64
    crowding: F64
    rails: Bool
    together: I64
    alone: Bool


def links(platform: Platform, groups: Groups, traffic: Traffic) -> Links:
    """Tell what groups send over.

    Parameters
    ----------
    platform : Platform
    groups : Groups
        Of k layouts.
    traffic : Traffic

    Returns
    -------
    Links
    """
    span, ranks = groups.span, groups.ranks
    # all ranks in one domain: nothing is left to straddle
    inside = (platform.domain % span == 0) | (ranks <= platform.domain)
    crowding = np.zeros(len(span))
    for tier in platform.tiers:
        at = np.flatnonzero(crosses(tier, inside, span, ranks))
        crowding[at] = np.maximum(crowding[at], crowded(groups, at, tier, traffic))
    host = platform.gpus_per_host
    # stages talk in pairs, others in rings over all that a host has of them
    pairs = traffic == "pairs"
    rails = groups.stride % host == 0 if pairs else same_indices(groups, host)
    return Links(
        inside,
        span,
        groups.stride,
        crowding,
        inside | rails,
        np.where(inside, groups.degree, smallest_part(groups, platform.domain)),
        groups.degree == 1,
    )


def worse(one: Links, other: Links) -> Links:
    """Join what two kinds of groups send over in one dimension: of both what is worse.

    Parameters
    ----------
    one, other : Links
        Of k layouts.

    Returns
    -------
    Links
    """
    inside = one.inside & other.inside
    nearer = np.minimum(one.stride, other.stride)
    nearer = np.where(one.alone, other.stride, np.where(other.alone, one.stride, nearer))
    stay = np.maximum(one.together, other.together)
    fewest = [np.where(each.inside, stay, each.together) for each in (one, other)]
    return Links(
        inside,
        np.maximum(one.span, other.span),
        nearer,
        np.maximum(one.crowding, other.crowding),
        one.rails & other.rails,
        np.minimum(*fewest),
        one.alone & other.alone,
    )


def crosses(tier: Tier, inside: Bool, span: I64, ranks: I64) -> Bool:
    """Tell which groups lie in two blocks of a tier.

    Parameters
    ----------
    tier : Tier
    inside : (..., k) bool
        Whether they stay in a domain.
    span : (..., k) int64
        Contiguous ranks that hold whole groups.
    ranks : (k,) int64
        Of the layout.

    Returns
    -------
    (..., k) bool
        Where the span does not divide the block, as with a domain.
    """
    return np.asarray(~inside & (tier.gpus % span != 0) & (ranks > tier.gpus))


def crowded(groups: Groups, at: I64, tier: Tier, traffic: Traffic) -> F64:
    """Tell how many flows leave a block of a tier for each NIC that its uplinks carry.

    What leaves a block shares its uplinks, which carry as many NICs at their full rate as
    `uplinks` says. A ring or a pipeline leaves a block once for each group that has a part
    there, which for blocks shorter than the span are min(stride, block) of them; of an
    all-to-all each rank sends its share for those outside. The fullest block counts, of one
    dimension at a time; all dimensions of a job may share the uplinks.

    Parameters
    ----------
    groups : Groups
        Of k layouts.
    at : (j,) int64
        Which of them.
    tier : Tier
    traffic : Traffic

    Returns
    -------
    (j,) float64
        At most the oversubscription, since no rank has two flows.
    """
    if not at.size:
        return np.zeros(0)
    columns = [getattr(groups, field.name)[at] for field in fields(Groups)]
    # most layouts lie like another
    first, kind = alike(*columns)
    some = Groups(*(column[first] for column in columns))
    count = leaving_shares if traffic == "all" else flows
    return np.asarray((count(some, tier.gpus) / uplinks(tier))[kind])


def uplinks(tier: Tier) -> float:
    """Tell how many NICs at their full rate the uplinks of a block carry.

    Examples
    --------
    >>> uplinks(Tier(3_072, 7.0))
    438.85714285714283
    """
    return tier.gpus / tier.oversubscription
