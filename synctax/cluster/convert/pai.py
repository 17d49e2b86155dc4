"""Alibaba's PAI of 2020: tables without headers, whose names are in `.header` files.

A job is a row of `pai_job_table`, what it asks for are the rows of `pai_task_table`: so
many instances (`inst_num`), each with so many GPUs in per cent (`plan_gpu`). GPUs of all
tasks are added up before they are rounded, so that two instances with half a GPU each ask
for one. It runs from the first start to the last end of the tasks with GPUs. What it
trains is in `pai_group_tag_table`, for some. A time of 0 is none.

References
----------
Q. Weng et al., MLaaS in the wild: workload analysis and scheduling in large-scale
heterogeneous GPU clusters, NSDI 2022; github.com/alibaba/clusterdata,
cluster-trace-gpu-v2020.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path
from typing import Final

from synctax.cluster.convert import wanted
from synctax.cluster.convert.found import Job, Options, Tally
from synctax.cluster.convert.lines import HEAD_BYTES, Source, cells, shown
from synctax.cluster.convert.reasons import (
    COLUMNS,
    JOINED,
    NO_JOB,
    NO_TASK,
    LeftOutError,
)
from synctax.cluster.convert.table import Header, Row
from synctax.cluster.convert.values import absent, count, number
from synctax.errors import BadInputError

TABLES: Final = {
    "job": "job_name,inst_id,user,status,start_time,end_time",
    "task": "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,"
    "plan_gpu,gpu_type",
    "group": "inst_id,user,gpu_type_spec,group,workload",
}
"""Tables that are read, and their columns where no `.header` file tells them."""

_NAMED = re.compile(r"pai_(job|task|group_tag)_table")
_STATUS = re.compile(r"Terminated|Failed|Running|Waiting|Interrupted")
_PER_CENT = 100.0


@dataclass(frozen=True, slots=True)
class Pai:
    """Tables of PAI's jobs and tasks."""

    name: str = "pai"
    title: str = "Alibaba PAI tables (v2020)"
    clock: str | None = ""

    def recognises(self, source: Source) -> bool:
        """Whether a file is one of the tables that are read."""
        return bool(table_of(source))

    def read(
        self, sources: Sequence[Source], options: Options, tally: Tally
    ) -> Iterator[Job]:
        """Join the tables.

        Raises
        ------
        BadInputError
            If the table of jobs or of tasks is missing, or a file is neither.
        """
        tables = [(table_of(one), one) for one in sources]
        for name, source in tables:
            if not name:
                raise BadInputError(
                    f"{source.path} is no table of PAI: call it pai_job_table.csv or "
                    "pai_task_table.csv"
                )
        missing = {"job", "task"} - {name for name, _ in tables}
        if missing:
            raise BadInputError(
                "PAI tells what jobs are in two tables: give "
                f"{' and '.join(f'pai_{one}_table.csv' for one in sorted(missing))} too"
            )
        asked: dict[str, _Asked] = {}
        models: dict[str, str] = {}
        for name, source in tables:
            if name == "task":
                _add_tasks(source, asked, tally)
            elif name == "group":
                _add_models(source, models, tally)
        for name, source in tables:
            if name == "job":
                yield from _jobs(source, asked, models, options, tally)
        _count_joined(asked, tally)


@dataclass(slots=True)
class _Asked:
    """What the tasks of a job ask for, and when those with GPUs ran."""

    per_cent: float = 0.0
    shared: bool = False
    start_s: float = inf
    end_s: float = -inf
    rows: int = 0
    where: tuple[str, int] = ("", 0)
    known: bool = False


def table_of(source: Source) -> str:
    """Tell which table a file is: `job`, `task`, `group`, or none."""
    if source.path.endswith(".header"):
        return ""
    if named := _NAMED.search(source.name):
        return named[1].removesuffix("_tag")
    row = source.first_line.split(",")
    for table, names in TABLES.items():
        if source.first_line.replace(" ", "").lower() == names:
            return table
    if len(row) == len(TABLES["job"].split(",")) and _STATUS.fullmatch(row[3]):
        return "job"
    if len(row) == len(TABLES["task"].split(",")) and _STATUS.fullmatch(row[3]):
        return "task"
    return ""


def _header(source: Source, table: str) -> Header:
    beside = Path(re.sub(r"\.csv(\.gz|\.zst)?$", "", source.path) + ".header")
    try:
        with beside.open(encoding="utf-8") as file:
            told = file.read(HEAD_BYTES).strip()
    except (OSError, ValueError):
        told = ""
    needed = TABLES[table]
    header = Header.of(told or needed, ",")
    lacking = [one for one in _needed(table) if not header.has(one)]
    if lacking:
        raise BadInputError(
            f"{beside} begins {shown(told)}: it has no column {', '.join(lacking)}"
        )
    return header


def _needed(table: str) -> tuple[str, ...]:
    return {
        "job": ("job_name", "status", "start_time"),
        "task": ("job_name", "inst_num", "start_time", "end_time", "plan_gpu"),
        "group": ("inst_id", "workload"),
    }[table]


def _rows(source: Source, header: Header, tally: Tally) -> Iterator[Row]:
    """Yield rows, each counted as read; those that cannot be split are left out."""
    width, names = len(header.names), list(header.names)
    for number_of_line, line in enumerate(source.lines(tally)):
        try:
            row = cells(line, ",")
        except LeftOutError as left:
            tally.read += 1
            tally.leave(left.reason, left.found)
            continue
        if number_of_line == 0 and [one.strip().lower() for one in row] == names:
            continue  # some copies have their header in them
        tally.read += 1
        if len(row) == width:
            yield row
        else:
            tally.leave(COLUMNS, f"{len(row)} columns, expected {width}")


def _time(text: str, name: str) -> float:
    return number(text, name) or nan


def _add_tasks(source: Source, asked: dict[str, _Asked], tally: Tally) -> None:
    header = _header(source, "task")
    job, instances, gpus = map(header.cell, ("job_name", "inst_num", "plan_gpu"))
    begin, end = map(header.cell, ("start_time", "end_time"))
    for row in _rows(source, header, tally):
        try:
            each = count(gpus(row), "plan_gpu")
            many = count(instances(row), "inst_num")
            start_s, end_s = _time(begin(row), "start_time"), _time(end(row), "end_time")
        except LeftOutError as left:
            tally.leave(left.reason, left.found)
            continue
        one = asked.setdefault(job(row), _Asked(where=(tally.file, tally.line)))
        one.rows += 1
        if each > 0:
            one.per_cent += each * many
            one.shared |= each % _PER_CENT != 0
            # a task whose time is not known makes that of the job unknown
            one.start_s = min(one.start_s, start_s) if start_s == start_s else nan
            one.end_s = max(one.end_s, end_s) if end_s == end_s else nan


def _add_models(source: Source, models: dict[str, str], tally: Tally) -> None:
    header = _header(source, "group")
    instance, workload = map(header.cell, ("inst_id", "workload"))
    for row in _rows(source, header, tally):
        tally.leave(JOINED)
        if not absent(workload(row)):
            models[instance(row)] = workload(row).strip()


def _jobs(
    source: Source,
    asked: dict[str, _Asked],
    models: dict[str, str],
    options: Options,
    tally: Tally,
) -> Iterator[Job]:
    header = _header(source, "job")
    name, instance, status = map(header.cell, ("job_name", "inst_id", "status"))
    submit = header.cell("start_time")
    for row in _rows(source, header, tally):
        try:
            if (one := asked.get(name(row))) is None:
                raise LeftOutError(NO_TASK, name(row))
            one.known = True
            gpus = one.per_cent / _PER_CENT
            passed = status(row) == "Terminated"
            wanted.check(options, gpus, passed=passed, shared=one.shared)
            submit_s = _time(submit(row), "start_time")
        except LeftOutError as left:
            tally.leave(left.reason, left.found)
            continue
        yield Job(
            name(row),
            submit_s,
            gpus,
            None,
            one.start_s,
            one.end_s,
            passed,
            model=models.get(instance(row), ""),
            shared=one.shared,
        )


def _count_joined(asked: dict[str, _Asked], tally: Tally) -> None:
    for one in asked.values():
        tally.file, tally.line = one.where
        tally.leave(JOINED if one.known else NO_JOB, times=one.rows)


PAI: Final = Pai()
