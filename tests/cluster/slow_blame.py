"""Who slowed whom, pair by pair at every change: slow, and next to its definition."""

from math import fsum

import numpy as np

from synctax.arrays import NS_PER_S
from synctax.cluster.engine.rules import Rule
from synctax.cluster.engine.running import Running
from synctax.cluster.engine.traffic import Traffic
from synctax.cluster.simulation import Interference


class SlowBlame:
    """Keeps, for each job that is slowed, by whom and since when."""

    def __init__(self, _jobs: int, rule: Rule, traffic: Traffic) -> None:
        self._rule, self._on = rule, traffic.on
        self._slowed: dict[int, tuple[int, float, dict[int, float]]] = {}
        self._shared_ns: dict[tuple[int, int], int] = {}
        self._lost_ns: dict[tuple[int, int], float] = {}

    def join(self, one: Running) -> None:
        """Take notice of a job that starts: nothing is kept of it."""

    def look(self, one: Running, now_ns: int) -> None:
        """See who slows a job from now on."""
        shares = self._shares(one) if one.stretch > one.alone_stretch else {}
        _, stretch, before = self._slowed.get(one.job, (now_ns, one.stretch, {}))
        if (stretch, before) == (one.stretch, shares):
            return
        self.close(one, now_ns)
        if shares:
            self._slowed[one.job] = now_ns, one.stretch, shares

    def close(self, one: Running, now_ns: int) -> None:
        """Lay on others what a job lost until now."""
        if one.job not in self._slowed:
            return
        since_ns, stretch, shares = self._slowed.pop(one.job)
        passed_ns = now_ns - since_ns
        lost_ns = passed_ns * (1 - one.alone_stretch / stretch)
        for by, share in shares.items():
            pair = one.job, by
            self._shared_ns[pair] = self._shared_ns.get(pair, 0) + passed_ns
            self._lost_ns[pair] = self._lost_ns.get(pair, 0.0) + lost_ns * share

    def _shares(self, one: Running) -> dict[int, float]:
        worst = self._rule.worst(one)
        shares: dict[int, float] = {}
        for link in worst:
            others = [by for by in self._on[link].values() if by is not one]
            # equally bad links count alike
            total = fsum(by.among for by in others) * len(worst)
            for by in others:
                shares[by.job] = shares.get(by.job, 0.0) + by.among / total
        return shares

    def read(self) -> Interference:
        """Write down the pairs, largest loss first."""
        pairs = np.array(list(self._lost_ns), np.int32).reshape(-1, 2)
        lost_s = np.array(list(self._lost_ns.values()), np.float64) / NS_PER_S
        shared_s = np.array(list(self._shared_ns.values()), np.float64) / NS_PER_S
        order = np.lexsort((pairs[:, 1], pairs[:, 0], -lost_s))
        return Interference(
            job=pairs[order, 0],
            by=pairs[order, 1],
            shared_s=shared_s[order],
            lost_s=lost_s[order],
        )
