"""What jobs put on links, once they are placed, and sums of it without rounding."""

from dataclasses import dataclass
from math import frexp, isfinite

import numpy as np

from synctax.cluster.choices import Basis
from synctax.cluster.jobs import Jobs
from synctax.cluster.machines import Cluster
from synctax.cluster.settings import Rates, rates
from synctax.errors import SynctaxError


@dataclass(frozen=True, slots=True, eq=False)
class Demands:
    """Rates of n jobs, and the unit in which all of them are whole numbers.

    Every float is a whole multiple of a power of two. In the smallest unit that is needed,
    sums are whole numbers: adding and taking away in any order gives the sum that
    `math.fsum` gives, without going through the jobs of a link.

    Parameters
    ----------
    own, among : list of float
        Of `Rates`, on servers of speed 1.
    scale : int
        Units in 1 byte a second, a power of two.
    alike : bool
        Whether others see the same demand of each job as the job itself.
    """

    own: list[float]
    among: list[float]
    scale: int
    alike: bool

    def exact(self, rate: float) -> int:
        """Write a rate in units; no digit is lost."""
        above, below = rate.as_integer_ratio()
        return above * (self.scale // below)


def demands(jobs: Jobs, cluster: Cluster, basis: Basis, given: Rates | None) -> Demands:
    """Find what jobs demand of links.

    Parameters
    ----------
    jobs : Jobs
    cluster : Cluster
        Whose slowest server tells how small a rate can become.
    basis : Basis
    given : Rates or None
        In place of those of the basis.

    Returns
    -------
    Demands

    Raises
    ------
    SynctaxError
        If a rate is not finite: bytes in no time.
    ValueError
        If given rates are no rates: negative, of other length, or demand that others do
        not see.
    """
    found = rates(jobs, basis) if given is None else given
    own = np.asarray(found.own, np.float64)
    among = np.asarray(found.among, np.float64)
    if own.shape != (len(jobs),) or among.shape != own.shape:
        raise ValueError(f"{own.shape} and {among.shape} rates for {len(jobs)} jobs")
    if given is not None and not (
        np.isfinite(own).all() and np.all(own >= 0) and np.array_equal(own > 0, among > 0)
    ):
        raise ValueError("rates are finite, 0 or more, and own is 0 where among is")
    endless = np.flatnonzero(~np.isfinite(own))
    if endless.size:
        at = endless[0]
        raise SynctaxError(
            f"{endless.size:,} jobs, first {jobs.job_id[at]}, send "
            f"{jobs.nic_bytes[at]:,.0f} bytes an iteration in a network time of 0 s: "
            f"demand basis {basis} needs the time, basis iteration does not"
        )
    least = float(among[among > 0].min(initial=np.inf))
    # on slower servers averages over an iteration are less
    smallest = least * min(1.0, float(cluster.speed.min())) / 4
    bits = 53 - frexp(smallest)[1] if isfinite(least) else 0
    alike = np.array_equal(own, among)
    return Demands(own.tolist(), among.tolist(), 1 << max(0, bits), alike)
