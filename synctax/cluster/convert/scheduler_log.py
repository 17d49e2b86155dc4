"""Rows of a scheduler's log with times of submission, start and end, as Helios has them."""

from synctax.cluster.convert import wanted
from synctax.cluster.convert.found import Job, Options, Tally
from synctax.cluster.convert.table import Header, Make, Row
from synctax.cluster.convert.values import Clock, count, number

NEEDED = ("job_id", "gpu_num", "state", "submit_time", "start_time", "end_time")

_TOLERATED_S = 1.0
"""Times are told in whole seconds."""


def start(header: Header, options: Options, tally: Tally) -> Make:
    """Take run times from the times, and count what the file says otherwise."""
    job_id, gpus_of, state = map(header.cell, ("job_id", "gpu_num", "state"))
    submit, begin, end = map(header.cell, ("submit_time", "start_time", "end_time"))
    duration = header.cell("duration")
    clock = Clock(options.timezone, tally)

    def make(row: Row) -> Job:
        gpus = count(gpus_of(row), "gpu_num")
        passed = state(row).strip() == "COMPLETED"
        wanted.check(options, gpus, passed=passed)
        submit_s = clock.seconds(submit(row), "submit_time")
        start_s = clock.seconds(begin(row), "start_time", submit_s)
        end_s = clock.seconds(end(row), "end_time", start_s)
        told_s = number(duration(row), "duration")
        if abs(told_s - (end_s - start_s)) > _TOLERATED_S:
            tally.infer(
                "duration_differs",
                "run times in the file that are not the end less the start, which counts",
                f"duration {told_s:g}, from {begin(row)} to {end(row)}",
            )
        return Job(job_id(row).strip(), submit_s, gpus, None, start_s, end_s, passed)

    return make
