"""Traffic that goes through everything at every instant: slow, and the same to the bit."""

from collections.abc import Callable, Iterable
from math import fsum

from synctax.cluster.engine.running import Running
from synctax.cluster.engine.traffic import Change, Traffic


class AllTraffic(Traffic):
    """Adds up all demands of all links again, and has every job on a link looked at.

    What a simulation with it finds is what one finds that looks only at links that
    changed: tests and the benchmark hold one against the other.
    """

    def settle(
        self,
        now_ns: int,
        affected: Callable[[list[Change]], Iterable[Running]],  # noqa: ARG002 - all are
    ) -> Iterable[Running]:
        """Add up everything, whatever changed, and give all jobs that cross links."""
        self._changed.clear()
        crossing: dict[int, Running] = {}
        for link, on in enumerate(self.on):
            self._look(link, now_ns, fsum(one.among for one in on.values()))
            crossing.update(on)
        self.recomputed += len(self.on)
        return crossing.values()
