"""From paths to the collectives of every rank of a job, file by file in a pool.

What travels back from the workers is small: a file's facts and its collectives.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from synctax.collectives.extract import extract
from synctax.collectives.load_words import empty_problem, load_notes, nothing_read
from synctax.collectives.model import RankCollectives
from synctax.errors import BadInputError, SynctaxError
from synctax.notes import Note
from synctax.schema.html import Shown
from synctax.trace.assign import Assignment, FileStatus, Placement, assign
from synctax.trace.discover import Discovery, Skipped, Targets, discover, natural_key
from synctax.trace.facts import FileFacts, facts
from synctax.trace.kineto import read_rank
from synctax.trace.model import RankTrace
from synctax.trace.oddities import Problem
from synctax.trace.on_scheduler import on_scheduler
from synctax.trace.pool import Workers, map_files
from synctax.trace.readers import NATIVE, chosen

if TYPE_CHECKING:
    import pandas as pd

OnBytes = Callable[[int], None]


class Cache(Protocol):
    """Keeps columns of files; picklable, for workers use it (`synctax.workspace`)."""

    def read(self, path: str, read: Callable[[], RankTrace]) -> RankTrace:
        """Return the columns kept of a file, else `read` it and keep them."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file of the discovery table.

    Parameters
    ----------
    rank : int or None
    rank_source, host, host_source, gpu, window
        As in `synctax.trace.assign.Placement`.
    status : FileStatus
    reason : str
        Why it is not used; empty for `used`.
    facts : FileFacts or None
        None for unreadable files.
    collectives : RankCollectives or None
        None for unreadable files; placed where the file is used.
    """

    path: str
    size_bytes: int
    rank: int | None
    rank_source: str
    host: str
    host_source: str
    gpu: str
    window: str
    status: FileStatus
    reason: str
    facts: FileFacts | None
    collectives: RankCollectives | None


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Job(Shown):
    """The ranks of a job that were found and read.

    Parameters
    ----------
    ranks : tuple of RankCollectives
        Of the files in use, by window, then rank.
    files : tuple of FileRow
        Every trace found, used or not, in natural order.
    notes : tuple of Note
        What was inferred, repaired or left out on the way from files to ranks.
    problems : tuple of Problem
        Why the files cannot be compared; `load` raises them.
    world_size : int or None
        Where the traces agree on it.
    skipped : tuple of Skipped
        Files that are no traces, with the reason and what to do.
    ignored : int
        Files that were never candidates, such as texts and images.
    """

    ranks: tuple[RankCollectives, ...]
    files: tuple[FileRow, ...]
    notes: tuple[Note, ...]
    problems: tuple[Problem, ...]
    world_size: int | None
    skipped: tuple[Skipped, ...]
    ignored: int

    def __repr__(self) -> str:
        ranks = len({rank.rank for rank in self.ranks})
        collectives = sum(len(rank) for rank in self.ranks)
        files = f"{len(self.files)} file" + "s" * (len(self.files) != 1)
        return f"<Job: {ranks} ranks from {files}, {collectives:,} communication kernels>"

    def to_frame(self) -> "pd.DataFrame":
        """One row per trace that was found, used or not (`schema.INSPECT_FILES`)."""
        from synctax.collectives.file_rows import frame

        return frame(self)

    @property
    def facts(self) -> tuple[FileFacts, ...]:
        """Facts of the files in use."""
        return tuple(f.facts for f in self.files if f.status is FileStatus.USED and f.facts)


def load(  # noqa: PLR0913 - each choice is one of its own
    targets: Targets,
    *,
    manifest: str | None = None,
    ranks: Collection[int] | None = None,
    workers: Workers = None,
    scheduler: str | None = None,
    cache: Cache | None = None,
    on_progress: Callable[[str, int], None] | None = None,
) -> Job:
    """Find, read and place the traces of a job.

    A file that cannot be read does not stop the others: it is listed with its reason.

    Parameters
    ----------
    targets : path, or sequence of paths
        Folders, files, patterns, URLs, as for `discover`.
    manifest : str, optional
        CSV with `file,rank,host`.
    ranks : collection of int, optional
        Only these ranks.
    workers : int or Scheduler, optional
        Processes of this machine, or a Dask cluster to which it is connected
        (`synctax.Scheduler`); the result does not depend on it. Default: cores.
    scheduler : str, optional
        Address of a Dask scheduler whose workers read the files, or `local`, as for
        `synctax.Scheduler`; it is connected for this call only.
    cache : Cache, optional
        Where columns of files read before are kept.
    on_progress : callable, optional
        Called with a path and the bytes read of it since its last call.

    Returns
    -------
    Job
        Without problems.

    Raises
    ------
    BadInputError
        If nothing is found, no file can be read, files claim the same rank or are of
        different jobs.
    SynctaxError
        If no trace holds an event, no file tells its rank, or no file is of a rank asked
        for; or the scheduler or its workers cannot serve.
    """
    found = discover(targets, manifest=manifest)
    with on_scheduler(workers, scheduler) as crew:
        job = survey(found, ranks=ranks, workers=crew, cache=cache, on_progress=on_progress)
    return require(job)


def require(job: Job) -> Job:
    """Return the job if its files can be compared.

    Raises
    ------
    BadInputError, SynctaxError
        For its problems, as `load` says.
    """
    if job.problems:
        message = "; and ".join(problem.message for problem in job.problems)
        bad = any(problem.bad_input for problem in job.problems)
        raise BadInputError(message) if bad else SynctaxError(message)
    return job


def survey(
    found: Discovery,
    *,
    ranks: Collection[int] | None = None,
    workers: Workers = None,
    cache: Cache | None = None,
    on_progress: Callable[[str, int], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Job:
    """Read and place what was discovered; problems are listed, not raised.

    Parameters
    ----------
    found : Discovery
    ranks, workers, cache, on_progress
        As for `load`.
    meanwhile : callable, optional
        As for `trace.pool.map_tasks`.

    Raises
    ------
    BadInputError
        If no file can be read.
    SynctaxError
        If a reader is asked for that is not there (`trace.readers`).
    """
    reader = chosen()
    results = map_files(
        partial(_read_one, cache=cache),
        [file.path for file in found.files],
        workers=workers,
        on_progress=on_progress,
        meanwhile=meanwhile,
        threads=reader == NATIVE,
    )
    broken = {
        file.path: result
        for file, result in zip(found.files, results, strict=True)
        if isinstance(result, SynctaxError)
    }
    if len(broken) == len(found.files):
        raise BadInputError(nothing_read(broken, found.skipped))
    good = [
        (file, result)
        for file, result in zip(found.files, results, strict=True)
        if not isinstance(result, SynctaxError)
    ]
    assignment = assign([file for file, _ in good], [both[0] for _, both in good])
    rows = _rows(
        found, dict(_by_path(assignment, [both for _, both in good])), broken, ranks
    )
    return Job(
        ranks=_in_use(rows),
        files=rows,
        notes=(*assignment.notes, *load_notes(rows, found.skipped)),
        problems=(*assignment.problems, *empty_problem(rows, ranks)),
        world_size=assignment.world_size,
        skipped=found.skipped,
        ignored=found.ignored,
    )


Read = tuple[FileFacts, RankCollectives]


def _read_one(path: str, on_bytes: OnBytes, *, cache: Cache | None) -> Read:
    read = partial(read_rank, path, on_bytes=on_bytes)
    trace = read() if cache is None else cache.read(path, read)
    return facts(trace), extract(trace)


def _by_path(
    assignment: Assignment, read: list[Read]
) -> list[tuple[str, tuple[Placement, Read]]]:
    return [
        (placement.path, (placement, both))
        for placement, both in zip(assignment.placements, read, strict=True)
    ]


def _rows(
    found: Discovery,
    placed: dict[str, tuple[Placement, Read]],
    broken: dict[str, SynctaxError],
    ranks: Collection[int] | None,
) -> tuple[FileRow, ...]:
    rows = []
    for file in found.files:
        if file.path in broken:
            rows.append(
                FileRow(
                    path=file.path,
                    size_bytes=file.size_bytes,
                    rank=file.rank_given if file.rank_given is not None else None,
                    rank_source="manifest" if file.rank_given is not None else "",
                    host=file.host_given,
                    host_source="manifest" if file.host_given else "",
                    gpu="",
                    window="",
                    status=FileStatus.UNREADABLE,
                    reason=str(broken[file.path]),
                    facts=None,
                    collectives=None,
                )
            )
        else:
            placement, both = placed[file.path]
            rows.append(_row(placement, both, file.size_bytes, ranks, len(placed)))
    return tuple(rows)


def _row(
    place: Placement,
    both: Read,
    size_bytes: int,
    ranks: Collection[int] | None,
    n_files: int,
) -> FileRow:
    fact, collectives = both
    status, reason = place.status, _REASONS.get(place.status, "")
    if not fact.events:
        status, reason = FileStatus.EMPTY, "the trace holds no event: only metadata"
    elif status is FileStatus.NO_RANK and n_files == 1:
        status, reason = FileStatus.USED, ""
    elif status is FileStatus.USED and ranks is not None and place.rank not in ranks:
        status, reason = FileStatus.NOT_SELECTED, "its rank was not asked for"
    return FileRow(
        path=place.path,
        size_bytes=size_bytes,
        rank=place.rank,
        rank_source=place.rank_source,
        host=place.host,
        host_source=place.host_source,
        gpu=place.gpu,
        window=place.window,
        status=status,
        reason=reason,
        facts=fact,
        collectives=replace(
            collectives,
            rank=-1 if place.rank is None else place.rank,
            host=place.host,
            gpu=place.gpu,
            window=place.window,
        ),
    )


_REASONS = {
    FileStatus.COPY: "holds the same trace as another file",
    FileStatus.NO_RANK: "neither content nor name tells its rank",
    FileStatus.CLASH: "another file claims the same rank",
}


def _in_use(rows: Sequence[FileRow]) -> tuple[RankCollectives, ...]:
    found = [row.collectives for row in rows if row.status is FileStatus.USED]
    # a rank without collectives has length 0, and is a rank all the same
    used = [one for one in found if one is not None]
    return tuple(sorted(used, key=lambda c: (natural_key(c.window), c.rank, c.path)))
