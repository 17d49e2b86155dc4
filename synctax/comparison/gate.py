"""Whether a rise is more than a user allows: for pipelines that stop there."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from synctax.comparison.options import FAIL_ON, WORDS
from synctax.comparison.stats import holm
from synctax.comparison.verdict import interval, named, worth_telling
from synctax.errors import GateFailedError, SynctaxError
from synctax.texts import counted, number

if TYPE_CHECKING:
    from synctax.comparison.comparison import Comparison
    from synctax.comparison.rows import Change

_NAMED = 4


def gate(found: "Comparison", *, fail_above_us: float, fail_on: str) -> tuple[str, ...]:
    """Hold the rise of one quantity, of each row or of the step, against a limit.

    Parameters
    ----------
    found : Comparison
    fail_above_us : float
    fail_on : str
        Key of `FAIL_ON`.

    Returns
    -------
    tuple of str
        What rose beyond chance although the gate passes: other quantities, or by less.

    Raises
    ------
    GateFailedError
        If one rises by more, beyond chance: where none did, the probability of that is at
        most 1 - level for all rows together (Holm).
    SynctaxError
        If ranks or rows of A are not in B, or nothing has an interval, or what rises by
        more has none: it cannot be told.
    """
    quantity = FAIL_ON[fail_on]
    _all_ranks(found)
    held = _held(found, quantity)
    dark = [
        named(one)
        for one in held
        if np.isnan(one.found.low) and one.found.difference > fail_above_us
    ]
    if dark:
        raise SynctaxError(
            f"--fail-above-us cannot tell: the {', the '.join(dark)} rose by more and has "
            "no interval; record more steps, or several runs a side"
        )
    sure = found.is_change(holm(np.array([one.found.p for one in held])))
    above = [
        one
        for one, yes in zip(held, sure.tolist(), strict=True)
        if yes and one.found.difference > fail_above_us
    ]
    if above:
        worst = "; ".join(_told(found, above))
        limit = number(fail_above_us)
        raise GateFailedError(
            f"{WORDS[quantity]} rose by more than {limit} µs, beyond chance: {worst}"
        )
    rose = [one for one in worth_telling(found) if one.found.difference > 0]
    return tuple(_told(found, rose))


def _told(found: "Comparison", changes: "Iterable[Change]") -> list[str]:
    return [f"{named(one)} {interval(one.found, found.options.level)}" for one in changes]


def _all_ranks(found: "Comparison") -> None:
    """Refuse a run of B that lacks a rank of A: without its slowest a job looks better."""
    for at, run in enumerate(found.b.runs):
        gone = sorted(found.a.ranks - {one.rank for one in run.tax.matches.ranks})
        if gone:
            which = f"run {at + 1} of B" if len(found.b.runs) > 1 else "B"
            some = ", ".join(map(str, gone[:_NAMED]))
            more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
            raise SynctaxError(
                f"--fail-above-us cannot tell: {which} has no trace of "
                f"{counted(len(gone), 'rank')} of A ({some}{more}), and a job that lost "
                "its slowest rank looks better; compare runs with the same ranks, or "
                "choose those of both with --ranks"
            )


def _held(found: "Comparison", quantity: str) -> "list[Change]":
    """Find what is held against the limit: something of both sides with an interval."""
    if quantity == FAIL_ON["step"]:
        step = found.find(None, None, quantity)
        rises = [] if step is None else [step]
    else:
        rises = [
            one for row in found.rows if (one := found.find(*row, quantity)) is not None
        ]
    gone = [f"{one.group} {one.op}" for one in rises if one.only_in == "a"]
    if gone:
        raise SynctaxError(
            f"--fail-above-us cannot tell: {', '.join(gone)} only in A; compare runs with "
            "the same groups and operations"
        )
    if not rises and quantity == FAIL_ON["step"]:
        raise SynctaxError(
            "nothing to hold against --fail-above-us: --fail-on step needs two marked "
            "profiler steps or more in every run; record with profiler.step(), or hold "
            "another quantity"
        )
    if all(np.isnan(one.found.low) for one in rises):
        raise SynctaxError(
            "nothing to hold against --fail-above-us: no row of both sides has an "
            "interval; record more steps, or several runs a side"
        )
    return rises
