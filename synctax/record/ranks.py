"""Which rank this process is, by its process group or else by its environment."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed

from synctax.record.proc import start_ticks

GLOO_THREAD = "pt_gloo_runloop"
"""Threads of this name run gloo's collectives, two for each group."""

_TASKS = Path("/proc/self/task")


@dataclass(frozen=True, slots=True)
class Who:
    """A process of a job.

    Parameters
    ----------
    rank, world_size : int
        Global rank, and how many there are: of the default process group, else of RANK
        and WORLD_SIZE, else 0 of 1.
    backend : str
        Of the default process group.
    has_group : bool
        Whether there is a default process group.
    host : str
    pid : int
    torch : str
        Its version.
    """

    rank: int
    world_size: int
    backend: str
    has_group: bool
    host: str
    pid: int
    torch: str


def who() -> Who:
    """Tell which rank this process is now; a group may come to be later."""
    group = torch.distributed
    has_group = group.is_available() and group.is_initialized()
    rank = group.get_rank() if has_group else _number("RANK", 0)
    return Who(
        rank=rank,
        world_size=group.get_world_size()
        if has_group
        else max(_number("WORLD_SIZE", 1), rank + 1),
        backend=str(group.get_backend()) if has_group else "",
        has_group=has_group,
        host=socket.gethostname(),
        pid=os.getpid(),
        torch=str(torch.__version__),
    )


def gloo_threads(tasks: Path = _TASKS) -> list[int]:
    """List the OS ids of gloo's threads, oldest first; Linux only, empty elsewhere.

    Ids alone do not tell: they begin anew when the largest is reached.
    """
    found = []
    for task in tasks.glob("*/comm"):
        try:
            name = task.read_text(encoding="utf-8", errors="replace").strip()
            if name == GLOO_THREAD:
                found.append((start_ticks(task.parent), int(task.parent.name)))
        except OSError:
            continue  # the thread ended meanwhile
    return [thread for _, thread in sorted(found)]


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else default
