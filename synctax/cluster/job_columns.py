"""Columns of the CSV of jobs in one place, and how it is written."""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from math import isnan

from synctax.schema.jobs import JOB_COLUMNS, NEEDED_JOB_COLUMNS

__all__ = ["JOB_COLUMNS", "NEEDED_JOB_COLUMNS", "job_csv"]


def job_csv(columns: Mapping[str, Sequence[object]]) -> str:
    """Write jobs as the CSV that `simulate` reads.

    Parameters
    ----------
    columns : mapping of str to sequence of n values
        Names of `JOB_COLUMNS`; None and NaN are left empty. Numbers are written so that
        they read back the same.

    Returns
    -------
    str
        A header and n lines, columns in the order of `JOB_COLUMNS`.

    Raises
    ------
    ValueError
        If a needed column is missing, a column is none of a job, or columns differ in
        length.

    Examples
    --------
    >>> print(job_csv({"job_id": ["a"], "submit_s": [0.5], "gpus": [8], "duration_s": [6]}))
    job_id,submit_s,gpus,duration_s
    a,0.5,8,6
    <BLANKLINE>
    """
    names = [one.name for one in JOB_COLUMNS]
    missing = [name for name in NEEDED_JOB_COLUMNS if name not in columns]
    unknown = [name for name in columns if name not in names]
    if missing or unknown:
        raise ValueError(f"columns of jobs: missing {missing}, unknown {unknown}")
    written = [name for name in names if name in columns]
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(written)
    values = [map(_cell, columns[name]) for name in written]
    writer.writerows(zip(*values, strict=True))
    return text.getvalue()


def _cell(value: object) -> object:
    return "" if value is None or (isinstance(value, float) and isnan(value)) else value
