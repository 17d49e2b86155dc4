"""What changes would be worth, for people to read: a table, and a sentence a change."""

from typing import TYPE_CHECKING, Any

from synctax.report import tables
from synctax.report.tables import Field, number, percent, time_us

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.attribution.whatif import WhatIf
    from synctax.report.output import Result

NOTHING = 0.0005
"""A change of step time by a smaller share is none to speak of."""


def changes(found: "WhatIf", result: "Result") -> "list[RenderableType]":
    """Lay out a row a change, a sentence each, and how exact the replay is."""
    records = result.frame.astype(object).to_dict("records")
    rows = [{str(name): value for name, value in row.items()} for row in records]
    table = tables.table(
        [
            Field("change", [row["change"] for row in rows], right=False),
            Field("changed", [number(row["changed"]) for row in rows], rank=4),
            Field("step", [time_us(row["step_us"]) for row in rows], rank=1),
            Field("becomes", [time_us(row["step_changed_us"]) for row in rows], rank=2),
            Field("by", [_signed(row["step_change_share"]) for row in rows]),
            Field("total", [time_us(row["total_us"]) for row in rows], rank=3),
            Field(" becomes", [time_us(row["total_changed_us"]) for row in rows], rank=3),
            Field("tax", [time_us(row["tax_us_sum"]) for row in rows]),
            Field("becomes ", [time_us(row["tax_changed_us_sum"]) for row in rows]),
        ]
    )
    return [table, "", *map(_sentence, rows), "", _error(found)]


def _sentence(row: dict[str, Any]) -> str:
    """Say what comes of a change in words."""
    marked = not tables.is_absent(row["steps"])
    name = "step time" if marked else "time"
    share = row["step_change_share"]
    before, after = time_us(row["step_replayed_us"]), time_us(row["step_changed_us"])
    if tables.is_absent(share) or abs(share) < NOTHING:
        text = f"{row['change']}: {name} stays at {before}"
    else:
        way = "falls" if share < 0 else "rises"
        text = (
            f"{row['change']}: {name} {way} by {percent(abs(share))}, {before} to {after}"
        )
    tax, taxed = row["tax_us_sum"], row["tax_changed_us_sum"]
    return text + (f"; the tax {_tax(tax, taxed)}" if tax > 0 else "")


def _tax(before: float, after: float) -> str:
    share = (after - before) / before
    if abs(share) < NOTHING:
        return "stays"
    return f"{'falls' if share < 0 else 'rises'} by {percent(abs(share))}"


def _signed(share: float | None) -> str:
    if share is None or tables.is_absent(share):
        return tables.ABSENT
    sign = "−" if share < 0 else "+"
    return sign + percent(abs(share)) if share else percent(0.0)


def _error(found: "WhatIf") -> str:
    """Say how well a replay without a change agrees with what was recorded."""
    if not found.error_ns:
        return f"replayed without a change, all {found.nodes:,} nodes are as recorded"
    return (
        f"replayed without a change, a node is up to {time_us(found.error_ns / 1000)} off "
        f"what was recorded"
    )
