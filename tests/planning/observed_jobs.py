"""Jobs as their process groups show them, without a trace: a layout, and its hosts."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from synctax.planning.layout import Layout
from synctax.planning.training import ORDERS, Order
from synctax.planning.verify.observed import DEFAULT, Observed, ObservedGroup
from synctax.planning.verify.places import Seat, place
from synctax.planning.verify.planned import Planned

MEGATRON = ("tp", "pp", "cp", "dp", "dp_cp", "ep", "edp")
TORCHTITAN = ("tp", "pp", "cp", "fsdp", "dp_cp", "ep", "edp")
"""Roles of the groups that each makes."""


def in_blocks(gpus: int) -> Callable[[int], int]:
    """Consecutive ranks on a host."""
    return lambda rank: rank // gpus


def round_robin(hosts: int) -> Callable[[int], int]:
    """Ranks dealt out to hosts one by one."""
    return lambda rank: rank % hosts


def group(role: str, ranks: Sequence[int], **more: object) -> ObservedGroup:
    known = {
        "name": role,
        "size": len(ranks),
        "origin": "pg_config",
        "communicates": False,
    }
    return ObservedGroup(role=role, ranks=tuple(ranks), **(known | more))


def groups_of(
    layout: Layout, roles: Sequence[str] = MEGATRON, order: Order = ORDERS[0], **more: bool
) -> list[ObservedGroup]:
    """The groups that a framework makes of a layout, those of one rank too."""
    planned = Planned(layout, order, **more)
    found = [group(DEFAULT, range(layout.gpus))]
    for role in roles:
        (size, *_) = planned.sizes(role)
        for ranks in planned.members(role, size, order)[:1]:
            found += [group(role, one) for one in ranks.tolist()]
    return found


def job(
    groups: Sequence[ObservedGroup],
    host_of: Callable[[int], int | None],
    *,
    traced: Sequence[int] | None = None,
    gpu_of: Callable[[int], int] | None = None,
    visible: int = 8,
    model: str = "",
    **size: int | bool,
) -> Observed:
    """A job of which all ranks, or some, were traced."""
    world = max(one.size for one in groups if one.role == DEFAULT)
    read = range(world) if traced is None else traced
    # without a number of its own a rank's GPU is its place on the host
    turn: dict[int | None, int] = {}
    seats = []
    for rank in range(world):
        host = host_of(rank)
        gpu = turn[host] = turn.get(host, -1) + 1
        if rank in read:
            gpu = gpu if gpu_of is None else gpu_of(rank)
            name = "" if host is None else f"node{host}"
            seats.append(Seat(rank, name, (gpu,), visible, model))
    places = place(np.arange(world), seats, **size)
    ranks = np.array([seat.rank for seat in seats], np.int64)
    in_order = sorted(groups, key=lambda one: (one.role, -one.size, one.ranks))
    return Observed(tuple(in_order), places, world, ranks, ranks)


def placed(
    layout: Layout, host_of: Callable[[int], int | None], **more: object
) -> Observed:
    return job(groups_of(layout), host_of, **more)


def without(found: Observed, *unwanted: ObservedGroup) -> Observed:
    return replace(found, groups=tuple(g for g in found.groups if g not in unwanted))
