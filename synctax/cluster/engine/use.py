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
        self._beside_now = 0
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
        self._beside_sum += passed_ns * self._beside_now
        self._waiting_sum += passed_ns * self._waiting_now

    def wait(self, jobs: int) -> None:
        """Tell how many wait from now on."""
        self._waiting_now = jobs
        self._most = max(self._most, jobs)

    def take(self, placement: Placement) -> None:
        """Give GPUs to a job."""
        for server, workers in placement:
            self._move(server, -workers)

    def release(self, placement: Placement, ran_ns: int) -> None:
        """Have back the GPUs of a job that ran."""
        for server, workers in placement:
            self._move(server, workers)
            self._taken_sum += workers * ran_ns

    def _move(self, server: int, more: int) -> None:
        free, all_of_it = self._free[server], self._gpus[server]
        after = self._free[server] = free + more
        self._free_now += more
        before_beside = free if free < all_of_it else 0
        self._beside_now += (after if after < all_of_it else 0) - before_beside

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
