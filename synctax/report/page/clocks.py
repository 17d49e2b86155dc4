"""When collectives began, on one clock where the ranks' clocks can be led back to one."""

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import ABSENT, F64, I64, NS_PER_US
from synctax.collectives.clock import NO_LAG, ClockFit

if TYPE_CHECKING:
    from synctax.collectives.tax import Tax

_Edge = tuple[int, ClockFit, int]
"""To which rank, the fit, and +1 where that is of the rank that is reached, else -1."""


def starts_us(tax: "Tax") -> tuple[F64, bool]:
    """First start of every collective since the first of all, in µs.

    Clocks are led back to one another over the groups that ranks share; where that does
    not reach all, every part of the job begins at 0, and times tell an order only.

    Returns
    -------
    (m,) float64, bool
        The times, and whether they are on one clock.
    """
    matches = tax.matches
    if not len(matches):
        return np.empty(0), True
    table, rows = matches.table, matches.row
    rank = table.rank[rows]
    # of epochs in ns a float would keep no µs
    base_ns = int(table.start_ns[rows].min())
    own = (table.start_ns[rows] - base_ns).astype(np.float64)
    lag_ns, drift, part = _lags(tax, base_ns)
    own -= lag_ns[rank] + drift[rank] * own
    first = matches.first[:-1]
    start = np.minimum.reduceat(own, first)
    where = part[rank[first]]
    origin = np.full(int(part.max()) + 1, np.inf)
    np.minimum.at(origin, where, start)
    return (start - origin[where]) / NS_PER_US, np.unique(where).size < 2


def _lags(tax: "Tax", base_ns: int) -> tuple[F64, F64, I64]:
    """How far each rank's clock is ahead of the first of its part.

    Returns
    -------
    (r,) float64, (r,) float64, (r,) int64
        At `base_ns`, in ns; how much more by each ns since; and the part.
    """
    edges = _edges(tax)
    count = len(tax.matches.ranks)
    lag, drift, part = np.zeros(count), np.zeros(count), np.full(count, ABSENT)
    for root in range(count):
        if part[root] >= 0:
            continue
        part[root] = root
        todo = deque([root])
        while todo:
            here = todo.popleft()
            for there, fit, sign in edges[here]:
                if part[there] < 0:
                    at_base = fit.offset_ns + fit.drift * (base_ns - fit.origin_ns)
                    part[there] = root
                    lag[there] = lag[here] + sign * at_base
                    drift[there] = drift[here] + sign * fit.drift
                    todo.append(there)
    return lag, drift, part


def _edges(tax: "Tax") -> list[list[_Edge]]:
    """Pairs of ranks whose clocks are known to agree, or by how much not."""
    matches = tax.matches
    edges: list[list[_Edge]] = [[] for _ in matches.ranks]

    def join(one: int, other: int, fit: ClockFit) -> None:
        edges[one].append((other, fit, 1))
        edges[other].append((one, fit, -1))

    known = np.unique(matches.group[~np.isnan(matches.end_spread_ns)])
    for number in known.tolist():
        members, clocks = matches.groups[number].members, matches.clocks[number]
        reference = next((one for one in members if one not in clocks), members[0])
        for member in members:
            if member != reference:
                join(reference, member, clocks.get(member, NO_LAG))
    # windows of a rank have one clock
    seen: dict[int, int] = {}
    for position, one in enumerate(matches.ranks):
        if one.rank in seen:
            join(seen[one.rank], position, NO_LAG)
        seen[one.rank] = position
    return edges
