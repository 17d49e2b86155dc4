"""A plan that `synctax plan --format json` wrote, as far as it can be held to a job."""

from codecs import BOM_UTF8
from dataclasses import dataclass, replace
from math import inf, prod
from pathlib import Path
from typing import Final

import msgspec

from synctax.errors import BadInputError, SynctaxError
from synctax.notes import Note
from synctax.planning.layout import Layout, parse_degrees, parse_layout
from synctax.planning.platform import Platform
from synctax.planning.platform import check as check_platform
from synctax.planning.possible import ImpossibleError
from synctax.planning.shape import Model
from synctax.planning.shape import check as check_model
from synctax.planning.training import (
    DIMENSIONS,
    Assumptions,
    Order,
    Training,
    check_assumptions,
)
from synctax.planning.training import check as check_training
from synctax.planning.verify.hosts_file import MOST_RANKS
from synctax.planning.verify.planned import check_ranks

SCHEMA: Final = "synctax.plan/1"

_HOW: Final = "write it as JSON with `synctax plan ... -o plan.json`"
_SHOWN: Final = 6
"""Layouts named in a message."""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One layout of a plan, and what is predicted of it.

    Parameters
    ----------
    layout : Layout
    order : Order or None
        How ranks are numbered; None: not told.
    microbatches : float
        Of a step; NaN where not told.
    barriers : float
        Collectives of the innermost dimension a step that ranks wait at; NaN where not
        told.
    sent_bytes : dict of str to float
        Bytes that a GPU sends in a step, by dimension; 0 where not told.
    feasible : bool
        Whether nothing eliminated it.
    """

    layout: Layout
    order: Order | None
    microbatches: float
    barriers: float
    sent_bytes: dict[str, float]
    feasible: bool


@dataclass(frozen=True, slots=True)
class PlanFile:
    """What a file of `synctax plan` holds.

    Parameters
    ----------
    source : str
        The file.
    model : Model
    platform : Platform
    training : Training
    assumptions : Assumptions
    rows : tuple of PlanRow
        In the order of the plan.
    """

    source: str
    model: Model
    platform: Platform
    training: Training
    assumptions: Assumptions
    rows: tuple[PlanRow, ...]


@dataclass(frozen=True, slots=True)
class _Parameters:
    model: Model
    platform: Platform
    training: Training
    assumptions: Assumptions


@dataclass(frozen=True, slots=True)
class _Row:
    layout: str
    tp: int
    pp: int
    dp: int
    cp: int
    ep: int
    virtual_stages: int
    microbatches: float | None
    barriers: float | None
    tp_bytes: float | None
    pp_bytes: float | None
    dp_bytes: float | None
    cp_bytes: float | None
    ep_bytes: float | None
    order: Order | None = None
    eliminated_because: str | None = None


@dataclass(frozen=True, slots=True)
class _Document:
    schema: str
    parameters: _Parameters
    rows: list[_Row]


@dataclass(frozen=True, slots=True)
class _Schema:
    schema: str = ""


def read_plan(path: str | Path) -> PlanFile:
    """Read a plan.

    Parameters
    ----------
    path : str or Path
        JSON: an envelope of schema `synctax.plan/1`.

    Returns
    -------
    PlanFile

    Raises
    ------
    BadInputError
        If the file cannot be read, is none of `synctax plan`, or lacks something.
    """
    source = str(path)
    try:
        data = Path(source).read_bytes().removeprefix(BOM_UTF8)
        schema = msgspec.json.decode(data, type=_Schema).schema
    except (OSError, msgspec.MsgspecError) as error:
        raise BadInputError(f"{source} is no plan in JSON ({error}); {_HOW}") from error
    if schema != SCHEMA:
        raise BadInputError(f"{source} has the schema {schema!r}, not {SCHEMA!r}; {_HOW}")
    try:
        found = msgspec.json.decode(data, type=_Document)
    except msgspec.MsgspecError as error:
        raise BadInputError(f"{source}: {error}; {_HOW}") from error
    if not found.rows:
        raise BadInputError(f"{source} has no rows, and so no layout; {_HOW}")
    asked = found.parameters
    _check_parameters(source, asked)
    for at, row in enumerate(found.rows, 1):
        _check_row(f"{source}: row {at}", row)
    return PlanFile(
        source,
        asked.model,
        asked.platform,
        asked.training,
        asked.assumptions,
        tuple(_row(row, asked.training.order) for row in found.rows),
    )


def _check_parameters(source: str, asked: _Parameters) -> None:
    """Refuse numbers that cannot be, before anything is divided by them."""
    part = "model"
    try:
        check_model(asked.model)
        part = "platform"
        check_platform(asked.platform)
        part = "training"
        check_training(asked.training)
        part = "assumptions"
        check_assumptions(asked.assumptions)
    except ImpossibleError as error:
        raise BadInputError(f"{source}: parameters.{part}.{error}; {_HOW}") from error


def _check_row(where: str, row: _Row) -> None:
    """Refuse a layout that cannot be, and quantities that none can have."""
    for name in (*DIMENSIONS, "virtual_stages"):
        value = getattr(row, name)
        if not 0 < value <= MOST_RANKS:
            raise BadInputError(
                f"{where} has {name} {value!r:.40}; expected a whole number above 0, at "
                f"most {MOST_RANKS:,}"
            )
    quantities = ("microbatches", "barriers", *(f"{name}_bytes" for name in DIMENSIONS))
    for name in quantities:
        value = getattr(row, name)
        zero = name != "microbatches"
        if value is not None and not (0 < value < inf or (zero and value == 0)):
            least = "0 or more" if zero else "above 0"
            raise BadInputError(f"{where} has {name} {value:.6g}; expected {least}")
    layout = _layout(row)
    try:
        told = parse_layout(row.layout, None, row.virtual_stages)
        check_ranks(layout)
    except SynctaxError as error:
        raise BadInputError(f"{where}: {error}") from error
    if told != layout:
        raise BadInputError(f"{where} has the layout {row.layout} and degrees of {layout}")


def _layout(row: _Row) -> Layout:
    return Layout(row.tp, row.pp, row.dp, row.cp, row.ep, row.virtual_stages)


def _row(row: _Row, order: Order | None) -> PlanRow:
    sent = {name: getattr(row, f"{name}_bytes") or 0.0 for name in DIMENSIONS}
    nan = float("nan")
    return PlanRow(
        _layout(row),
        row.order or order,
        nan if row.microbatches is None else row.microbatches,
        nan if row.barriers is None else row.barriers,
        sent,
        row.eliminated_because is None,
    )


def choose(plan: PlanFile, wanted: str | None) -> tuple[PlanRow, tuple[Note, ...]]:
    """Take the row that a job is held against.

    Parameters
    ----------
    plan : PlanFile
    wanted : str or None
        A layout; without dp it has the ranks of the plan, and without v the first that
        fits is taken. None: the only row, else the first that is feasible, which a note
        says.

    Raises
    ------
    SynctaxError
        If the text is no layout, if the plan has no such one, or several and none feasible.
    """
    if wanted is not None:
        return _named(plan, wanted), ()
    if len(plan.rows) == 1:
        return plan.rows[0], ()
    for row in plan.rows:
        if row.feasible:
            note = Note(
                "plan_layout_chosen",
                1,
                f"of {len(plan.rows):,} layouts in {plan.source} the first feasible one is "
                f"taken, {row.layout}; --layout takes another",
            )
            return row, (note,)
    raise SynctaxError(
        f"{plan.source} has {len(plan.rows):,} layouts and none is feasible; --layout "
        "tells which one was run"
    )


def _named(plan: PlanFile, wanted: str) -> PlanRow:
    told = parse_degrees(wanted)
    ranks = dict.fromkeys(row.layout.gpus for row in plan.rows)
    layouts = [
        parse_layout(wanted, n) for n in ranks if "dp" not in told and _holds(n, told)
    ]
    layouts = layouts or [parse_layout(wanted, None if "dp" in told else next(iter(ranks)))]
    alike = [
        row
        for row in plan.rows
        for layout in layouts
        if layout == (row.layout if "v" in told else replace(row.layout, virtual_stages=1))
    ]
    if not alike:
        there = ", ".join(str(row.layout) for row in plan.rows[:_SHOWN])
        more = "" if len(plan.rows) <= _SHOWN else f" and {len(plan.rows) - _SHOWN:,} more"
        raise SynctaxError(
            f"{plan.source} has no layout {layouts[0]}; it has {there}{more}"
        )
    return next((row for row in alike if row.feasible), alike[0])


def _holds(gpus: int, told: dict[str, int]) -> bool:
    return gpus % prod(told.get(name, 1) for name in ("tp", "pp", "cp")) == 0
