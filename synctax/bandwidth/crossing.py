"""From how many ranks on the wait is longer than the transfer."""

from collections.abc import Callable

import numpy as np

from synctax.arrays import F64
from synctax.bandwidth.elasticity import first_crossing
from synctax.bandwidth.sweep import Link, Wait
from synctax.bandwidth.topology import LEAST_RANKS

LARGEST_N = 2**20
"""Up to so many ranks a crossing is looked for."""

_COARSE = 400
"""Sizes tried first; then every size between two of them."""


def crossing(
    link: Link,
    tau_us: Callable[[F64], F64],
    *,
    least_n: int = LEAST_RANKS,
    largest_n: int = LARGEST_N,
) -> int | None:
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
    int or None
        None where the transfer is longer throughout.

    Raises
    ------
    ValueError
        If today's link is not known.

    Examples
    --------
    >>> from synctax.bandwidth.topology import Layout
    >>> link = Link(Layout("switched"), "all_reduce", 450e6, 5.0, 450.0)
    >>> crossing(link, lambda n: 200 * np.log(n))
    22017
    """
    if link.gb_per_s is None:
        raise ValueError("a crossing needs today's link")
    step = link.layout.domain.size if link.layout.domain is not None else 1
    first, last = -(-least_n // step), largest_n // step
    coarse = np.unique(np.geomspace(first, max(first, last), _COARSE).round())
    found = _first(link, tau_us, coarse * step)
    if found is None or found == first * step:
        return found
    before = coarse[np.searchsorted(coarse, found // step) - 1]
    return _first(link, tau_us, np.arange(before + 1, found // step + 1) * step)


def _first(link: Link, tau_us: Callable[[F64], F64], n: F64) -> int | None:
    return first_crossing(n, tau_us(n), link.today(Wait.none(n)).transfer_us)
