"""From what replays found to public tables."""

from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import NS_PER_US
from synctax.collectives.model import Op
from synctax.schema import WHATIF, WHATIF_OPS, WHATIF_STEPS, Table

if TYPE_CHECKING:
    import pandas as pd

    from synctax.attribution.whatif import Scenario, WhatIf


def per_change(found: "WhatIf") -> "pd.DataFrame":
    """One row a change (`WHATIF`)."""
    return _frame(WHATIF, [_change(found, scenario) for scenario in found.scenarios])


def _change(found: "WhatIf", scenario: "Scenario") -> dict[str, Any]:
    before, same, after = found.recorded, found.unchanged, scenario.outcome
    tax_us, taxed_us = (found.counted_tax_us(one) for one in (before, after))
    counted = int(found.counted.sum())
    taxes = {
        "tax_us_sum": tax_us,
        "tax_changed_us_sum": taxed_us,
        **_difference("tax", tax_us, taxed_us),
    }
    return {
        "change": scenario.text,
        "changed": scenario.nodes,
        "steps": int(before.step.size) if before.step[0] >= 0 else None,
        "step_us": before.mean_step_us,
        "step_replayed_us": same.mean_step_us,
        "step_changed_us": after.mean_step_us,
        **_difference("step", same.mean_step_us, after.mean_step_us),
        "total_us": before.mean_total_us,
        "total_replayed_us": same.mean_total_us,
        "total_changed_us": after.mean_total_us,
        **_difference("total", same.mean_total_us, after.mean_total_us),
        "collectives": counted,
        **(taxes if counted else dict.fromkeys(taxes)),
        "replay_error_us": found.error_ns / NS_PER_US,
    }


def per_op(found: "WhatIf") -> "pd.DataFrame":
    """One row a change, group role and operation (`WHATIF_OPS`)."""
    rows = []
    for scenario in found.scenarios:
        for role, op, slots in found.parts:
            before_ns = found.recorded.tax_ns[slots]
            after_ns = scenario.outcome.tax_ns[slots]
            # in ns, which are whole: a sum of µs has digits that no time has
            sums = (int(before_ns.sum()) / NS_PER_US, int(after_ns.sum()) / NS_PER_US)
            rows.append(
                {
                    "change": scenario.text,
                    "group": role,
                    "op": Op(op).label,
                    "collectives": slots.size,
                    "tax_us_sum": sums[0],
                    "tax_us_median": float(np.median(before_ns)) / NS_PER_US,
                    "tax_changed_us_sum": sums[1],
                    "tax_changed_us_median": float(np.median(after_ns)) / NS_PER_US,
                    **_difference("tax", *sums),
                }
            )
    return _frame(WHATIF_OPS, rows)


def per_step(found: "WhatIf") -> "pd.DataFrame":
    """One row a change and step (`WHATIF_STEPS`)."""
    rows = []
    for scenario in found.scenarios:
        columns = (found.recorded, found.unchanged, scenario.outcome)
        for number, *step_ns in zip(
            found.recorded.step.tolist(), *(one.step_ns for one in columns), strict=True
        ):
            before, same, after = (float(one) / NS_PER_US for one in step_ns)
            rows.append(
                {
                    "change": scenario.text,
                    "step": number if number >= 0 else None,
                    "step_us": before,
                    "step_replayed_us": same,
                    "step_changed_us": after,
                    **_difference("step", same, after),
                }
            )
    return _frame(WHATIF_STEPS, rows)


def _difference(name: str, before: float, after: float) -> dict[str, float | None]:
    share = (after - before) / before if before else None
    return {f"{name}_change_us": after - before, f"{name}_change_share": share}


def _frame(table: Table, rows: list[dict[str, Any]]) -> "pd.DataFrame":
    return table.to_frame({name: [row[name] for row in rows] for name in table.names})
