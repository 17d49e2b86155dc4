"""How often intervals of `trend` hold the truth, and how often there is one.

Jobs of 8 windows of one law, whose mean, median and 90 % quantile are known: every step is
late by a share of its own (log-normal, autocorrelated over steps as AR(1)), and so is every
collective in it; standard deviations of the logarithms are 0.5 and 0.7. The other law is
exponential, all independent. Each row: steps of a window, collectives of a step, and for
mean, median and quantile the share of intervals that hold the truth, of those that exist.
Then the same of slopes and shifts of autoregressive series in which nothing changes.

    python -m tests.bench.trend_coverage              some minutes
    python -m tests.bench.trend_coverage --jobs 10    sooner
"""

import argparse
import math
import sys
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
from scipy.signal import lfilter

import synctax
from synctax.arrays import F64
from synctax.comparison.options import Options
from synctax.comparison.trend_intervals import MEDIAN, TAIL
from synctax.comparison.trend_memory import correlation, inflation
from synctax.comparison.trend_slopes import shifted, slope
from tests.compare.windows import windows

WINDOWS = 8
MEDIAN_US = 5.0
LATE, OWN = 0.5, 0.7
SIZES = (
    (2, 1), (3, 1), (5, 1), (10, 1), (50, 1), (2, 20), (3, 20), (5, 20), (10, 20), (30, 20),
)  # fmt: skip
LAWS = ("exponential", "log-normal", "log-normal, autocorrelation 0.6")
NAMES = ("mean", "median", "p90")
POINTS, MEMORIES = (24, 60, 120, 200), (0.0, 0.3, 0.6)
OPTIONS = Options(resamples=500)


def truth_us(law: str) -> tuple[float, float, float]:
    """Return mean, median and 90 % quantile of a law."""
    if law == "exponential":
        return MEDIAN_US, MEDIAN_US * math.log(2), MEDIAN_US * math.log(10)
    spread = math.hypot(LATE, OWN)
    tail = math.exp(spread * NormalDist().inv_cdf(TAIL))
    return MEDIAN_US * math.exp(spread**2 / 2), MEDIAN_US, MEDIAN_US * tail


def window(law: str, steps: int, each: int, random: np.random.Generator) -> F64:
    """Make up the taxes of one window, in µs, step after step."""
    if law == "exponential":
        return random.exponential(MEDIAN_US, steps * each)
    memory = 0.6 if "auto" in law else 0.0
    late = np.empty(steps)
    late[0] = random.normal()
    for step in range(1, steps):
        new = math.sqrt(1 - memory**2) * random.normal()
        late[step] = memory * late[step - 1] + new
    own = random.normal(size=(steps, each))
    found: F64 = MEDIAN_US * np.exp(LATE * late[:, None] + OWN * own)
    return found.ravel()


def covered(law: str, steps: int, each: int, jobs: int) -> Iterator[tuple[float, float]]:
    """Return for each of `NAMES` how many intervals hold the truth, and how many exist."""
    random = np.random.default_rng([steps, each, LAWS.index(law)])
    held = {name: [0, 0] for name in NAMES}
    for _ in range(jobs):
        # the first collective of a window does not count: begun before the profiler
        many = steps + (each == 1)
        late = [window(law, many, each, random) for _ in range(WINDOWS)]
        delays = [np.stack([np.zeros_like(one), one], axis=1) for one in late]
        job = synctax.measure(windows(delays, steps=many))
        frame = synctax.trend(job, options=OPTIONS).to_frame()
        for name, true in zip(NAMES, truth_us(law), strict=True):
            low, high = (frame[f"tax_max_{name}_us_{end}"] for end in ("lo", "hi"))
            held[name][0] += int(((low <= true) & (true <= high)).sum())
            held[name][1] += int(low.notna().sum())
    for hits, count in held.values():
        yield hits / count if count else math.nan, count / jobs / WINDOWS


def unchanged(points: int, memory: float, series: int) -> Iterator[tuple[float, float]]:
    """Return of slopes and of shifts in the middle what intervals hold 0, as `covered`."""
    random = np.random.default_rng([points, int(10 * memory)])
    x, half = np.arange(float(points)), points // 2
    ends = np.empty((series, 2, 2))
    for number in range(series):
        y = lfilter([1], [1, -memory], random.normal(size=points + 50))[50:]
        wider = inflation(correlation(y))
        found = slope(x, y, OPTIONS.level, wider)
        ends[number, 0] = found.low, found.high
        ends[number, 1] = shifted(y[:half], y[half:], OPTIONS.level, wider)[1:]
    for kind in range(2):
        low, high = ends[:, kind].T
        known = ~np.isnan(low)
        yield float(((low <= 0) & (high >= 0))[known].mean()), float(known.mean())


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=50)
    jobs = parser.parse_args().jobs
    assert (MEDIAN, TAIL) == (0.5, 0.9)
    sys.stdout.write(f"{jobs * WINDOWS} windows a row; hold the truth, of so many\n")
    for law in LAWS:
        sys.stdout.write(f"{law}\nsteps  each  {''.join(f'{n:>18}' for n in NAMES)}\n")
        for steps, each in SIZES:
            row = covered(law, steps, each, jobs)
            cells = "".join(f"{hit:9.1%} of {there:5.0%}" for hit, there in row)
            sys.stdout.write(f"{steps:5d} {each:5d}   {cells}\n")
            sys.stdout.flush()
    sys.stdout.write(f"points, correlation {'slope':>16}{'shift':>18}\n")
    for points in POINTS:
        for memory in MEMORIES:
            row = unchanged(points, memory, jobs * WINDOWS)
            cells = "".join(f"{hit:9.1%} of {there:5.0%}" for hit, there in row)
            sys.stdout.write(f"{points:6d} {memory:11.1f}   {cells}\n")


if __name__ == "__main__":
    main()
