"""Rows of the CSV that Tiresias' simulator reads, and those that descend from it."""

from collections.abc import Callable

from synctax.cluster.convert import wanted
from synctax.cluster.convert.found import Job, Options, Tally
from synctax.cluster.convert.table import Header, Make, Row
from synctax.cluster.convert.values import count, number

NEEDED = ("job_id", "num_gpu", "submit_time", "duration")


def starting(per_second: float) -> Callable[[Header, Options, Tally], Make]:
    """Tell how rows are read whose times are so many to a second."""

    def start(header: Header, options: Options, _tally: Tally) -> Make:
        job_id, gpus_of, model = map(header.cell, ("job_id", "num_gpu", "model_name"))
        submit, duration = map(header.cell, ("submit_time", "duration"))

        def make(row: Row) -> Job:
            gpus = count(gpus_of(row), "num_gpu")
            wanted.check(options, gpus)
            return Job(
                job_id(row).strip(),
                number(submit(row), "submit_time") / per_second,
                gpus,
                number(duration(row), "duration") / per_second,
                model=model(row).strip(),
            )

        return make

    return start
