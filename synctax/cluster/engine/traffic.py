"""Who crosses which link, how much is asked of it, and for how long."""

from collections.abc import Callable, Iterable

import numpy as np

from synctax.arrays import F64, NS_PER_S
from synctax.cluster.engine.demands import Demands
from synctax.cluster.engine.running import Running
from synctax.cluster.machines import Links

Change = tuple[int, float, int]
"""A link, and its load and number of jobs before jobs came or went."""


class Traffic:
    """Links and the jobs on them.

    Parameters
    ----------
    links : Links
    demands : Demands

    Attributes
    ----------
    rate : list of float
        What each link carries, in bytes a second.
    on : list of dict
        Jobs on each link by number, those that came first in front.
    total, load : list of float
        Their demands together, as of the last `settle`, and over the rate.
    recomputed : int
        How many times the demands on some link were added up.
    """

    def __init__(self, links: Links, demands: Demands) -> None:
        many = links.bytes_per_s.size
        self.rate: list[float] = links.bytes_per_s.tolist()
        self.on: list[dict[int, Running]] = [{} for _ in range(many)]
        self.total, self.load = [0.0] * many, [0.0] * many
        self.recomputed = 0
        self._scale = demands.scale
        self._exact = [0] * many
        self._changed: dict[int, None] = {}
        self._jobs = [0] * many
        self._busy_ns, self._over_ns = [0] * many, [0] * many

    def join(self, one: Running) -> None:
        """Put a job on its links."""
        for link in one.links:
            self.on[link][one.job] = one
            self._exact[link] += one.exact
            self._changed[link] = None

    def leave(self, one: Running) -> None:
        """Take a job off its links."""
        for link in one.links:
            del self.on[link][one.job]
            self._exact[link] -= one.exact
            self._changed[link] = None

    def settle(
        self, now_ns: int, affected: Callable[[list[Change]], Iterable[Running]]
    ) -> Iterable[Running]:
        """Bring the links up to date on which jobs came or went.

        Parameters
        ----------
        now_ns : int
        affected : callable
            Which jobs may have another S now that these links have changed.

        Returns
        -------
        iterable of Running
            These.
        """
        load, jobs, exact, scale = self.load, self._jobs, self._exact, self._scale
        changes = [(link, load[link], jobs[link]) for link in self._changed]
        for link in self._changed:
            self._look(link, now_ns, exact[link] / scale)
        self.recomputed += len(changes)
        self._changed.clear()
        return affected(changes)

    def demanded(self) -> list[float]:
        """Tell the demands on each link together as of now, jobs of this instant too."""
        return [exact / self._scale for exact in self._exact]

    def others(self, link: int, one: Running) -> float:
        """Tell what the jobs on a link demand but for one, as of now."""
        return (self._exact[link] - one.exact) / self._scale

    def _look(self, link: int, now_ns: int, total: float) -> None:
        rate, jobs = self.rate[link], len(self.on[link])
        # what began is taken off, what ends is added: the difference is how long it was
        if (not jobs) is not (not self._jobs[link]):
            self._busy_ns[link] += -now_ns if jobs else now_ns
        if (total > rate) is not (self.total[link] > rate):
            self._over_ns[link] += -now_ns if total > rate else now_ns
        self.total[link], self._jobs[link] = total, jobs
        self.load[link] = total / rate

    @property
    def busy_s(self) -> F64:
        """How long any job crossed each link, (m,) float64."""
        return np.array(self._busy_ns) / NS_PER_S

    @property
    def oversubscribed_s(self) -> F64:
        """How long demand was above the rate of each link, (m,) float64."""
        return np.array(self._over_ns) / NS_PER_S
