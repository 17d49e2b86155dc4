"""Tables of algorithms and of what fits leave."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from synctax.bandwidth.calibrate import Calibration
from synctax.bandwidth.formulas import FORMULAS
from synctax.schema import BANDWIDTH_ALGORITHMS, BANDWIDTH_RESIDUALS

if TYPE_CHECKING:
    import pandas as pd


def algorithm_table() -> "pd.DataFrame":
    """List how p and q of every algorithm are written.

    Returns
    -------
    DataFrame
        `schema.BANDWIDTH_ALGORITHMS`.
    """
    rows = [
        [topology, op, *(text or None for text in asdict(one).values())]
        for (topology, op), one in FORMULAS.items()
    ]
    columns = zip(*rows, strict=True)
    named = dict(zip(BANDWIDTH_ALGORITHMS.names, map(list, columns), strict=True))
    return BANDWIDTH_ALGORITHMS.to_frame(named)


def residual_table(fits: Sequence[Calibration]) -> "pd.DataFrame":
    """List what every fit leaves of every line.

    Parameters
    ----------
    fits : sequence of Calibration

    Returns
    -------
    DataFrame
        `schema.BANDWIDTH_RESIDUALS`.
    """
    rows = [
        (fit.layout.topology, line, float(fitted), float(left))
        for fit in fits
        for line, fitted, left in zip(
            fit.measured, fit.fitted_us, fit.residual, strict=True
        )
    ]
    lines = [line for _, line, _, _ in rows]
    return BANDWIDTH_RESIDUALS.to_frame(
        {
            "topology": [topology for topology, _, _, _ in rows],
            "file": [line.file for line in lines],
            "op": [line.op for line in lines],
            "n": [line.n for line in lines],
            "payload_bytes": [line.payload_bytes for line in lines],
            "time_us": [line.time_us for line in lines],
            "fitted_us": [fitted for _, _, fitted, _ in rows],
            "residual": [left for _, _, _, left in rows],
        }
    )
