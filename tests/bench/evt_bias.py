"""How far each predictor is off, and whether its warnings say so.

    python -m tests.bench.evt_bias                     the table, about two minutes
    python -m tests.bench.evt_bias --replications 20   less exactly

Block times are drawn from laws whose true wait is known by integration; groups of 4 ranks
are fitted, and the wait of 4, 16 and 512 ranks is predicted. For each law, predictor and
size: mean error of the prediction in %, and behind it the share of replications in which
a check cast doubt on that predictor at that size. Below, each check's share for itself.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import integrate, stats

from synctax.arrays import F64
from synctax.evt.checks import check
from synctax.evt.doubts import Check, fired
from synctax.evt.goodness import shape_test
from synctax.evt.model import Block, BlockTimes
from synctax.evt.predict import Predictors, fit_standard
from synctax.evt.resample import memory
from synctax.evt.standard import standardise
from synctax.evt.tax import METHODS

M = 4
SIZES = np.array([4.0, 16.0, 512.0])
INSTANCES = 2_000
REPLICATIONS = 150
A_US, SPREAD_US = 1_000.0, 20.0
SLOW = 1.0
"""How much longer the slow rank takes, in standard deviations of the others."""
BIASED = 0.05
"""From here on a prediction is called biased, and must come with a warning."""

Draw = Callable[[np.random.Generator, int], F64]


@dataclass(frozen=True, slots=True)
class Law:
    """A law of block times: `draw(random, instances)` in units of SPREAD_US, and its waits.

    Parameters
    ----------
    name : str
    draw : callable
        Returns (instances, M) times.
    truth : (3,) float64
        Mean wait among SIZES ranks.
    """

    name: str
    draw: Draw
    truth: F64


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one law: errors and warnings by method, size and replication.

    Parameters
    ----------
    error : (4, 3, r) float64
        Prediction / truth - 1; NaN where a method was refused.
    warned : (4, 3, r) bool
        Whether a check cast doubt on the method at that size.
    checks : dict of str to float
        Share of replications in which each check fired, at the largest size.
    """

    error: F64
    warned: np.ndarray
    checks: dict[str, float]

    @property
    def bias(self) -> F64:
        """Mean error of each method and size."""
        return np.nanmean(self.error, axis=2)

    @property
    def uncertainty(self) -> float:
        """Largest standard error of a mean error."""
        count = np.isfinite(self.error).sum(axis=2)
        return float((np.nanstd(self.error, axis=2) / np.sqrt(count)).max())

    @property
    def warned_share(self) -> F64:
        """Share of replications with a warning, by method and size."""
        return self.warned.mean(axis=2)


def wait_of(law: stats.rv_continuous, n: float) -> float:
    """∫ Q(1 - p) exp(-x) dx - mean, with p = 1 - exp(-x/n): the wait among n alike."""

    def at(x: float) -> float:
        return float(law.isf(-np.expm1(-x / n))) * np.exp(-x)

    parts = ((0, 1e-6), (1e-6, 1e-2), (1e-2, 1), (1, 60))
    return sum(integrate.quad(at, *part, limit=500)[0] for part in parts) - law.mean()


def wait_with_slow(n: float, slow: float) -> float:
    """Wait among n normal ranks of which `slow` take SLOW longer: ∫ over both laws."""

    def above(x: float) -> float:
        logs = (n - slow) * stats.norm.logcdf(x) + slow * stats.norm.logcdf(x - SLOW)
        return float(np.exp(logs))

    high = 12.0
    below = integrate.quad(above, -high, high, limit=500, points=[0, 2, 4])[0]
    return high - below - SLOW * slow / n


def iid(name: str, law: stats.rv_continuous) -> Law:
    """Ranks and instances that are all alike and independent."""

    def draw(random: np.random.Generator, instances: int) -> F64:
        # not scipy's rvs: quantiles of uniform numbers are the same in every version
        return law.ppf(random.random((instances, M)))

    return Law(name, draw, np.array([wait_of(law, n) for n in SIZES]))


def laws() -> tuple[Law, ...]:
    """All laws, the cheapest truth first."""
    normal = stats.norm()

    def common(random: np.random.Generator, instances: int) -> F64:
        return random.normal(size=(instances, M)) + random.normal(size=(instances, 1))

    def slow(random: np.random.Generator, instances: int) -> F64:
        times = random.normal(size=(instances, M))
        times[:, -1] += SLOW
        return times

    alike = iid("iid normal", normal)
    return (
        alike,
        replace(alike, name="+ common variation", draw=common),
        iid("Student t5", stats.t(5)),
        iid("Gumbel", stats.gumbel_r()),
        iid("GEV 0.15", stats.genextreme(-0.15)),
        iid("uniform", stats.uniform()),
        Law("slow, one of n", slow, np.array([wait_with_slow(n, 1) for n in SIZES])),
        Law("slow, one of 4", slow, np.array([wait_with_slow(n, n / M) for n in SIZES])),
    )


def block_times(us: F64) -> BlockTimes:
    """Make one block of one group of ranks."""
    zero = np.zeros(len(us), np.int64)
    return BlockTimes(
        blocks=(Block("made up"),),
        block=zero,
        instance=np.arange(len(us)),
        series=zero,
        rank=np.broadcast_to(np.arange(us.shape[1]), us.shape),
        us=us,
        measured_us=np.full(len(us), np.nan),
    )


def replicate(law: Law, instances: int, replications: int) -> Result:
    """Fit, predict and check again and again."""
    shape = (len(METHODS), SIZES.size, replications)
    error, warned = np.full(shape, np.nan), np.zeros(shape, np.bool_)
    count: dict[str, int] = {}
    for number in range(replications):
        random = np.random.default_rng([7, number])
        us = A_US + SPREAD_US * law.draw(random, instances)
        standard = standardise(block_times(us))
        fitted, past = fit_standard(standard), memory(standard)
        shape_p = _shape_p(fitted)
        found: tuple[Check, ...] = ()
        for size, n in enumerate(SIZES):
            found = check(standard, fitted, past, n=n, shape_p=shape_p)
            for at, method in enumerate(METHODS):
                warned[at, size, number] = bool(fired(found, method))
                if method in fitted.methods:
                    tau_us = fitted.tau_us(method, SIZES[size : size + 1])[0]
                    error[at, size, number] = tau_us / (SPREAD_US * law.truth[size]) - 1
        for one in found:
            count[one.name] = count.get(one.name, 0) + one.fired
    shares = {name: times / replications for name, times in count.items()}
    return Result(error, warned, shares)


def _shape_p(fitted: Predictors) -> float | None:
    if fitted.gev is None or fitted.gumbel is None:
        return None
    return shape_test(fitted.gumbel, fitted.gev).p_lo


def table(results: dict[str, Result]) -> list[str]:
    """Lay out biases and warnings; a biased cell without warnings ends in `!`."""
    width = max(len(name) for name in results)
    sizes = "".join(f"{f'{n:.0f} ranks':>15}" for n in SIZES)
    lines = [f"{'law':<{width}}  {'predictor':<10}{sizes}"]
    for name, result in results.items():
        for at, method in enumerate(METHODS):
            cells = ""
            for bias, share in zip(result.bias[at], result.warned_share[at], strict=True):
                silent = abs(bias) >= BIASED and share < 0.9
                cells += f"{bias:+9.1%} {share:4.0%}{'!' if silent else ' '}"
            lines.append(f"{name:<{width}}  {method:<10}{cells}".rstrip())
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=INSTANCES)
    parser.add_argument("--replications", type=int, default=REPLICATIONS)
    asked = parser.parse_args()
    results = {
        law.name: replicate(law, asked.instances, asked.replications) for law in laws()
    }
    lines = table(results)
    worst = max(result.uncertainty for result in results.values())
    lines.append(
        f"{asked.replications} replications of {asked.instances} instances over {M} ranks; "
        f"standard error of a bias: at most {worst:.1%}"
    )
    lines.append("checks that fired at the largest size:")
    for name, result in results.items():
        shares = ", ".join(f"{c} {s:.0%}" for c, s in result.checks.items() if s >= 0.005)
        lines.append(f"  {name}: {shares}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
