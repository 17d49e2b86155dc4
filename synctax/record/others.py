"""Profilers that the job itself uses: torch has one at a time, and theirs goes first.

torch ends a profiler that is prepared or running when another one is prepared or started;
who then stops the first gets an error from torch 2.4, and a segmentation fault from 2.13.
Nothing tells whether one is prepared, so the three functions that all of torch's
profilers go through are watched.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch
import torch.autograd.profiler as home

_PREPARE, _ENABLE, _DISABLE = "_prepare_profiler", "_enable_profiler", "_disable_profiler"
_STOPPED = "_run_on_profiler_stop"
"""Called last, when torch is free for another."""


class Watch:
    """Notices other profilers while it is installed.

    Parameters
    ----------
    give_way : callable
        Called before another profiler is prepared or started.
    take_turn : callable
        Called when another profiler has ended.
    """

    def __init__(self, give_way: Callable[[], None], take_turn: Callable[[], None]) -> None:
        self._give_way = give_way
        self._take_turn = take_turn
        self._installed: dict[str, Any] = {}
        self._real: dict[str, Any] = {}
        self._theirs = self._ours = False

    def install(self) -> None:
        """Begin to notice."""
        self.remove()
        for name in (_PREPARE, _ENABLE, _DISABLE, _STOPPED):
            real = getattr(home, name, None)
            if real is not None:
                self._real[name] = real
                self._installed[name] = self._watched(name, real)
                setattr(home, name, self._installed[name])

    def remove(self) -> None:
        """Notice no more."""
        for name, watched in self._installed.items():
            # who has put something of theirs around it, keeps it: it only passes on
            if getattr(home, name) is watched:
                setattr(home, name, self._real[name])
        self._installed = {}

    @contextmanager
    def own(self) -> Iterator[None]:
        """Tell calls that are our own from others."""
        self._ours = True
        try:
            yield
        finally:
            self._ours = False

    def busy(self) -> bool:
        """Whether another profiler is prepared or running."""
        return self._theirs or bool(torch.autograd._profiler_enabled())  # noqa: SLF001

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(real)
        def call(*args: Any, **kwargs: Any) -> Any:
            theirs = bool(self._installed) and not self._ours
            begins = name in (_PREPARE, _ENABLE)
            if theirs and begins:
                self._give_way()
            result = real(*args, **kwargs)
            if theirs:
                self._theirs = begins
            if theirs and name == _STOPPED:
                self._take_turn()
            return result

        return call
