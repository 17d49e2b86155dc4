"""When jobs really ran."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64
from synctax.notes import Note


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
    notes : tuple of Note
        What was left out where they were read.
    """

    job_id: tuple[str, ...]
    submit_s: F64
    start_s: F64
    end_s: F64
    notes: tuple[Note, ...] = ()


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
    note = Note(
        "measured_in_trace",
        known.size,
        "jobs whose start_s and end_s in the trace are taken as measured times",
    )
    return Measured(ids, unknown, start_s[known], end_s[known], (note,))
