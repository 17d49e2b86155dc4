"""`--compare`: two layouts beside each other, and why one of them is faster."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from synctax.planning.barriers import BARRIER_GROUPS
from synctax.planning.columns import Columns, plan_columns
from synctax.planning.explain.times import step_parts
from synctax.planning.layout import Layout
from synctax.planning.rule import US_PER_S, seconds
from synctax.planning.search import Plan, only
from synctax.texts import is_absent, number, percent, size_bytes, time_us

if TYPE_CHECKING:
    import pandas as pd

SMALL_PART: Final = 0.02
"""Of the larger difference, below which a part of a step is not worth a word."""


_PARTS: Final = {
    "compute_s": "computation",
    "imbalance_s": "waiting for the fullest stage",
    "bubble_s": "bubble",
    "tp_exposed_s": "TP",
    "pp_exposed_s": "PP",
    "dp_exposed_s": "DP",
    "cp_exposed_s": "CP",
    "ep_exposed_s": "EP",
    "tax_s": "tax",
}
"""What a step is made of, in words."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One row of `synctax.plan-compare/1`; None is absent.

    Parameters
    ----------
    quantity : str
    unit : str, optional
    a, b, difference, ratio : float, optional
    a_text, b_text : str, optional
    differs : bool
    of_step_s : float, optional
        What of the difference of steps it makes.
    """

    quantity: str
    unit: str | None
    a: float | None
    b: float | None
    difference: float | None
    ratio: float | None
    a_text: str | None
    b_text: str | None
    differs: bool
    of_step_s: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two layouts beside each other.

    Parameters
    ----------
    a, b : Layout
    rows : tuple of Compared
        Every column of a plan, and every part of a step.
    words : tuple of str
        Which is faster and why; which needs less; how often their ranks meet; what keeps
        either from running.
    """

    a: Layout
    b: Layout
    rows: tuple[Compared, ...]
    words: tuple[str, ...]

    def to_frame(self) -> "pd.DataFrame":
        """Build the table `synctax.plan-compare/1`."""
        from synctax.schema.plan import PLAN_COMPARE

        columns: dict[str, list[Any]] = {
            column.name: [getattr(row, column.name) for row in self.rows]
            for column in fields(Compared)
        }
        return PLAN_COMPARE.to_frame(columns)


def compare(plan: Plan, a: Layout, b: Layout) -> Comparison:
    """Compare two layouts by the setting of a plan.

    Parameters
    ----------
    plan : Plan
    a, b : Layout
        Of the plan or not.

    Returns
    -------
    Comparison
    """
    pair = only(plan, [a, b])
    rows = (*_columns(pair), *_parts(pair))
    return Comparison(a, b, rows, tuple(_words(pair)))


def _columns(pair: Plan) -> Iterator[Compared]:
    from synctax.schema.plan import PLAN

    columns: Columns = plan_columns(pair)
    # of two layouts a place says nothing that their times do not
    left_out = ("feasible_rank", "pareto", "within_error", *_PARTS)
    for column in PLAN.columns:
        if column.name in left_out:
            continue
        first, second = columns[column.name][0], columns[column.name][1]
        if column.dtype in ("int", "float"):
            yield _numbers(column.name, column.unit or None, float(first), float(second))
        else:
            yield _texts(column.name, first, second)


def _parts(pair: Plan) -> Iterator[Compared]:
    first, second = step_parts(pair, 0), step_parts(pair, 1)
    for name, value in first.items():
        yield _numbers(name, "s", value, second[name], of_step_s=second[name] - value)


def _numbers(
    quantity: str, unit: str | None, a: float, b: float, of_step_s: float | None = None
) -> Compared:
    known = not (is_absent(a) or is_absent(b))
    return Compared(
        quantity,
        unit,
        None if is_absent(a) else a,
        None if is_absent(b) else b,
        b - a if known else None,
        b / a if known and a else None,
        None,
        None,
        a != b if known else is_absent(a) != is_absent(b),
        of_step_s,
    )


def _texts(quantity: str, a: object, b: object) -> Compared:
    first, second = (_text(one) for one in (a, b))
    return Compared(
        quantity, None, None, None, None, None, first, second, first != second, None
    )


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return str(value)


def _words(pair: Plan) -> Iterator[str]:
    yield from _faster(pair)
    yield _memory(pair)
    yield from _meetings(pair)
    for at in (0, 1):
        broken = pair.reasons(np.array([at]))[0]
        if broken:
            yield f"{pair.layouts[at]} cannot run: {'; '.join(broken)}"


def _faster(pair: Plan) -> Iterator[str]:
    steps = pair.costs.step_s.tolist()
    if any(is_absent(one) for one in steps):
        yield "which one is faster is not known: the tax model says nothing of one of them"
        return
    quick, slow = (0, 1) if steps[0] <= steps[1] else (1, 0)
    gain = steps[slow] - steps[quick]
    names = [str(pair.layouts[at]) for at in (quick, slow)]
    if gain == 0:
        yield f"{names[0]} and {names[1]} take {seconds(steps[quick])} a step each"
        return
    yield (
        f"{names[0]} is faster than {names[1]}: {seconds(steps[quick])} a step, "
        f"{seconds(gain)} ({percent(gain / steps[slow])}) less, {_why(pair, quick, slow)}"
    )


def _why(pair: Plan, quick: int, slow: int) -> str:
    """Name the parts that a faster layout saves, then those that it pays for that."""
    less, more = step_parts(pair, slow), step_parts(pair, quick)
    saved = {name: less[name] - more[name] for name in less}
    least = SMALL_PART * max(abs(value) for value in saved.values())
    parts = sorted(
        ((value, _PARTS[name]) for name, value in saved.items() if abs(value) > least),
        reverse=True,
    )
    gained = [f"{seconds(value)} of {what}" for value, what in parts if value > 0]
    paid = [f"{seconds(-value)} of {what}" for value, what in reversed(parts) if value < 0]
    text = f"saving {' and '.join(gained)}"
    return f"{text}, paying {' and '.join(paid)}" if paid else text


def _memory(pair: Plan) -> str:
    held = pair.costs.memory

    def needs(at: int) -> str:
        return (
            f"{pair.layouts[at]} needs {size_bytes(held.memory_bytes[at])} "
            f"({size_bytes(held.state_bytes[at])} of state, "
            f"{size_bytes(held.activation_bytes[at])} of activations)"
        )

    return f"{needs(0)}, {needs(1)}, and {size_bytes(pair.setting.budget_bytes)} are there"


def _meetings(pair: Plan) -> Iterator[str]:
    met, tax = pair.costs.barriers, pair.setting.tax
    if (met.n == 1).any():
        return
    counts, busy = met.count.tolist(), pair.costs.compute_s.tolist()
    groups = [BARRIER_GROUPS[int(group)].upper() for group in met.group]
    if tax is not None and tax.joined == "layer":
        groups = ["groups"] * 2
    meets = [
        f"{number(counts[at])} times in {groups[at]} of {met.n[at]:,}, after "
        f"{time_us(busy[at] / counts[at] * US_PER_S)} of computation each"
        for at in (0, 1)
    ]
    said = f"ranks of {pair.layouts[0]} meet {meets[0]}; of {pair.layouts[1]} {meets[1]}"
    if tax is None:
        yield said
        return
    costs = " and ".join(seconds(one) for one in pair.costs.taxed.tax_s.tolist())
    form = {
        "proportional": "in proportion to the computation before each",
        "absolute": "in the microseconds of the workload that it was measured on",
    }[tax.form]
    yield f"{said}: {form}, the tax is {costs}"
