"""What reading a trace finds: jobs, rows that become none, and what is worth a note."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import nan
from typing import Final, Literal, NamedTuple, TypeVar, get_args

from synctax.cluster.convert.reasons import Kind, LeftOutError, Reason
from synctax.notes import Note

Row = TypeVar("Row")

Attempts = Literal["sum", "span"]
Status = Literal["all", "pass"]
Fractional = Literal["round-up", "drop"]

ATTEMPTS: Final[tuple[Attempts, ...]] = get_args(Attempts)
STATUSES: Final[tuple[Status, ...]] = get_args(Status)
FRACTIONALS: Final[tuple[Fractional, ...]] = get_args(Fractional)

FORMAT_NAMES: Final = (
    *("philly", "helios", "acme", "pai", "openb", "spot", "muri", "chronus", "tiresias"),
    *("pollux", "gavel", "slurm", "csv"),
)
"""Formats that are read, those before others that could be taken for them."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a trace is asked for.

    Parameters
    ----------
    attempts : Attempts
        Run time of a job that was started several times: the `sum` of its attempts, or
        the `span` from its first start to its last end.
    status : Status
        `all` jobs, or only those that ended well.
    fractional : Fractional
        What becomes of jobs that ask for parts of GPUs.
    timezone : str or None
        Zone of times that name none; `none` takes them as they stand, None as the format
        has them.
    rates : mapping of (str, int) to float, optional
        Steps a second of a model on a number of GPUs, for traces that count steps.
    assumed_duration_s : float or None
        Run time of jobs whose trace tells none.
    """

    attempts: Attempts = "sum"
    status: Status = "all"
    fractional: Fractional = "round-up"
    timezone: str | None = None
    rates: Mapping[tuple[str, int], float] | None = None
    assumed_duration_s: float | None = None


class Job(NamedTuple):
    """A row that may become a job; times in s on the clock of the trace, NaN unknown.

    `duration_s` is None where it is the end less the start. `gpus` may be a fraction, and
    `shared` says that the job asks for parts of GPUs even if they add up to whole ones.
    `passed` is None where the trace tells it of no job. `again` says that a job of the
    same id is an earlier or later run of it. `more` holds columns of the CSV of jobs that
    only that CSV has.
    """

    job_id: str
    submit_s: float
    gpus: float
    duration_s: float | None
    start_s: float = nan
    end_s: float = nan
    passed: bool | None = None
    model: str = ""
    shared: bool = False
    again: bool = False
    more: Mapping[str, str | float] | None = None


@dataclass(frozen=True, slots=True)
class Left:
    """Rows that became no job for one reason; `note` counts them and names the first.

    `advice` says what would make jobs of them; empty where nothing would.
    """

    kind: Kind
    note: Note
    advice: str = ""


@dataclass(slots=True)
class _Counted:
    words: str
    count: int
    where: str
    kind: Kind = "rejected"
    advice: str = ""


class Tally:
    """Counts of rows while a trace is read; `file` and `line` say where that is.

    `zoned` and `unzoned` say whether there were times that name their zone, or count from
    1970, and such that do not.
    """

    def __init__(self) -> None:
        self.read = 0
        self.file = ""
        self.line = 0
        self.zoned = self.unzoned = False
        self._left: dict[str, _Counted] = {}
        self._notes: dict[str, _Counted] = {}
        self._inferred: list[tuple[str, str, str]] = []

    def leave(self, reason: Reason, found: str = "", *, times: int = 1) -> None:
        """Count the row in hand as one that becomes no job."""
        self._inferred.clear()
        counted = self._left.get(reason.name)
        if counted is None:
            counted = self._left[reason.name] = _Counted(
                reason.words, 0, self._where(found), reason.kind, reason.advice
            )
        counted.count += times

    def infer(self, name: str, words: str, found: str = "") -> None:
        """Count something that was inferred or repaired, if the row in hand is kept."""
        self._inferred.append((name, words, found))

    def keep(self) -> None:
        """Count the row in hand as a job."""
        for name, words, found in self._inferred:
            self.note(name, words, found)
        self._inferred.clear()

    def note(self, name: str, words: str, found: str = "", *, times: int = 1) -> None:
        """Count something that was inferred or repaired."""
        counted = self._notes.get(name)
        if counted is None:
            counted = self._notes[name] = _Counted(words, 0, self._where(found))
        counted.count += times

    def _where(self, found: str) -> str:
        where = f"{self.file} line {self.line:,}" if self.line else self.file
        return f"{where}: {found:.200}" if found else where

    @property
    def left(self) -> tuple[Left, ...]:
        """Rows that became no job, by reason: rejected ones first, then by number."""
        found = sorted(
            self._left.items(), key=lambda one: (one[1].kind != "rejected", -one[1].count)
        )
        return tuple(Left(one.kind, _note(name, one), one.advice) for name, one in found)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was inferred or repaired."""
        return tuple(_note(name, one) for name, one in self._notes.items())


def made(rows: Iterable[Row], make: Callable[[Row], Job], tally: Tally) -> Iterator[Job]:
    """Make a job of every row, or count why not: none is lost.

    Parameters
    ----------
    rows : iterable
    make : callable
        Raises `LeftOutError` where a row becomes no job.
    tally : Tally
    """
    for row in rows:
        tally.read += 1
        try:
            job = make(row)
        except LeftOutError as left:
            tally.leave(left.reason, left.found)
        else:
            yield job


def _note(name: str, counted: _Counted) -> Note:
    return Note(name, counted.count, counted.words, counted.where)
