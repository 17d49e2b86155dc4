"""Time of commands against the number of ranks, with and without a Dask cluster.

    python -m tests.bench.many DIRECTORY --rounds 3 --most 256

Ranks are small and alike, so that what is done once a rank shows. The cluster has as many
processes as `measure` starts without one, on this machine: what differs is what Dask costs.
It runs before the clock starts, as clusters do. The last column is time over that of a line
through the smallest and the largest number of ranks: 1.0 where time is linear.
"""

import argparse
import statistics
import sys
from contextlib import contextmanager
from pathlib import Path

from synctax.synth import SynthJob
from synctax.synth.writer import write
from synctax.trace.pool import available_cores
from tests.bench.process import run, wait_for_idle

TP = 4
"""Ranks that share every layer; the others shard parameters."""

LEAST_RANKS = 8

SYNCTAX = [sys.executable, "-m", "synctax"]
ALONE = ["--no-cache", "-q"]


def made(ranks: int, directory: Path) -> Path:
    """Write the traces of a job, unless they are there."""
    folder = directory / f"ranks{ranks}"
    if not folder.is_dir():
        job = SynthJob(tp=TP, fsdp=ranks // TP, layers=1, steps=2)
        write(job, folder)
    return folder


@contextmanager
def cluster(workers: int):
    """Start workers on this machine; gives the address of their scheduler."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        dashboard_address="localhost:0",
        memory_limit=0,
    ) as found:
        yield found.scheduler_address


def seconds(command: list[str], options: argparse.Namespace) -> list[float]:
    """Time a command some times."""
    walls = []
    for _ in range(options.rounds):
        wait_for_idle(limit_s=options.idle_s)
        walls.append(run(command, sample=False).wall_s)
    return walls


def text(walls: list[float], line_s: float) -> str:
    """Write a median with its range, and how far it is from a line."""
    median = statistics.median(walls)
    return f"{median:.2f} [{min(walls):.2f}-{max(walls):.2f}] | {median / line_s:.2f}"


def say(words: str) -> None:
    """Write a line of the table at once."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def main() -> None:
    """Print a table for each command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=int, default=256)
    parser.add_argument("--idle-s", type=float, default=60)
    options = parser.parse_args()
    counts = [LEAST_RANKS]
    while counts[-1] * 2 <= options.most:
        counts.append(counts[-1] * 2)
    folders = {ranks: made(ranks, options.directory) for ranks in counts}
    workers = available_cores()
    with cluster(workers) as address:
        where = {
            f"{workers} processes": ALONE,
            f"Dask, {workers} workers": [*ALONE, "--scheduler", address],
        }
        for command in (["measure"], ["attribute", "--group", "tp"]):
            name, *selected = command
            walls = {
                (ranks, how): seconds(
                    [*SYNCTAX, name, str(folder), *selected, *extra], options
                )
                for ranks, folder in folders.items()
                for how, extra in where.items()
            }
            say(f"\n{' '.join(command)}\n")
            say(f"| ranks | {' | vs line | '.join(where)} | vs line |")
            say("|---" * (1 + 2 * len(where)) + "|")
            for ranks in counts:
                cells = [
                    text(walls[ranks, how], on_line(walls, counts, how, ranks))
                    for how in where
                ]
                say(f"| {ranks} | {' | '.join(cells)} |")


def on_line(
    walls: dict[tuple[int, str], list[float]], counts: list[int], how: str, ranks: int
) -> float:
    """Where a line through the smallest and the largest number of ranks lies."""
    low, high = counts[0], counts[-1]
    first, last = (statistics.median(walls[one, how]) for one in (low, high))
    if low == high:
        return first
    return first + (last - first) * (ranks - low) / (high - low)


if __name__ == "__main__":
    main()
