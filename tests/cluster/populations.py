"""Sets of jobs on one link, what they suffer by the reference, and what models say."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from synctax.arrays import F64
from synctax.cluster.pairs_run import together
from synctax.cluster.settings import Contention
from tests.cluster.fluid import share

NIC_BYTES_PER_S = 625e6
"""5 Gb/s."""

DUTY_CYCLES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Share of an iteration in which a job sends, alone."""

PERIODS = (1.03, 1.618, 2.7)
"""Of the second job over the first: nearly alike, and far from any simple ratio."""

MODELS = {
    "tiresias": Contention(model="tiresias"),
    "pollux, time": Contention(model="pollux"),
    "pollux, network": Contention(model="pollux", static_scope="network"),
    "mosim, iteration": Contention(basis="iteration"),
    "mosim, network": Contention(basis="network"),
    "mosim, overlap": Contention(basis="overlap"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """s sets of m jobs; in each the jobs share a link.

    Parameters
    ----------
    compute_s, network_s : (s, m) float64
        Of an iteration alone.
    rate : (s, m) float64
        What a job sends alone over what the link carries.
    """

    compute_s: F64
    network_s: F64
    rate: F64

    @property
    def demand(self) -> F64:
        """Average rates of all jobs over what the link carries, (s,)."""
        alone_s = self.compute_s + self.network_s
        return (self.rate * self.network_s / alone_s).sum(axis=1)

    def where(self, chosen: np.ndarray) -> "Population":
        """Some of the sets."""
        return Population(self.compute_s[chosen], self.network_s[chosen], self.rate[chosen])


def of_duty(period_s: F64, duty: F64, rate: float) -> Population:
    return Population(period_s * (1 - duty), period_s * duty, np.full(duty.shape, rate))


def pairs(rate: float = 1.0) -> Population:
    """75 pairs: every duty cycle against every one, three ratios of periods."""
    of_all = np.array(list(product(DUTY_CYCLES, DUTY_CYCLES, PERIODS)))
    period_s = np.stack([np.ones(len(of_all)), of_all[:, 2]], axis=1)
    return of_duty(period_s, of_all[:, :2], rate)


def drawn(
    m: int, *, duty: tuple[float, float], sets: int = 75, rate: float = 1.0, seed: int = 0
) -> Population:
    """Sets of m jobs: duty cycles within limits, periods within a factor of 4."""
    rng = np.random.default_rng(seed)
    period_s = 2 ** rng.uniform(-1, 1, (sets, m))
    return of_duty(period_s, rng.uniform(*duty, (sets, m)), rate)


def reference(
    these: Population, *, phases: int = 8, iterations: int = 40, seed: int = 0
) -> tuple[F64, F64]:
    """Iteration time over that alone, (s, m), and its standard error over the phases."""
    rng = np.random.default_rng(seed)

    def all_phases(values: F64) -> F64:
        return np.repeat(values, phases, axis=0)

    compute_s, network_s = all_phases(these.compute_s), all_phases(these.network_s)
    seen = share(
        compute_s,
        network_s,
        all_phases(these.rate),
        capacity=1.0,
        phase=rng.random(compute_s.shape),
        iterations=iterations,
    )
    change = seen.iteration_s / (compute_s + network_s)
    each = change.reshape(-1, phases, change.shape[1])
    return each.mean(axis=1), each.std(axis=1, ddof=1) / np.sqrt(phases)


def modelled(these: Population, contention: Contention) -> F64:
    """The same as a simulation has it, (s, m): each job in turn is the one measured."""
    changes = []
    for at in range(these.compute_s.shape[1]):

        def first(values: F64) -> F64:
            return np.roll(values, -at, axis=1)  # noqa: B023 - called here

        network_s = first(these.network_s)
        told = together(
            first(these.compute_s),
            network_s,
            first(these.rate) * NIC_BYTES_PER_S * network_s,
            gpus=8,
            nic_bytes_per_s=NIC_BYTES_PER_S,
            contention=contention,
        )
        changes.append(told.iteration_change)
    return np.stack(changes, axis=1)


def errors(told: F64, true: F64) -> F64:
    """Mean over the jobs of a set of how far a model is off, over the truth, (s,)."""
    return np.abs(told / true - 1).mean(axis=1)


def intervals(values: F64, *, resamples: int = 2_000, seed: int = 0) -> Iterator[float]:
    """The mean and the ends of its 95 % interval: percentiles of resampled sets."""
    rng = np.random.default_rng(seed)
    at = rng.integers(0, values.size, (resamples, values.size))
    yield float(values.mean())
    yield from np.quantile(values[at].mean(axis=1), (0.025, 0.975)).tolist()
