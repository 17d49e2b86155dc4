"""What Linux tells of processes and threads, in `/proc`."""

import os
import time
from pathlib import Path

HOME = Path("/proc")

_STATE, _START = 0, 19
"""Of the fields after the name, which may hold spaces: the third and the 22nd of all."""

_ENDED = "Z"


def start_ticks(task: Path) -> int:
    """Tell when a process or thread began, in ticks of the clock after boot.

    Parameters
    ----------
    task : Path
        Its folder.

    Raises
    ------
    OSError
        If there is none.
    """
    return int(_fields(task)[_START])


def is_running(pid: int) -> bool:
    """Whether there is a process of a number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # of another user
    return True


def is_zombie(pid: int) -> bool:
    """Whether a process has ended and waits to be noticed by its parent.

    Linux tells. Elsewhere such a process is taken to run.
    """
    try:
        return _fields(HOME / str(pid))[_STATE] == _ENDED
    except OSError:
        return False


def ran_at(pid: int, when_s: float) -> bool:
    """Whether a process runs that did at a time, too, in s of Unix time; not known: no.

    The number alone does not tell: others get it later.
    """
    task = HOME / str(pid)
    try:
        fields = _fields(task)
        since_boot_s = float((HOME / "uptime").read_text(encoding="utf-8").split()[0])
    except OSError:
        return False
    age_s = since_boot_s - int(fields[_START]) / os.sysconf("SC_CLK_TCK")
    return fields[_STATE] != _ENDED and time.time() - age_s <= when_s


def _fields(task: Path) -> list[str]:
    stat = (task / "stat").read_text(encoding="utf-8", errors="replace")
    return stat.rpartition(")")[2].split()
