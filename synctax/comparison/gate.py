"""Whether a rise is more than a user allows: for pipelines that stop there."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from synctax.comparison.options import FAIL_ON, WORDS
from synctax.comparison.stats import holm
from synctax.comparison.verdict import interval, named, worth_telling
from synctax.errors import GateFailedError, SynctaxError
from synctax.texts import counted, number, time_us

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
        What rose beyond chance although the gate passes: other quantities, or by less; and
        rows that only B has, as far as they are no more than the limit.

    Raises
    ------
    GateFailedError
        If one rises by more, beyond chance: where none did, the probability of that is at
        most 1 - level for all rows together (Holm). What cannot be told of others is named
        as well.
    SynctaxError
        If none does, but it cannot be told of all: ranks or rows of A are not in B, nothing
        has an interval, what rises by more has none, or a row that only B has is more than
        the limit.
    """
    quantity = FAIL_ON[fail_on]
    every = _every(found, quantity)
    held = [one for one in every if not np.isnan(one.found.difference)]
    sure = found.is_change(holm(np.array([one.found.p for one in held])))
    above = [
        one
        for one, yes in zip(held, sure.tolist(), strict=True)
        if yes and one.found.difference > fail_above_us
    ]
    unknown = [
        *_lost_ranks(found),
        *_one_sided(every, fail_above_us),
        *_dark(held, fail_above_us),
    ]
    if above:
        limit = number(fail_above_us)
        said = "; ".join(_told(found, above))
        more = f". It cannot be told of all: {'; '.join(unknown)}" if unknown else ""
        raise GateFailedError(
            f"{WORDS[quantity]} rose by more than {limit} µs, beyond chance: {said}{more}"
        )
    if unknown:
        raise SynctaxError(f"--fail-above-us cannot tell: {'; '.join(unknown)}")
    _something(held, fail_on)
    rose = [one for one in worth_telling(found) if one.found.difference > 0]
    new = [one for one in _every(found, _of_rows(quantity)) if np.isnan(one.found.a)]
    return (*_told(found, rose), *(f"{named(one)} {_only_in_b(one)}" for one in new))


def _told(found: "Comparison", changes: "Iterable[Change]") -> list[str]:
    return [f"{named(one)} {interval(one.found, found.options.level)}" for one in changes]


def _lost_ranks(found: "Comparison") -> list[str]:
    """Name ranks of A that a run of B lacks: without its slowest a job looks better."""
    said = []
    for at, run in enumerate(found.b.runs):
        gone = sorted(found.a.ranks - {one.rank for one in run.tax.matches.ranks})
        if gone:
            which = f"run {at + 1} of B" if len(found.b.runs) > 1 else "B"
            some = ", ".join(map(str, gone[:_NAMED]))
            more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
            said.append(
                f"{which} has no trace of {counted(len(gone), 'rank')} of A "
                f"({some}{more}), and a job that lost its slowest rank looks better; "
                "compare runs with the same ranks, or choose those of both with --ranks"
            )
    return said


def _of_rows(quantity: str) -> str:
    """Quantity by which rows are told: the one that is held, where it is of rows."""
    return FAIL_ON["median"] if quantity == FAIL_ON["step"] else quantity


def _every(found: "Comparison", quantity: str) -> "list[Change]":
    """List a quantity of all rows, or of the step."""
    if quantity == FAIL_ON["step"]:
        step = found.find(None, None, quantity)
        return [] if step is None else [step]
    rows = (found.find(*row, quantity) for row in found.rows)
    return [one for one in rows if one is not None]


def _one_sided(every: "list[Change]", fail_above_us: float) -> list[str]:
    """Name what A has and B has not, or B alone and more than may be added."""
    gone = [_row(one) for one in every if np.isnan(one.found.b)]
    new = [
        f"{named(one)} {_only_in_b(one)}"
        for one in every
        if np.isnan(one.found.a) and one.found.b > fail_above_us
    ]
    said = []
    if gone:
        said.append(f"{', '.join(gone)} only in A")
    if new:
        said.append(f"{', '.join(new)}, more than the limit")
    if said:
        said[-1] += "; compare runs with the same groups and operations"
    return said


def _row(one: "Change") -> str:
    return named(one) if one.group is None else f"{one.group} {one.op}"


def _only_in_b(one: "Change") -> str:
    return f"{time_us(one.found.b)} (only in B)"


def _dark(held: "list[Change]", fail_above_us: float) -> list[str]:
    """Name what rose by more, and may have by chance: it has no interval."""
    dark = [
        named(one)
        for one in held
        if np.isnan(one.found.low) and one.found.difference > fail_above_us
    ]
    if not dark:
        return []
    text = (
        f"the {', the '.join(dark)} rose by more and has no interval; record more steps, "
        "or several runs a side"
    )
    return [text]


def _something(held: "list[Change]", fail_on: str) -> None:
    """Refuse to pass where nothing was held."""
    if not held and fail_on == "step":
        raise SynctaxError(
            "nothing to hold against --fail-above-us: --fail-on step needs two marked "
            "profiler steps or more in every run; record with profiler.step(), or hold "
            "another quantity"
        )
    if all(np.isnan(one.found.low) for one in held):
        raise SynctaxError(
            "nothing to hold against --fail-above-us: no row of both sides has an "
            "interval; record more steps, or several runs a side"
        )
