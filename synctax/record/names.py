"""Names of the files that a recording writes, and of what is in them.

- `iteration_N/rankR_trace.json.gz`: the trace of a rank, named as torchtitan does;
- `iteration_N/rankR_delays.json`: what was delayed on it, if anything was;
- `record/plan.json`: what the job was to record;
- `record/rankR.json`: how far a rank is, or what became of it;
- `record/process-HOST-PID.json`: why a process is no rank.
"""

from pathlib import Path

STATES = "record"
"""Folder of what is told of ranks and processes, beside the windows'."""

PLAN_FILE = "plan.json"
STATE_FILES = "rank*.json"
PROCESS_FILES = "process-*.json"
TRACE_FILES = "rank*_trace.json.gz"
DELAY_FILES = "rank*_delays.json"
"""Patterns, as for `Path.glob`, but for the plan, which is one."""

PLAN_SCHEMA = "synctax.plan/1"
STATE_SCHEMA = "synctax.record-rank/1"
PROCESS_SCHEMA = "synctax.record-process/1"
DELAYS_SCHEMA = "synctax.delays/1"
TRACE_SCHEMA = "synctax.recorded/1"
"""Kinds of the files, in their key `schema`; the last in the key `synctax` of a trace."""


def plan_path(folder: Path) -> Path:
    """Where the plan is."""
    return folder / STATES / PLAN_FILE


def state_path(folder: Path, rank: int) -> Path:
    """Where the state of a rank is."""
    return folder / STATES / f"rank{rank}.json"


def process_path(folder: Path, host: str, pid: int) -> Path:
    """Where a process that is no rank says why."""
    return folder / STATES / f"process-{host}-{pid}.json"


def trace_path(end_step: int, rank: int) -> Path:
    """Where the trace of a rank is, below the folder; named after the window's end."""
    return _window(end_step) / f"rank{rank}_trace.json.gz"


def delays_path(end_step: int, rank: int) -> Path:
    """Where the delays of a rank are, below the folder: beside its trace."""
    return _window(end_step) / delays_file(rank)


def delays_file(rank: int) -> str:
    """What the file is called that tells the delays of a rank."""
    return f"rank{rank}_delays.json"


def part_path(path: Path, pid: int) -> Path:
    """Where a process writes a file before it gives it its name."""
    return path.with_name(f".{path.name}.{pid}")


def _window(end_step: int) -> Path:
    return Path(f"iteration_{end_step}")
