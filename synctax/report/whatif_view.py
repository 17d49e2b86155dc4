"""What changes would be worth, for people to read: sentences, a table, how exact it is."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from synctax.arrays import NS_PER_US
from synctax.report import tables
from synctax.report.tables import Field
from synctax.report.text_plots import can_show_blocks
from synctax.schema import WHATIF_OPS, WHATIF_STEPS
from synctax.texts import is_absent, number, signed, time_us

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.attribution.whatif import WhatIf
    from synctax.report.output import Result

BAR_WIDTH = 20
"""Characters of the bar of the longest step."""

RECORDED = "as recorded"


def parts(found: "WhatIf", result: "Result") -> "list[RenderableType]":
    """Lay out a sentence a change, the table, and how exact the replay is.

    Parameters
    ----------
    found : WhatIf
    result : Result
        Of `found`: by change, by operation or by step.
    """
    records = result.frame.astype(object).to_dict("records")
    rows = [{str(name): value for name, value in row.items()} for row in records]
    in_all = "in all" if found.tax.steps is None else "whole window"
    changes = partial(_changes, in_all=in_all)
    layout = {WHATIF_OPS: _ops, WHATIF_STEPS: _steps}.get(result.table, changes)
    shown: list[RenderableType] = [*found.verdict(), ""]
    return [*shown, layout(rows), "", _error(found)]


def _changes(rows: Sequence[dict[str, Any]], *, in_all: str) -> "RenderableType":
    """A row for what was recorded, then one a change."""
    first = rows[0]
    longest = max(row[name] for row in rows for name in ("step_us", "step_changed_us"))
    whole = "step" if not is_absent(first["steps"]) else "window"

    def column(before: str, after: str) -> list[str]:
        return [time_us(first[before]), *(time_us(row[after]) for row in rows)]

    return tables.table(
        [
            Field("change", [RECORDED, *(row["change"] for row in rows)], right=False),
            Field("changed", ["", *(number(row["changed"]) for row in rows)], rank=4),
            Field(whole, column("step_us", "step_changed_us")),
            Field("by", ["", *(signed(row["step_change_share"]) for row in rows)]),
            Field(in_all, column("total_us", "total_changed_us"), rank=3),
            Field("by", ["", *(signed(row["total_change_share"]) for row in rows)], rank=3),
            Field("tax", column("tax_us_sum", "tax_changed_us_sum")),
            Field("by", ["", *(signed(row["tax_change_share"]) for row in rows)]),
            Field(
                whole,
                [
                    _bar(first["step_us"], first["step_us"], longest),
                    *(
                        _bar(row["step_changed_us"], first["step_us"], longest)
                        for row in rows
                    ),
                ],
                right=False,
                rank=2,
            ),
        ]
    )


def _ops(rows: Sequence[dict[str, Any]]) -> "RenderableType":
    return tables.table(
        [
            Field("change", [row["change"] for row in rows], right=False),
            Field("group", [row["group"] for row in rows], right=False),
            Field("op", [row["op"] for row in rows], right=False, rank=1),
            Field("n", [number(row["collectives"]) for row in rows], rank=3),
            Field("tax", [time_us(row["tax_us_sum"]) for row in rows]),
            Field("becomes", [time_us(row["tax_changed_us_sum"]) for row in rows]),
            Field("by", [signed(row["tax_change_share"]) for row in rows]),
            Field("median", [time_us(row["tax_us_median"]) for row in rows], rank=2),
            Field(
                "becomes", [time_us(row["tax_changed_us_median"]) for row in rows], rank=2
            ),
        ]
    )


def _steps(rows: Sequence[dict[str, Any]]) -> "RenderableType":
    longest = max(row[name] for row in rows for name in ("step_us", "step_changed_us"))
    bars = [_bar(row["step_changed_us"], row["step_us"], longest) for row in rows]
    return tables.table(
        [
            Field("change", [row["change"] for row in rows], right=False),
            Field("step", [number(row["step"]) for row in rows]),
            Field("takes", [time_us(row["step_us"]) for row in rows]),
            Field("becomes", [time_us(row["step_changed_us"]) for row in rows]),
            Field("by", [signed(row["step_change_share"]) for row in rows]),
            Field("", bars, right=False, rank=2),
        ]
    )


def _bar(value_us: float, before_us: float, longest_us: float) -> str:
    """Draw a time, and lightly what it was longer before."""
    full, light = ("█", "░") if can_show_blocks() else ("#", ".")
    scale = BAR_WIDTH / longest_us if longest_us else 0.0
    length, before = round(value_us * scale), round(before_us * scale)
    return full * length + light * (before - length)


def _error(found: "WhatIf") -> str:
    """Say how well a replay without a change agrees with what was recorded."""
    nodes = f"{found.nodes:,} nodes"
    if not found.error_ns:
        return f"replayed without a change: exact ({nodes})"
    off = time_us(found.error_ns / NS_PER_US)
    return f"replayed without a change: up to {off} off ({nodes})"
