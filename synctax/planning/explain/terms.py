"""Formulas of one layout: in symbols, and with the numbers of the layout filled in."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from synctax.planning.domains import expert_tp
from synctax.planning.layout import Layouts, take
from synctax.planning.pipeline import average_layers, in_flight
from synctax.planning.shards import shards

if TYPE_CHECKING:
    from synctax.arrays import I64
    from synctax.planning.search import Plan

Verdict = Literal["kept", "broken", "warns"]

_IN_FULL: Final = 1e7
_GIGA: Final = 1e9
_SYMBOL: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of `synctax.plan-explain/1`; None is absent.

    Parameters
    ----------
    section, quantity : str
    value : float, optional
    unit : str, optional
    formula, filled : str, optional
        In symbols, and in numbers.
    verdict : Verdict, optional
    words : str, optional
    """

    section: str
    quantity: str
    value: float | None = None
    unit: str | None = None
    formula: str | None = None
    filled: str | None = None
    verdict: Verdict | None = None
    words: str | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """One layout of a plan, and what its symbols stand for.

    Parameters
    ----------
    plan : Plan
    at : int
        Which of its layouts.
    symbols : mapping of str to float
    """

    plan: "Plan"
    at: int
    symbols: Mapping[str, float]

    @property
    def rows(self) -> "I64":
        """The layout as a row to take from tables."""
        import numpy as np

        return np.array([self.at])

    @property
    def layouts(self) -> Layouts:
        """The layout as a table of one."""
        return take(self.plan.layouts, self.rows)

    def row(
        self, section: str, quantity: str, value: float, unit: str | None, template: str
    ) -> Row:
        """Make the row of a formula.

        Parameters
        ----------
        section, quantity : str
        value : float
            What the formula comes to.
        unit : str or None
        template : str
            The formula, symbols in braces.
        """
        formula, filled = fill(template, self.symbols)
        return Row(section, quantity, float(value), unit, formula, filled)

    def with_symbols(self, **more: float) -> "Terms":
        """Know more symbols."""
        return Terms(self.plan, self.at, {**self.symbols, **more})


def terms(plan: "Plan", at: int) -> Terms:
    """Take a layout of a plan, with its symbols.

    Parameters
    ----------
    plan : Plan
    at : int

    Returns
    -------
    Terms
    """
    return Terms(plan, at, dict(_symbols(plan, at)))


def fill(template: str, symbols: Mapping[str, float]) -> tuple[str, str]:
    """Write a formula in symbols and in numbers.

    Parameters
    ----------
    template : str
        The formula, symbols in braces.
    symbols : mapping of str to float

    Returns
    -------
    formula, filled : str

    Examples
    --------
    >>> fill("16·{L}·({t} − 1)/{n}", {"L": 126, "t": 8, "n": 1024})
    ('16·L·(t − 1)/n', '16·126·(8 − 1)/1,024')
    """
    formula = _SYMBOL.sub(r"\1", template)
    return formula, _SYMBOL.sub(lambda found: exact(symbols[found[1]]), template)


def exact(value: float) -> str:
    """Write a number as it enters a formula: to six digits at least.

    Examples
    --------
    >>> exact(16_384), exact(7.875), exact(405e9), exact(3.788e12 + 1), exact(0.4)
    ('16,384', '7.875', '405e9', '3.788e12', '0.4')
    """
    value = float(value)
    if value.is_integer() and abs(value) < _IN_FULL:
        return f"{int(value):,}"
    if value.is_integer() and value % _GIGA == 0 and abs(value) < _IN_FULL * _GIGA:
        return f"{int(value / _GIGA):,}e9"
    return re.sub(r"e([+-])0*(\d)", _exponent, f"{value:.6g}")


def _exponent(found: "re.Match[str]") -> str:
    return f"e{'-' if found[1] == '-' else ''}{found[2]}"


def _symbols(plan: "Plan", at: int) -> Iterator[tuple[str, float]]:
    setting, one = plan.setting, plan.layouts[at]
    model, training, platform = setting.model, setting.training, setting.platform
    some = Layouts.of([one])
    held, cost = shards(model, training, some), plan.costs
    yield from {
        "L": model.layers,
        "h": model.hidden,
        "P": model.parameters,
        "P_active": model.active_parameters,
        "P_dense": model.parameters - model.expert_parameters,
        "P_experts": model.expert_parameters,
        "B": training.batch,
        "s": training.sequence,
        "b": training.microbatch,
        "t": one.tp,
        "p": one.pp,
        "d": one.dp,
        "c": one.cp,
        "e": one.ep,
        "v": one.virtual_stages,
        "n": one.gpus,
        "gpus": setting.gpus,
        "m": float(cost.microbatches[at]),
        "l": float(average_layers(model, some)[0]),
        "r": float(cost.memory.recomputed_layers[at]),
        "held": float(in_flight(training, some)[0]),
        "g": float(held.dense_ranks[0]),
        "g_experts": float(held.expert_ranks[0]),
        "t_experts": float(expert_tp(training, some)[0]),
        "peak": setting.peak_flop_per_s,
        "mfu": setting.assumptions.mfu,
        "domain": platform.domain,
    }.items()
