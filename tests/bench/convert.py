"""Measure `synctax convert` on made-up traces as large as the public ones.

    python -m tests.bench.convert DIRECTORY
    python -m tests.bench.convert DIRECTORY --jobs 117325 --rounds 5

writes the traces to DIRECTORY (about 300 MB) and prints a table. Whole processes, from the
shell; memory is looked at in a round of its own.
"""

import argparse
import json
import random
import statistics
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from tests.bench.process import run, wait_for_idle

PHILLY_JOBS = 117_325
HELIOS_JOBS = 1_000_000
SLURM_JOBS = 300_000

FIRST = datetime(2017, 8, 7)  # noqa: DTZ001 - as the traces write it
SPAN_S = 138 * 86_400


def times(rng: random.Random) -> tuple[datetime, datetime, datetime]:
    """Draw submission, start and end."""
    submit = FIRST + timedelta(seconds=rng.randrange(SPAN_S))
    start = submit + timedelta(seconds=int(rng.expovariate(1 / 600)))
    return submit, start, start + timedelta(seconds=int(rng.lognormvariate(7.08, 2.24)))


def philly(path: Path, jobs: int, rng: random.Random) -> None:
    """Write a cluster_job_log, indented as its README shows it; some jobs lack times."""
    with path.open("w", encoding="ascii") as file:
        for number in range(jobs):
            submit, start, end = times(rng)
            gpus = rng.choices((1, 2, 4, 8, 16), (80, 6, 6, 6, 2))[0]
            attempts = []
            for _ in range(rng.choices((0, 1, 2, 5), (3, 80, 13, 4))[0]):
                length = (end - start) + timedelta(seconds=60)
                last = "None" if rng.random() < 0.02 else str(end)
                detail = [
                    {
                        "ip": f"m{rng.randrange(500)}",
                        "gpus": [f"gpu{one}" for one in range(min(gpus - at, 8))],
                    }
                    for at in range(0, gpus, 8)
                ]
                attempts.append(
                    {"start_time": str(start), "end_time": last, "detail": detail}
                )
                start, end = start + length, end + length
            job = {
                "status": rng.choice(("Pass", "Killed", "Failed")),
                "vc": f"{rng.randrange(16**6):06x}",
                "jobid": f"application_1506638472019_{number}",
                "attempts": attempts,
                "submitted_time": str(submit),
                "user": f"{rng.randrange(16**6):06x}",
            }
            file.write(("," if number else "[") + "\n" + json.dumps(job, indent=4))
        file.write("\n]\n")


def helios(path: Path, jobs: int, rng: random.Random) -> None:
    """Write a cluster_log.csv; every other job asks for no GPU."""
    with path.open("w", encoding="ascii") as file:
        file.write(
            "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,"
            "end_time,duration,queue\n"
        )
        for number in range(jobs):
            submit, start, end = times(rng)
            length = int((end - start).total_seconds())
            waited = int((start - submit).total_seconds())
            file.write(
                f"{number},u1,vc1,{rng.choice((0, 0, 1, 8))},4,1,COMPLETED,{submit},"
                f"{start},{end},{length},{waited}\n"
            )


def slurm(path: Path, jobs: int, rng: random.Random) -> None:
    """Write what sacct -P prints; every job has two steps."""
    with path.open("w", encoding="ascii") as file:
        file.write("JobID|Submit|Start|End|Elapsed|AllocTRES|NodeList|State\n")
        for number in range(jobs):
            submit, start, end = (one.isoformat() for one in times(rng))
            tres = "billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=64G,node=1"
            for step in ("", ".batch", ".0"):
                file.write(
                    f"{number}{step}|{submit}|{start}|{end}|01:13:00|{tres}|n1|COMPLETED\n"
                )


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Write the traces that are missing, and measure each."""
    cases: tuple[tuple[str, int, Callable[[Path, int, random.Random], None]], ...] = (
        ("cluster_job_log", options.jobs, philly),
        ("cluster_log.csv", HELIOS_JOBS, helios),
        ("sacct.txt", SLURM_JOBS, slurm),
    )
    for name, jobs, write in cases:
        path = options.directory / name
        if not path.exists():
            write(path, jobs, random.Random(0))
        target = options.directory / "jobs.csv"
        words = [
            *(sys.executable, "-m", "synctax", "convert"),
            str(path),
            "-o",
            str(target),
        ]
        walls = []
        for _ in range(options.rounds):
            wait_for_idle(limit_s=options.idle_s)
            walls.append(run(words, sample=False).wall_s)
        looked = run(words, sample=True)
        kept = target.read_bytes().count(b"\n") - 1
        spread = f"{statistics.median(walls):.2f} [{min(walls):.2f}-{max(walls):.2f}]"
        memory = f"{looked.tree_pss_mb:.0f}" if looked.tree_pss_mb else "?"
        size = path.stat().st_size / 1e6
        yield (
            f"| {name} | {size:.0f} | {jobs:,} | {kept:,} | {spread} | "
            f"{looked.cpu_s:.2f} | {memory} |"
        )


def main() -> None:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--jobs", type=int, default=PHILLY_JOBS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle-s", type=float, default=0.0)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    sys.stdout.write("| trace | MB | jobs | kept | wall s | CPU s | MB |\n")
    sys.stdout.write("|---|---|---|---|---|---|---|\n")
    for line in rows(options):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
