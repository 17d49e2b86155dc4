"""Rows of the tables on a fit that are not ready-made: blocks, instances, plots."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import F64
from synctax.evt.cut import select, units
from synctax.evt.model import Block
from synctax.evt.read_csv import rows
from synctax.schema import (
    FIT_EVT_INSTANCES,
    FIT_EVT_LEVELS,
    FIT_EVT_PDF,
    FIT_EVT_QQ,
    Table,
)

if TYPE_CHECKING:
    from synctax.evt.gev import GevFit
    from synctax.evt.gumbel import GumbelFit
    from synctax.evt.results import EvtFit

POINTS: dict[str, Table] = {
    "pdf": FIT_EVT_PDF,
    "qq": FIT_EVT_QQ,
    "return-level": FIT_EVT_LEVELS,
}
"""The table of each kind of plot."""

BINS = 48
"""Bins of the density."""


def block_rows(fit: "EvtFit") -> list[dict[str, Any]]:
    """Tell each block of the sets: its times, and the prediction beside measurement.

    Parameters
    ----------
    fit : EvtFit

    Returns
    -------
    list of dict
        By column of `schema.FIT_EVT_BLOCKS`.
    """
    standard = fit.inputs.standard
    if standard is None:
        return []
    law = fit.fitted.gumbel
    rows, first = [], 0
    for times in fit.inputs.sets:
        for number, block in enumerate(times.blocks):
            own = select(times, times.block == number)
            at = first + number
            mean_z = float("nan") if law is None else law.mean_z(times.m / fit.m)
            z = standard.z[standard.times.block == at]
            rows.append(
                {
                    **_who(block),
                    "instances": int(np.unique(units(own)).size),
                    "n": times.m,
                    "a_us": float(standard.a_us[at]),
                    "b_us": float(standard.b_us[at]),
                    "r": float(standard.b_us[at] / standard.a_us[at]),
                    "z_max": float(z.max()),
                    "tau_us": float(standard.b_us[at]) * mean_z,
                    "measured_us": float((own.us.max(axis=1) - own.us.mean(axis=1)).mean()),
                    "tax_mean_us": float(own.measured_us.mean()),
                }
            )
        first += len(times.blocks)
    return rows


def _who(block: Block) -> dict[str, Any]:
    texts = ("source", "group", "op", "gpu", "dtype", "phase", "gemm")
    return {
        "block": block.name,
        "kernels": block.kernels,
        **{name: getattr(block, name) or None for name in texts},
    }


def instance_columns(fit: "EvtFit") -> dict[str, list[Any]]:
    """List every block time, as `read_block_times` reads them.

    Parameters
    ----------
    fit : EvtFit

    Returns
    -------
    dict
        By column of `schema.FIT_EVT_INSTANCES`; of several sets, blocks have the number
        of their set before their name.
    """
    columns: dict[str, list[Any]] = {name: [] for name in FIT_EVT_INSTANCES.names}
    first = 0
    for number, times in enumerate(fit.inputs.sets):
        prefix = f"{number + 1}: " if len(fit.inputs.sets) > 1 else ""
        blocks = tuple(replace(b, name=f"{prefix}{b.name}") for b in times.blocks)
        moved = replace(times, blocks=blocks, series=times.series + first)
        first = int(moved.series.max()) + 1
        for name, values in rows(moved).items():
            columns[name] += [None if value == "" else value for value in values]
    return columns


def point_columns(fit: "EvtFit", kind: str) -> dict[str, Any]:
    """Compute what a diagnostic plot shows.

    Parameters
    ----------
    fit : EvtFit
    kind : {"pdf", "qq", "return-level"}

    Returns
    -------
    dict
        By column of `POINTS[kind]`.
    """
    return {"pdf": _pdf, "qq": _qq, "return-level": _levels}[kind](fit)


def _pdf(fit: "EvtFit") -> dict[str, Any]:
    count, edges = np.histogram(fit.z, bins=BINS)
    z = (edges[1:] + edges[:-1]) / 2
    gumbel, gev = _laws(fit, lambda law: law.pdf(z), z.size)
    return {
        "z": z,
        "z_lo": edges[:-1],
        "z_hi": edges[1:],
        "count": count,
        "density": count / count.sum() / np.diff(edges),
        "gumbel_density": gumbel,
        "gev_density": gev,
    }


def _qq(fit: "EvtFit") -> dict[str, Any]:
    z, probability = _positions(fit)
    gumbel, gev = _laws(fit, lambda law: law.ppf(probability), z.size)
    return {"probability": probability, "z": z, "gumbel_z": gumbel, "gev_z": gev}


def _levels(fit: "EvtFit") -> dict[str, Any]:
    z, probability = _positions(fit)
    gumbel, gev = _laws(fit, lambda law: law.ppf(probability), z.size)
    return {
        "period": 1 / (1 - probability),
        "z": z,
        "gumbel_z": gumbel,
        "gev_z": gev,
        "gumbel_us": fit.a_us + fit.b_us * gumbel,
        "gev_us": fit.a_us + fit.b_us * gev,
    }


def _positions(fit: "EvtFit") -> tuple[F64, F64]:
    """Maxima in order, and the probability that each stands for."""
    return np.sort(fit.z), (np.arange(fit.z.size) + 0.5) / fit.z.size


def _laws(
    fit: "EvtFit", ask: "Callable[[GumbelFit | GevFit], F64]", size: int
) -> tuple[F64, F64]:
    """Ask both laws; NaN of one that could not be fitted."""
    gumbel, gev = (
        np.full(size, np.nan) if law is None else ask(law)
        for law in (fit.fitted.gumbel, fit.fitted.gev)
    )
    return gumbel, gev
