"""How much slower a job is for what else crosses its links: one rule for each model."""

from collections.abc import Iterable
from math import inf
from typing import Protocol

from synctax.cluster.engine.running import Running
from synctax.cluster.engine.traffic import Change, Traffic
from synctax.cluster.settings import Contention


class Rule(Protocol):
    """What a model says of jobs and links as they are now."""

    def affected(self, changes: list[Change]) -> Iterable[Running]:
        """Give the jobs that may have another S since links changed."""

    def enter(self, one: Running) -> None:
        """Set what a job has alone, on the links that it has."""

    def factor(self, one: Running) -> float:
        """S of a job, 1 or more."""

    def stretch(self, one: Running, factor: float) -> float:
        """Time of an iteration with S over that of the profile."""

    def worst(self, one: Running) -> tuple[int, ...]:
        """Links that S is of, as of the last `factor`; several if they are equally bad."""


class Free:
    """Jobs do not slow each other: the Tiresias baseline.

    References
    ----------
    MoSim paper, section III-A1.
    """

    def affected(self, changes: list[Change]) -> Iterable[Running]:  # noqa: ARG002
        """Give the jobs that may have another S: none."""
        return ()

    def enter(self, one: Running) -> None:
        """Set what a job has alone: no slowdown."""
        one.stretch = one.alone_stretch = self.stretch(one, 1.0)

    def factor(self, one: Running) -> float:  # noqa: ARG002 - the same for all
        """S: 1."""
        return 1.0

    def stretch(self, one: Running, factor: float) -> float:
        """Time of an iteration with S over that of the profile."""
        return (one.base_s + one.network_s * factor) / one.iteration_s

    def worst(self, one: Running) -> tuple[int, ...]:  # noqa: ARG002 - the same for all
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
        self._limited = [rate < inf for rate in traffic.rate[:nics]]
        self._limited += [False] * (len(traffic.rate) - nics)
        self._static = contention.static_factor
        self._whole = contention.static_scope == "time"

    def affected(self, changes: list[Change]) -> Iterable[Running]:
        """Give the jobs on NICs that are shared now or were."""
        found: dict[int, Running] = {}
        for link, _, before in changes:
            if self._limited[link] and (before > 1 or len(self._on[link]) > 1):
                found.update(self._on[link])
        return found.values()

    def factor(self, one: Running) -> float:
        """S: the factor where any NIC is shared."""
        return self._static if any(map(self._shared, one.links)) else 1.0

    def stretch(self, one: Running, factor: float) -> float:
        """Time of an iteration with S, on all of it or part, over that of the profile."""
        if self._whole:
            return (one.base_s + one.network_s) * factor / one.iteration_s
        return super().stretch(one, factor)

    def worst(self, one: Running) -> tuple[int, ...]:
        """Links that S is of: shared NICs."""
        return tuple(filter(self._shared, one.links))

    def _shared(self, link: int) -> bool:
        return self._limited[link] and len(self._on[link]) > 1


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
        self._on, self._rate = traffic.on, traffic.rate
        self._total, self._load = traffic.total, traffic.load
        share = self._share = contention.min_bandwidth_share
        self._least = [share * rate if share else 0.0 for rate in traffic.rate]
        self._normalise = contention.normalise_solo

    def affected(self, changes: list[Change]) -> Iterable[Running]:
        """Give the jobs that have S of a link that changed, or may have now.

        A job has S of its worst link: others may change as they like below that.
        """
        found: dict[int, Running] = {}
        for link, before, _ in changes:
            most = max(before, self._load[link])
            if most > 1:
                for one in self._on[link].values():
                    if one.load <= most:
                        found[one.job] = one
        return found.values()

    def enter(self, one: Running) -> None:
        """Set what a job has alone, and from where on MIN_BW may hold."""
        if one.links:
            rates = [*map(self._rate.__getitem__, one.links)]
            one.alone = max(1.0, one.own / min(rates))
            if self._share:
                leasts = [*map(self._least.__getitem__, one.links)]
                one.caps = tuple([one.own / least if least else inf for least in leasts])
                one.limit = min(one.caps)
        one.stretch = self.stretch(one, 1.0)
        one.alone_stretch = self.stretch(one, 1.0 if self._normalise else one.alone)

    def factor(self, one: Running) -> float:
        """S: that of the worst link."""
        loads = self._loads(one)
        worst = max(loads)
        if worst > one.limit:
            loads = [*map(min, loads, one.caps)]
            worst = max(loads)
        one.loads = loads
        one.load = max(1.0, worst)
        return max(1.0, one.load / one.alone) if self._normalise else one.load

    def worst(self, one: Running) -> tuple[int, ...]:
        """Links that S is of, as `factor` found it last."""
        most, loads = one.load, one.loads
        if loads.count(most) == 1:
            return (one.links[loads.index(most)],)
        return tuple(
            [link for link, load in zip(one.links, loads, strict=True) if load == most]
        )

    def _loads(self, one: Running) -> list[float]:
        return [*map(self._load.__getitem__, one.links)]


class ExpectedShares(Shares):
    """Shares where a job meets all of its own demand, but of others what is expected.

    Parameters
    ----------
    traffic : Traffic
    contention : Contention
    """

    def affected(self, changes: list[Change]) -> Iterable[Running]:
        """Give the jobs that have S of a link that changed, or may have now."""
        found: dict[int, Running] = {}
        for link, before, _ in changes:
            rate = self._rate[link]
            # a little more than what was demanded: `before` is rounded
            most = max(before * rate * (1 + 1e-9), self._total[link])
            for one in self._on[link].values():
                if one.own + (most - one.among) >= one.load * rate:
                    found[one.job] = one
        return found.values()

    def _loads(self, one: Running) -> list[float]:
        own, among, total, rate = one.own, one.among, self._total, self._rate
        # in this order, a job alone sees its own demand to the last digit
        return [(own + (total[link] - among)) / rate[link] for link in one.links]


def rule(contention: Contention, traffic: Traffic, nics: int, *, alike: bool) -> Rule:
    """Make the rule of a model.

    Parameters
    ----------
    contention : Contention
    traffic : Traffic
    nics : int
        Links that are NICs, the first ones.
    alike : bool
        Whether others see the same demand of a job as the job itself.

    Returns
    -------
    Rule
    """
    if contention.model == "tiresias":
        return Free()
    if contention.model == "pollux":
        return Static(traffic, nics, contention)
    return (Shares if alike else ExpectedShares)(traffic, contention)
