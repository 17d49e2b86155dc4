"""Alibaba's spot jobs of 2026: `job_info_df.csv`. GPUs are those of a worker times workers.

References
----------
J. Duan et al., GFS: a preemptive scheduling framework for GPU clusters with predictive spot
management, ASPLOS 2026; github.com/alibaba/clusterdata, cluster-trace-v2026-spot-gpu.
"""

from typing import Final

from synctax.cluster.convert import wanted
from synctax.cluster.convert.found import Job, Options, Tally
from synctax.cluster.convert.table import Header, Make, Row, TableFormat
from synctax.cluster.convert.values import count, number


def _start(header: Header, options: Options, _tally: Tally) -> Make:
    name, gpus_of, workers_of = map(header.cell, ("job_name", "gpu_request", "worker_num"))
    submit, duration = map(header.cell, ("submit_time", "duration"))

    def make(row: Row) -> Job:
        each = count(gpus_of(row), "gpu_request")
        gpus = each * count(workers_of(row), "worker_num")
        shared = each == each and each != round(each)
        wanted.check(options, gpus, shared=shared)
        return Job(
            name(row).strip(),
            number(submit(row), "submit_time"),
            gpus,
            number(duration(row), "duration"),
            shared=shared,
        )

    return make


SPOT: Final = TableFormat(
    name="spot",
    title="Alibaba spot jobs (v2026)",
    needed=("job_name", "gpu_request", "worker_num", "submit_time", "duration"),
    telling=("job_name", "gpu_request", "worker_num"),
    start=_start,
)
