"""What a plan answers: the fastest layout, what is as fast, what fits for sure."""

from collections.abc import Iterator

import numpy as np

from synctax.planning.search import Plan
from synctax.planning.ties import ERROR, plainest, surely_fits, within_error
from synctax.report.plan_words import fastest, step
from synctax.texts import number, size_bytes


def verdict(plan: Plan) -> Iterator[str]:
    """Say which layout is fastest, what is as fast and plainer, and what fits for sure.

    Yields
    ------
    str
        Nothing where none is feasible.
    """
    for at in np.flatnonzero(plan.feasible_rank == 1).tolist():
        yield fastest(plan, at)
        yield from surely(plan, at)
        yield from alike(plan)


def alike(plan: Plan) -> Iterator[str]:
    """Say how many layouts are as fast as the fastest, and which of them is plainest.

    Yields
    ------
    str
        Nothing where no other is as fast.
    """
    many, plain = int(within_error(plan).sum()), plainest(plan)
    if plain is None or many == 1:
        return
    said = (
        f"as fast within this model's error, {number(100 * ERROR)} %: {many:,} layouts, "
        "marked ~; "
    )
    if plan.feasible_rank[plain] == 1:
        yield f"{said}none is plainer than the fastest"
        return
    step_s, held = plan.costs.step_s[plain], plan.costs.memory.memory_bytes[plain]
    yield (
        f"{said}the plainest is {plan.layouts[plain]}, {step(float(step_s))} a step, "
        f"{size_bytes(float(held))}"
    )


def surely(plan: Plan, best: int) -> Iterator[str]:
    """Say which layout is the fastest that fits for sure, where the fastest may not fit.

    Parameters
    ----------
    plan : Plan
    best : int
        The row of the fastest.

    Yields
    ------
    str
        Nothing where it fits for sure.
    """
    held, budget = plan.costs.memory.memory_hi_bytes, plan.setting.budget_bytes
    if held[best] <= budget:
        return
    said = f"it may need up to {size_bytes(float(held[best]))} of {size_bytes(budget)}; "
    at = surely_fits(plan)
    if at is None:
        yield f"{said}no feasible layout fits with the upper end of its range"
        return
    yield (
        f"{said}the fastest that fits with the upper end of its range is "
        f"{plan.layouts[at]}, {step(float(plan.costs.step_s[at]))} a step, up to "
        f"{size_bytes(float(held[at]))}"
    )
