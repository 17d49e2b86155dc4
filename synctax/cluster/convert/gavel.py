"""Gavel: `traces/**/*.trace`, tab-separated and without a header.

A job counts steps; how long they take is in `simulation_throughputs.json` beside the
traces, which `--throughputs` names. Columns grew over time: type, command, argument,
steps, arrival, GPUs; with whether it needs data before the steps; with priority and SLO,
and GPUs before and arrival after them; with a working directory.

References
----------
D. Narayanan et al., Heterogeneity-aware cluster scheduling policies for deep learning
workloads, OSDI 2020; github.com/stanford-futuredata/gavel, scheduler/utils.py.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from os import PathLike
from typing import Final

import msgspec

from synctax.cluster.convert import wanted
from synctax.cluster.convert.found import Job, Options, Tally, made
from synctax.cluster.convert.json_words import fault
from synctax.cluster.convert.lines import Source, shown
from synctax.cluster.convert.reasons import (
    COLUMNS,
    NO_RATES,
    NO_THROUGHPUT,
    LeftOutError,
)
from synctax.cluster.convert.values import count, gpus_text, number
from synctax.errors import BadInputError

LAYOUTS: Final = {6: (3, 4, 5), 7: (4, 5, 6), 9: (4, 8, 5), 10: (5, 9, 6)}
"""Where steps, arrival and GPUs are, by number of columns."""

ALONE: Final = "null"
"""Key of the rate of a job that shares its GPUs with none."""

MOST_BYTES: Final = 256 * 1024 * 1024
"""No file of rates is larger."""

_MOST_RATE = 1e12
_KEY = re.compile(r"\('(?P<model>.*)', (?P<gpus>\d{1,9})\)")


@dataclass(frozen=True, slots=True)
class Gavel:
    """Traces of Gavel's scheduler."""

    name: str = "gavel"
    title: str = "Gavel trace"
    clock: str | None = ""

    def recognises(self, source: Source) -> bool:
        """Whether a file is of this format, from the columns of its first line."""
        row = source.first_line.split("\t")
        at = LAYOUTS.get(len(row))
        return at is not None and all(_is_number(row[one]) for one in at)

    def read(
        self, sources: Sequence[Source], options: Options, tally: Tally
    ) -> Iterator[Job]:
        """Read the jobs of files; they are called by their number, from 0.

        Raises
        ------
        BadInputError
            If a file has no tabs.
        """
        for source in sources:
            if "\t" not in source.first_line:
                raise BadInputError(
                    f"{source.path} is no {self.title}: its first line has no tab; it is "
                    f"{shown(source.first_line)}"
                )
            yield from made(
                source.lines(tally),
                lambda line: _job(line.split("\t"), options, str(tally.read - 1)),
                tally,
            )


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d*)?", text.strip()) is not None


def _job(row: list[str], options: Options, job_id: str) -> Job:
    at = LAYOUTS.get(len(row))
    if at is None:
        raise LeftOutError(COLUMNS, f"{len(row)} columns, expected 6, 7, 9 or 10")
    steps, arrival, gpus_of = (row[one] for one in at)
    gpus = count(gpus_of, "scale factor")
    wanted.check(options, gpus)
    taken, kind = count(steps, "steps"), row[0].strip()
    duration_s = nan
    if options.assumed_duration_s is None:
        if options.rates is None:
            raise LeftOutError(NO_RATES, f"{kind} on {gpus_text(gpus)}")
        rate = options.rates.get((kind, int(gpus) if gpus == gpus else 0))
        if not rate:
            raise LeftOutError(NO_THROUGHPUT, f"{kind} on {gpus_text(gpus)}")
        duration_s = taken / rate
    model = kind.partition(" (batch size")[0]
    return Job(job_id, number(arrival, "arrival"), gpus, duration_s, model=model)


def read_throughputs(
    path: str | PathLike[str], gpu_type: str
) -> Mapping[tuple[str, int], float]:
    """Read Gavel's rates of jobs that run alone.

    Parameters
    ----------
    path : path
        `simulation_throughputs.json`.
    gpu_type : str
        `v100`, `p100` or `k80`.

    Returns
    -------
    mapping of (str, int) to float
        Steps a second, by type of job and GPUs.

    Raises
    ------
    BadInputError
        If the file is none of these, or has no such GPU.
    """
    text = _bounded(path)
    try:
        told = msgspec.json.decode(text, type=dict[str, dict[str, dict[str, object]]])
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadInputError(
            f"{path} has no throughputs as Gavel writes them: {fault(error, text)}; give "
            "its simulation_throughputs.json"
        ) from error
    if gpu_type not in told:
        others = ", ".join(told) or "none"
        raise BadInputError(
            f"{path} has no throughputs of {gpu_type}; it has {others:.200}"
        )
    found = {}
    for key, rates in told[gpu_type].items():
        parsed, alone = _KEY.fullmatch(key), rates.get(ALONE)
        if parsed and isinstance(alone, int | float) and 0 < alone <= _MOST_RATE:
            found[parsed["model"], int(parsed["gpus"])] = float(alone)
    return found


def _bounded(path: str | PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(text) > MOST_BYTES:
        raise BadInputError(
            f"{path} has more than {MOST_BYTES:,} bytes; give Gavel's "
            "simulation_throughputs.json"
        )
    return text


GAVEL: Final = Gavel()
