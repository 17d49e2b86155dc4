"""What nccl-tests printed: sizes and times, of which operation and over how many ranks.

A file may hold several runs, each with its own preamble, header and rows; NCCL writes
warnings in between.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from synctax.arrays import BYTES_PER_US
from synctax.bandwidth.choices import OPS, Op
from synctax.bandwidth.nccl_lines import (
    Header,
    Prefix,
    Row,
    has_time,
    header,
    is_header,
    lines,
    row,
    with_units,
)
from synctax.bandwidth.topology import LEAST_RANKS, Layout, cost
from synctax.errors import BadInputError, SynctaxError
from synctax.notes import Note

MAX_ERROR = 1e-2
"""Largest deviation in the column `error` of old versions that is still rounding."""

MAX_RATE_OFF = 0.05
"""By what share bandwidths may miss the time, of which old versions print few digits."""

MAX_FACTOR_OFF = 0.01
"""By what share two bandwidths may miss the factor of operation and ranks."""

MIN_RATE = 1.0
"""Below so many GB/s the two decimals of the bandwidths say nothing of that."""

_BUS = Layout("switched")
"""Whose volume is the factor of nccl-tests between algorithm and bus bandwidth."""

_RANK = re.compile(r"(?:^|#)\s*Rank\s+(\d{1,9})\s+(?:Group\s+(\d{1,9})\s)?.*\bon\b")
_NRANKS = re.compile(r"\bnranks (\d{1,9})\b")
_START = re.compile(r"#\s*nThread\b|nThread \d+ nGpus|# nccl-tests version")
_STARTING = "Collective test starting"
_CONCLUDED = "Collective test concluded"

_WITH_COST = "all_?reduce|reduce_?scatter|all_?gather|all_?to_?all"
_WITHOUT = "broadcast|send_?recv|hyper_?cube"
_NAMED = re.compile(rf"(?<![a-z])({_WITH_COST}|{_WITHOUT})(?=_perf|[^a-z]|$)")
_COMMAND = re.compile(
    rf"(?<![a-z])({_WITH_COST}|{_WITHOUT}|reduce|gather|scatter|all_?to_?allv)(?=_perf)"
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of a benchmark.

    Parameters
    ----------
    file : str
        Where it stands.
    op : Op
    n : int
        Ranks.
    payload_bytes : int
        Size as nccl-tests say it: the larger of a rank's input and output.
    time_us : float
        Mean time of the collective, in µs.
    """

    file: str
    op: Op
    n: int
    payload_bytes: int
    time_us: float


@dataclass(slots=True)
class _Run:
    """What was seen of one run of a program so far.

    `groups` tells of each rank which one it is in: with NCCL_TESTS_SPLIT each group runs
    a collective of its own.
    """

    path: Path
    groups: dict[int, str] = field(default_factory=dict)
    nranks: set[int] = field(default_factory=set)
    started: set[str] = field(default_factory=set)
    commands: set[str] = field(default_factory=set)
    header: Header | None = None
    rows: list[tuple[int, Row]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)

    @property
    def programs(self) -> set[str]:
        """What a program said of itself, else the commands that were seen."""
        return self.started or self.commands

    def drop(self, reason: str, line: int, count: int = 1) -> None:
        self.left_out[reason] += count
        self.first.setdefault(reason, line)

    def take_facts(self, other: "_Run") -> None:
        """Take over what lines within this run's table told."""
        self.groups |= other.groups
        self.nranks |= other.nranks
        self.started |= other.started
        self.commands |= other.commands


def read_nccl_tests(
    paths: Sequence[Path], *, op: Op | None = None, in_place: bool = False
) -> tuple[tuple[Measured, ...], tuple[Note, ...]]:
    """Read outputs of `all_reduce_perf`, `reduce_scatter_perf`, `all_gather_perf`, ...

    Parameters
    ----------
    paths : sequence of Path
        Outputs; each may be of another operation and number of ranks.
    op : Op, optional
        Operation of files that do not tell theirs, by the line "Collective test
        starting", a command in the file, or the file's name.
    in_place : bool
        Take the times of the in-place run.

    Returns
    -------
    measured : tuple of Measured
        In order of files and lines.
    notes : tuple of Note
        Lines that were left out: wrong results, empty buffers, no time, unreadable.

    Raises
    ------
    BadInputError
        If a file has no such table, does not tell its ranks or operation, or its
        bandwidths do not fit them.
    """
    found: list[Measured] = []
    notes: list[Note] = []
    for path in paths:
        runs = _read(path, in_place=in_place)
        for run in runs:
            found += _measured(run, op, alone=len(runs) == 1, in_place=in_place)
            notes += [
                Note(reason, count, _WHY[reason], f"{path}, line {run.first[reason]}")
                for reason, count in run.left_out.items()
            ]
    return tuple(found), tuple(notes)


_WHY = {
    "nccl_wrong_result": "lines whose results are wrong",
    "nccl_empty_buffer": "lines of size 0",
    "nccl_no_time": "lines without a time",
    "nccl_line_unreadable": "lines that begin as a row of the table and are cut off",
    "nccl_other_program": "lines of programs whose operation has no costs here",
}


def _read(path: Path, *, in_place: bool) -> list[_Run]:
    runs = [_Run(path)]
    prefix, above, number = Prefix(), "", 0
    for number, raw in enumerate(lines(path), 1):
        line = prefix.learn(raw) if is_header(raw) else prefix.off(raw)
        words = line.lstrip("# ").split()
        if is_header(raw):
            _begin(runs).header = header(line, above)
        elif words and words[0].startswith("(") and "elem" in line and runs[-1].header:
            runs[-1].header = with_units(runs[-1].header, line, path, number)
        elif words and words[0].isdecimal() and not line.startswith("#"):
            _take(runs, line, number, in_place=in_place)
        else:
            _facts(runs, line)
        above = line
    found = [run for run in runs if run.header]
    if not found:
        raise BadInputError(
            f"{path}: no table of nccl-tests in {number:,} lines; expected a header "
            "`# size count type ... time algbw busbw`, as all_reduce_perf prints; if "
            "something else stands between its words, take that out"
        )
    full = [run for run in found if run.rows or run.left_out]
    if not full:
        raise BadInputError(
            f"{path}: the table of nccl-tests has no rows; did the benchmark end early?"
        )
    return full


def _begin(runs: list[_Run]) -> _Run:
    """Return the run that a header, or a line of a preamble, belongs to."""
    if runs[-1].header:
        runs.append(_Run(runs[-1].path))
    return runs[-1]


def _take(runs: list[_Run], line: str, number: int, *, in_place: bool) -> None:
    """Take one row, or count why not."""
    if runs[-1].header is None and len(runs) > 1:
        # the table goes on: what was taken for a preamble stood within it
        between = runs.pop()
        runs[-1].take_facts(between)
    run = runs[-1]
    if run.header is None:
        return
    found = row(run.header, line, in_place=in_place)
    if found is None:
        run.drop("nccl_line_unreadable", number)
    elif found.wrong > (0 if "#wrong" in run.header.names else MAX_ERROR):
        run.drop("nccl_wrong_result", number)
    elif found.size_bytes == 0:
        run.drop("nccl_empty_buffer", number)
    elif not (run.header.of_cpu or has_time(found)):
        run.drop("nccl_no_time", number)
    else:
        run.rows.append((number, found))


def _facts(runs: list[_Run], line: str) -> None:
    """Take from any other line what it tells of ranks and operation."""
    if found := _RANK.search(line):
        run = _begin(runs) if runs[-1].rows else runs[-1]
        run.groups[int(found[1])] = found[2] or ""
    elif found := _NRANKS.search(line):
        runs[-1].nranks.add(int(found[1]))
    elif _CONCLUDED in line:
        runs[-1].started.update(_operations(_NAMED, line))
    elif _STARTING in line:
        _begin(runs).started.update(_operations(_NAMED, line))
    elif "_perf" in line:
        run = _begin(runs) if runs[-1].rows else runs[-1]
        run.commands.update(_operations(_COMMAND, line))
    elif _START.search(line):
        _begin(runs)


def _operations(pattern: re.Pattern[str], text: str) -> set[str]:
    names = (name.replace("_", "") for name in pattern.findall(text.lower()))
    return {_OF_NAME.get(name, name) for name in names}


_OF_NAME = {op.replace("_", ""): op for op in OPS}


def _measured(
    run: _Run, asked: Op | None, *, alone: bool, in_place: bool
) -> Iterator[Measured]:
    named = _operation(run, asked)
    op = next((one for one in OPS if one == named), None)
    if op is None:
        if alone:
            raise BadInputError(
                f"{run.path}: the benchmark is of {named}, whose cost is not known here; "
                f"give one of {', '.join(OPS)}"
            )
        if run.rows:
            run.drop("nccl_other_program", run.rows[0][0], len(run.rows))
        return
    n = _ranks(run)
    if op == "all_to_all" and in_place:
        raise SynctaxError(
            f"{run.path}: nccl-tests do not support all-to-all in place, and its times "
            "mean nothing; leave out --in-place"
        )
    if run.header is not None and run.header.of_cpu:
        raise BadInputError(
            f"{run.path}: the column cputime (-C 1) tells how long the processor was busy, "
            "not how long the collective took; run nccl-tests with -C 0"
        )
    for line, one in run.rows:
        _check(f"{run.path}, line {line}", one, op, n)
        yield Measured(str(run.path), op, n, one.size_bytes, one.time_us)


def _check(where: str, one: Row, op: Op, n: int) -> None:
    """Refuse a row whose numbers contradict each other: it would be misread."""
    if not one.algbw >= MIN_RATE:
        return
    rate = one.size_bytes / (one.time_us * BYTES_PER_US)
    if abs(rate / one.algbw - 1) > MAX_RATE_OFF:
        raise BadInputError(
            f"{where}: size over time is {rate:.2f} GB/s, but algbw says {one.algbw:.2f}; "
            "expected columns as nccl-tests print them, with times of the collective"
        )
    factor = float(cost(_BUS, op, np.array([n], np.float64)).q[0])
    if abs(one.busbw / one.algbw / factor - 1) > MAX_FACTOR_OFF:
        raise BadInputError(
            f"{where}: busbw / algbw is {one.busbw / one.algbw:.3f}, but {op} over {n} "
            f"ranks has {factor:.3f}; if the operation is another, give --op; if lines "
            "`# Rank ...` are missing, give the whole output"
        )


def _operation(run: _Run, asked: Op | None) -> str:
    told = run.programs or _operations(_NAMED, run.path.name)
    if len(told) == 1:
        return next(iter(told))
    if asked is None:
        what = (
            f"names {' and '.join(sorted(told))}"
            if told
            else "does not say which operation it timed"
        )
        raise BadInputError(
            f"{run.path}: the output {what}; give --op, or the file a name such "
            "as all_reduce.txt"
        )
    return asked


def _ranks(run: _Run) -> int:
    n = max(run.nranks, default=0) or _of_one_group(run)
    if n >= LEAST_RANKS:
        return n
    if run.groups:
        raise BadInputError(
            f"{run.path}: the benchmark ran over 1 rank; a collective needs at least 2 "
            "(several outputs with rank 0 each mean that nccl-tests were built without MPI)"
        )
    raise BadInputError(
        f"{run.path}: neither lines `# Rank 0 ...` nor `nranks` tell the number of "
        "ranks; give the whole output of nccl-tests"
    )


def _of_one_group(run: _Run) -> int:
    sizes = Counter(run.groups.values())
    if len(sizes) < 2:
        return max(run.groups, default=-1) + 1
    if len(set(sizes.values())) > 1:
        found = ", ".join(map(str, sorted(set(sizes.values()))))
        raise BadInputError(
            f"{run.path}: the benchmark ran in groups of different sizes ({found} ranks), "
            "and its times belong to none of them alone; split into equal groups"
        )
    return next(iter(sizes.values()))
