"""From a job and its servers to what it takes there alone, and what it crosses."""

from math import ceil

import numpy as np

from synctax.cluster.engine.demands import Demands
from synctax.cluster.engine.running import Running
from synctax.cluster.jobs import Jobs, Placement
from synctax.cluster.machines import Cluster
from synctax.cluster.settings import Contention


class Placer:
    """Makes running jobs of jobs that were given servers.

    Parameters
    ----------
    jobs : Jobs
    cluster : Cluster
    demands : Demands
    contention : Contention
    given : bool
        Whether demands were given, and hold on any servers.
    """

    def __init__(
        self,
        jobs: Jobs,
        cluster: Cluster,
        demands: Demands,
        contention: Contention,
        *,
        given: bool,
    ) -> None:
        self._gpus: list[int] = jobs.gpus.tolist()
        self._duration_ns: list[int] = jobs.duration_ns.tolist()
        self._base_s: list[float] = (jobs.compute_s + jobs.tax_s).tolist()
        self._network_s: list[float] = jobs.network_s.tolist()
        # as a job on one server has it
        local = np.where(
            np.isnan(jobs.local_network_s), jobs.network_s, jobs.local_network_s
        )
        near = local if contention.placement_aware else jobs.network_s
        self._near_s: list[float] = near.tolist()
        self._demands = demands
        self._uplink: list[list[int]] = cluster.links.uplink.tolist()
        self._speed: list[float] = cluster.speed.tolist()
        self._even = bool(np.all(cluster.speed == 1))
        self._scaled = (False, False) if given else _SCALED[contention.basis]

    def expected_ns(self) -> list[int]:
        """Tell how long each job runs at most if nobody shares its links, (n,) int.

        Where it will run is not known before, so on the slowest servers: it has its
        standalone run time where these are as fast as the profile has them.
        """
        lasts, least = self._duration_ns, min(self._speed)
        slower = [1.0] * len(lasts)
        for job, base_s in enumerate(self._base_s):
            network_s = max(self._network_s[job], self._near_s[job])
            slower[job] = (base_s / least + network_s) / (base_s + self._network_s[job])
        # a whole number of ns that is not stretched stays as it is, however long
        return [
            ns if by == 1 else ceil(ns * by) for ns, by in zip(lasts, slower, strict=True)
        ]

    def place(self, job: int, placement: Placement, now_ns: int) -> Running:
        """Let a job run on servers from now on."""
        local = len(placement) == 1
        base_s, network_s = self._base_s[job], self._network_s[job]
        iteration_s = base_s + network_s
        if local:
            network_s = self._near_s[job]
        own, among = self._demands.own[job], self._demands.among[job]
        if not self._even:
            base_s /= min(self._speed[server] for server, _ in placement)
            share = iteration_s / (base_s + network_s)
            own = own * share if self._scaled[0] else own
            among = among * share if self._scaled[1] else among
        return Running(
            job=job,
            gpus=self._gpus[job],
            placement=placement,
            links=() if local or not own else self._links(placement),
            own=own,
            among=among,
            exact=self._demands.exact(among),
            base_s=base_s,
            network_s=network_s,
            iteration_s=iteration_s,
            start_ns=now_ns,
            remaining_ns=self._duration_ns[job],
        )

    def _links(self, placement: Placement) -> tuple[int, ...]:
        links = [server for server, _ in placement]
        for uplink in self._uplink:
            blocks = dict.fromkeys(uplink[server] for server, _ in placement)
            if len(blocks) > 1:
                links += blocks
        return tuple(links)


_SCALED = {
    "iteration": (True, True),
    "network": (False, False),
    "overlap": (False, True),
}
"""Whether own demand, and that which others see, is a mean over an iteration: then a slower
server makes it less."""
