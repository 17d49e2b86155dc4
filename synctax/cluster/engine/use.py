"""How much of a cluster is taken, and how many jobs wait, from instant to instant."""

from synctax.arrays import I64, NS_PER_S
from synctax.cluster.engine.traffic import Traffic
from synctax.cluster.jobs import Placement
from synctax.cluster.simulation import Use


class Meter:
    """Adds up, over time, what is free, and how many wait.

    Parameters
    ----------
    gpus : (k,) int64
        Of each server.
    """

    def __init__(self, gpus: I64) -> None:
        self._gpus: list[int] = gpus.tolist()
        self._free = list(self._gpus)
        self._free_now = sum(self._gpus)
        # of these, on servers where none is taken
        self._whole_now = self._free_now
        self._waiting_now = 0
        self._since_ns = 0
        self._first_ns: int | None = None
        # GPUs times ns, jobs times ns
        self._free_sum = self._beside_sum = self._waiting_sum = self._taken_sum = 0
        self._most = 0

    def pass_time(self, now_ns: int) -> None:
        """Count the time since the last instant."""
        if self._first_ns is None:
            self._first_ns = self._since_ns = now_ns
        passed_ns = now_ns - self._since_ns
        self._since_ns = now_ns
        self._free_sum += passed_ns * self._free_now
        self._beside_sum += passed_ns * (self._free_now - self._whole_now)
        self._waiting_sum += passed_ns * self._waiting_now

    def wait(self, jobs: int) -> None:
        """Tell how many wait from now on."""
        self._waiting_now = jobs
        self._most = max(self._most, jobs)

    def take(self, placement: Placement) -> None:
        """Give GPUs to a job."""
        free, gpus = self._free, self._gpus
        for server, workers in placement:
            before = free[server]
            free[server] = before - workers
            self._free_now -= workers
            if before == gpus[server]:
                self._whole_now -= before

    def release(self, placement: Placement, ran_ns: int) -> None:
        """Have back the GPUs of a job that ran."""
        free, gpus = self._free, self._gpus
        released = 0
        for server, workers in placement:
            after = free[server] = free[server] + workers
            released += workers
            if after == gpus[server]:
                self._whole_now += after
        self._free_now += released
        self._taken_sum += released * ran_ns

    def read(self, traffic: Traffic) -> Use:
        """Write down the use of the time from the first instant to the last."""
        lasted_ns = self._since_ns - (self._first_ns or 0)
        return Use(
            gpu_s=self._taken_sum / NS_PER_S,
            queue_mean=self._waiting_sum / lasted_ns if lasted_ns else 0.0,
            queue_max=self._most,
            fragmentation=(
                self._beside_sum / self._free_sum if self._free_sum else float("nan")
            ),
            busy_s=traffic.busy_s,
            oversubscribed_s=traffic.oversubscribed_s,
        )
