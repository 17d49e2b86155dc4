"""How often intervals hold the true wait, for each way of making them from resamples.

    python -m tests.bench.evt_intervals                      hours on one core
    python -m tests.bench.evt_intervals --replications 50    less exactly

Ranks are drawn so that maxima over m of them are Gumbel, or GEV with ξ = 0.15; the true
wait of 1, 2, 4, 16 and 128 times m ranks is known in closed form. Printed is the share of
replications in which a 95 % interval holds it. Gumbel fits are wrong for the second law
and left out there; deviations have no law of their own and are shown for both. `fit-evt`
makes log-normal intervals, and bootstrap-t where these are shown, which are for fits that
tell their own errors.
"""

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import gamma, ndtr, ndtri

from synctax.arrays import F64
from synctax.evt.bootstrap import Bootstrap, bootstrap
from synctax.evt.intervals import interval
from synctax.evt.standard import standardise
from synctax.evt.tax import Method
from tests.bench.evt_bias import block_times

INSTANCES = (50, 200, 1_000)
RANKS = (4, 8)
SHAPES = (0.0, 0.15)
TIMES = np.array([1.0, 2.0, 4.0, 16.0, 128.0])
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Case:
    """Instances over m ranks whose maxima have the shape ξ."""

    instances: int
    m: int
    xi: float


def drawn(random: np.random.Generator, instances: int, m: int, xi: float) -> F64:
    """Ranks of which the maximum of m has location 0, scale 1 and shape ξ."""
    e = -np.log(random.random((instances, m))) * m
    return -np.log(e) if xi == 0 else (e**-xi - 1) / xi


def truth(n: F64, m: int, xi: float) -> F64:
    """Expected maximum of n such ranks, less the mean of one."""
    if xi == 0:
        return np.log(n)
    return ((n / m) ** xi - m**-xi) * gamma(1 - xi) / xi


def ways(found: Bootstrap, method: Method) -> dict[str, tuple[F64, F64]]:
    """Intervals from the same resamples, by construction."""
    point, resampled = found.tau_us[method], found.resampled_us[method]
    blocks, errors = found.memory.blocks, found.log_errors.get(method)
    quantile = ndtri((1 + LEVEL) / 2)
    low, high = np.nanquantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    below = ndtri(np.nanmean(resampled < point, axis=0).clip(0.01, 0.99))
    corrected = [
        np.array(
            [
                np.nanquantile(column, q)
                for column, q in zip(resampled.T, level, strict=True)
            ]
        )
        for level in (ndtr(2 * below - quantile), ndtr(2 * below + quantile))
    ]
    studentised = (
        {} if errors is None else {"bootstrap-t": found.interval_us(method, level=LEVEL)}
    )
    return {
        "log-normal": interval(point, resampled, level=LEVEL, blocks=blocks),
        **studentised,
        "percentile": (low, high),
        "basic": (2 * point - high, 2 * point - low),
        "BC": (corrected[0], corrected[1]),
    }


def replicate(case: Case, number: int, resamples: int) -> dict[tuple[str, str], F64]:
    """Tell which intervals of which predictor hold the truth, for each size."""
    random = np.random.default_rng([11, number, case.instances, case.m])
    us = 100 + drawn(random, case.instances, case.m, case.xi)
    n = case.m * TIMES
    true = truth(n, case.m, case.xi)
    found = bootstrap(standardise(block_times(us)), n, resamples=resamples, seed=number)
    return {
        (method, way): (lo <= true) & (true <= hi)
        for method in found.tau_us
        if case.xi == 0 or method in ("gev", "deviations")
        for way, (lo, hi) in ways(found, method).items()
    }


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--instances", type=int, nargs="+", default=INSTANCES)
    asked = parser.parse_args()
    cases = [Case(*case) for case in product(asked.instances, RANKS, SHAPES)]
    held: dict[tuple[str, int, float, str], list[F64]] = defaultdict(list)
    for number, case in product(range(asked.replications), cases):
        inside = replicate(case, number, asked.resamples)
        for (method, way), known in inside.items():
            held[method, case.instances, case.xi, way].append(known)
    sizes = "".join(f"{f'{k:.0f} m':>8}" for k in TIMES)
    lines = [f"{'predictor':<11}{'instances':>9}{'ξ':>6}  {'interval':<11}{sizes}"]
    for (method, instances, xi, way), inside in sorted(held.items()):
        shares = "".join(f"{share:8.1%}" for share in np.mean(inside, axis=0))
        lines.append(f"{method:<11}{instances:>9}{xi:>6}  {way:<11}{shares}")
    lines.append(
        f"{asked.replications} replications for each m of {RANKS}, "
        f"{asked.resamples} resamples"
    )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
