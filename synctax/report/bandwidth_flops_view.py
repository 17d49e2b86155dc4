"""How bandwidth should grow with FLOPS, for people to read: a row a reading, sentences."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from synctax.bandwidth.basis import Row, Setting, basis, below, elasticity_text, fits
from synctax.bandwidth.verdict import flops_verdict
from synctax.report import tables
from synctax.report.tables import Field, Sentence, records
from synctax.texts import number, rate_gb_per_s

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.report.output import Result


def parts(result: "Result", setting: Setting) -> "list[RenderableType]":
    """Lay out how bandwidth should grow with FLOPS, in every reading."""
    rows = records(result.frame)
    said = [*flops_verdict(rows), "", *basis(rows, setting), *fits(setting)]
    return [_table(rows), "", *map(Sentence, said)]


def _table(rows: Sequence[Row]) -> "RenderableType":
    return tables.table(
        [
            Field("topology", [row["topology"] for row in rows], right=False),
            Field("n", [number(row["n"]) for row in rows]),
            Field("FLOPS", [f"× {number(row['flops_growth'])}" for row in rows]),
            Field("τ", [row["tau_with_flops"] for row in rows], right=False),
            Field("ε", [row["grounding"] for row in rows], right=False),
            Field("B*", [rate_gb_per_s(row["gb_per_s"]) for row in rows]),
            Field("growth", [f"× {number(row['growth'])}" for row in rows], rank=1),
            Field("Hockney", [rate_gb_per_s(row["hockney_gb_per_s"]) for row in rows]),
            Field("growth", [f"× {number(row['hockney_growth'])}" for row in rows], rank=1),
            Field("below", [below(row["reduction"]) for row in rows]),
            Field("ε today", [elasticity_text(row["elasticity"]) for row in rows], rank=2),
        ]
    )
