"""A trace of another system's jobs, into jobs that can be simulated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synctax.arrays import F64, I64
from synctax.cluster.convert.collect import Kept
from synctax.cluster.convert.formats import FORMATS, Format, chosen, recognise
from synctax.cluster.convert.found import Left, Options, Tally
from synctax.cluster.convert.lines import Source, look
from synctax.cluster.convert.values import Clock
from synctax.cluster.model_names import plain
from synctax.errors import BadInputError
from synctax.notes import Note

_US = 1e6


@dataclass(frozen=True, slots=True, eq=False)
class Converted:
    """n jobs in order of submission; of equal times the earlier row is first.

    Parameters
    ----------
    format, title : str
        Name of the format, and what it is.
    files : tuple of str
        Those that jobs are from.
    read : int
        Rows: n of them are kept, all others are counted in `left`.
    job_id : tuple of str
    submit_s, duration_s, start_s, end_s : (n,) float64
        From the first submission of a job that is kept; start and end as measured, NaN
        where not known.
    gpus : (n,) int64
    workload : tuple of str
        Name in the pool; empty where the trace names no model that the pool has.
    model : tuple of str
        What the trace calls the model; empty where it names none.
    more : dict of str to dict
        Other columns of the CSV of jobs: values by row.
    origin : str
        What time `submit_s` 0 is; empty where there are no jobs.
    left : tuple of Left
    notes : tuple of Note
        What was inferred or repaired.
    """

    format: str
    title: str
    files: tuple[str, ...]
    read: int
    job_id: tuple[str, ...]
    submit_s: F64
    gpus: I64
    duration_s: F64
    start_s: F64
    end_s: F64
    workload: tuple[str, ...]
    model: tuple[str, ...]
    more: dict[str, dict[int, str | float]]
    origin: str
    left: tuple[Left, ...]
    notes: tuple[Note, ...]

    def __len__(self) -> int:
        """Count the jobs that are kept."""
        return len(self.job_id)

    def count(self, kind: str) -> int:
        """Count the rows that were `rejected` or `dropped`."""
        return sum(one.note.count for one in self.left if one.kind == kind)


def convert(
    paths: Sequence[str],
    *,
    source: str | None = None,
    options: Options | None = None,
    workloads: Sequence[str] = (),
    on_bytes: Callable[[int], None] | None = None,
) -> Converted:
    """Read a trace; a row that cannot be a job is counted and stops nothing.

    Parameters
    ----------
    paths : sequence of str
        Files or URLs, plain or compressed; all of one format.
    source : str, optional
        Name of the format; recognised from the files if absent.
    options : Options, optional
    workloads : sequence of str
        Names of the pool, for traces that name models.
    on_bytes : callable, optional
        Told how many bytes were read since the last call.

    Returns
    -------
    Converted

    Raises
    ------
    BadInputError
        If a file cannot be read, is of no known format, or is there twice.
    SynctaxError
        If the time zone does not exist.
    ValueError
        If there is no file, or no such format.
    """
    if not paths or (source is not None and source not in FORMATS):
        raise ValueError(f"{len(paths)} files as {source}; expected one or more")
    for path in paths:
        if paths.count(path) > 1:
            raise BadInputError(f"{path} is given {paths.count(path)} times; give it once")
    sources = [look(path, on_bytes) for path in paths]
    told, jobs, aside = recognise(sources) if source is None else chosen(source, sources)
    asked = _with_clock(options or Options(), told)
    tally = Tally()
    clock = Clock(asked.timezone, tally)
    kept = Kept(asked, {plain(name): name for name in workloads})
    kept.add(told.read(jobs, asked, tally), tally)
    tally.file, tally.line = jobs[0].path, 0
    if tally.zoned and tally.unzoned and clock.name is None:
        tally.note(
            "zones_mixed",
            "traces in which some times name their zone and others do not: those are taken "
            "for UTC; --timezone tells theirs",
        )
    for one in aside:
        tally.file, tally.line = one.path, 0
        tally.note("file_without_jobs", "files that have no jobs, not read")
    return _converted(told, jobs, kept, tally, clock)


def _with_clock(options: Options, told: Format) -> Options:
    if options.timezone is None and told.clock:
        return replace(options, timezone=told.clock)
    return options


def _converted(
    told: Format, jobs: Sequence[Source], kept: Kept, tally: Tally, clock: Clock
) -> Converted:
    submit_s = np.array(kept.submit_s, np.float64)
    order = np.argsort(submit_s, kind="stable")
    first_s = float(submit_s.min(initial=np.inf)) if submit_s.size else 0.0

    def since(times: Sequence[float]) -> F64:
        # what float64 leaves of seconds since 1970 is no more than a µs
        return np.round((np.array(times, np.float64)[order] - first_s) * _US) / _US

    rows = order.tolist()
    place = {row: at for at, row in enumerate(rows)}
    start_s, end_s = since(kept.start_s), since(kept.end_s)
    early = (start_s < 0) | (end_s < since(kept.submit_s))
    if early.any():
        start_s[early] = end_s[early] = np.nan
        tally.note(
            "measured_before_submit",
            "jobs that start before the first submission or end before their own: their "
            "measured times are left out",
            times=int(early.sum()),
        )
    return Converted(
        format=told.name,
        title=told.title,
        files=tuple(one.path for one in jobs),
        read=tally.read,
        job_id=tuple(kept.job_id[row] for row in rows),
        submit_s=since(kept.submit_s),
        gpus=np.array(kept.gpus, np.int64)[order],
        duration_s=np.array(kept.duration_s, np.float64)[order],
        start_s=start_s,
        end_s=end_s,
        workload=tuple(kept.workload[row] for row in rows),
        model=tuple(kept.model[row] for row in rows),
        more={
            name: {place[row]: value for row, value in values.items()}
            for name, values in kept.more.items()
        },
        origin=_origin(told, first_s, clock, tally) if rows else "",
        left=tally.left,
        notes=tally.notes,
    )


def _origin(told: Format, first_s: float, clock: Clock, tally: Tally) -> str:
    if told.clock == "":
        return f"{first_s:.15g} s on the clock of the trace"
    as_it_stands = "as the trace writes it" if tally.unzoned else "UTC"
    return f"{clock.text(first_s)} ({clock.name or as_it_stands})"
