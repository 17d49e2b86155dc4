"""Times the dependency graph of one rank, beside networkx and HTA on the same trace.

    python tests/bench/graph.py DIRECTORY                              the largest input
    python tests/bench/graph.py DIRECTORY --events 50000 --sync-records none
    python tests/bench/graph.py DIRECTORY --hta-python ENV/bin/python  and HTA's path

DIRECTORY receives the input and keeps it. Times are those of one process on one core, the
least of several rounds; reading the file is not counted, for HTA neither. The environment
of HTA is made as `run.py` tells.
"""

import argparse
import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np

from synctax.graph.build import build_graph
from synctax.graph.critical_path import critical_paths, deciding_edges
from synctax.graph.model import Graph, NodeKind
from synctax.synth import SynthJob, write
from synctax.trace.freed import keep_freed
from synctax.trace.kineto import read_rank
from synctax.trace.model import EventKind, RankTrace

HERE = Path(__file__).parent
MB_PER_EVENT = 420e-6
"""A rank's file of many events has about this many MB for each that the graph takes."""
COUNTED = (
    EventKind.CPU_OP, EventKind.ANNOTATION, EventKind.RUNTIME, EventKind.KERNEL,
    EventKind.MEMCPY, EventKind.MEMSET,
)  # fmt: skip
"""What becomes nodes."""


def made(directory: Path, events: int, sync_records: str) -> Path:
    """Write the trace of one rank with about so many events, unless it is there."""
    folder = directory / f"graph-{events}-{sync_records}"
    if not folder.is_dir():
        job = SynthJob(
            tp=4, fsdp=2, seed=1, cpu_ops_per_kernel=3, write_ranks=(0,), layout="flat",
            nccl_names="old", sync_records=sync_records, size_mb=events * MB_PER_EVENT,
        )  # fmt: skip
        write(job, folder)
    return next(path for path in sorted(folder.iterdir()) if "rank" in path.name)


def windows(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Find all collectives, and the end of the one before on the same stream."""
    target = np.flatnonzero(graph.nodes.kind == NodeKind.COLLECTIVE)
    target = target[np.argsort(graph.nodes.lane[target], kind="stable")]
    begin = np.full(target.size, graph.origin_ns)
    same = graph.nodes.lane[target[1:]] == graph.nodes.lane[target[:-1]]
    begin[1:][same] = graph.nodes.end_ns[target[:-1]][same]
    return target, begin


def least_s(work: Callable[[], object], rounds: int) -> float:
    """Time some work, in seconds of this process's CPU."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def memory_mb(work: Callable[[], object]) -> tuple[float, float]:
    """Measure what some work leaves and what it holds at most, in MB."""
    tracemalloc.start()
    kept = work()
    left, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return left / 1e6, peak / 1e6


def of_networkx(graph: Graph) -> tuple[float, float, float]:
    """Measure networkx: the same edges into a `DiGraph`, its longest path, and its MB."""
    parent, child = graph.parent.tolist(), graph.child.tolist()
    took = (graph.nodes.start_ns[graph.child] - graph.nodes.start_ns[graph.parent]).tolist()
    made_: list[nx.DiGraph] = []

    def build() -> None:
        made_.append(nx.DiGraph())
        edges = zip(parent, child, took, strict=True)
        made_[-1].add_weighted_edges_from(edges)

    build_s = least_s(build, 1)
    path_s = least_s(lambda: nx.dag_longest_path(made_[-1]), 1)
    left, _ = memory_mb(build)
    return build_s, path_s, left


def report(trace: RankTrace, rounds: int) -> list[str]:
    """Measure one trace: lines of a Markdown table."""
    events = int(np.isin(trace.events.kind, COUNTED).sum())
    graph = build_graph(trace)
    target, begin = windows(graph)
    build_s = least_s(lambda: build_graph(trace), rounds)
    decide_s = paths_s = float("inf")
    for _ in range(rounds):
        fresh = build_graph(trace)  # nothing of it is computed yet
        decide_s = min(decide_s, least_s(lambda graph=fresh: deciding_edges(graph), 1))
        chosen = deciding_edges(fresh)

        def walk(graph: Graph = fresh, chosen: np.ndarray = chosen) -> object:
            return critical_paths(graph, target, begin, deciding=chosen)

        paths_s = min(paths_s, least_s(walk, 1))
    all_s = build_s + decide_s + paths_s
    left, peak = memory_mb(lambda: build_graph(trace))
    build_nx_s, path_nx_s, left_nx = of_networkx(graph)
    items = critical_paths(graph, target, begin).node.size
    size = (
        f"{events:,} events; {len(graph):,} nodes, {graph.parent.size:,} edges; "
        f"{target.size:,} paths with {items:,} items; graph {left / events * 1e6:.0f} "
        f"bytes an event, at most {peak / events * 1e6:.0f} while it is built; networkx's "
        f"{left_nx / events * 1e6:.0f}\n"
    )
    lines = [
        size,
        "| what | s | million events/s |",
        "|---|---|---|",
    ]
    for name, seconds in (
        ("synctax: build", build_s),
        ("synctax: deciding edges", decide_s),
        ("synctax: all critical paths", paths_s),
        ("synctax: together", all_s),
        ("networkx: DiGraph", build_nx_s),
        ("networkx: one longest path", path_nx_s),
    ):
        lines.append(f"| {name} | {seconds:.3f} | {events / seconds / 1e6:.2f} |")
    return lines


def of_hta(python: str, file: Path) -> str:
    """Time HTA's critical path of the whole window, in its own environment."""
    command = [python, str(HERE / "peer_hta_path.py"), str(file)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    facts = json.loads(done.stdout.splitlines()[-1])
    return f"| HTA: graph and one path | {facts['path_s']:.3f} | |"


def main() -> None:
    """Make the input, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, help="where the input is or will be")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument(
        "--sync-records", default="full", choices=("none", "full", "unresolved")
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--hta-python", metavar="PYTHON")
    options = parser.parse_args()
    file = made(options.directory, options.events, options.sync_records)
    keep_freed()  # as workers do
    lines = report(read_rank(file), options.rounds)
    if options.hta_python:
        lines.append(of_hta(options.hta_python, file))
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
