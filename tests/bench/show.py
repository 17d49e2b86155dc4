"""What it takes to write the page of a job and its overlay for Perfetto, from the shell.

    python -m tests.bench.show DIRECTORY --rounds 3

The input is that of the other benchmarks (8 ranks of 50 MB, made in DIRECTORY). `measure`
and `attribute` of the same traces stand beside: what a command costs beyond is its own.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from tests.bench.inputs import make
from tests.bench.process import run, wait_for_idle

NAME = "set8"


def commands(traces: Path, out: Path) -> dict[str, list[str]]:
    """Write the commands that are timed; none finds anything in a workspace."""
    synctax = [sys.executable, "-m", "synctax"]
    alone = ["--no-cache", "-q"]
    return {
        "measure": [*synctax, "measure", str(traces), *alone],
        "attribute": [*synctax, "attribute", str(traces), *alone],
        "report": [*synctax, "report", str(traces), *alone, "-o", str(out / "page.html")],
        "overlay": [*synctax, "overlay", str(traces), *alone, "-o", str(out / "o.json.gz")],
    }


def line(name: str, words: list[str], options: argparse.Namespace) -> str:
    """Time a command some times, then look at its memory once."""
    walls = []
    for _ in range(options.rounds):
        wait_for_idle(limit_s=options.idle_s)
        walls.append(run(words, sample=False).wall_s)
    looked_at = run(words, sample=True)
    spread = f"{statistics.median(walls):.1f} [{min(walls):.1f}-{max(walls):.1f}]"
    mb = f"{looked_at.tree_pss_mb or 0:.0f}"
    return f"| {name} | {spread} | {looked_at.cpu_s:.1f} | {mb} |"


def say(text: str) -> None:
    """Write a line of the table at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Print the table of the page on performance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle-s", type=float, default=60)
    options = parser.parse_args()
    traces = options.directory / NAME
    what = make(NAME, options.directory)
    megabytes = what.size_bytes(options.directory) / 1e6
    say(f"{what.ranks} ranks, {megabytes:.0f} MB")
    say("| command | wall s | CPU s | MB |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, words in commands(traces, Path(folder)).items():
            say(line(name, words, options))
        sizes = {path.name: path.stat().st_size / 1e6 for path in Path(folder).iterdir()}
    say(", ".join(f"{name}: {size:.1f} MB" for name, size in sorted(sizes.items())))


if __name__ == "__main__":
    main()
