"""Time and memory of commands against the number of ranks, with and without a Dask cluster.

    python -m tests.bench.many DIRECTORY

Ranks are small and alike, so that what is done once a rank shows; eight are on a host. The
cluster has as many processes as `measure` starts without one, on this machine: what differs
is what Dask costs. It runs before the clock starts, as clusters do. In brackets is what was
measured over what a line through the smallest and the largest number of ranks says: 1.00
where it is linear. Times are medians; memory, and bytes between the command and the
scheduler, are of one more run, in which the answers of both are held against each other.
"""

import argparse
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from synctax.synth import SynthJob
from synctax.synth.writer import write
from synctax.trace.pool import available_cores
from tests.bench.many_cluster import Cluster, Tap, cluster
from tests.bench.process import run, wait_for_idle

TP = 4
"""Ranks that share every layer; the others shard parameters."""

LEAST_RANKS = GPUS_PER_HOST = 8

COMMANDS = (("measure",), ("attribute", "--group", "tp"))
ALONE = ("--no-cache", "-q", "--format", "json")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took; `memory_mb` of its own process, and of the largest worker."""

    wall_s: float
    cpu_s: float
    memory_mb: float
    worker_mb: float
    there_kb: float = 0.0
    back_kb: float = 0.0


def made(ranks: int, directory: Path) -> Path:
    """Write the traces of a job, unless they are there."""
    folder = directory / f"hosts{ranks // GPUS_PER_HOST}"
    if not folder.is_dir():
        hosts = ranks // GPUS_PER_HOST
        write(SynthJob(tp=TP, fsdp=ranks // TP, layers=1, steps=2, hosts=hosts), folder)
    return folder


def told(name: tuple[str, ...], folder: Path) -> list[str]:
    """Write a command on traces."""
    return [sys.executable, "-m", "synctax", name[0], str(folder), *name[1:], *ALONE]


def alone(command: list[str], options: argparse.Namespace) -> tuple[Cost, str]:
    """Run a command without a cluster; gives what it wrote too."""
    runs = []
    for _ in range(options.rounds):
        wait_for_idle(limit_s=options.idle_s)
        runs.append(run(command, sample=False))
    seen = run(command, sample=True)
    cost = Cost(
        statistics.median(one.wall_s for one in runs),
        statistics.median(one.cpu_s for one in runs),
        seen.first_rss_mb,
        seen.worker_rss_mb,
    )
    return cost, seen.stdout


def on_cluster(
    command: list[str], found: Cluster, options: argparse.Namespace
) -> tuple[Cost, str]:
    """Run a command on a cluster, whose CPU time counts as the command's."""
    runs = []
    for _ in range(options.rounds):
        wait_for_idle(limit_s=options.idle_s)
        before_s = found.cpu_s()
        one = run([*command, "--scheduler", found.address], sample=False)
        runs.append((one.wall_s, one.cpu_s + found.cpu_s() - before_s))
    tap = Tap(found.address)
    found.forget_peaks()
    seen = run([*command, "--scheduler", tap.address], sample=True)
    tap.close()
    cost = Cost(
        *(statistics.median(column) for column in zip(*runs, strict=True)),
        seen.first_rss_mb,
        found.worker_mb(),
        tap.there / 1e3,
        tap.back / 1e3,
    )
    return cost, seen.stdout


def on_line(values: dict[int, float], ranks: int) -> str:
    """Write a value, and what it is over that of the line."""
    low, high = min(values), max(values)
    slope = (values[high] - values[low]) / max(high - low, 1)
    line = values[low] + slope * (ranks - low)
    return f"{values[ranks]:.2f} ({values[ranks] / line:.2f})"


def rows(costs: dict[int, Cost]) -> dict[int, list[str]]:
    """Write times and memory, by number of ranks."""
    wall_s = {ranks: cost.wall_s for ranks, cost in costs.items()}
    cpu_s = {ranks: cost.cpu_s for ranks, cost in costs.items()}
    return {
        ranks: [
            on_line(wall_s, ranks),
            on_line(cpu_s, ranks),
            f"{cost.memory_mb:.0f}, {cost.worker_mb:.0f}",
        ]
        for ranks, cost in costs.items()
    }


def say(*cells: str) -> None:
    """Write a line of a table at once."""
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


def table(
    name: tuple[str, ...],
    folders: dict[int, Path],
    found: Cluster,
    options: argparse.Namespace,
) -> None:
    """Measure a command at all numbers of ranks, and print what came."""
    here, there = {}, {}
    for ranks, folder in folders.items():
        command = told(name, folder)
        here[ranks], answer = alone(command, options)
        there[ranks], same = on_cluster(command, found, options)
        if answer != same:
            raise RuntimeError(f"{' '.join(command)}: another answer on a cluster")
    sys.stdout.write(f"\n`{' '.join(name)}`\n\n")
    columns = ("wall s", "CPU s", "peak MB")
    workers = available_cores()
    say(
        "ranks",
        *(f"{workers} processes, {column}" for column in columns),
        *(f"Dask, {column}" for column in columns),
        "kB a rank, there",
        "back",
    )
    say(*["---"] * (3 + 2 * len(columns)))
    local, remote = rows(here), rows(there)
    for ranks in folders:
        cost = there[ranks]
        travelled = (f"{kb / ranks:.1f}" for kb in (cost.there_kb, cost.back_kb))
        say(str(ranks), *local[ranks], *remote[ranks], *travelled)


def main() -> None:
    """Print a table for each command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=int, default=256)
    parser.add_argument("--idle-s", type=float, default=10)
    options = parser.parse_args()
    counts = [LEAST_RANKS]
    while counts[-1] * 2 <= options.most:
        counts.append(counts[-1] * 2)
    folders = {ranks: made(ranks, options.directory) for ranks in counts}
    with cluster(available_cores()) as found:
        for name in COMMANDS:  # workers that have imported what they need
            command = told(name, folders[LEAST_RANKS])
            run([*command, "--scheduler", found.address], sample=False)
        for name in COMMANDS:
            table(name, folders, found, options)


if __name__ == "__main__":
    main()
