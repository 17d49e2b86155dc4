"""The data of the page, from which its script draws charts and lists."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import I64
from synctax.report.page.columns import Columns
from synctax.report.page.content import Content, Missing, Worth
from synctax.report.page.paths import Paths
from synctax.texts import level_text

if TYPE_CHECKING:
    import pandas as pd

    from synctax.evt.results import EvtFit

SCHEMA = "synctax.page/1"
"""What the data in the page are declared as."""

CURVE_POINTS = 200
"""Points through which the densities of laws are drawn."""

DIGITS = 6
"""Significant digits that curves need."""

MOST_MAXIMA = 2_000
"""Points of the Q-Q plot: more cannot be told apart, and a long run has very many."""

TAIL_MAXIMA = 500
"""So many least and largest maxima are always among them: there laws differ."""

_BINS = ("z_lo", "z_hi", "density", "count")
_QUANTILES = ("z", "gumbel_z", "gumbel_lo_z", "gumbel_hi_z", "gev_z")
_GROWTH = (
    "n", "tau_us", "tau_lo_us", "tau_hi_us", "tau_gev_us", "tau_gev_lo_us",
    "tau_gev_hi_us", "measured_us",
)  # fmt: skip
_WORTH = (
    "topology", "n", "elasticity", "gb_per_s", "gb_per_s_lo", "gb_per_s_hi",
    "hockney_gb_per_s",
)  # fmt: skip
"""Columns that charts draw; a page holds no others."""


def data_of(content: Content, columns: Columns, told: Paths) -> dict[str, Any]:
    """Collect all that charts, filters and lists are made of.

    Parameters
    ----------
    content : Content
    columns : Columns
    told : Paths

    Returns
    -------
    dict
        What `script_json` takes; times in µs.
    """
    return {
        "schema": SCHEMA,
        "names": {**columns.names, "strings": told.strings},
        "ranks": columns.ranks,
        "role_of_group": columns.role_of_group,
        "ranks_of_group": columns.ranks_of_group,
        "steps": columns.steps,
        "clock": "aligned" if columns.aligned else "order",
        "collectives": {**columns.columns, "path": told.of},
        "paths": told.told,
        "paths_note": told.note,
        "fit": _fit(content.fit),
        "bandwidth": _bandwidth(content.bandwidth),
    }


def _fit(found: "EvtFit | Missing") -> dict[str, Any] | None:
    if isinstance(found, Missing):
        return None
    quantiles = found.points("qq")
    return {
        "level": level_text(found.options.level),
        "pdf": _columns(found.points("pdf"), _BINS),
        "curve": _curve(found),
        "qq": _columns(quantiles.iloc[drawn(len(quantiles))], _QUANTILES),
        "growth": _columns(found.to_frame(), _GROWTH),
    }


def drawn(count: int) -> I64:
    """Choose which of the sorted block maxima are drawn.

    Parameters
    ----------
    count : int
        Maxima.

    Returns
    -------
    (k,) int64
        Ascending places: all if they are at most `MOST_MAXIMA`, else so many: the
        `TAIL_MAXIMA` at either end, and in between places equally far apart.

    Examples
    --------
    >>> drawn(3)
    array([0, 1, 2])
    >>> drawn(1_000_000)[[0, 1, 499, 500, -1]]
    array([     0,      1,    499,   1497, 999999])
    """
    if count <= MOST_MAXIMA:
        return np.arange(count)
    between = MOST_MAXIMA - 2 * TAIL_MAXIMA
    middle = np.linspace(TAIL_MAXIMA - 1, count - TAIL_MAXIMA, between + 2)[1:-1]
    ends = np.arange(TAIL_MAXIMA)
    return np.concatenate([ends, middle.astype(np.int64), count - TAIL_MAXIMA + ends])


def _curve(fit: "EvtFit") -> dict[str, list[Any]]:
    """Densities of the fitted laws, over the range of the maxima."""
    bins = fit.points("pdf")
    z = np.linspace(bins["z_lo"].iloc[0], bins["z_hi"].iloc[-1], CURVE_POINTS)
    laws = {"gumbel_density": fit.fitted.gumbel, "gev_density": fit.fitted.gev}
    columns = {"z": z} | {
        name: np.full(z.size, np.nan) if law is None else law.pdf(z)
        for name, law in laws.items()
    }
    return {name: [_value(float(v)) for v in own] for name, own in columns.items()}


def _bandwidth(found: Worth | Missing) -> dict[str, Any] | None:
    return None if isinstance(found, Missing) else _columns(found.frame, _WORTH)


def _columns(frame: "pd.DataFrame", names: Sequence[str]) -> dict[str, list[Any]]:
    """Columns as lists, with None for what is absent and as many digits as are drawn."""
    return {
        name: [_value(value) for value in frame[name].astype(object).tolist()]
        for name in names
    }


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value if isinstance(value, (int, str)) else None
