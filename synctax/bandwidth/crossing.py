"""From how many ranks on the wait is longer than the transfer."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, Bool
from synctax.bandwidth.sweep import Link, Wait
from synctax.bandwidth.topology import LEAST_RANKS

LARGEST_N = 2**20
"""Up to so many ranks a crossing is looked for."""

_COARSE = 400
"""Sizes tried first; then every size between two of them."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where the wait is longer than the transfer.

    Parameters
    ----------
    n : int or None
        Smallest number of ranks; None where the transfer is longer throughout.
    at_first : bool
        Whether that is the first number that was looked at.
    lasts : bool
        Whether it stays so for all that were looked at beyond.
    """

    n: int | None
    at_first: bool = False
    lasts: bool = True


def crossing(
    link: Link,
    tau_us: Callable[[F64], F64],
    *,
    least_n: int = LEAST_RANKS,
    largest_n: int = LARGEST_N,
) -> Crossing:
    """Find the smallest n at which τ outweighs the transfer q·S/B of today's link.

    Parameters
    ----------
    link : Link
        With today's rate. Of hierarchical links whole domains are tried, and the transfer
        is that inside a domain.
    tau_us : callable
        The tax at any (k,) sizes, in µs.
    least_n, largest_n : int
        Where to look: not below the ranks of the fit.

    Returns
    -------
    Crossing

    Raises
    ------
    ValueError
        If today's link is not known.

    Examples
    --------
    >>> from synctax.bandwidth.topology import Layout
    >>> link = Link(Layout("switched"), "all_reduce", 450e6, 5.0, 450.0)
    >>> crossing(link, lambda n: 200 * np.log(n))
    Crossing(n=22017, at_first=False, lasts=True)
    """
    if link.gb_per_s is None:
        raise ValueError("a crossing needs today's link")
    step = link.layout.domain.size if link.layout.domain is not None else 1
    first, last = -(-least_n // step), largest_n // step
    coarse = np.unique(np.geomspace(first, max(first, last), _COARSE).round())
    over = _over(link, tau_us, coarse * step)
    if not over.any():
        return Crossing(None)
    at = int(over.argmax())
    lasts = bool(over[at:].all())
    if at == 0:
        return Crossing(int(coarse[0] * step), at_first=True, lasts=lasts)
    between = np.arange(coarse[at - 1] + 1, coarse[at] + 1) * step
    first = int(between[_over(link, tau_us, between).argmax()])
    return Crossing(first, lasts=lasts)


def _over(link: Link, tau_us: Callable[[F64], F64], n: F64) -> Bool:
    return np.asarray(tau_us(n) >= link.today(Wait.none(n)).transfer_us)
