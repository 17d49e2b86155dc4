"""The CSV of jobs that `simulate` reads, and one with shorter names of columns.

Rows that cannot be jobs are counted, submissions are counted from the first one, and all
other columns of the CSV of jobs are passed on, where `simulate` takes what they say on
some cluster.
"""

import re
from collections.abc import Mapping
from typing import Final

from synctax.cluster.choices import COUNTINGS
from synctax.cluster.convert import wanted
from synctax.cluster.convert.found import Job, Options, Tally
from synctax.cluster.convert.reasons import PROFILE, LeftOutError
from synctax.cluster.convert.table import Header, Make, Row, TableFormat
from synctax.cluster.convert.values import absent, count, number
from synctax.cluster.inputs.limits import (
    LEAST_ITERATION_S,
    LEAST_NETWORK_S,
    MOST_BYTES,
)
from synctax.cluster.jobs import LARGEST_S
from synctax.planning.possible import LARGEST_COUNT
from synctax.schema.jobs import JOB_COLUMNS

_MADE = ("job_id", "submit_s", "gpus", "duration_s", "start_s", "end_s")
_TOGETHER = ("compute_s", "network_s", "network_bytes")
_MOST = {
    "compute_s": LARGEST_S,
    "network_s": LARGEST_S,
    "network_bytes": MOST_BYTES,
    "local_network_s": LARGEST_S,
    "barriers": LARGEST_COUNT,
    "tax_s": LARGEST_S,
}
_PLACE = re.compile(r"\s*([0-9]{1,9})\s*:\s*([0-9]{1,9})\s*")


def _start(header: Header, options: Options, tally: Tally) -> Make:
    job_id, gpus_of, model = map(header.cell, ("job_id", "gpus", "model"))
    submit, duration = (
        header.cell("submit_s", "submit"),
        header.cell("duration_s", "duration"),
    )
    begin, end = header.cell("start_s", "start"), header.cell("end_s", "end")
    for name in ("submit", "duration", "start", "end"):
        if header.has(name, f"{name}_s"):
            tally.note(
                "column_twice",
                "columns beside others of the same meaning: those in _s count",
                f"{name} beside {name}_s",
            )
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
        _check(more, gpus)
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


def _check(more: Mapping[str, str | float], gpus: float) -> None:
    """Reject what `simulate` takes on no cluster."""
    numbers = {name: float(more[name]) for name in _MOST if name in more}
    for name, value in numbers.items():
        if not 0 <= value <= _MOST[name]:
            raise LeftOutError(PROFILE, f"{name} is {value:g}")
    _check_profile(numbers)
    counting = str(more.get("counting", COUNTINGS[0]))
    if counting.lower() not in COUNTINGS:
        raise LeftOutError(PROFILE, f"counting is {counting!r}")
    servers = str(more.get("servers", ""))
    if servers and not _is_placement(servers, gpus):
        raise LeftOutError(PROFILE, f"servers is {servers!r} of {gpus:g} GPUs")


def _check_profile(told: Mapping[str, float]) -> None:
    missing = [name for name in _TOGETHER if name not in told]
    if len(missing) == len(_TOGETHER):
        return
    if missing:
        there = next(name for name in _TOGETHER if name in told)
        raise LeftOutError(PROFILE, f"{there} without {' and '.join(missing)}")
    compute_s, network_s, sent = (told[name] for name in _TOGETHER)
    least_s = compute_s + min(network_s, told.get("local_network_s", network_s))
    if least_s < LEAST_ITERATION_S:
        raise LeftOutError(PROFILE, f"an iteration takes {least_s:g} s")
    if sent and network_s < LEAST_NETWORK_S:
        raise LeftOutError(PROFILE, f"{sent:g} bytes are sent in {network_s:g} s")


def _is_placement(text: str, gpus: float) -> bool:
    parts = [_PLACE.fullmatch(one) for one in text.rstrip(";").split(";")]
    told = [(int(one[1]), int(one[2])) for one in parts if one]
    return (
        len(dict(told)) == len(parts)
        and min(workers for _, workers in told) >= 1
        and sum(workers for _, workers in told) == gpus
    )


OWN: Final = TableFormat(
    name="csv",
    title="CSV of jobs",
    needed=("job_id", "gpus"),
    telling=("job_id", "gpus"),
    either=(("submit_s", "submit"), ("duration_s", "duration")),
    start=_start,
)
