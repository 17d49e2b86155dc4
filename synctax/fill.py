"""Fills a workspace with the columns of traces, of which nothing else is asked yet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from synctax.errors import SynctaxError
from synctax.trace.discover import TraceFile
from synctax.trace.files import look
from synctax.trace.kineto import read_rank
from synctax.trace.pool import Workers, map_files
from synctax.trace.readers import NATIVE, chosen
from synctax.workspace import Workspace


class Outcome(StrEnum):
    """What became of a file."""

    KEPT = "kept"
    THERE = "there"
    NOT_KEPT = "not_kept"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Filled:
    """A file, and what became of it; `reason` is empty where its columns are there now."""

    path: str
    size_bytes: int
    outcome: Outcome
    reason: str = ""


def fill(
    files: Sequence[TraceFile],
    space: Workspace,
    *,
    workers: Workers = None,
    on_progress: Callable[[str, int], None] | None = None,
) -> tuple[Filled, ...]:
    """Read the files whose columns a workspace does not have, and keep them there.

    Files need not be of one job, nor all ranks of it. Several processes, on several
    machines, may fill one workspace at a time; what two of them read both keep.

    Parameters
    ----------
    files : n files
        As `discover` finds them.
    space : Workspace
        Prepared.
    workers, on_progress
        As for `load`.

    Returns
    -------
    n outcomes

    Raises
    ------
    SynctaxError
        If a reader is asked for that is not there, or workers cannot serve.
    """
    reader = chosen()  # told once, and not of every file
    results = map_files(
        partial(_fill_one, space=space),
        [file.path for file in files],
        workers=workers,
        on_progress=on_progress,
        threads=reader == NATIVE,
    )
    return tuple(
        Filled(file.path, file.size_bytes, Outcome.UNREADABLE, str(result))
        if isinstance(result, SynctaxError)
        else Filled(file.path, file.size_bytes, *result)
        for file, result in zip(files, results, strict=True)
    )


def _fill_one(
    path: str, on_bytes: Callable[[int], None], *, space: Workspace
) -> tuple[Outcome, str]:
    source = look(path)
    if source is not None and source.not_kept:  # it would be read for nothing
        return Outcome.NOT_KEPT, source.not_kept
    found = space.fetch(path, partial(read_rank, path, on_bytes=on_bytes))
    if found.not_kept:
        return Outcome.NOT_KEPT, found.not_kept
    return (Outcome.THERE if found.there else Outcome.KEPT), ""
