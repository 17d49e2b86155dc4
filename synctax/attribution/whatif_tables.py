"""The tables of `whatif`."""

from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import NS_PER_US
from synctax.collectives.model import Op
from synctax.schema import Column, Table

if TYPE_CHECKING:
    import pandas as pd

    from synctax.attribution.whatif import Outcome, Scenario, WhatIf

_CHANGE = Column(
    "change", "str", "", "what is different; `all together` where several changes are"
)

WHATIF = Table(
    "synctax.whatif/1",
    "What step time and tax would be if durations were different: one row per change.",
    (
        _CHANGE,
        Column("changed", "int", "", "durations that differ, of kernels and host pieces"),
        Column("steps", "int", "", "profiler steps; null where none is marked"),
        Column("step_us", "float", "us", "mean step time over steps and ranks, recorded"),
        Column("step_replayed_us", "float", "us", "the same, replayed without a change"),
        Column("step_changed_us", "float", "us", "the same, with the change"),
        Column("step_change_us", "float", "us", "changed less replayed; negative: faster"),
        Column("step_change_share", "float", "", "that over the replayed step time"),
        Column(
            "total_us", "float", "us", "first event to end of last, mean over the ranks"
        ),
        Column("total_replayed_us", "float", "us", "the same, replayed without a change"),
        Column("total_changed_us", "float", "us", "the same, with the change"),
        Column("total_change_us", "float", "us", "changed less replayed; negative: faster"),
        Column("total_change_share", "float", "", "that over the replayed total"),
        Column("tax_us_sum", "float", "us", "tax (max - min) of all collectives"),
        Column("tax_changed_us_sum", "float", "us", "the same, with the change"),
        Column(
            "replay_error_us",
            "float",
            "us",
            "largest error of a start or end in a replay without a change",
        ),
    ),
)

WHATIF_GROUPS = Table(
    "synctax.whatif-groups/1",
    "What the tax would be: one row per change, group role and operation.",
    (
        _CHANGE,
        Column("group", "str", "", "role of the process group, else its name"),
        Column("op", "str", "", "operation, as torch.distributed names it"),
        Column("collectives", "int", "", "collectives that count and are replayed"),
        Column("tax_us_sum", "float", "us", "tax (max - min duration): sum, recorded"),
        Column("tax_us_median", "float", "us", "tax: median, recorded"),
        Column("tax_changed_us_sum", "float", "us", "tax: sum, with the change"),
        Column("tax_changed_us_median", "float", "us", "tax: median, with the change"),
        Column("tax_change_us", "float", "us", "change of the sum"),
        Column("tax_change_share", "float", "", "that over the recorded sum"),
    ),
)

WHATIF_STEPS = Table(
    "synctax.whatif-steps/1",
    "What each step would take: one row per change and profiler step.",
    (
        _CHANGE,
        Column("step", "int", "", "number of the profiler step; null: the whole window"),
        Column("step_us", "float", "us", "mean over the ranks, recorded"),
        Column("step_replayed_us", "float", "us", "the same, replayed without a change"),
        Column("step_changed_us", "float", "us", "the same, with the change"),
        Column("step_change_us", "float", "us", "changed less replayed"),
        Column("step_change_share", "float", "", "that over the replayed step time"),
    ),
)


def changes(found: "WhatIf") -> "pd.DataFrame":
    """One row a change (`WHATIF`)."""
    return _frame(WHATIF, [_change(found, scenario) for scenario in found.scenarios])


def _change(found: "WhatIf", scenario: "Scenario") -> dict[str, Any]:
    before, same, after = found.recorded, found.unchanged, scenario.outcome
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
        "tax_us_sum": _tax_us(found, before).sum(),
        "tax_changed_us_sum": _tax_us(found, after).sum(),
        "replay_error_us": found.error_ns / NS_PER_US,
    }


def groups(found: "WhatIf") -> "pd.DataFrame":
    """One row a change, group role and operation (`WHATIF_GROUPS`)."""
    rows = []
    for scenario in found.scenarios:
        for role, op, slots in found.parts:
            before = found.recorded.tax_ns[slots] / NS_PER_US
            after = scenario.outcome.tax_ns[slots] / NS_PER_US
            rows.append(
                {
                    "change": scenario.text,
                    "group": role,
                    "op": Op(op).label,
                    "collectives": slots.size,
                    "tax_us_sum": before.sum(),
                    "tax_us_median": float(np.median(before)),
                    "tax_changed_us_sum": after.sum(),
                    "tax_changed_us_median": float(np.median(after)),
                    **_difference("tax", before.sum(), after.sum()),
                }
            )
    return _frame(WHATIF_GROUPS, rows)


def steps(found: "WhatIf") -> "pd.DataFrame":
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


def _tax_us(found: "WhatIf", outcome: "Outcome") -> np.ndarray:
    taxes: np.ndarray = outcome.tax_ns[found.counted] / NS_PER_US
    return taxes


def _frame(table: Table, rows: list[dict[str, Any]]) -> "pd.DataFrame":
    return table.to_frame({name: [row[name] for row in rows] for name in table.names})
