"""What a worker of a Dask cluster does with one file for a process elsewhere."""

import pickle
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

from synctax.errors import SynctaxError
from synctax.trace.errand import Errand, located, on_errand
from synctax.trace.kept import SYNCTAX
from synctax.trace.pool_worker import OnBytes, attempt, silent
from synctax.trace.readers import chosen
from synctax.trace.store import PARSER_VERSION

TOLD_EVERY_S = 1.0
"""How often a file that takes long tells how far it is: the scheduler passes it on."""

VERSION = f"{SYNCTAX} (columns {PARSER_VERSION})"
"""Of what workers and the process that asks must have in common."""

_SHARED = (
    "traces must lie where all workers see them under the same path, or be given as URLs"
)

UNFIT = "unfit"
"""Outcome of a call that this worker cannot make, beside those of `attempt`."""


class Terms(TypedDict):
    """What goes with each call, of types that every version of synctax unpickles.

    `version` is `VERSION` of the process that asks, `folder` where it is, `reader` the one
    that it was asked for, `size_bytes` what the file has there (None for what is no file
    there), and `topic` where progress is told; empty for nowhere.
    """

    version: str
    folder: str
    reader: str
    low_memory: bool
    size_bytes: int | None
    topic: str


class Answer(TypedDict):
    """What comes back: bytes the function told, the host, and an outcome, pickled."""

    done: int
    host: str
    data: bytes


def answer(work: bytes, path: str, terms: Terms) -> Answer:
    """Call a pickled function on a file, as a worker of `pool` does.

    Parameters
    ----------
    work : bytes
        Pickle of `function(path, on_bytes)`.
    path : str
        A relative one is meant from `terms["folder"]`.
    terms : Terms
    """
    told = _Told(path, terms["topic"])
    with on_errand(Errand(terms["folder"], terms["reader"], terms["low_memory"])):
        why = _unfit(path, terms)
        if why:
            data = pickle.dumps((UNFIT, why))
        else:
            function: Callable[[str, OnBytes], Any] = pickle.loads(work)  # noqa: S301 - from who asks
            data = attempt(lambda _at, emit: function(path, emit), 0, path, told)
    return {"done": told.done, "host": socket.gethostname(), "data": data}


def _unfit(path: str, terms: Terms) -> str:
    """Say why a call would not give here what it gives where it was asked for, if so."""
    if terms["version"] != VERSION:
        return (
            f"has synctax {VERSION}, and this is {terms['version']}; install the same "
            "version everywhere"
        )
    try:
        chosen()
    except SynctaxError as error:
        return f"cannot read: {error}"
    expected = terms["size_bytes"]
    if expected is None:
        return ""
    place = located(path)
    try:
        found = Path(place).stat().st_size
    except OSError as error:
        return f"does not see {place} ({error.strerror}); {_SHARED}"
    if found != expected:
        return (
            f"sees another file as {place}, of {found:,} bytes instead of {expected:,}; "
            f"{_SHARED}"
        )
    return ""


class _Told:
    """Adds up bytes, and passes on how many there are by now and then."""

    def __init__(self, path: str, topic: str) -> None:
        self.done = 0
        self._path, self._topic = path, topic
        self._send = self._to_scheduler if topic else silent
        self._next_s = time.monotonic() + TOLD_EVERY_S

    def __call__(self, n: int) -> None:
        self.done += n
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + TOLD_EVERY_S
            self._send(self.done)

    def _to_scheduler(self, done: int) -> None:
        from distributed import get_worker

        get_worker().log_event(self._topic, {"path": self._path, "done": done})
