"""The data of the page, from which its script draws charts and lists."""

from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.report.page.columns import Columns, rank_tax
from synctax.report.page.content import Content, Missing, Worth
from synctax.report.page.paths import Paths

if TYPE_CHECKING:
    import pandas as pd

    from synctax.evt.results import EvtFit

SCHEMA = "synctax.page/1"
"""What the data in the page are declared as."""

CURVE_POINTS = 200
"""Points through which the densities of laws are drawn."""

DIGITS = 6
"""Significant digits that curves need."""

_DRAWN = (
    "topology", "n", "elasticity", "tau_us", "gb_per_s", "gb_per_s_lo", "gb_per_s_hi",
    "hockney_gb_per_s", "link_gb_per_s",
)  # fmt: skip
"""Columns of `schema.BANDWIDTH` that charts need."""


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
        "rank_tax": rank_tax(content.tax, columns.ranks),
        "paths": told.told,
        "paths_note": told.note,
        "fit": _fit(content.fit),
        "bandwidth": _bandwidth(content.bandwidth),
    }


def _fit(found: "EvtFit | Missing") -> dict[str, Any] | None:
    if isinstance(found, Missing):
        return None
    return {
        "pdf": _columns(found.points("pdf")),
        "curve": _curve(found),
        "qq": _columns(found.points("qq")),
        "growth": _columns(found.to_frame()),
    }


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
    return None if isinstance(found, Missing) else _columns(found.frame[list(_DRAWN)])


def _columns(frame: "pd.DataFrame") -> dict[str, list[Any]]:
    """Columns as lists, with None for what is absent and as many digits as are drawn."""
    return {
        str(name): [_value(value) for value in frame[name].astype(object).tolist()]
        for name in frame
    }


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value if isinstance(value, (int, str)) else None
