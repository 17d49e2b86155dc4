"""How much slower a job is for what else crosses its links: one rule for each model."""

from math import inf
from typing import Protocol

from synctax.cluster.engine.running import Running
from synctax.cluster.engine.traffic import Traffic
from synctax.cluster.settings import Contention


class Rule(Protocol):
    """What a model says of jobs and links as they are now."""

    def calm(self, link: int) -> bool:
        """Whether a link slows no job on it."""

    def alone(self, one: Running) -> float:
        """S of a job without others."""

    def solo(self, one: Running) -> float:
        """S without others that is part of the solo time: 1 where it is divided out."""

    def factor(self, one: Running) -> float:
        """S of a job, 1 or more."""

    def stretch(self, one: Running, factor: float) -> float:
        """Time of an iteration with S over that of the profile."""

    def worst(self, one: Running) -> tuple[int, ...]:
        """Links that S is of; several where they are equally bad."""


class Free:
    """Jobs do not slow each other: the Tiresias baseline.

    References
    ----------
    MoSim paper, section III-A1.
    """

    def calm(self, link: int) -> bool:  # noqa: ARG002 - every link is
        """Whether a link slows no job: always."""
        return True

    def alone(self, one: Running) -> float:  # noqa: ARG002 - every job has
        """S without others: 1."""
        return 1.0

    def solo(self, one: Running) -> float:  # noqa: ARG002 - every job has
        """S without others that is part of the solo time: 1."""
        return 1.0

    def factor(self, one: Running) -> float:  # noqa: ARG002 - every job has
        """S: 1."""
        return 1.0

    def stretch(self, one: Running, factor: float) -> float:
        """Time of an iteration with S over that of the profile."""
        return (one.base_s + one.network_s * factor) / one.iteration_s

    def worst(self, one: Running) -> tuple[int, ...]:  # noqa: ARG002 - no job has any
        """Links that S is of: none."""
        return ()


class Static(Free):
    """One factor for all jobs that share a NIC with others: the Pollux baseline.

    A NIC without limit is not shared: nothing on it can wait.

    Parameters
    ----------
    traffic : Traffic
    nics : int
        Links that are NICs, the first ones.
    contention : Contention

    References
    ----------
    MoSim paper, section III-A1.
    """

    def __init__(self, traffic: Traffic, nics: int, contention: Contention) -> None:
        self._on = traffic.on
        self._shared = [rate < inf for rate in traffic.rate[:nics]]
        self._shared += [False] * (len(traffic.rate) - nics)
        self._static = contention.static_factor
        self._whole = contention.static_scope == "time"

    def calm(self, link: int) -> bool:
        """Whether a link slows no job: uplinks, and NICs of one job."""
        return not self._shared[link] or len(self._on[link]) < 2

    def factor(self, one: Running) -> float:
        """S: the factor where any NIC is shared."""
        return self._static if any(not self.calm(link) for link in one.links) else 1.0

    def stretch(self, one: Running, factor: float) -> float:
        """Time of an iteration with S over that of the profile, on all of it or part."""
        if self._whole:
            return (one.base_s + one.network_s) * factor / one.iteration_s
        return super().stretch(one, factor)

    def worst(self, one: Running) -> tuple[int, ...]:
        """Links that S is of: shared NICs."""
        return tuple(link for link in one.links if not self.calm(link))


class Shares(Free):
    """Links divide their rate in proportion to demands: equations 8 to 10.

    A job's allocation of a link with rate C on which x is demanded is D*min(1, C/x), at
    least MIN_BW. So S = D/allocation is x/C, at most D/MIN_BW, and at least 1.

    Parameters
    ----------
    traffic : Traffic
    contention : Contention

    References
    ----------
    MoSim paper, section IV-C2.
    """

    def __init__(self, traffic: Traffic, contention: Contention) -> None:
        self._total, self._rate = traffic.total, traffic.rate
        self._least = [contention.min_bandwidth_share * rate for rate in traffic.rate]
        self._normalise = contention.normalise_solo

    def calm(self, link: int) -> bool:
        """Whether a link slows no job on it: demands fit."""
        return self._total[link] <= self._rate[link]

    def alone(self, one: Running) -> float:
        """S without others: demand over the rate of the slowest link."""
        return max([1.0, *(one.own / self._rate[link] for link in one.links)])

    def solo(self, one: Running) -> float:
        """S without others that is part of the solo time: 1 where it is divided out."""
        return 1.0 if self._normalise else one.alone

    def factor(self, one: Running) -> float:
        """S: that of the worst link."""
        worst = 1.0
        for link in one.links:
            load = self.load(one, link)
            if load > worst:
                worst = max(worst, self._at_most(one, link, load))
        return worst / one.alone if self._normalise else worst

    def worst(self, one: Running) -> tuple[int, ...]:
        """Links that S is of."""
        found = [self._at_most(one, link, self.load(one, link)) for link in one.links]
        most = max(found, default=0.0)
        return tuple(
            link for link, load in zip(one.links, found, strict=True) if load == most
        )

    def load(self, one: Running, link: int) -> float:  # noqa: ARG002 - the same for all
        """Demand on a link, as a job on it sees it, over its rate."""
        return self._total[link] / self._rate[link]

    def _at_most(self, one: Running, link: int, load: float) -> float:
        least = self._least[link]
        # an infinite rate has no load; without a least there is no limit
        return min(load, one.own / least) if load and least else load


class ExpectedShares(Shares):
    """Shares where a job meets all of its own demand, but of others what is expected.

    Parameters
    ----------
    traffic : Traffic
    contention : Contention
    excess : float
        Most that a job's own demand is above that which others see, in bytes a second.
    """

    def __init__(self, traffic: Traffic, contention: Contention, excess: float) -> None:
        super().__init__(traffic, contention)
        # less a margin for the rounding of what a job sees
        self._calm_below = [rate * (1 - 1e-9) - excess for rate in traffic.rate]

    def calm(self, link: int) -> bool:
        """Whether a link slows no job on it, whatever the job adds to the expectation."""
        return self._total[link] <= self._calm_below[link]

    def load(self, one: Running, link: int) -> float:
        """Demand on a link, as a job on it sees it, over its rate."""
        # in this order, a job alone sees its own demand to the last digit
        return (one.own + (self._total[link] - one.among)) / self._rate[link]


def rule(contention: Contention, traffic: Traffic, nics: int, excess: float | None) -> Rule:
    """Make the rule of a model.

    Parameters
    ----------
    contention : Contention
    traffic : Traffic
    nics : int
        Links that are NICs, the first ones.
    excess : float or None
        See `ExpectedShares`; None where all see the same demand.

    Returns
    -------
    Rule
    """
    if contention.model == "tiresias":
        return Free()
    if contention.model == "pollux":
        return Static(traffic, nics, contention)
    if excess is not None:
        return ExpectedShares(traffic, contention, excess)
    return Shares(traffic, contention)
