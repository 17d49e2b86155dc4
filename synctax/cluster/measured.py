"""When jobs really ran: a CSV of measured times, read strictly."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

import numpy as np

from synctax.arrays import F64
from synctax.cluster.jobs import LARGEST_S
from synctax.errors import BadInputError, SynctaxError

NEEDED: Final = ("job_id", "start_s", "end_s")
SUBMITTED: Final = "submit_s"


SHOWN: Final = 3
"""Bad lines that a message names."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Measured times of m jobs.

    Parameters
    ----------
    job_id : tuple of str
        No two alike.
    submit_s : (m,) float64
        NaN: as in the trace that is simulated.
    start_s, end_s : (m,) float64
        From the zero of `submit_s`, or that of the trace.
    """

    job_id: tuple[str, ...]
    submit_s: F64
    start_s: F64
    end_s: F64


def read_measured(path: str | Path) -> Measured:
    """Read measured times from a CSV file.

    Parameters
    ----------
    path : str or Path
        Columns `job_id,start_s,end_s`, perhaps `submit_s`; others are not looked at.

    Returns
    -------
    Measured

    Raises
    ------
    SynctaxError
        If the file cannot be opened.
    BadInputError
        If columns are missing, or values are no times; names line, value, and what was
        expected.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInputError(
            f"{path}: expected CSV, found bytes that are no text"
        ) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SynctaxError(
            f"{path}: {reason}; give a CSV with the columns {', '.join(NEEDED)}"
        ) from error
    return _parsed(text, str(path))


def _parsed(text: str, name: str) -> Measured:
    reader = csv.DictReader(StringIO(text, newline=""))
    columns = reader.fieldnames or []
    missing = [one for one in NEEDED if one not in columns]
    if missing:
        raise BadInputError(
            f"{name}: expected the columns {', '.join(NEEDED)}, found "
            f"{', '.join(columns) or 'an empty file'}: {', '.join(missing)} missing"
        )
    rows: dict[str, tuple[float, float, float]] = {}
    bad: list[str] = []
    try:
        for row in reader:
            try:
                job, times_s = _row(row)
                if job in rows:
                    raise ValueError(f"job {job!r} is there twice")
                rows[job] = times_s
            except ValueError as error:
                bad.append(f"line {reader.line_num}: {error}")
    except csv.Error as error:
        raise BadInputError(
            f"{name}: expected CSV, found after line {reader.line_num}: {error}"
        ) from error
    if bad:
        more = f"; and {len(bad) - SHOWN:,} more" if len(bad) > SHOWN else ""
        raise BadInputError(f"{name}: {'; '.join(bad[:SHOWN])}{more}")
    if not rows:
        raise BadInputError(f"{name}: expected measured jobs, found only the header")
    submit_s, start_s, end_s = np.array(list(rows.values())).T
    return Measured(tuple(rows), submit_s, start_s, end_s)


def _row(row: Mapping[str, str | None]) -> tuple[str, tuple[float, float, float]]:
    """Read one line.

    Raises
    ------
    ValueError
        Saying what is wrong with it.
    """
    job = (row["job_id"] or "").strip()
    if not job:
        raise ValueError("job_id is empty")
    start_s, end_s = _time_s(row, "start_s"), _time_s(row, "end_s")
    submit_s = math.nan
    if (row.get(SUBMITTED) or "").strip():
        submit_s = _time_s(row, SUBMITTED)
    if end_s < start_s:
        raise ValueError(f"end_s {end_s:,.12g} is before start_s {start_s:,.12g}")
    return job, (submit_s, start_s, end_s)


def _time_s(row: Mapping[str, str | None], column: str) -> float:
    text = (row[column] or "").strip()
    expected = "expected a number of seconds"
    try:
        value = float(text)
    except ValueError as error:
        found = repr(text[:40]) if text else "empty"
        raise ValueError(f"{column} is {found}; {expected}") from error
    if not abs(value) <= LARGEST_S:
        raise ValueError(f"{column} is {text[:40]}; {expected}, at most {LARGEST_S:g}")
    return value


def measured_of(job_id: Sequence[str], start_s: F64, end_s: F64) -> Measured | None:
    """Take measured times that a trace tells itself.

    Parameters
    ----------
    job_id : sequence of n str
    start_s, end_s : (n,) float64
        NaN where not known.

    Returns
    -------
    Measured or None
        None where no job has both.
    """
    known = np.flatnonzero(~np.isnan(start_s) & ~np.isnan(end_s))
    if not known.size:
        return None
    ids = tuple(job_id[at] for at in known.tolist())
    unknown = np.full(known.size, np.nan)
    return Measured(ids, unknown, start_s[known], end_s[known])
