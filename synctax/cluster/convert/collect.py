"""Jobs of a trace that are kept, in columns; every other one is counted with its reason."""

from array import array
from collections.abc import Iterable, Mapping
from math import ceil, isnan
from typing import Final

from synctax.cluster.convert.found import Job, Options, Tally
from synctax.cluster.convert.models import plain
from synctax.cluster.convert.reasons import (
    NEGATIVE,
    NO_DURATION,
    NO_END,
    NO_GPUS,
    NO_ID,
    NO_START,
    NO_SUBMIT,
    NUMBER,
    RANGE,
    REPEATED,
    LeftOutError,
)

MAX_S: Final = 9.2e9
"""Largest time: int64 ns hold no more."""

MAX_GPUS: Final = 2**31 - 1

_EXACT = 1e-6
"""What adding up parts of GPUs leaves of a whole one."""


class Kept:
    """Columns of the jobs that are kept; times in s on the clock of the trace."""

    def __init__(self, options: Options, workloads: Mapping[str, str]) -> None:
        self._options = options
        self._workloads = workloads
        self._ids: set[str] = set()
        self.job_id: list[str] = []
        self.submit_s, self.duration_s = array("d"), array("d")
        self.start_s, self.end_s = array("d"), array("d")
        self.gpus = array("q")
        self.model: list[str] = []
        self.workload: list[str] = []
        self.more: dict[str, dict[int, str | float]] = {}

    def add(self, jobs: Iterable[Job], tally: Tally) -> None:
        """Keep jobs, or count why not."""
        for job in jobs:
            try:
                self._keep(job, tally)
            except LeftOutError as left:
                tally.leave(left.reason, left.found)

    def _keep(self, job: Job, tally: Tally) -> None:
        gpus = self._whole(job, tally)
        submit_s, duration_s = (
            _inside(job.submit_s, "submission"),
            self._duration(job, tally),
        )
        if isnan(submit_s):
            raise LeftOutError(NO_SUBMIT)
        if not job.job_id:
            raise LeftOutError(NO_ID)
        if job.job_id in self._ids:
            raise LeftOutError(REPEATED, job.job_id)
        if job.start_s < submit_s:
            tally.note("start_before_submit", "jobs that start before they are submitted")
        self._ids.add(job.job_id)
        self._store(job, submit_s, gpus, duration_s)

    def _store(self, job: Job, submit_s: float, gpus: int, duration_s: float) -> None:
        for name, value in (job.more or {}).items():
            self.more.setdefault(name, {})[len(self.job_id)] = value
        told = (job.more or {}).get("workload", "")
        self.job_id.append(job.job_id)
        self.submit_s.append(submit_s)
        self.gpus.append(gpus)
        self.duration_s.append(duration_s)
        self.start_s.append(job.start_s)
        self.end_s.append(job.end_s)
        self.model.append(job.model)
        named = self._workloads.get(plain(job.model), "") if job.model else ""
        self.workload.append(str(told) or named)

    def _whole(self, job: Job, tally: Tally) -> int:
        if isnan(job.gpus):
            raise LeftOutError(NO_GPUS)
        if not 0 < job.gpus <= MAX_GPUS:
            raise LeftOutError(NUMBER, f"{job.gpus:g} GPUs")
        gpus = ceil(job.gpus - _EXACT) or 1
        if job.shared or gpus != job.gpus:
            tally.note(
                "gpus_rounded_up",
                "jobs that ask for parts of GPUs, rounded up to whole ones "
                "(--fractional drop leaves them out)",
                f"{job.gpus:g} GPUs",
            )
        return gpus

    def _duration(self, job: Job, tally: Tally) -> float:
        _inside(job.start_s, "start")
        _inside(job.end_s, "end")
        duration_s = job.duration_s
        if duration_s is None:
            if isnan(job.start_s):
                raise LeftOutError(NO_START)
            if isnan(job.end_s):
                raise LeftOutError(NO_END)
            duration_s = job.end_s - job.start_s
        elif isnan(duration_s):
            duration_s = self._assumed(tally)
        if duration_s < 0 or job.end_s < job.start_s:
            raise LeftOutError(NEGATIVE, f"{duration_s:g} s")
        return _inside(duration_s, "run time")

    def _assumed(self, tally: Tally) -> float:
        assumed_s = self._options.assumed_duration_s
        if assumed_s is None:
            raise LeftOutError(NO_DURATION)
        tally.note(
            "duration_assumed",
            "run times that the trace does not tell, as --assume-duration-s says",
        )
        return assumed_s


def _inside(seconds: float, name: str) -> float:
    if seconds < 0 or seconds > MAX_S:
        raise LeftOutError(RANGE, f"{name} at {seconds:g} s")
    return seconds
