"""Who crosses which link, how much is asked of it, and for how long."""

from collections.abc import Callable, Iterable

import numpy as np

from synctax.arrays import F64, NS_PER_S
from synctax.cluster.engine.demands import Demands
from synctax.cluster.engine.running import Running
from synctax.cluster.machines import Links


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
    total : list of float
        Their demands together, as of the last `settle`.
    recomputed : int
        How many times the demands on some link were added up.
    """

    def __init__(self, links: Links, demands: Demands) -> None:
        many = links.bytes_per_s.size
        self.rate: list[float] = links.bytes_per_s.tolist()
        self.on: list[dict[int, Running]] = [{} for _ in range(many)]
        self.total = [0.0] * many
        self.recomputed = 0
        self._scale = demands.scale
        self._exact = [0] * many
        self._changed: dict[int, None] = {}
        self._calm = [True] * many
        self._busy, self._over = [False] * many, [False] * many
        self._seen_ns = [0] * many
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

    def settle(self, now_ns: int, calm: Callable[[int], bool]) -> Iterable[Running]:
        """Bring the links up to date on which jobs came or went.

        Parameters
        ----------
        now_ns : int
        calm : callable
            Whether a link slows no job that is on it.

        Returns
        -------
        iterable of Running
            Jobs on links that slow, or slowed until now.
        """
        affected: dict[int, Running] = {}
        for link in self._changed:
            self._look(link, now_ns)
            was, self._calm[link] = self._calm[link], calm(link)
            if not (was and self._calm[link]):
                affected.update(self.on[link])
        self._changed.clear()
        return affected.values()

    def demanded(self) -> list[float]:
        """Tell the demands on each link together as of now, jobs of this instant too."""
        return [exact / self._scale for exact in self._exact]

    def _look(self, link: int, now_ns: int) -> None:
        passed_ns = now_ns - self._seen_ns[link]
        self._seen_ns[link] = now_ns
        if self._busy[link]:
            self._busy_ns[link] += passed_ns
        if self._over[link]:
            self._over_ns[link] += passed_ns
        total = self.total[link] = self._exact[link] / self._scale
        self._busy[link] = bool(self.on[link])
        self._over[link] = total > self.rate[link]
        self.recomputed += 1

    @property
    def busy_s(self) -> F64:
        """How long any job crossed each link, (m,) float64."""
        return np.array(self._busy_ns) / NS_PER_S

    @property
    def oversubscribed_s(self) -> F64:
        """How long demand was above the rate of each link, (m,) float64."""
        return np.array(self._over_ns) / NS_PER_S
