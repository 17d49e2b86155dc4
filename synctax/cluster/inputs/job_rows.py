"""Rows of a CSV of jobs as checked numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from itertools import compress
from math import nan
from typing import Any, Final

import numpy as np

from synctax.arrays import F64, I64, NS_PER_S, Bool
from synctax.cluster.choices import COUNTINGS
from synctax.cluster.fitting import shortest_s, too_large
from synctax.cluster.inputs.faults import Faults
from synctax.cluster.inputs.job_table import JobTable
from synctax.cluster.inputs.limits import (
    LEAST_ITERATION_S,
    LEAST_NETWORK_S,
    MOST_BYTES,
)
from synctax.cluster.inputs.pins import pins
from synctax.cluster.jobs import LARGEST_S, Placement, to_ns
from synctax.cluster.machines import Cluster
from synctax.planning.possible import COUNT, LARGEST_COUNT

PROFILE: Final = ("compute_s", "network_s", "network_bytes")
"""Columns that tell the profile of a job, all of them or none."""

EXACT_S: Final = 2.0**52 / NS_PER_S
"""Up to here the float next to a time is less than half a nanosecond away."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")

_TIME: Final = f"a time in seconds from 0 to {LARGEST_S:g}"


@dataclass(frozen=True, slots=True, eq=False)
class JobRows:
    """n jobs in the order of the file, all of which can run on the cluster.

    Parameters
    ----------
    job_id, workload, counting : sequence of str
        Empty texts where the file does not tell, but for `job_id`.
    gpus : (n,) int64
    submit_s : (n,) float64
    submit_ns, duration_ns : (n,) int64
    given : (n,) bool
        Whether the row tells its own profile.
    compute_s, network_s, network_bytes : (n,) float64
        NaN where it does not.
    local_network_s, barriers, tax_s, start_s, end_s : (n,) float64
        NaN where the file does not tell.
    pinned : tuple of Placement or None
    """

    job_id: Sequence[str]
    workload: Sequence[str]
    counting: Sequence[str]
    gpus: I64
    submit_s: F64
    submit_ns: I64
    duration_ns: I64
    given: Bool
    compute_s: F64
    network_s: F64
    network_bytes: F64
    local_network_s: F64
    barriers: F64
    tax_s: F64
    start_s: F64
    end_s: F64
    pinned: tuple[Placement | None, ...]


def job_rows(table: JobTable, cluster: Cluster, faults: Faults) -> JobRows:
    """Check the values of a table.

    Parameters
    ----------
    table : JobTable
    cluster : Cluster
        On which every job has to find room.
    faults : Faults
        Of the same table: what is wrong is added; those rows hold nothing of use.

    Returns
    -------
    JobRows
    """
    check_ids(table, faults)
    submit_s = times(table, faults, "submit_s", needed=True)
    gpus = _gpus(table, faults, cluster)
    duration_s = times(table, faults, "duration_s", needed=True)
    profile = {name: _present(table, name) for name in PROFILE}
    given = np.logical_or.reduce(list(profile.values()))
    for name, there in profile.items():
        expected = f"a number, as {', '.join(PROFILE)} go together; or none of them"
        faults.wrong(given & ~there, name, expected)
    compute_s = times(table, faults, "compute_s")
    network_s = times(table, faults, "network_s")
    network_bytes = _numbers(
        table, faults, "network_bytes", MOST_BYTES, "a number of bytes"
    )
    counting = [one.lower() for one in table.texts("counting")]
    known = np.array([one in ("", *COUNTINGS) for one in counting], np.bool_)
    faults.wrong(~known, "counting", f"{' or '.join(COUNTINGS)}, or an empty cell")
    barriers = _numbers(
        table, faults, "barriers", LARGEST_COUNT, "how often all workers meet"
    )
    rows = JobRows(
        table.texts("job_id"),
        table.texts("workload"),
        counting,
        gpus,
        submit_s,
        _ns(table, "submit_s", submit_s),
        _ns(table, "duration_s", duration_s),
        given,
        compute_s,
        network_s,
        network_bytes,
        times(table, faults, "local_network_s"),
        barriers,
        times(table, faults, "tax_s"),
        times(table, faults, "start_s"),
        times(table, faults, "end_s"),
        pins(table, gpus, cluster, faults),
    )
    _profiles(rows, faults)
    faults.wrong(rows.end_s < rows.start_s, "end_s", "no time before start_s")
    return rows


def in_order(rows: JobRows, order: I64) -> JobRows:
    """Put rows in another order.

    Parameters
    ----------
    rows : JobRows
    order : (n,) int64
        Of each place the row that comes there.
    """
    if np.array_equal(order, np.arange(order.size)):
        return rows
    columns: dict[str, Any] = {}
    for one in fields(rows):
        values = getattr(rows, one.name)
        if isinstance(values, np.ndarray):
            columns[one.name] = values[order]
        else:
            columns[one.name] = tuple(values[at] for at in order.tolist())
    return JobRows(**columns)


def check_ids(table: JobTable, faults: Faults) -> None:
    """Note rows without a name, or with one that an earlier row has."""
    ids = table.texts("job_id")
    faults.wrong(~_present(table, "job_id"), "job_id", "what the job is called")
    if _CONTROL.search("".join(ids)):
        odd = np.array([bool(_CONTROL.search(one)) for one in ids], np.bool_)
        faults.wrong(odd, "job_id", "a name without control characters")
    if len(set(ids)) == len(ids):
        return
    first: dict[str, int] = {}
    again = np.array(
        [first.setdefault(one, at) != at for at, one in enumerate(ids)], np.bool_
    )

    def say(at: int) -> str:
        before = table.place(first[ids[at]])
        return f"job_id is {ids[at]!r:.60} as in {before}; expected another for each job"

    faults.add(again, say)


def _gpus(table: JobTable, faults: Faults, cluster: Cluster) -> I64:
    values = _floats(table.texts("gpus"))
    whole = (values >= 1) & (values <= LARGEST_COUNT) & (values == np.floor(values))
    faults.wrong(~whole, "gpus", COUNT)
    gpus = np.where(whole, values, 1.0).astype(np.int64)
    ids = table.texts("job_id")

    def say(at: int) -> str:
        called = f" {cluster.name}" if cluster.name else ""
        return (
            f"job {ids[at]!r:.60} asks for {gpus[at]:,} GPUs, and cluster{called} has "
            f"{cluster.total_gpus:,}; take a larger cluster or leave the job out"
        )

    faults.add(too_large(gpus, cluster), say)
    return gpus


def _profiles(rows: JobRows, faults: Faults) -> None:
    iteration = rows.compute_s + rows.network_s
    least = f"together with network_s at least {LEAST_ITERATION_S:g} s"
    faults.wrong(rows.given & (iteration < LEAST_ITERATION_S), "compute_s", least)
    local = shortest_s(rows.compute_s, rows.network_s, rows.local_network_s)
    least = f"together with compute_s at least {LEAST_ITERATION_S:g} s"
    faults.wrong(rows.given & (local < LEAST_ITERATION_S), "local_network_s", least)
    sends = rows.given & (rows.network_bytes > 0)
    short = sends & (rows.network_s < LEAST_NETWORK_S)
    expected = f"at least {LEAST_NETWORK_S:g} s, as network_bytes are sent in it"
    faults.wrong(short, "network_s", expected)


def times(table: JobTable, faults: Faults, name: str, *, needed: bool = False) -> F64:
    """Read a column of times in seconds; NaN where nothing stands, or nothing of use."""
    values = _numbers(table, faults, name, LARGEST_S, _TIME)
    if needed:
        faults.wrong(~_present(table, name), name, _TIME)
    return values


def _numbers(table: JobTable, faults: Faults, name: str, most: float, expected: str) -> F64:
    """Read a column of numbers from 0 on; NaN where nothing stands, or nothing of use."""
    there = _present(table, name)
    values = np.full(len(table), nan)
    if there.any():
        values[there] = _floats(list(compress(table.texts(name), there)))
    right = (values >= 0) & (values <= most)
    if most != LARGEST_S:
        expected = f"{expected}, 0 or more, at most {most:g}"
    faults.wrong(~right & there, name, expected)
    return np.where(right, values, nan)


def _ns(table: JobTable, name: str, seconds: F64) -> I64:
    """Tell times in ns as they are written; 0 where they are none."""
    known = np.where(np.isnan(seconds), 0.0, seconds)
    ns, texts = to_ns(known), table.texts(name)
    # a float has not enough digits for an epoch and its fractions
    for at in np.flatnonzero((known > EXACT_S) & (known % 1 != 0)).tolist():
        ns[at] = int((Decimal(texts[at]) * NS_PER_S).to_integral_value())
    return ns


def _present(table: JobTable, name: str) -> Bool:
    return np.fromiter(map(bool, table.texts(name)), np.bool_, len(table))


def _floats(texts: Sequence[str]) -> F64:
    """Read numbers; NaN where there is none."""
    if "_" in "".join(texts):  # Python's own way to group digits
        return np.array([_float(one) for one in texts], np.float64)
    try:
        return np.array(list(map(float, texts)), np.float64)
    except ValueError:
        return np.array([_float(one) for one in texts], np.float64)


def _float(text: str) -> float:
    try:
        return nan if "_" in text else float(text)
    except ValueError:
        return nan
