"""How bandwidth should grow with FLOPS, for people to read: a row a reading, sentences."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from synctax.report import tables
from synctax.report.bandwidth_text import (
    Row,
    Setting,
    basis,
    below,
    below_or_above,
    elasticity_text,
    fits,
)
from synctax.report.tables import Field, Sentence, records
from synctax.texts import number, rate_gb_per_s

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.report.output import Result


def parts(result: "Result", setting: Setting) -> "list[RenderableType]":
    """Lay out how bandwidth should grow with FLOPS, in every reading."""
    rows = records(result.frame)
    said = [*verdict(rows), "", *basis(rows, setting)]
    return [_table(rows), "", *map(Sentence, said), *fits(setting)]


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


def verdict(rows: Sequence[Row]) -> list[str]:
    """Say for the largest size and growth of each topology what each reading claims.

    Parameters
    ----------
    rows : sequence of mapping
        Of `schema.BANDWIDTH_FLOPS`.

    Returns
    -------
    list of str
    """
    said = []
    for topology in dict.fromkeys(row["topology"] for row in rows):
        own = [row for row in rows if row["topology"] == topology]
        largest = max((row["n"], row["flops_growth"]) for row in own)
        last = [row for row in own if (row["n"], row["flops_growth"]) == largest]
        asked = next(row for row in last if row["asked"])
        said.append(
            f"{topology}, n = {number(asked['n'])}: with {number(asked['flops_growth'])} × "
            f"the FLOPS bandwidth should grow {number(asked['growth'])} ×, "
            f"{below_or_above(asked['reduction'])} the "
            f"{number(asked['hockney_growth'])} × of Hockney's model ({_reading(asked)})"
        )
        others = [row for row in last if not row["asked"]]
        said += [
            f"{topology}: {_reading(r)}: {below_or_above(r['reduction'])}" for r in others
        ]
    return said


def _reading(row: Row) -> str:
    moves = {"stays": "τ stays", "shrinks": "τ shrinks with the computation"}
    own = {"own": "each model has its own ε", "common": "both have one ε"}
    return f"{moves[row['tau_with_flops']]}, {own[row['grounding']]}"
