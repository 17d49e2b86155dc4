"""Jobs of real torch processes, each started once for all tests that look at it."""

import gzip
import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

JOBS = Path(__file__).resolve().parent / "jobs"
ROOT = JOBS.parents[2]
LONGEST_S = 120


@dataclass(frozen=True)
class Ended:
    """How one process of a job ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Job:
    """A job of several ranks, and the folder it was given."""

    folder: Path
    ranks: list[Ended]

    def states(self, name: str = "") -> list[Any]:
        from synctax.record.state import read_states

        return read_states(self.folder / name)

    def said(self, name: str, rank: int) -> Any:
        return json.loads((self.folder / name / f"said-{rank}.json").read_text())

    def trace(self, name: str, rank: int) -> Any:
        state = next(state for state in self.states(name) if state.rank == rank)
        return read_trace(self.folder / name / state.trace)


def read_trace(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def steps_of(trace: Any) -> dict[int, tuple[float, float]]:
    """Begin and end of each step of a trace in µs, by its number."""
    marks = [e for e in trace["traceEvents"] if e["name"].startswith("ProfilerStep#")]
    return {
        int(mark["name"].partition("#")[2]): (mark["ts"], mark["ts"] + mark["dur"])
        for mark in marks
        if mark["cat"] == "user_annotation"
    }


def run_ranks(script: str, folder: Path, *args: str, ranks: int = 2) -> Job:
    """Run a script of `jobs` on so many ranks, without a launcher."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    env = os.environ | {
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(port),
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "ignore",
    }
    started = [
        subprocess.Popen(
            [sys.executable, str(JOBS / script), str(folder), *args],
            env=env | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    ended = []
    try:
        for process in started:
            out, err = process.communicate(timeout=LONGEST_S)
            ended.append(Ended(process.returncode, out, err))
    finally:
        for process in started:
            process.kill()
    return Job(folder, ended)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """All of `jobs/scenarios.py`, one after the other, in one job of two ranks."""
    pytest.importorskip("torch", reason="needs the extra torch")
    names = SCENARIOS.split()
    return run_ranks("scenarios.py", tmp_path_factory.mktemp("recorded"), *names)


SCENARIOS = """
    whole middle twice alone few raises missing late busy always_busy interrupted no_folder
    delayed delay_alone other_thread fewer early dies
"""
