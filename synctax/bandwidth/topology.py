"""What an algorithm costs: how many latencies and how many buffers it sends in turn.

A collective takes p·α + q·S/B: p messages one after the other, of latency α each, and q
buffers of S bytes through a rank's link of B bytes/s per direction. S is what nccl-tests
call the size: the larger of a rank's input and output.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from synctax.arrays import BYTES_PER_US, F64
from synctax.bandwidth.choices import ACROSS, DEFAULT_NIC_ALPHA_US, Across, Op, Topology
from synctax.bandwidth.formulas import FORMULAS, Formula
from synctax.errors import SynctaxError

LEAST_RANKS = 2
"""Fewer ranks have nothing to send each other."""


@dataclass(frozen=True, slots=True)
class Domain:
    """Domains of fast links, joined by slower ones: NVLink inside, a NIC a GPU outside.

    Parameters
    ----------
    size : int
        Ranks of a domain.
    nic_gb_per_s : float
        What each rank sends to other domains, in GB/s (10^9 bytes) per direction.
    nic_alpha_us : float
        Latency of a message between domains, in µs.
    across : "ring", "tree" or "switched"
        Algorithm between domains.
    """

    size: int
    nic_gb_per_s: float
    nic_alpha_us: float = DEFAULT_NIC_ALPHA_US
    across: Across = "ring"


@dataclass(frozen=True, slots=True)
class Layout:
    """How ranks are wired.

    Parameters
    ----------
    topology : Topology
    torus : tuple of int
        Dimensions of `torus3d`; () for a cube of real side ∛n.
    domain : Domain or None
        What `hierarchical` needs.
    """

    topology: Topology
    torus: tuple[int, ...] = ()
    domain: Domain | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Steps and volume of a collective for k sizes.

    Parameters
    ----------
    p, q : (k,) float64
        Messages in turn, and buffers of S bytes, on the link that is asked about.
    nic_p, nic_q : (k,) float64
        The same on the links between domains; 0 where all ranks share one domain.
    """

    p: F64
    q: F64
    nic_p: F64
    nic_q: F64


def cost(layout: Layout, op: Op, n: F64) -> Cost:
    """Count the steps and the volume of a collective.

    Parameters
    ----------
    layout : Layout
    op : Op
    n : (k,) float64
        Ranks, whole numbers.

    Returns
    -------
    Cost
        For each of `n`.

    Raises
    ------
    SynctaxError
        If the topology has no algorithm for the operation, or `n` does not fit it.
    ValueError
        If `hierarchical` comes without a domain.

    References
    ----------
    Synchronization-tax paper, section 6.2; the sources of `formulas.FORMULAS`.

    Examples
    --------
    >>> found = cost(Layout("switched"), "all_reduce", np.array([2.0, 8.0]))
    >>> found.p, found.q
    (array([2., 2.]), array([1.  , 1.75]))
    """
    formula(layout.topology, op)
    n = np.asarray(n, np.float64)
    if n.size and n.min() < LEAST_RANKS:
        raise SynctaxError(
            f"n = {n.min():g}: a collective needs at least {LEAST_RANKS} ranks; give "
            f"--n {LEAST_RANKS} or more"
        )
    if layout.topology == "hierarchical":
        return _hierarchical(layout.domain, op, n)
    if layout.topology == "torus3d":
        p, q = _torus(layout.torus, op, n)
    else:
        p, q = _FLAT[layout.topology](op, n)
    none = np.zeros_like(n)
    return Cost(p, q, none, none)


def formula(topology: Topology, op: Op) -> Formula:
    """Look up how an algorithm's cost is written, and its source.

    Raises
    ------
    SynctaxError
        If the topology has no algorithm for the operation; it says why.
    """
    found = FORMULAS[topology, op]
    if found.refused:
        raise SynctaxError(f"no {op} on {topology}: {found.refused}")
    return found


def carries(topology: Topology, op: Op) -> bool:
    """Whether there is an algorithm for the operation on a topology."""
    return not FORMULAS[topology, op].refused


def nic_us(layout: Layout, counted: Cost, payload_bytes: float) -> F64:
    """Take the time on the links between domains.

    Returns
    -------
    (k,) float64
        In µs; 0 where there is one domain.
    """
    domain = layout.domain
    if layout.topology != "hierarchical" or domain is None:
        return np.zeros_like(counted.p)
    sent = counted.nic_q * payload_bytes / (domain.nic_gb_per_s * BYTES_PER_US)
    return counted.nic_p * domain.nic_alpha_us + sent


def _halves(op: Op) -> float:
    """Of the two halves of an all-reduce, how many an operation has."""
    return 2.0 if op == "all_reduce" else 1.0


def _ring(op: Op, n: F64) -> tuple[F64, F64]:
    if op == "all_to_all":
        return np.floor(n / 2), _mean_hops(n)
    return _halves(op) * (n - 1), _halves(op) * (n - 1) / n


def _switched(op: Op, n: F64) -> tuple[F64, F64]:
    return np.full_like(n, _halves(op)), _halves(op) * (n - 1) / n


def _tree(_op: Op, n: F64) -> tuple[F64, F64]:
    return 2 * np.ceil(np.log2(n)), np.full_like(n, 2.0)


def _in_switch(op: Op, n: F64) -> tuple[F64, F64]:
    if op == "all_reduce":
        return np.full_like(n, 2.0), 1 + 1 / n
    return np.ones_like(n), np.ones_like(n)


_FLAT: dict[str, Callable[[Op, F64], tuple[F64, F64]]] = {
    "ring": _ring,
    "switched": _switched,
    "tree": _tree,
    "in_switch": _in_switch,
}


def _mean_hops(side: F64) -> F64:
    """Mean distance of two ranks of a ring, the rank itself among them."""
    return np.floor(side**2 / 4) / side


def _torus(dims: tuple[int, ...], op: Op, n: F64) -> tuple[F64, F64]:
    """Count for a cube of real side ∛n, or for the dimensions given."""
    if not dims:
        side = np.cbrt(n)
        near = np.round(side)
        side = np.where(near**3 == n, near, side)
        sides = np.stack([side] * 3)
    else:
        wrong = n[n != prod(dims)]
        if wrong.size:
            raise SynctaxError(
                f"a torus of {'x'.join(map(str, dims))} has {prod(dims):,} ranks, "
                f"not n = {wrong[0]:,.0f}; leave out --n or give other dimensions"
            )
        # a dimension of one rank has no link
        sides = np.stack([np.full_like(n, d) for d in dims if d > 1])
    if op == "all_to_all" and not dims:
        # of a real side no part is whole; even sides have just this
        return sides.sum(axis=0) / 2, sides.sum(axis=0) / 4
    if op == "all_to_all":
        # every dimension has its part of the links, the busiest takes longest
        return np.floor(sides / 2).sum(axis=0), len(sides) * _mean_hops(sides).max(axis=0)
    return _halves(op) * (sides - 1).sum(axis=0), _halves(op) * (n - 1) / n


def _hierarchical(domain: Domain | None, op: Op, n: F64) -> Cost:
    """Reduce-scatter inside, the operation on shards across, all-gather inside."""
    if domain is None:
        raise ValueError("a hierarchical layout needs a Domain")
    if not carries(domain.across, op):
        able = " or ".join(one for one in ACROSS if carries(one, op))
        raise SynctaxError(
            f"no {op} across domains by {domain.across}, which sends whole buffers; give "
            f"--across {able}"
        )
    inside = np.minimum(n, domain.size)
    outside = n / inside
    odd = n[outside != np.round(outside)]
    if odd.size:
        near = [k * domain.size for k in (1, 2, 4, 8)]
        raise SynctaxError(
            f"n = {odd[0]:,.0f} is no multiple of a domain of {domain.size} ranks; "
            f"give --n {','.join(map(str, near))} or another --domain"
        )
    one_domain = outside == 1
    p, q = _switched(op, inside)
    across = cost(Layout(domain.across), op, np.maximum(outside, 2))
    return Cost(
        p,
        q,
        np.where(one_domain, 0.0, across.p),
        np.where(one_domain, 0.0, across.q / inside),
    )
