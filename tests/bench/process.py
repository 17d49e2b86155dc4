"""Runs a command and measures the whole tree of its processes, from outside."""

import os
import resource
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

SAMPLE_S = 0.01
"""Pause between two looks at memory."""

IDLE_BUSY_S = 0.1
"""Core time that others may use in a second on an idle machine."""

KB_PER_MB = 1000 / 1.024
"""Kernel kB (1024 bytes) in a MB (10⁶ bytes)."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command.

    Times are trustworthy only without sampling, the memory exists only with it: `cpu_s` is
    the time of all processes on all cores, `tree_pss_mb` the largest sum of the
    proportional set sizes of all processes at one moment, `worker_rss_mb` the largest
    resident set of any process below the first.
    """

    wall_s: float
    cpu_s: float
    tree_pss_mb: float | None
    first_rss_mb: float | None
    worker_rss_mb: float | None
    stdout: str


def run(command: Sequence[str], *, sample: bool, codes: Sequence[int] = (0,)) -> Run:
    """Run a command to its end; it must end with one of these exit codes.

    Raises
    ------
    RuntimeError
        If it does not, with what it said.
    """
    start, cpu_before_s = time.perf_counter(), _children_cpu_s()
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        peaks = _sample_until_end(process) if sample else (None, None, None)
        code = process.wait()
        wall_s = time.perf_counter() - start
        out.seek(0)
        err.seek(0)
        if code not in codes:
            raise RuntimeError(f"{' '.join(command)}: exit {code}\n{err.read()[-2000:]}")
        return Run(wall_s, _children_cpu_s() - cpu_before_s, *peaks, out.read())


def wait_for_idle(*, limit_s: float) -> None:
    """Wait until other programs leave the cores alone for a second, or for `limit_s`."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        before = _busy_s()
        time.sleep(1)
        if _busy_s() - before < IDLE_BUSY_S:
            return


def _busy_s() -> float:
    """Seconds that all cores have been busy since the system started."""
    user, nice, system = map(int, _read(Path("/proc/stat")).split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _sample_until_end(
    process: "subprocess.Popen[bytes]",
) -> tuple[float, float | None, float | None]:
    tree_pss_kb = 0.0
    high_kb: dict[int, float] = {}
    while process.poll() is None:
        pids = _tree(process.pid)
        tree_pss_kb = max(tree_pss_kb, sum(_field(p, "smaps_rollup", "Pss:") for p in pids))
        for pid in pids:
            high_kb[pid] = max(high_kb.get(pid, 0), _field(pid, "status", "VmHWM:"))
        time.sleep(SAMPLE_S)
    first = high_kb.pop(process.pid, 0)
    return (
        tree_pss_kb / KB_PER_MB,
        first / KB_PER_MB,
        max(high_kb.values()) / KB_PER_MB if high_kb else None,
    )


def _tree(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            found += [int(child) for child in _read(children).split()]
    return found


def _field(pid: int, file: str, name: str) -> float:
    for line in _read(Path(f"/proc/{pid}/{file}")).splitlines():
        if line.startswith(name):
            return float(line.split()[1])
    return 0.0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ProcessLookupError):
        return ""  # it ended meanwhile


def forget_page_cache(paths: Sequence[Path]) -> None:
    """Ask the kernel to drop the cached pages of files, so that they are read from disk."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
