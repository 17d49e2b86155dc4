"""How often the predicted interval holds the true tax of jobs 2, 4 and 16 times as large.

    python -m tests.bench.evt_synth [--replications 200] [--steps 60] [--traces 20]

Jobs of 4 ranks whose block times are Gumbel, or Fréchet with ξ = 0.15, are fitted; for
8, 16 and 64 ranks the true tax is known in closed form. For `--traces` of the jobs the
traces are written and read back: their block times must be those of the simulation, to
the ns. For `--larger` of them a job of that size is simulated, and the tax measured in it
is compared with the interval too.

A method is expected to be right where its law is true: `gumbel` for Gumbel block times,
`gev` for both. An interval at 95 % that is right holds the truth in 93 to 97 % of some
500 replications. Columns: replications; how often the truth lay within, below and above
the interval; mean error of the prediction and median half width of the interval, of the
prediction; how many of the larger jobs' measured taxes lay within.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing import Pool
from pathlib import Path

import numpy as np

from synctax.evt.bootstrap import bootstrap
from synctax.evt.standard import standardise
from synctax.synth import SynthJob, expected_tau_us
from tests.synth.block_times import from_traces, simulated

LAWS = ("gumbel", "frechet")
METHODS = ("gumbel", "gev", "lmoments", "deviations")
TIMES = np.array([2.0, 4.0, 16.0])
LARGER_INSTANCES = 20_000
"""Of each size: the mean tax of so many is known to some tenths of the interval."""

JOB = SynthJob(
    tp=4,
    fsdp=1,
    tp_op="all_reduce",
    layers=2,
    jitter_scope="block",
    xi=0.15,
    cpu_ops_per_kernel=0,
)


@dataclass(frozen=True, slots=True)
class Case:
    """One replication; `resamples` as for `bootstrap`."""

    job: SynthJob
    resamples: int


@dataclass(frozen=True, slots=True)
class Interval:
    """What a method predicts, (sizes,) float64 each."""

    tau_us: np.ndarray
    lo_us: np.ndarray
    hi_us: np.ndarray


def predict(case: Case) -> dict[str, Interval]:
    """Fit one job and predict larger ones."""
    found = bootstrap(
        standardise(simulated(case.job)),
        case.job.tp * TIMES,
        resamples=case.resamples,
        seed=case.job.seed,
    )
    nothing = np.full(TIMES.size, np.nan)
    return {
        method: Interval(found.tau_us[method], *found.interval_us(method))
        if method in found.tau_us
        else Interval(nothing, nothing, nothing)
        for method in METHODS
    }


def largest_difference_ns(law: str, steps: int, seeds: range) -> float:
    """Compare block times that traces tell with those that were simulated."""
    largest = 0.0
    for seed in seeds:
        job = replace(JOB, jitter_law=law, seed=seed, steps=steps)
        with tempfile.TemporaryDirectory() as folder:
            told, made = from_traces(job, Path(folder)).times, simulated(job)
        if told is None or told.us.shape != made.us.shape:
            raise SystemExit(f"seed {seed}: not every block time was found")
        off_us = [told.us - made.us, told.measured_us - made.measured_us]
        largest = max(largest, *(float(np.abs(off).max()) * 1000 for off in off_us))
    return largest


def measured_us(law: str, seed: int) -> np.ndarray:
    """Measure the mean tax of simulated jobs of the larger sizes, (sizes,) float64."""
    job = replace(JOB, jitter_law=law, seed=1_000_000 + seed)
    steps = LARGER_INSTANCES // (len(simulated(replace(job, steps=2))) // 2)
    jobs = [replace(job, tp=int(job.tp * times), steps=steps) for times in TIMES]
    return np.array([simulated(one).measured_us.mean() for one in jobs])


def table(law: str, found: list[dict[str, Interval]], larger: int) -> Iterator[str]:
    """Say how often intervals held what is true, and what was measured."""
    sizes = (int(JOB.tp * times) for times in TIMES)
    true_us = np.array([expected_tau_us(replace(JOB, jitter_law=law), n) for n in sizes])
    seen_us = np.array([measured_us(law, seed) for seed in range(larger)])
    seen_us = seen_us.reshape(-1, TIMES.size)
    for method in METHODS:
        tau, lo, hi = (
            np.array([getattr(one[method], name) for one in found])
            for name in ("tau_us", "lo_us", "hi_us")
        )
        known = np.isfinite(lo).all(axis=1)
        tau, lo, hi = tau[known], lo[known], hi[known]
        inside = (lo <= true_us) & (true_us <= hi)
        first = known[:larger].sum()
        seen = seen_us[known[:larger]]
        held = (lo[:first] <= seen) & (seen <= hi[:first])
        for at, times in enumerate(TIMES):
            yield (
                f"{law:8} {method:10} {times:3.0f}m {len(tau):5} "
                f"{100 * inside[:, at].mean():8.1f} "
                f"{100 * (true_us < lo)[:, at].mean():7.1f} "
                f"{100 * (true_us > hi)[:, at].mean():7.1f} "
                f"{100 * (tau[:, at].mean() / true_us[at] - 1):+7.1f} "
                f"{100 * np.median((hi - lo)[:, at] / tau[:, at]) / 2:7.1f} "
                f"{held[:, at].sum():6}/{first}"
            )


def main() -> None:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--steps", type=int, default=60, help="8 block times a rank each")
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--traces", type=int, default=20, help="jobs written and read back")
    parser.add_argument("--larger", type=int, default=20, help="larger jobs simulated")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    larger = min(options.larger, options.replications)
    for law in LAWS:
        seeds = range(options.traces // len(LAWS))
        off_ns = largest_difference_ns(law, options.steps, seeds)
        say(f"{law}: {len(seeds)} jobs from traces, block times off by {off_ns:.3f} ns")
    say("law      method        n  jobs inside % below % above %  bias %  half % measured")
    with Pool(options.workers) as pool:
        for law in LAWS:
            job = replace(JOB, jitter_law=law, steps=options.steps)
            cases = [
                Case(replace(job, seed=seed), options.resamples)
                for seed in range(options.replications)
            ]
            for line in table(law, pool.map(predict, cases, chunksize=4), larger):
                say(line)


def say(line: str) -> None:
    """Write a line at once: the work takes minutes."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
