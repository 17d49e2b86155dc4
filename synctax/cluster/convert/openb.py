"""Alibaba's openb pods of 2023: `openb_pod_list_*.csv`.

Times are seconds from a zero that is not told. A pod that asks for one GPU may ask for a
part of it (`gpu_milli`).

References
----------
Q. Weng et al., Beware of fragmentation: scheduling GPU-sharing workloads with
fragmentation gradient descent, USENIX ATC 2023; github.com/alibaba/clusterdata,
cluster-trace-gpu-v2023.
"""

from typing import Final

from synctax.cluster.convert import wanted
from synctax.cluster.convert.found import Job, Options, Tally
from synctax.cluster.convert.reasons import NUMBER, LeftOutError
from synctax.cluster.convert.table import Header, Make, Row, TableFormat
from synctax.cluster.convert.values import count, gpus_text, number

_MILLI = 1000.0


def _start(header: Header, options: Options, _tally: Tally) -> Make:
    name, whole, milli = map(header.cell, ("name", "num_gpu", "gpu_milli"))
    phase, tells = header.cell("pod_phase"), header.has("pod_phase")
    submit, begin, end = map(
        header.cell, ("creation_time", "scheduled_time", "deletion_time")
    )

    def make(row: Row) -> Job:
        gpus = count(whole(row), "num_gpu")
        part = count(milli(row), "gpu_milli")
        if gpus > 0 and (part == 0 or part > _MILLI):
            raise LeftOutError(NUMBER, f"gpu_milli is {milli(row)!r} of {gpus_text(gpus)}")
        if gpus == 1 and part < _MILLI:
            gpus = part / _MILLI
        passed = phase(row).strip() == "Succeeded" if tells else None
        wanted.check(options, gpus, passed=passed)
        return Job(
            name(row).strip(),
            number(submit(row), "creation_time"),
            gpus,
            None,
            number(begin(row), "scheduled_time"),
            number(end(row), "deletion_time"),
            passed,
        )

    return make


OPENB: Final = TableFormat(
    name="openb",
    title="Alibaba openb pod list (v2023)",
    needed=("name", "num_gpu", "creation_time", "deletion_time", "scheduled_time"),
    telling=("name", "num_gpu", "gpu_milli", "creation_time"),
    start=_start,
)
