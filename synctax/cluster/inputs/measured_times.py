"""Measured times of jobs, from a CSV of their own."""

from pathlib import Path
from typing import Final

from synctax.cluster.inputs.faults import Faults
from synctax.cluster.inputs.job_rows import check_ids, times
from synctax.cluster.inputs.job_table import Wanted, read_job_table
from synctax.cluster.measured import Measured
from synctax.errors import BadInputError
from synctax.schema.convert import CONVERT
from synctax.schema.simulate import SIMULATE

MEASURED: Final = Wanted(
    "a CSV of measured times",
    ("job_id", "start_s", "end_s"),
    # results of other simulations stand in for measured times
    frozenset((*SIMULATE.names, *CONVERT.names)),
)


def read_measured(path: str | Path) -> Measured:
    """Read measured times from a CSV file.

    Parameters
    ----------
    path : str or Path
        Columns `job_id,start_s,end_s`, perhaps `submit_s`, in any order; written as a
        trace of jobs may be (`read_jobs`), compressed as well.

    Returns
    -------
    Measured

    Raises
    ------
    SynctaxError
        If they are asked for from stdin.
    BadInputError
        If the file cannot be read, is no such CSV, or values are no times; counts all
        wrong rows and names the first few.
    """
    table = read_job_table(path, MEASURED)
    if not len(table):
        raise BadInputError(f"{table.name}: no job below the header; expected one or more")
    faults = Faults(table)
    check_ids(table, faults)
    submit_s = times(table, faults, "submit_s")
    start_s = times(table, faults, "start_s", needed=True)
    end_s = times(table, faults, "end_s", needed=True)
    faults.wrong(end_s < start_s, "end_s", "no time before start_s")
    faults.check()
    return Measured(tuple(table.texts("job_id")), submit_s, start_s, end_s, table.notes)
