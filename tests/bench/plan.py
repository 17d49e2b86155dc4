"""How long a search over layouts takes, and what of it is start-up; calculon beside it.

    python -m tests.bench.plan --rounds 5
    python -m tests.bench.plan --calculon DIR --calculon-python PYTHON

calculon (github.com/calculon-ai/calculon) searches GPT-3 175B on as many H100. It tries
more for each layout than degrees (microbatches, recomputation, overlap), so executions are
counted and not searches alone.
"""

import argparse
import json
import re
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.process import Run, run, wait_for_idle

CASES = (
    ("llama3-405b", "dgx-h100", 1_024, 8_192, 2_048),
    ("llama3-405b", "dgx-h100", 98_304, 8_192, 12_288),
    ("llama3-405b", "dgx-h100", 110_880, 8_192, 2_048),
    ("deepseek-v3", "gb200-nvl72", 2_304, 4_096, 15_360),
    ("deepseek-v3", "gb200-nvl72", 100_800, 4_096, 15_360),
)
PEER = ("gpt3-175b", "dgx-h100", 1_024, 2_048, 2_048)


def command(case: tuple[str, str, int, int, int]) -> list[str]:
    """Write the command of a search."""
    model, hardware, gpus, sequence, batch = map(str, case)
    return [
        *(sys.executable, "-m", "synctax", "plan", "--no-cache", "--tax", "none"),
        *("--model", model, "--hardware", hardware, "--gpus", gpus),
        *("--sequence", sequence, "--batch", batch),
    ]


def looked_at(told: Run) -> str:
    """Find how many layouts a search looked at."""
    found = re.search(r"^([\d,]+) layouts of ", told.stdout, re.MULTILINE)
    return found[1] if found else "?"


def timed(words: list[str], rounds: int, idle_s: float) -> tuple[str, Run]:
    """Run a command some times; its wall times, and one run looked at for memory."""
    walls = []
    for _ in range(rounds):
        wait_for_idle(limit_s=idle_s)
        walls.append(run(words, sample=False).wall_s)
    spread = f"{statistics.median(walls):.2f} [{min(walls):.2f}-{max(walls):.2f}]"
    return spread, run(words, sample=True)


def calculon(folder: Path, python: str, cores: int) -> tuple[list[str], Path]:
    """Write calculon's command for the peer's case, and where its result goes."""
    output = Path(tempfile.mkdtemp()) / "best.json"
    _, _, gpus, _, batch = PEER
    return [
        *(python, str(folder / "bin/calculon"), "llm-optimal-execution"),
        *(str(folder / "models/gpt3-175B.json"), str(gpus), str(batch), "bfloat16"),
        *(str(folder / "systems/h100_80g_nvl8.json"), str(output), "-c", str(cores)),
    ], output


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Measure every case."""
    for case in (*CASES, PEER):
        spread, looked = timed(command(case), options.rounds, options.idle_s)
        model, hardware, gpus, *_ = case
        memory = f"{looked.tree_pss_mb:.0f}" if looked.tree_pss_mb else "?"
        yield (
            f"| {model} on {gpus:,} GPUs of {hardware} | {looked_at(looked)} | {spread} | "
            f"{looked.cpu_s:.2f} | {memory} |"
        )
    if options.calculon:
        words, output = calculon(options.calculon, options.calculon_python, options.cores)
        spread, looked = timed(words, options.peer_rounds, options.idle_s)
        tried = re.findall(r"(\w[\w ]*) executions[^\d]*(\d+)", looked.stdout)
        found = json.loads(output.read_text()) if output.is_file() else {}
        yield f"| calculon, {PEER[0]} | {tried} | {spread} | {len(found)} best |"


def main() -> None:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer-rounds", type=int, default=1)
    parser.add_argument("--idle-s", type=float, default=0.0)
    parser.add_argument("--calculon", type=Path, help="a checkout of calculon")
    parser.add_argument("--calculon-python", default=sys.executable)
    parser.add_argument("--cores", type=int, default=2)
    sys.stdout.write("| search | layouts | wall s | CPU s | MB |\n|---|---|---|---|---|\n")
    for line in rows(parser.parse_args()):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
