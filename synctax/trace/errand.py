"""What a call on another machine has to know of the process that asked for it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Errand:
    """A call for a process elsewhere.

    Parameters
    ----------
    folder : str
        Where that process is: what relative paths are meant from.
    reader : str
        The reader that it was asked for (`trace.readers`); empty where it was not.
    low_memory : bool
        Whether columns go to files (`trace.spill`).
    """

    folder: str
    reader: str = ""
    low_memory: bool = False


_current: ContextVar[Errand | None] = ContextVar("errand", default=None)
"""Of one call only: a worker may run several at a time, for several processes."""


def errand() -> Errand | None:
    """Tell for which process this call runs; None for this one."""
    return _current.get()


@contextmanager
def on_errand(of: Errand) -> Iterator[None]:
    """Let what the block calls be for another process; not in threads that it starts."""
    before = _current.set(of)
    try:
        yield
    finally:
        _current.reset(before)


def located(path: str) -> str:
    """Say where a path leads: on an errand, relative ones are meant from its folder.

    >>> with on_errand(Errand("/runs/17")):
    ...     located("traces/rank0.json"), located("/data/rank0.json")
    ('/runs/17/traces/rank0.json', '/data/rank0.json')
    >>> located("traces/rank0.json")
    'traces/rank0.json'
    """
    current = _current.get()
    if current is None or "://" in path:
        return path
    return os.path.join(current.folder, path)  # noqa: PTH118 - stays as it is spelled
