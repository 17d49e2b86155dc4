"""Rows of the tables on a fit that are not ready-made: blocks, instances, plots."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import F64
from synctax.evt.cut import select, units
from synctax.evt.measured import mean_known
from synctax.evt.model import Block
from synctax.evt.points import (
    PERIODS,
    empirical_levels,
    histogram,
    positions,
    quantile_points,
    return_levels,
)
from synctax.evt.read_csv import rows
from synctax.schema import FIT_EVT_INSTANCES

if TYPE_CHECKING:
    from synctax.evt.gev import GevFit
    from synctax.evt.gumbel import GumbelFit
    from synctax.evt.results import EvtFit

    Law = GumbelFit | GevFit


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
                    "measured_us": float(own.wait_us.mean()),
                    "tax_mean_us": mean_known(own.measured_us),
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
        By column of `schema.FIT_EVT_POINTS[kind]`.
    """
    return {"pdf": _pdf, "qq": _qq, "return-level": _levels}[kind](fit)


def _pdf(fit: "EvtFit") -> dict[str, Any]:
    seen = histogram(fit.z)
    z = (seen.left + seen.right) / 2
    gumbel, gev = _laws(fit, lambda law: (law.pdf(z),), z.size)
    return {
        "z": z,
        "z_lo": seen.left,
        "z_hi": seen.right,
        "count": seen.count,
        "density": seen.density,
        "gumbel_density": gumbel[0],
        "gev_density": gev[0],
    }


def _qq(fit: "EvtFit") -> dict[str, Any]:
    level = fit.options.level

    def ask(law: "Law") -> tuple[F64, ...]:
        found = quantile_points(fit.z, law, level=level)
        return found.fitted, found.lo, found.hi

    gumbel, gev = _laws(fit, ask, fit.z.size)
    return {
        "probability": positions(fit.z.size),
        "z": np.sort(fit.z),
        **_bounded("gumbel", gumbel),
        **_bounded("gev", gev),
    }


def _levels(fit: "EvtFit") -> dict[str, Any]:
    """Maxima at their periods without intervals, and round periods with them."""
    seen = empirical_levels(fit.z)
    period = np.concatenate([seen.period, PERIODS])
    order = np.argsort(period, kind="stable")

    def ask(law: "Law") -> tuple[F64, ...]:
        found = return_levels(fit.z, law, level=fit.options.level)
        none = np.full(seen.period.size, np.nan)
        level = np.concatenate([law.return_level(seen.period), found.level])
        bounds = [np.concatenate([none, bound]) for bound in (found.lo, found.hi)]
        return tuple(column[order] for column in (level, *bounds))

    gumbel, gev = _laws(fit, ask, period.size)
    z = np.concatenate([seen.level, np.full(len(PERIODS), np.nan)])
    return {
        "period": period[order],
        "z": z[order],
        **_bounded("gumbel", gumbel),
        **_bounded("gev", gev),
        "gumbel_us": fit.a_us + fit.b_us * gumbel[0],
        "gev_us": fit.a_us + fit.b_us * gev[0],
    }


def _bounded(name: str, columns: tuple[F64, ...]) -> dict[str, F64]:
    names = (f"{name}_z", f"{name}_lo_z", f"{name}_hi_z")
    return dict(zip(names, columns, strict=True))


def _laws(
    fit: "EvtFit", ask: "Callable[[Law], tuple[F64, ...]]", size: int
) -> list[tuple[F64, ...]]:
    """Ask both laws; NaN of one that could not be fitted."""
    none = np.full(size, np.nan)
    laws = (fit.fitted.gumbel, fit.fitted.gev)
    return [(none, none, none) if law is None else ask(law) for law in laws]
