"""Jobs of a trace that are kept, in columns; every other one is counted with its reason."""

from array import array
from collections.abc import Iterable, Mapping
from math import ceil, isnan

from synctax.cluster.convert.found import Job, Options, Tally
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
    REQUEUED,
    LeftOutError,
)
from synctax.cluster.convert.values import gpus_text
from synctax.cluster.jobs import LARGEST_S
from synctax.cluster.model_names import meant
from synctax.planning.possible import LARGEST_COUNT

_EXACT = 1e-6
"""What adding up parts of GPUs leaves of a whole one."""


class Kept:
    """Columns of the jobs that are kept; times in s on the clock of the trace."""

    def __init__(self, options: Options, workloads: Mapping[str, str]) -> None:
        self._options = options
        self._workloads = workloads
        self._at: dict[str, int] = {}
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
        at = self._at.get(job.job_id)
        if at is not None:
            self._other_run(job, at)
        if job.start_s < submit_s:
            tally.infer("start_before_submit", "jobs that start before they are submitted")
        if self._options.status == "pass" and job.passed is None:
            tally.infer(
                "status_unknown",
                "jobs of which the trace tells no status: --status pass keeps them",
            )
        if at is None:
            self._at[job.job_id] = len(self.job_id)
            self._store(job, submit_s, gpus, duration_s, tally)
            tally.keep()
            return
        tally.keep()
        self.submit_s[at], self.gpus[at], self.duration_s[at] = submit_s, gpus, duration_s
        self.start_s[at], self.end_s[at] = job.start_s, job.end_s
        tally.leave(REQUEUED, f"{job.job_id} ran again")

    def _other_run(self, job: Job, at: int) -> None:
        """Tell a run that is later than the one that is kept from all other rows."""
        if not job.again or job.start_s == self.start_s[at]:
            raise LeftOutError(REPEATED, job.job_id)
        if job.start_s < self.start_s[at]:
            raise LeftOutError(REQUEUED, f"{job.job_id} ran again")

    def _store(
        self, job: Job, submit_s: float, gpus: int, duration_s: float, tally: Tally
    ) -> None:
        more = job.more or {}
        for name, value in more.items():
            self.more.setdefault(name, {})[len(self.job_id)] = value
        told = str(more.get("workload", ""))
        if told and "compute_s" not in more and meant(told, self._workloads) is None:
            tally.infer(
                "workload_unknown",
                "jobs with a workload that the built-in pool does not have: simulate needs "
                "a --pool that has it",
                told,
            )
        self.job_id.append(job.job_id)
        self.submit_s.append(submit_s)
        self.gpus.append(gpus)
        self.duration_s.append(duration_s)
        self.start_s.append(job.start_s)
        self.end_s.append(job.end_s)
        self.model.append(job.model)
        named = meant(job.model, self._workloads) or ""
        self.workload.append(told or named)

    def _whole(self, job: Job, tally: Tally) -> int:
        if isnan(job.gpus):
            raise LeftOutError(NO_GPUS)
        if not 0 < job.gpus <= LARGEST_COUNT:
            raise LeftOutError(NUMBER, gpus_text(job.gpus))
        gpus = ceil(job.gpus - _EXACT) or 1
        if abs(gpus - job.gpus) > _EXACT:
            tally.infer(
                "gpus_rounded_up",
                "jobs that ask for parts of GPUs, rounded up to whole ones "
                "(--fractional drop leaves them out)",
                gpus_text(job.gpus),
            )
        elif job.shared:
            tally.infer(
                "gpus_added_up",
                "jobs that ask for parts of GPUs that add up to whole ones "
                "(--fractional drop leaves them out)",
                gpus_text(job.gpus),
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
            # what float64 leaves of seconds since 1970 is no more than a µs
            duration_s = round(job.end_s - job.start_s, 6)
        elif isnan(duration_s):
            duration_s = self._assumed(tally)
        if duration_s < 0 or job.end_s < job.start_s:
            raise LeftOutError(NEGATIVE, f"{duration_s:g} s")
        return _inside(duration_s, "run time")

    def _assumed(self, tally: Tally) -> float:
        assumed_s = self._options.assumed_duration_s
        if assumed_s is None:
            raise LeftOutError(NO_DURATION)
        tally.infer(
            "duration_assumed",
            "run times that the trace does not tell, as --assume-duration-s says",
        )
        return assumed_s


def _inside(seconds: float, name: str) -> float:
    if seconds < 0 or seconds > LARGEST_S:
        raise LeftOutError(RANGE, f"{name} at {seconds:g} s")
    return seconds
