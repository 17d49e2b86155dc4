"""Layouts that the model cannot tell apart, and what fits for sure."""

from typing import TYPE_CHECKING, Final

import numpy as np

from synctax.arrays import Bool

if TYPE_CHECKING:
    from synctax.planning.search import Plan

ERROR: Final = 0.03
"""Share of a step below which a difference is less than the model's error: rates, hidden
communication and the speed of kernels are assumed alike for all layouts."""

_PLAIN: Final = ("tp", "pp", "dp")
_LESS_PLAIN: Final = ("cp", "ep", "virtual_stages")


def within_error(plan: "Plan") -> Bool:
    """Tell which feasible layouts are as fast as the fastest, within the model's error.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    (k,) bool
        The fastest among them; none where nothing is feasible.
    """
    if not plan.feasible.any():
        return np.zeros(len(plan), np.bool_)
    step_s = plan.costs.step_s
    fastest_s = step_s[plan.feasible].min()
    return np.asarray(plan.feasible & (step_s <= (1 + ERROR) * fastest_s))


def plainest(plan: "Plan") -> int | None:
    """Find the plainest of the layouts that are as fast as the fastest.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    int or None
        Its row: fewest degrees above 1, of these fewest of context and expert parallelism
        and chunks, then least time on NICs; None where nothing is feasible.
    """
    near = np.flatnonzero(within_error(plan))
    if not near.size:
        return None
    more = {
        name: np.asarray(getattr(plan.layouts, name)[near] > 1)
        for name in (*_PLAIN, *_LESS_PLAIN)
    }
    degrees = np.sum([*more.values()], axis=0)
    special = np.sum([more[name] for name in _LESS_PLAIN], axis=0)
    nic_s = plan.costs.times.nic_s[near]
    return int(near[np.lexsort((plan.costs.step_s[near], nic_s, special, degrees))[0]])


def surely_fits(plan: "Plan") -> int | None:
    """Find the fastest feasible layout that fits with the upper end of its memory, too.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    int or None
        Its row; None where there is none.
    """
    whole = plan.costs.memory.memory_hi_bytes <= plan.setting.budget_bytes
    at = np.flatnonzero(plan.feasible & whole)
    return int(at[np.argmin(plan.feasible_rank[at])]) if at.size else None
