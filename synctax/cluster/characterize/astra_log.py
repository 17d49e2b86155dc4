"""Logs of ASTRA-sim: how long each simulated GPU ran, computed and communicated.

Of each GPU it prints `sys[0] finished, 281004516 cycles`, since 2024 with `, exposed
communication 261004516 cycles.`, and since 2025 also `sys[0], Wall time: ...`, `GPU time`,
`Comm time` and others. A cycle is 1 ns.
"""

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import ABSENT, I64
from synctax.errors import BadInputError
from synctax.trace.whole import whole

KIND: Final = "a log of ASTRA-sim"

_FINISHED: Final = re.compile(
    rb"sys\[(\d{1,7})\] finished, (\d{1,20}) cycles"
    rb"(?:, exposed communication (\d{1,20}) cycles|(?=\.?[ \t]*\r?\n))"
)
_STATISTIC: Final = re.compile(
    rb"sys\[(\d{1,7})\], (Wall|CPU|GPU|Comm|Remote mem) time: (\d{1,20})[ \t]*\r?\n"
)
_LONGEST_NS: Final = 2**62
"""An unsigned difference below 0 is printed as almost 2^64."""


@dataclass(frozen=True, slots=True, eq=False)
class AstraLog:
    """Times of n GPUs, by number.

    Parameters
    ----------
    name : str
    wall_ns : (n,) int64
        From the start to its last node's end.
    exposed_ns : (n,) int64
        Of these, what is no computation on the GPU: communication that is not hidden, and
        whatever else it waits for; where communication took less (`Comm time`), that.
    comm_ns : (n,) int64
        Time in which it communicated, hidden or not; -1 where the log does not tell.
    other_ns : (n,) int64
        What was taken off `exposed_ns`, for it is no communication: the GPU was idle, or
        waited for its host or remote memory.
    """

    name: str
    wall_ns: I64
    exposed_ns: I64
    comm_ns: I64
    other_ns: I64

    def __len__(self) -> int:
        """Count GPUs."""
        return self.wall_ns.size


def read_log(path: str | os.PathLike[str]) -> AstraLog:
    """Read a log from a file, plain or compressed.

    Raises
    ------
    BadInputError
        As `log_of`, or if the file cannot be read.
    """
    return log_of(whole(path, KIND), name=os.fspath(path))


def log_of(text: bytes, *, name: str) -> AstraLog:
    """Read a log.

    Parameters
    ----------
    text : bytes
        What was printed; lines may have prefixes.
    name : str
        For messages.

    Raises
    ------
    BadInputError
        If no GPU finished, one is missing or there twice, exposed communication is told of
        some only, or a time cannot be.
    """
    finished = _finished(text, name)
    statistics = _statistics(text, name)
    if not finished:
        raise BadInputError(
            f"{name}: expected {KIND}, found no line 'sys[0] finished, ... cycles'; the "
            "run has to end"
        )
    _complete(finished.keys(), "finished", max(finished), name)
    untold = [sys for sys, (_, exposed) in finished.items() if exposed < 0]
    if 0 < len(untold) < len(finished):
        raise BadInputError(
            f"{name}: expected the exposed communication of every GPU, found none of "
            f"sys[{untold[0]}]: the log is not complete"
        )
    if statistics:
        told = {sys for sys, what in statistics if what == "Wall"}
        _complete(told, "statistics", max(finished), name)
    n = len(finished)
    wall = np.array([finished[sys][0] for sys in range(n)], np.int64)
    exposed = np.array([finished[sys][1] for sys in range(n)], np.int64)
    comm = np.array([statistics.get((sys, "Comm"), ABSENT) for sys in range(n)], np.int64)
    capped = np.where(comm >= 0, np.minimum(exposed, comm), exposed)
    return AstraLog(name, wall, capped, comm, exposed - capped)


def _finished(text: bytes, name: str) -> dict[int, tuple[int, int]]:
    """Wall time and exposed communication of each GPU."""
    found: dict[int, tuple[int, int]] = {}
    for line in _FINISHED.finditer(text):
        sys, wall = int(line[1]), int(line[2])
        at = f"{name}, byte {line.start():,}"
        exposed = ABSENT if line[3] is None else int(line[3])
        if sys in found:
            raise BadInputError(
                f"{at}: expected one run, found that sys[{sys}] finished twice"
            )
        if wall > _LONGEST_NS:
            raise BadInputError(f"{at}: expected a number of cycles, found {wall:,}")
        if exposed > wall:
            raise BadInputError(
                f"{at}: expected exposed communication within the {wall:,} cycles of "
                f"sys[{sys}], found {exposed:,}: its operators overlap each other"
            )
        found[sys] = wall, exposed
    return found


def _statistics(text: bytes, name: str) -> dict[tuple[int, str], int]:
    """Times of each GPU, by kind."""
    found: dict[tuple[int, str], int] = {}
    for line in _STATISTIC.finditer(text):
        key = int(line[1]), line[2].decode()
        value = int(line[3])
        if value > _LONGEST_NS or key in found:
            raise BadInputError(
                f"{name}, byte {line.start():,}: expected one time of sys[{key[0]}] in ns, "
                f"found {line[0].decode().strip()!r}"
            )
        found[key] = value
    return found


def _complete(there: Collection[int], what: str, last: int, name: str) -> None:
    """Refuse a log that lacks a GPU below the last: it may be the slowest."""
    known = set(there)
    missing = next((at for at in range(len(known)) if at not in known), len(known))
    if missing <= last:
        raise BadInputError(
            f"{name}: expected every GPU up to sys[{last:,}], found no line of sys["
            f"{missing:,}] ({what}): the log is not complete"
        )
