"""Process groups of a job while it is recorded, and those that end before the window does.

A script destroys its groups at its end, before the process ends; and torch tells a trace of
those only that there are when the window opens.
"""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

import torch

from synctax.record.ranks import gloo_threads, who
from synctax.record.trouble import TROUBLE

THREADS_A_GROUP = 2
NAMING_MS = 10
"""How long gloo's threads of a group that was just made are waited for: they have no name
when they begin. In ms."""

_DESTROY = "destroy_process_group"


class Groups:
    """All groups that this process had in a window, and the threads that gloo runs.

    Parameters
    ----------
    before_end : callable
        Called before a process group is destroyed: told whether all are.

    Attributes
    ----------
    who : Who
        This process, as of the last look at which there was a default group, if any.
    configs : list of dict
        As torch tells of groups in `distributedInfo`, in order of creation.
    threads : list of int
        OS ids of gloo's threads, in order of creation, two a group.
    """

    def __init__(self, before_end: Callable[[bool], None]) -> None:
        self._before_end = before_end
        self._installed: Callable[..., Any] | None = None
        self._real: Callable[..., Any] | None = None
        self.who = who()
        self.configs: list[dict[str, Any]] = []
        self.threads: list[int] = []
        self._alive: dict[str, int] = {}

    def install(self) -> None:
        """Begin to notice when groups are destroyed."""
        self.remove()
        home = sys.modules.get("torch.distributed.distributed_c10d")
        real = getattr(home, _DESTROY, None)
        if real is not None:  # built with distributed
            self._real, self._installed = real, self._watched(real)
            _replace(real, self._installed)

    def remove(self) -> None:
        """Notice no more."""
        if self._installed is not None:
            _replace(self._installed, self._real)
            self._installed = None

    def look(self) -> None:
        """Add what has come to be since the last time."""
        now = who()
        if now.has_group or not self.who.has_group:
            self.who = now
        current = _configs() if now.has_group else []
        names = [str(config.get("pg_name")) for config in current]
        # a name may come back when all groups are made anew
        self._alive = {name: at for name, at in self._alive.items() if name in names}
        for name, config in zip(names, current, strict=True):
            if name not in self._alive:
                self._alive[name] = len(self.configs)
                self.configs.append(config)
        gloo = sum("gloo" in str(one.get("backend_config")) for one in self.configs)
        for _ in range(NAMING_MS):
            new = [thread for thread in gloo_threads() if thread not in self.threads]
            self.threads.extend(new)
            if len(self.threads) >= THREADS_A_GROUP * gloo:
                break
            time.sleep(0.001)

    def forget(self) -> None:
        """Forget what was seen: a window begins."""
        self.configs, self.threads, self._alive = [], [], {}

    def info(self) -> dict[str, Any]:
        """Make the key `distributedInfo` of a trace, as torch does."""
        told = {
            "backend": self.who.backend,
            "rank": self.who.rank,
            "world_size": self.who.world_size,
            "pg_count": len(self.configs),
            "pg_config": self.configs,
        }
        if "nccl" in self.who.backend:
            with suppress(*TROUBLE):
                version = torch.cuda.nccl.version()
                told["nccl_version"] = ".".join(map(str, version))
        return told

    def _watched(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(real)
        def call(group: Any = None) -> Any:
            if self._installed is None:
                return real(group)
            world = torch.distributed.GroupMember.WORLD
            everything = group is None or group is world
            with suppress(*TROUBLE):
                self._before_end(everything)
            result = real(group)
            with suppress(*TROUBLE):
                self.look()
            return result

        return call


def _configs() -> list[dict[str, Any]]:
    """List the groups that this process is in, in order of creation."""
    home = torch.distributed.distributed_c10d
    # torch 2.4 has no function for it
    tell = getattr(home, "_get_all_pg_configs", None)
    return list(tell() if tell is not None else home._world.pg_config_info)  # noqa: SLF001


def _replace(old: Any, new: Any) -> None:
    """Replace a function in all modules, as some have imported it by its name."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if names.get(_DESTROY) is old:
            names[_DESTROY] = new
