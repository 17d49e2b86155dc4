"""Pollux: `workloads/workload-*.csv` of its simulator, which tell no run times.

How long a job runs follows from measurements of its application in another folder. The
paper sorts applications by the GPU time of their jobs, and the artifact draws an
application by these bounds: where no run time is given, a job has the geometric middle of
its application's bounds, over its GPUs.

References
----------
A. Qiao et al., Pollux: co-adaptive cluster scheduling for goodput-optimized deep learning,
OSDI 2021, section 5.1 and table 1; github.com/petuum/adaptdl, branch osdi21-artifact,
simulator/workload.py.
"""

from math import nan, sqrt
from typing import Final

from synctax.cluster.convert import wanted
from synctax.cluster.convert.found import Job, Options, Tally
from synctax.cluster.convert.table import Header, Make, Row, TableFormat
from synctax.cluster.convert.values import count, gpus_text, number

_HOUR_S = 3600.0

GPU_S: Final = {
    "small": (60.0, _HOUR_S),
    "medium": (_HOUR_S, 10 * _HOUR_S),
    "large": (10 * _HOUR_S, 100 * _HOUR_S),
    "extra large": (100 * _HOUR_S, 1000 * _HOUR_S),
}
"""Bounds of the GPU time of jobs; the least is the shortest job that the artifact draws."""

APPLICATIONS: Final = {
    "cifar10": ("ResNet-18", "small"),
    "ncf": ("NeuMF", "small"),
    "bert": ("BERT", "medium"),
    "deepspeech2": ("DeepSpeech2", "medium"),
    "yolov3": ("YOLOv3", "large"),
    "imagenet": ("ResNet-50", "extra large"),
}
"""Model and size of each application."""


def _start(header: Header, options: Options, tally: Tally) -> Make:
    name, submit, application = map(header.cell, ("name", "time", "application"))
    replicas = header.cell("num_replicas")

    def make(row: Row) -> Job:
        gpus = count(replicas(row), "num_replicas")
        wanted.check(options, gpus)
        told = application(row).strip()
        model, size = APPLICATIONS.get(told, (told, ""))
        duration_s = nan
        if size and gpus > 0 and options.assumed_duration_s is None:
            duration_s = round(sqrt(GPU_S[size][0] * GPU_S[size][1]) / gpus, 3)
            tally.infer(
                "duration_by_application",
                "run times that the trace does not tell: the middle of the GPU hours that "
                "Pollux' paper gives for the application, over the GPUs; "
                "--assume-duration-s sets another",
                f"{told} on {gpus_text(gpus)}",
            )
        return Job(
            name(row).strip(), number(submit(row), "time"), gpus, duration_s, model=model
        )

    return make


POLLUX: Final = TableFormat(
    name="pollux",
    title="Pollux workload CSV",
    needed=("name", "time", "application", "num_replicas"),
    telling=("name", "time", "application", "num_replicas"),
    start=_start,
)
