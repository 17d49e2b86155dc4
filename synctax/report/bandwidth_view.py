"""What bandwidth is worth, for people to read: a table, a curve, sentences."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.bandwidth.basis import Row, Setting, basis, below, elasticity_text, fits
from synctax.bandwidth.verdict import interval_text, verdict
from synctax.report import tables
from synctax.report.curves import Curve, log_log
from synctax.report.tables import Field, Sentence, records
from synctax.report.text_plots import can_show_blocks
from synctax.texts import is_absent, number, rate_gb_per_s, time_us

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.report.output import Result


def parts(result: "Result", setting: Setting) -> "list[RenderableType]":
    """Lay out best bandwidths: the table, a curve of its first topology, sentences."""
    rows = records(result.frame)
    shown: list[RenderableType] = [_table(rows), ""]
    if drawn := _drawn(rows):
        shown += [*drawn, ""]
    shown += [Sentence(text) for text in verdict(rows, setting)]
    return [*shown, "", *map(Sentence, [*basis(rows, setting), *fits(setting)])]


def _table(rows: Sequence[Row]) -> "RenderableType":
    """A line per topology and size; elasticities stand side by side."""
    by_key: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        by_key.setdefault((row["topology"], row["n"]), []).append(row)
    lines = list(by_key.values())
    first = [line[0] for line in lines]
    taxed = any(row["tau_us"] for row in rows)
    fields = [
        Field("topology", [row["topology"] for row in first], right=False),
        Field("n", [number(row["n"]) for row in first]),
    ]
    if taxed:
        fields.append(Field("tax", [time_us(row["tau_us"]) for row in first], rank=1))
    told = any(not is_absent(row["gb_per_s_lo"]) for row in rows)
    for i, row in enumerate(lines[0]):
        at = f"ε {elasticity_text(row['elasticity'])}"
        column = [line[i] for line in lines]
        fields.append(
            Field(f"B* at {at}", [rate_gb_per_s(one["gb_per_s"]) for one in column])
        )
        if told:
            fields.append(Field("interval", [interval_text(one) for one in column], rank=4))
        if taxed:
            hockney = [rate_gb_per_s(one["hockney_gb_per_s"]) for one in column]
            fields.append(Field("Hockney", hockney, rank=3))
    if taxed:
        fields.append(Field("below", [below(row["reduction"]) for row in first]))
    if not is_absent(first[0]["cost"]):
        fields.append(Field("cost", [number(row["cost"]) for row in first], rank=2))
    if not is_absent(first[0]["link_gb_per_s"]):
        today = [elasticity_text(row["link_elasticity"]) for row in first]
        fields.append(Field("ε today", today, rank=2))
    return tables.table(fields)


def _drawn(rows: Sequence[Row]) -> list[str]:
    """Draw B* over n with the tax and without, of the topology where that differs most."""
    first = max(rows, key=lambda row: (row["n"], row["reduction"]))
    own = [
        row
        for row in rows
        if (row["topology"], row["elasticity"]) == (first["topology"], first["elasticity"])
    ]
    x = np.array([row["n"] for row in own], np.float64)

    def column(name: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
        absent = [np.nan if is_absent(row[name]) else row[name] for row in own]
        return np.array(absent, np.float64)

    curves = [Curve("B* with the tax", "●", "*", x, column("gb_per_s"))]
    if first["tau_us"]:
        curves.append(Curve("without", "○", "o", x, column("hockney_gb_per_s")))
    else:
        curves = [Curve("B*", "●", "*", x, column("gb_per_s"))]
    if not is_absent(first["link_gb_per_s"]):
        curves.append(Curve("today's link", "┄", "-", x, column("link_gb_per_s")))
    lines = log_log(curves, blocks=can_show_blocks())
    if not lines:
        return []
    at = elasticity_text(first["elasticity"])
    return [f"{first['topology']}, ε {at}: GB/s over the number of ranks", *lines]
