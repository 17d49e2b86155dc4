"""Slurm: what `sacct -P` prints, with JobID, Submit, Start, End and AllocTRES at least.

Steps (`17.batch`, `17.0`) are parts of their jobs. A job of an array has a row of its own
(`17_3`), as each component of a heterogeneous one (`17+0`); those of an array that never
started share a row (`17_[4-9]`). `sacct -D` prints every run of a job that was requeued,
each with its own submission. Times are the cluster's local ones; the run time is
`Elapsed` where it is printed, which neither suspension nor a clock that is set back makes
wrong.

References
----------
Slurm's manual, sacct(1).
"""

import re
from functools import lru_cache
from typing import Final

from synctax.cluster.convert import wanted
from synctax.cluster.convert.found import Job, Options, Tally
from synctax.cluster.convert.reasons import (
    NO_ALLOCATION,
    NO_END,
    NO_START,
    NUMBER,
    STEP,
    TIME,
    LeftOutError,
)
from synctax.cluster.convert.table import Cell, Header, Make, Row, TableFormat
from synctax.cluster.convert.values import Clock, absent, count

_GPUS = re.compile(r"gres/gpu(?P<type>:[^=,]*)?=(?P<count>\d+)")
_MEANT = re.compile(r"(?:gres[/:])?gpu(?![a-z])", re.IGNORECASE)
"""How a resource begins that can only be GPUs."""

_SEPARATOR = re.compile(r'"?\w+"?([^\w"]+)"?\w')
_ELAPSED = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")
_EPOCH = re.compile(r"\d{9,11}")
"""Times of `SLURM_TIME_FORMAT=%s`."""

_TOLERATED_S = 1.0


@lru_cache(maxsize=4096)  # jobs ask for the same again and again
def allocated_gpus(tres: str) -> float:
    """Count the GPUs of trackable resources; those without a type count all types.

    Raises
    ------
    LeftOutError
        If GPUs are not counted as Slurm does it.

    Examples
    --------
    >>> allocated_gpus("billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4,node=1")
    4.0
    >>> allocated_gpus("gres/gpu:a100=2,gres/gpu:v100=1"), allocated_gpus("cpu=8,node=1")
    (3.0, 0.0)
    """
    typed, total = 0.0, None
    for one in tres.split(","):
        resource = one.strip()
        if not _MEANT.match(resource):
            continue
        found = _GPUS.fullmatch(resource)
        if found is None:
            raise LeftOutError(NUMBER, f"the GPUs are {resource!r}")
        if found["type"] is None:
            total = float(found["count"])
        typed += float(found["count"])
    return typed if total is None else total


def elapsed_s(text: str) -> float:
    """Read `[days-][hours:]minutes:seconds`.

    Raises
    ------
    LeftOutError
        If it is none.

    Examples
    --------
    >>> elapsed_s("2-05:40:56"), elapsed_s("01:13")
    (193256.0, 73.0)
    """
    found = _ELAPSED.fullmatch(text.strip())
    if found is None:
        raise LeftOutError(TIME, f"Elapsed is {text!r}")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return ((24 * days + hours) * 60 + minutes) * 60 + seconds


def _start(header: Header, options: Options, tally: Tally) -> Make:
    job_id, tres = header.cell("JobID", "JobIDRaw"), header.cell("AllocTRES", "ReqTRES")
    held, tells = header.has("AllocTRES"), header.has("State")
    state, duration = header.cell("State"), _duration(header)
    submit, begin, end = map(header.cell, ("Submit", "Start", "End"))
    clock = Clock(options.timezone, tally)

    def seconds(text: str, name: str, not_before: float = 0.0) -> float:
        if _EPOCH.fullmatch(text):
            tally.zoned = True
            return float(text)
        return clock.seconds(text, name, not_before)

    def make(row: Row) -> Job:
        called = job_id(row).strip()
        if "." in called:
            raise LeftOutError(STEP)
        if absent(begin(row)):
            raise LeftOutError(NO_START, f"Start is {begin(row)!r}")
        if absent(tres(row)):
            raise LeftOutError(NO_ALLOCATION)
        gpus = allocated_gpus(tres(row))
        passed = state(row).split()[:1] == ["COMPLETED"] if tells else None
        wanted.check(options, gpus, passed=passed)
        if absent(end(row)):
            raise LeftOutError(NO_END, f"End is {end(row)!r}")
        submit_s = seconds(submit(row), "Submit")
        start_s = seconds(begin(row), "Start", submit_s)
        end_s = seconds(end(row), "End", start_s)
        told_s = duration(row)
        if told_s is not None and abs(told_s - (end_s - start_s)) > _TOLERATED_S:
            tally.infer(
                "elapsed_differs",
                "run times that are not the end less the start: Elapsed counts",
                f"{told_s:g} s from {begin(row)} to {end(row)}",
            )
        if not held:
            tally.infer(
                "gpus_requested",
                "jobs whose GPUs are those that they asked for (ReqTRES): AllocTRES, what "
                "they held, is not there",
            )
        return Job(called, submit_s, gpus, told_s, start_s, end_s, passed, again=True)

    return make


def _duration(header: Header) -> "_Elapsed":
    if header.has("ElapsedRaw"):
        return _Elapsed(header.cell("ElapsedRaw"), raw=True)
    return _Elapsed(header.cell("Elapsed"), raw=False)


class _Elapsed:
    """Takes a run time out of a row; None where none is printed."""

    def __init__(self, cell: Cell, *, raw: bool) -> None:
        self._cell, self._raw = cell, raw

    def __call__(self, row: Row) -> float | None:
        text = self._cell(row)
        if absent(text):
            return None
        return count(text, "ElapsedRaw") if self._raw else elapsed_s(text)


def _separator(line: str) -> str:
    found = _SEPARATOR.match(line)
    return found[1] if found else ""


SLURM: Final = TableFormat(
    name="slurm",
    title="output of sacct -P",
    needed=("Submit", "Start", "End"),
    telling=("Submit", "Start", "End"),
    either=(("JobID", "JobIDRaw"), ("AllocTRES", "ReqTRES")),
    start=_start,
    delimiter="|",
    clock=None,
    separator=_separator,
    commas_in_cells=True,
    advice="sacct -aPS 2026-01-01 -o JobID,Submit,Start,End,Elapsed,AllocTRES,State "
    "prints all that is needed",
)
