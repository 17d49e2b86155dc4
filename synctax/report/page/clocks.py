"""When collectives began, on one clock where the ranks' clocks can be led back to one."""

from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import F64, NS_PER_US
from synctax.collectives.job_clocks import job_clocks, lags_ns

if TYPE_CHECKING:
    from synctax.collectives.tax import Tax


def starts_us(tax: "Tax") -> tuple[F64, bool]:
    """First start of every collective since the first of all, in µs.

    Where the clocks of all ranks cannot be led back to one (`job_clocks`), every part of
    the job begins at 0, and times tell an order only.

    Returns
    -------
    (m,) float64, bool
        The times, and whether they are on one clock.
    """
    matches = tax.matches
    if not len(matches):
        return np.empty(0), True
    table, rows = matches.table, matches.row
    rank, own_ns = table.rank[rows].astype(np.int64), table.start_ns[rows]
    clocks = job_clocks(matches)
    start_ns = own_ns - lags_ns(clocks, rank, own_ns)
    first = matches.first[:-1]
    start = np.minimum.reduceat(start_ns, first)
    root = np.array([clock.root for clock in clocks])[rank[first]]
    origin = np.full(len(clocks), np.iinfo(np.int64).max)
    np.minimum.at(origin, root, start)
    return (start - origin[root]) / NS_PER_US, np.unique(root).size < 2
