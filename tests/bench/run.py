"""Measures synctax, and its peers if they are installed, on the same files in one run.

Every number comes from whole processes. Cases take turns (A B C, A B C, ...), so that a
busy machine spoils none of them alone; times and memory come from different rounds, since
looking at memory costs time. Reported: median [smallest to largest].

    python tests/bench/run.py DIRECTORY                     everything, without peers
    python tests/bench/run.py DIRECTORY --only decode       one benchmark
    python tests/bench/run.py DIRECTORY --tracelens-python ENV/bin/python --rounds 3
                                                            with a peer, less often
    python tests/bench/run.py DIRECTORY --docs docs/performance.md
                                                            puts the tables into the page

DIRECTORY receives the inputs (about 4 GB for everything) and keeps them for the next run.
The environments of the peers are made like this:

    python -m venv ENV; ENV/bin/pip install HolisticTraceAnalysis 'pandas<3'
    git clone https://github.com/AMD-AGI/TraceLens
    python -m venv ENV; ENV/bin/pip install ./TraceLens
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from inputs import INPUTS, Input, make
from into_page import put
from machine import machine
from process import Run, forget_page_cache, run, wait_for_idle

from synctax.trace import readers

HERE = Path(__file__).parent


@dataclass(slots=True)
class Case:
    """A command to repeat; `before` puts its surroundings in order, untimed.

    `codes` are the exit codes it may end with.
    """

    name: str
    command: list[str]
    before: Callable[[], None] = lambda: None
    memory: bool = True
    codes: tuple[int, ...] = (0,)
    runs: list[Run] = field(default_factory=list)
    sampled: list[Run] = field(default_factory=list)


def repeat(cases: Sequence[Case], options: argparse.Namespace) -> None:
    """Run all cases in turn, several times for time, then a few times for memory."""
    rounds = options.rounds
    for number in range(rounds + options.memory_rounds):
        sample = number >= rounds
        for case in cases:
            if sample and not case.memory:
                continue
            case.before()
            if not sample:
                wait_for_idle(limit_s=options.idle_s)
            done = run(case.command, sample=sample, codes=case.codes)
            (case.sampled if sample else case.runs).append(done)
            say(f"  {case.name}: {done.wall_s:.2f} s")


def say(text: str) -> None:
    """Tell progress, apart from the result."""
    sys.stderr.write(text + "\n")


# ---------------------------------------------------------------------- benchmarks


def synctax(*arguments: str) -> list[str]:
    """Build a command line of this environment's synctax."""
    return [sys.executable, "-m", "synctax", *arguments]


def measure_case(name: str, target: Path, *options: str) -> Case:
    """One `measure` of a folder, its table thrown away.

    Alone, a rank has nobody to wait for: then `measure` reads and matches all the same,
    but ends with 1 instead of a table.
    """
    codes = (1,) if INPUTS[target.name].ranks == 1 else (0,)
    return Case(name, synctax("measure", str(target), *options), codes=codes)


def peer_cases(options: argparse.Namespace, what: Input) -> Iterable[Case]:
    """What the peers make of an input, where they are installed."""
    files = [str(path) for path in what.files(options.directory)]
    if options.tracelens_python:
        command = [options.tracelens_python, str(HERE / "peer_tracelens.py"), *files]
        yield Case(f"TraceLens, multi-process, {what.name}", command)
    if options.hta_python:
        command = [options.hta_python, str(HERE / "peer_hta.py"), *files]
        yield Case(f"HTA, load + stragglers, {what.name}", command)


def against_peers(options: argparse.Namespace, *names: str) -> list[Case]:
    """Take turns on some inputs: the whole `measure`, then every peer.

    As a user runs it first: columns are kept, which peers do not do. Then without.
    """
    cases: list[Case] = []
    for name in names:
        what = make(name, options.directory)
        folder = options.directory / name
        space = options.directory / f"workspace-{name}"
        first = measure_case(f"synctax measure, {name}", folder, "--workspace", str(space))
        first.before = partial(shutil.rmtree, space, ignore_errors=True)
        cases.append(first)
        cases.append(measure_case(f"the same, --no-cache, {name}", folder, "--no-cache"))
        slow = ("--no-cache", "--reader", "python")
        cases.append(measure_case(f"the same, --reader python, {name}", folder, *slow))
        cases += peer_cases(options, what)
    repeat(cases, options)
    return cases


def bench_ranks(options: argparse.Namespace) -> list[Case]:
    """Eight ranks of about 50 MB, plain and gzipped, with the peers."""
    return against_peers(options, "set8", "set8-gz")


def bench_large(options: argparse.Namespace) -> list[Case]:
    """Eight ranks of about 200 MB, with the peers."""
    return against_peers(options, "set8-200")


def bench_single(options: argparse.Namespace) -> list[Case]:
    """One rank of about 500 MB, plain and gzipped, with the peers."""
    return against_peers(options, "one500", "one500-gz")


def bench_cache(options: argparse.Namespace) -> list[Case]:
    """Without, with an empty, and with a filled workspace; and with a cold page cache."""
    what = make("set8", options.directory)
    folder = options.directory / what.name
    with tempfile.TemporaryDirectory() as temporary:
        empty, full = Path(temporary) / "empty", Path(temporary) / "full"
        run(synctax("measure", str(folder), "--workspace", str(full)), sample=False)

        def clear() -> None:
            shutil.rmtree(empty, ignore_errors=True)

        def forget() -> None:
            forget_page_cache(what.files(options.directory))

        cold = measure_case("measure, no workspace, cold page cache", folder, "--no-cache")
        cold.before = forget
        first = measure_case("measure, workspace empty", folder, "--workspace", str(empty))
        first.before = clear
        cases = [
            cold,
            measure_case("measure, no workspace", folder, "--no-cache"),
            first,
            measure_case("measure, workspace filled", folder, "--workspace", str(full)),
        ]
        repeat(cases, options)
    return cases


def bench_linear(options: argparse.Namespace) -> list[Case]:
    """One rank of 50 MB, 500 MB and 2 GB: time per byte and memory must not grow."""
    cases = []
    for name in ("one50", "one500", "one2000"):
        make(name, options.directory)
        cases.append(measure_case(name, options.directory / name, "--no-cache"))
    repeat(cases, options)
    return cases


def bench_decode(options: argparse.Namespace) -> list[Case]:
    """Bytes to columns alone, in one process, imports not counted: by each reader, by two
    threads, and back from columns that were kept.
    """
    warm_up = make("one50", options.directory).files(options.directory)[0]
    pair = make("set8", options.directory).files(options.directory)[:2]
    cases = []

    def add(name: str, reader: str, *files: Path, threads: int = 1) -> None:
        command = [sys.executable, str(HERE / "decode.py"), reader, str(threads)]
        command += [str(warm_up), *map(str, files)]
        cases.append(Case(name, command, memory=False))

    for name in ("one50", "one500", "one500-gz", "one2000"):
        file = make(name, options.directory).files(options.directory)[0]
        for reader in readers.READERS:
            add(f"{reader}, {name}", reader, file)
    for name in ("one50", "one500", "one2000"):
        file = make(name, options.directory).files(options.directory)[0]
        add(f"native, --low-memory, {name}", "low", file)
    add("native, two of set8", "native", *pair)
    add("native, two of set8, two threads", "native", *pair, threads=2)
    big = make("one500", options.directory).files(options.directory)[0]
    add("kept columns, one500", "kept", big)
    repeat(cases, options)
    return cases


def bench_start(options: argparse.Namespace) -> list[Case]:
    """How long the command line takes to say anything."""
    cases = [
        Case("synctax --help", synctax("--help")),
        Case("synctax measure --help", synctax("measure", "--help")),
        Case("python -c pass", [sys.executable, "-c", "pass"]),
    ]
    repeat(cases, options)
    return cases


BENCHMARKS = {
    "start": bench_start,
    "decode": bench_decode,
    "ranks": bench_ranks,
    "large": bench_large,
    "single": bench_single,
    "cache": bench_cache,
    "linear": bench_linear,
}


# -------------------------------------------------------------------------- report


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Write the median and the range of some values."""
    if not values:
        return "–"
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:.{digits}f} [{low:.{digits}f}–{high:.{digits}f}]"


def table(cases: Sequence[Case]) -> str:
    """Write a Markdown table: time, memory of all processes, memory of one."""
    lines = ["| case | wall s | CPU s | all processes, MB | first, MB | one worker, MB |"]
    lines.append("|---|---|---|---|---|---|")
    for case in cases:
        memory = [
            spread([getattr(r, name) for r in case.sampled if getattr(r, name)], 0)
            for name in ("tree_pss_mb", "first_rss_mb", "worker_rss_mb")
        ]
        wall = spread([r.wall_s for r in case.runs])
        cpu = spread([r.cpu_s for r in case.runs])
        lines.append(f"| {case.name} | {wall} | {cpu} | {' | '.join(memory)} |")
    return "\n".join(lines)


def decode_table(cases: Sequence[Case]) -> str:
    """Write a Markdown table of decoding alone."""
    lines = [
        "| case | MB/s, wall | MB/s, CPU | events | columns, MB | process, MB | kept, MB |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for case in cases:
        facts = [json.loads(r.stdout) for r in case.runs]
        wall = spread([f["plain_mb"] / f["wall_s"] for f in facts], 0)
        cpu = spread([f["plain_mb"] / f["cpu_s"] for f in facts], 0)
        rss = spread([f["max_rss_mb"] for f in facts], 0)
        last = facts[-1]
        lines.append(
            f"| {case.name} | {wall} | {cpu} | {last['events']:,} "
            f"| {last['columns_mb']:.0f} | {rss} | {last['file_mb']:.1f} |"
        )
    return "\n".join(lines)


def ratios(cases: Sequence[Case]) -> str:
    """Compare each peer with synctax on the same input, by medians."""
    lines = []
    for peer in cases:
        own = f"synctax measure, {peer.name.rpartition(', ')[2]}"
        ours = next((c for c in cases if c.name == own), None)
        if ours is None or peer.name.startswith(("synctax", "the same")):
            continue
        faster = median(peer.runs, "wall_s") / median(ours.runs, "wall_s")
        work = median(peer.runs, "cpu_s") / median(ours.runs, "cpu_s")
        text = f"- {peer.name}: {faster:.1f} × the time, {work:.1f} × the CPU time"
        if ours.sampled:
            less = median(peer.sampled, "tree_pss_mb") / median(ours.sampled, "tree_pss_mb")
            text += f", {less:.1f} × the memory"
        lines.append(text)
    return "\n".join(lines)


def median(runs: Sequence[Run], name: str) -> float:
    """Take the median of one quantity."""
    return statistics.median(getattr(r, name) for r in runs)


def main() -> None:
    """Run what was asked for and write Markdown to stdout."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, help="where the inputs are or will be")
    parser.add_argument("--only", choices=BENCHMARKS, action="append")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory-rounds", type=int, default=3)
    parser.add_argument(
        "--idle-s",
        type=float,
        default=0,
        help="wait so long for an idle machine before a run",
    )
    parser.add_argument("--tracelens-python", metavar="PYTHON")
    parser.add_argument("--hta-python", metavar="PYTHON")
    parser.add_argument(
        "--docs", type=Path, metavar="PAGE", help="put the tables into docs/performance.md"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="every single run")
    options = parser.parse_args()
    options.directory = options.directory.resolve()
    everything = {}
    sys.stdout.write(f"{machine()}; {options.rounds} rounds\n")
    for name in options.only or BENCHMARKS:
        say(name)
        cases = BENCHMARKS[name](options)
        everything[name] = {
            case.name: [asdict(r) for r in case.runs + case.sampled] for case in cases
        }
        text = decode_table(cases) if name == "decode" else table(cases)
        text = f"{text}\n\n{ratios(cases)}".strip()
        sys.stdout.write(f"\n## {name}\n\n{text}\n")
        sys.stdout.flush()
        if options.docs:
            said = (
                f"{machine()}; {options.rounds} rounds, {options.memory_rounds} for memory."
            )
            put(options.docs, name, f"{text}\n\n{said}")
    if options.json:
        options.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
