"""The CSV of jobs that `simulate` reads, and one with shorter names of columns.

Rows that cannot be jobs are counted, submissions are counted from the first one, and all
other columns of the CSV of jobs are passed on.
"""

from typing import Final

from synctax.cluster.convert import wanted
from synctax.cluster.convert.found import Job, Options, Tally
from synctax.cluster.convert.table import Header, Make, Row, TableFormat
from synctax.cluster.convert.values import absent, count, number
from synctax.schema.jobs import JOB_COLUMNS

_MADE = ("job_id", "submit_s", "gpus", "duration_s", "start_s", "end_s")


def _start(header: Header, options: Options, _tally: Tally) -> Make:
    job_id, gpus_of, model = map(header.cell, ("job_id", "gpus", "model"))
    submit, duration = (
        header.cell("submit_s", "submit"),
        header.cell("duration_s", "duration"),
    )
    begin, end = header.cell("start_s", "start"), header.cell("end_s", "end")
    others = {
        one.name: (one.dtype, header.cell(one.name))
        for one in JOB_COLUMNS
        if one.name not in _MADE and header.has(one.name)
    }

    def make(row: Row) -> Job:
        gpus = count(gpus_of(row), "gpus")
        wanted.check(options, gpus)
        more: dict[str, str | float] = {}
        for name, (dtype, cell) in others.items():
            text = cell(row).strip()
            if not absent(text):
                more[name] = text if dtype == "str" else number(text, name)
        return Job(
            job_id(row).strip(),
            number(submit(row), "submit_s"),
            gpus,
            number(duration(row), "duration_s"),
            number(begin(row), "start_s"),
            number(end(row), "end_s"),
            model=model(row).strip(),
            more=more,
        )

    return make


OWN: Final = TableFormat(
    name="csv",
    title="CSV of jobs",
    needed=("job_id", "gpus"),
    telling=("job_id", "gpus"),
    either=(("submit_s", "submit"), ("duration_s", "duration")),
    start=_start,
)
