"""How long simulations of a cluster take, their memory, and what going through all costs.

    python -m tests.bench.simulate
    python -m tests.bench.simulate --jobs 100000 --policy load-balancing --profile

Jobs ask for 1 to 64 GPUs, most often 8, and run as long as those of the Philly trace do on
average and in the median (log-normal); they come at random, more of them by day than by
night, so that the queue is long at times. A case runs in a process of its own. Time is that
of the processor, which one core spends on the simulation; making up its jobs is in the
memory alone.
"""

import argparse
import cProfile
import json
import math
import pstats
import resource
import statistics
import sys
import time
from collections.abc import Iterator, Sequence

import numpy as np

from synctax.cluster.engine.naive import AllTraffic
from synctax.cluster.engine.simulate import Options, run
from synctax.cluster.engine.traffic import Traffic
from synctax.cluster.jobs import Jobs, nic_bytes
from synctax.cluster.machines import Cluster, SwitchTier, uniform
from synctax.cluster.settings import Contention
from synctax.cluster.simulation import Simulation
from tests.bench import process

GPUS = np.array([1, 2, 4, 8, 16, 32, 64])
SHARES = np.array([0.25, 0.08, 0.12, 0.40, 0.09, 0.04, 0.02])
MEAN_S, MEDIAN_S = 14_614, 1_186
SHORTEST_S, LONGEST_S = 30, 10 * 86_400
DAY_S = 86_400
NIC_BYTES_PER_S = 3.125e9
SERVERS = 5_000
NAIVE = (5_000, 500)

CASES = (
    *((jobs, SERVERS, "load-balancing", "iteration") for jobs in (25_000, 50_000, 100_000)),
    *((100_000, SERVERS, name, "iteration") for name in ("bin-packing", "spread")),
    (100_000, SERVERS, "load-balancing", "overlap"),
)


def made_up(jobs: int, servers: int, load: float, seed: int) -> Jobs:
    """Make up jobs that would keep a share `load` of the GPUs busy if none waited."""
    draw = np.random.default_rng(seed)
    gpus = draw.choice(GPUS, jobs, p=SHARES)
    sigma = math.sqrt(2 * math.log(MEAN_S / MEDIAN_S))
    duration_s = np.clip(
        draw.lognormal(math.log(MEDIAN_S), sigma, jobs), SHORTEST_S, LONGEST_S
    )
    together_s = float(gpus @ duration_s) / (8 * servers * load)
    submit_s = np.sort(_daily(draw, jobs, together_s))
    compute_s = draw.uniform(0.05, 0.6, jobs)
    network_s = np.where(gpus > 1, compute_s * draw.uniform(0.1, 1.2, jobs), 0.0)
    sent = network_s * NIC_BYTES_PER_S * draw.uniform(0.3, 1.0, jobs) * gpus
    return Jobs(
        job_id=tuple(map(str, range(jobs))),
        submit_ns=np.round(submit_s * 1e9).astype(np.int64),
        gpus=gpus,
        duration_ns=np.round(duration_s * 1e9).astype(np.int64),
        compute_s=compute_s,
        network_s=network_s,
        tax_s=np.zeros(jobs),
        nic_bytes=nic_bytes(sent, gpus, "sent"),
        network_bytes=sent,
        local_network_s=np.full(jobs, np.nan),
        barriers=np.ones(jobs),
        workload=("",) * jobs,
        source=("made up",) * jobs,
        pinned=(None,) * jobs,
    )


def _daily(draw: np.random.Generator, jobs: int, together_s: float) -> np.ndarray:
    """Draw times of which half as many again are at the busiest hour as on average."""
    found = np.empty(0)
    while found.size < jobs:
        when = draw.uniform(0, together_s, 2 * jobs)
        likely = (1 + 0.5 * np.sin(2 * np.pi * when / DAY_S)) / 1.5
        found = np.append(found, when[draw.uniform(size=when.size) < likely])
    return found[:jobs]


def cluster(servers: int, *, tiers: bool) -> Cluster:
    """Build servers of 8 GPUs."""
    racks = (SwitchTier(20, 4.0),) if tiers else ()
    return uniform(servers, 8, NIC_BYTES_PER_S, tiers=racks)


class Counting(Traffic):
    """Counts how many sums of links, and how many looks at jobs, a simulation took."""

    sums = looks = 0

    def settle(self, now_ns, affected):
        before = self.recomputed
        looked = super().settle(now_ns, affected)
        Counting.sums += self.recomputed - before
        Counting.looks += len(looked)
        return looked


class CountingAll(AllTraffic):
    """Counts the same where everything is gone through."""

    sums = looks = 0

    def settle(self, now_ns, affected):
        before = self.recomputed
        looked = super().settle(now_ns, affected)
        CountingAll.sums += self.recomputed - before
        CountingAll.looks += len(looked)
        return looked


def child(options: argparse.Namespace) -> None:
    """Run one case, and tell about it as JSON."""
    jobs = made_up(options.jobs, options.servers, options.load, options.seed)
    on = cluster(options.servers, tiers=options.tiers)
    kinds = [Counting, CountingAll] if options.naive else [Counting]
    chosen = Options(
        contention=Contention(basis=options.basis),
        policy=options.policy,
        queue=options.queue,
        interference=options.interference,
    )
    rss_before_mb = _rss_mb()
    told, found = [], []
    for kind in kinds:
        begin = time.process_time()
        found.append(run(jobs, on, chosen, kind))
        told.append(
            {"s": time.process_time() - begin, "sums": kind.sums, "looks": kind.looks}
        )
    if options.naive:
        _compare(*found)
    sys.stdout.write(
        json.dumps(
            {"runs": told, **_about(found[0]), "rss_mb": _rss_mb(), "before": rss_before_mb}
        )
    )


def _rss_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / process.KB_PER_MB


def _compare(one: Simulation, other: Simulation) -> None:
    for name in ("start_ns", "end_ns", "factor", "solo_ns"):
        if not np.array_equal(getattr(one, name), getattr(other, name)):
            raise SystemExit(f"{name} differ")
    if one.placements != other.placements:
        raise SystemExit("placements differ")


def _about(found: Simulation) -> dict[str, float]:
    begin, end = found.jobs.submit_ns[0], found.end_ns.max()
    capacity = found.cluster.total_gpus * float(end - begin) / 1e9
    last = found.jobs.submit_ns[-1]
    ran = np.minimum(found.end_ns, last) - np.minimum(found.start_ns, last)
    spread = np.array([len(one) > 1 for one in found.placements])
    return {
        "utilisation": found.use.gpu_s / capacity,
        "while_coming": float(found.jobs.gpus @ ran)
        / (found.cluster.total_gpus * float(last - begin)),
        "queue_mean": found.use.queue_mean,
        "queue_max": found.use.queue_max,
        "spread": float(spread.mean()),
        "slowed": float((found.factor > 1).mean()),
        "factor": float(found.factor.mean()),
    }


def case(options: argparse.Namespace, words: Sequence[str]) -> dict[str, object]:
    """Run a case in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.simulate", "--child", *words]
    times, told = [], {}
    for _ in range(options.rounds):
        told = json.loads(process.run(command, sample=False).stdout)
        times.append(told["runs"][0]["s"])
    return {**told, "times": times}


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Measure every case."""
    yield (
        "| jobs | servers | policy | basis | CPU s | events/s | sums of links | "
        "looks at jobs | busy | queue mean (max) | spread | slowed | S | MB (before) |"
    )
    yield "|" + "---|" * 14
    for jobs, servers, policy, basis in CASES:
        words = ["--jobs", jobs, "--servers", servers, "--policy", policy, "--basis", basis]
        told = case(options, [*map(str, words)])
        first, times = told["runs"][0], told["times"]
        middle = statistics.median(times)
        yield (
            f"| {jobs:,} | {servers:,} | {policy} | {basis} | "
            f"{middle:.2f} [{min(times):.2f}-{max(times):.2f}] | "
            f"{2 * jobs / middle:,.0f} | "
            f"{first['sums']:,} | {first['looks']:,} | {told['while_coming']:.1%} | "
            f"{told['queue_mean']:,.0f} ({told['queue_max']:,}) | {told['spread']:.0%} | "
            f"{told['slowed']:.0%} | {told['factor']:.3f} | "
            f"{told['rss_mb']:.0f} ({told['before']:.0f}) |"
        )
    yield from against_naive(options)


def against_naive(options: argparse.Namespace) -> Iterator[str]:
    """Hold a simulation against one that goes through everything, in one process."""
    jobs, servers = NAIVE
    words = ["--jobs", jobs, "--servers", servers, "--policy", "load-balancing", "--naive"]
    told = case(options, [*map(str, words)])
    fast, slow = told["runs"]
    yield ""
    yield (
        f"{jobs:,} jobs on {servers:,} servers, results equal to the bit: "
        f"{fast['s']:.2f} s ({fast['sums']:,} sums, {fast['looks']:,} looks), "
        f"everything at every instant {slow['s']:.2f} s "
        f"({slow['sums']:,}, {slow['looks']:,}): {slow['s'] / fast['s']:.0f} times"
    )


def main() -> None:
    """Run the bench and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", action="store_true", help="one case, as JSON")
    parser.add_argument("--profile", action="store_true", help="one case, where time goes")
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--servers", type=int, default=SERVERS)
    parser.add_argument("--policy", default="load-balancing")
    parser.add_argument("--queue", default="backfill")
    parser.add_argument("--basis", default="iteration")
    parser.add_argument("--load", type=float, default=0.95)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tiers", action="store_true", help="racks of 20, 4 to 1")
    parser.add_argument("--interference", action="store_true")
    parser.add_argument("--naive", action="store_true", help="and going through everything")
    options = parser.parse_args()
    if options.profile:
        with cProfile.Profile() as profile:
            child(options)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    elif options.child:
        child(options)
    else:
        for line in rows(options):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
