"""Two layouts beside each other, for people to read: what differs, and what it makes."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from synctax.planning.explain.compare import Compared, Comparison
from synctax.planning.setting import Setting
from synctax.report import plan_words as words
from synctax.report.tables import Field, Sentence, table
from synctax.texts import ABSENT, number, percent, size_bytes, with_sign

if TYPE_CHECKING:
    from rich.console import RenderableType

_TOLD = ("layout", "eliminated_because", "would_fit", "warnings")
"""Quantities that are the title of a column, or said below."""

_SHARES = ("bubble", "nic_share", "step_mfu")
_UNITS = {"bytes": size_bytes, "s": words.seconds}


def parts(found: Comparison, setting: Setting, tax: str) -> "list[RenderableType]":
    """Lay out a comparison: what differs, what that comes to, assumptions.

    Parameters
    ----------
    found : Comparison
    setting : Setting
    tax : str
        What the tax is called.
    """
    rows = [row for row in found.rows if row.quantity not in _TOLD]
    shown = [row for row in rows if row.differs]
    laid: list[RenderableType] = []
    if shown:
        laid.append(_table(shown, found))
    laid += [
        f"of {len(rows)} quantities the other {len(rows) - len(shown)} are the same",
        "",
    ]
    laid += [Sentence(text) for text in found.words]
    basis = [words.charged(setting, tax), *words.assumed(setting)]
    return [*laid, "", *(Sentence(text) for text in basis)]


def _table(rows: Sequence[Compared], found: Comparison) -> "RenderableType":
    return table(
        [
            Field(
                "quantity",
                [words.quantity(row.quantity, row.unit) for row in rows],
                right=False,
            ),
            Field(str(found.a), [_cell(row, row.a, row.a_text) for row in rows]),
            Field(str(found.b), [_cell(row, row.b, row.b_text) for row in rows]),
            Field("difference", [_difference(row) for row in rows], rank=2),
            Field("ratio", [_ratio(row) for row in rows], rank=1),
        ]
    )


def _cell(row: Compared, value: float | None, text: str | None) -> str:
    return _written(row, value) if value is not None else text or ABSENT


def _written(row: Compared, value: float) -> str:
    show = percent if row.quantity in _SHARES else _UNITS.get(row.unit or "", number)
    return show(value)


def _difference(row: Compared) -> str:
    if row.difference is None:
        return ""
    return with_sign(row.difference, partial(_written, row))


def _ratio(row: Compared) -> str:
    return "" if row.ratio is None else f"× {number(row.ratio)}"
