"""A job while it runs: where, how fast, and how far it has come."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from synctax.cluster.jobs import Placement


@dataclass(slots=True, eq=False)
class Running:
    """A job that runs.

    Progress is kept as the time that the rest takes alone; `stretch` is what an iteration
    takes now over what it takes alone, so the rest takes `remaining_ns * stretch`.

    Parameters
    ----------
    job, gpus : int
    placement : Placement
    links : tuple of int
        That its traffic crosses, in ascending order; none without traffic between servers.
    own, among : float
        Bytes a second on each, as the job itself and as others count them.
    exact : int
        `among` in units of `Demands`, for sums without rounding.
    base_s, network_s, iteration_s : float
        Of an iteration: compute and tax on these servers, network time on these servers,
        and the whole of it as the profile has it.
    start_ns : int
    remaining_ns : int or float
        At `since_ns`; whole until the job has been advanced.
    caps : tuple of float
        S with MIN_BW on each link, the most that it can be.
    limit : float
        The least of them: load of a link above which MIN_BW may hold for this job.
    loads : sequence of float
        S of each link, as it was looked at last.
    load, factor, stretch : float
        S before and after it is divided by `alone` where that is wanted, and the stretch
        that comes of it.
    alone, alone_stretch : float
        S without other jobs, and the stretch that comes of it.
    """

    job: int
    gpus: int
    placement: Placement
    links: tuple[int, ...]
    own: float
    among: float
    exact: int
    base_s: float
    network_s: float
    iteration_s: float
    start_ns: int
    remaining_ns: int | float
    alone: float = 1.0
    alone_stretch: float = 1.0
    caps: tuple[float, ...] = ()
    limit: float = inf
    loads: Sequence[float] = ()
    load: float = 1.0
    factor: float = 1.0
    stretch: float = 1.0
    since_ns: int = field(init=False)
    end_ns: int = field(init=False)
    factor_since_ns: int = field(init=False)
    factor_sum: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.since_ns = self.factor_since_ns = self.start_ns
        self.end_ns = self.start_ns

    def project(self) -> None:
        """Set the end that follows from the progress and the stretch."""
        left = self.remaining_ns
        # a whole number of ns that is not stretched stays as it is, however long
        self.end_ns = self.since_ns + round(
            left if self.stretch == 1 else left * self.stretch
        )

    def slow_down(self, factor: float, stretch: float, now_ns: int) -> bool:
        """Go on with another S from now on; whether the end moved."""
        self.factor_sum += self.factor * (now_ns - self.factor_since_ns)
        self.factor, self.factor_since_ns = factor, now_ns
        if stretch == self.stretch:
            return False
        passed_ns = now_ns - self.since_ns
        if passed_ns:
            self.remaining_ns = max(0.0, self.remaining_ns - passed_ns / self.stretch)
        self.since_ns, self.stretch = now_ns, stretch
        before_ns = self.end_ns
        self.project()
        return self.end_ns != before_ns

    def mean_factor(self) -> float:
        """Take the mean of S from start to end; 1 for a job of no length."""
        ran_ns = self.end_ns - self.start_ns
        if not ran_ns:
            return 1.0
        last_ns = self.end_ns - self.factor_since_ns
        return (self.factor_sum + self.factor * last_ns) / ran_ns
