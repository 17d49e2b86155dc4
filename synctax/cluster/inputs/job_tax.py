"""What jobs wait at their barriers in an iteration, from a measured tax."""

from typing import Final

import numpy as np

from synctax.arrays import F64, I8, I64
from synctax.cluster.inputs.limits import LEAST_ITERATION_S
from synctax.notes import Note
from synctax.planning.barriers import Barriers
from synctax.planning.tax import PlanTax, most_ranks, taxed

LEAST_BARRIERS: Final = 1e-9
"""Of an iteration: no job has so many iterations that it would meet more than once."""


def job_tax(
    tax: PlanTax | None, gpus: I64, compute_s: F64, barriers: F64
) -> tuple[F64, tuple[Note, ...]]:
    """Charge an iteration of jobs for the barriers at which all their workers meet.

    A barrier costs τ(n)/a of the computation before it, here compute_s/barriers, so that
    all of an iteration cost that share of its computation, however many they are. Below
    the ranks of the fit the share falls to none for one worker, straight in ln n. Where
    a predictor says nothing of so many workers, they wait as long as the most of which it
    does.

    Parameters
    ----------
    tax : PlanTax or None
        In proportion to computation; None charges nothing.
    gpus : (n,) int64
        Workers.
    compute_s : (n,) float64
        Computation of an iteration.
    barriers : (n,) float64
        Of an iteration; below `LEAST_BARRIERS` a job waits for nobody.

    Returns
    -------
    tax_s : (n,) float64
        Of an iteration.
    notes : tuple of Note

    Raises
    ------
    SynctaxError
        If the model lacks what the prediction needs, or predicts a wait below 0 or
        without end.
    ValueError
        If the tax is the microseconds of another workload.

    References
    ----------
    Synchronization-tax paper, sections 5.2 and 6.
    """
    none = np.zeros(gpus.size)
    if tax is None:
        return none, ()
    if tax.form != "proportional":
        raise ValueError("the tax of jobs is in proportion to their own computation")
    often = barriers >= LEAST_BARRIERS
    meets = (gpus > 1) & often & (compute_s >= LEAST_ITERATION_S)
    if not meets.any():
        return none, ()
    most = np.minimum(gpus[meets], np.floor(most_ranks(tax))).astype(np.int64)
    group: I8 = np.zeros(most.size, np.int8)
    found = taxed(tax, Barriers(barriers[meets], most, group), compute_s[meets])
    none[meets] = found.tax_s
    return none, _notes(tax, gpus[meets])


def _notes(tax: PlanTax, gpus: I64) -> tuple[Note, ...]:
    fit, most = tax.model.n_fit, most_ranks(tax)
    below, above, beyond = gpus < fit, (gpus > fit) & (gpus <= most), gpus > most
    notes = (
        Note(
            "tax_below_fit",
            int(below.sum()),
            f"jobs of fewer workers than the {fit} of the tax model: they wait between not "
            "at all (one worker) and as long as these, straight in ln n",
        ),
        Note(
            "tax_extrapolated",
            int(above.sum()),
            f"jobs of more workers than the {fit} of the tax model, up to "
            f"{gpus[above].max(initial=fit) / fit:.3g} times as many: extrapolated by "
            f"{tax.method}",
        ),
        Note(
            "tax_beyond_model",
            int(beyond.sum()),
            f"jobs of more workers than the {most:,.0f} up to which {tax.method} predicts: "
            "they wait as long as so many",
        ),
    )
    return tuple(note for note in notes if note.count)
