"""A plan that `synctax plan --format json` wrote, as far as it can be held to a job."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from synctax.errors import BadInputError, SynctaxError
from synctax.notes import Note
from synctax.planning.layout import Layout
from synctax.planning.platform import Platform
from synctax.planning.shape import Model
from synctax.planning.training import DIMENSIONS, Assumptions, Order, Training

SCHEMA: Final = "synctax.plan/1"

_HOW: Final = "write it with `synctax plan ... --format json -o plan.json`"
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
        data = Path(source).read_bytes()
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
    _check(source, asked.platform, found.rows)
    return PlanFile(
        source,
        asked.model,
        asked.platform,
        asked.training,
        asked.assumptions,
        tuple(_row(row, asked.training.order) for row in found.rows),
    )


def _check(source: str, platform: Platform, rows: list[_Row]) -> None:
    """Refuse numbers that cannot be, before anything is divided by them."""
    of_platform = ("domain", "gpus_per_host", "nvlink_gb_per_s", "nic_gb_per_s")
    told = [("parameters.platform", name, getattr(platform, name)) for name in of_platform]
    degrees = (*DIMENSIONS, "virtual_stages")
    told += [
        (f"row {at}", name, getattr(row, name))
        for at, row in enumerate(rows, 1)
        for name in degrees
    ]
    for where, name, value in told:
        if not value > 0:
            raise BadInputError(f"{source}: {where} has {name} {value}; expected above 0")


def _row(row: _Row, order: Order | None) -> PlanRow:
    sent = {name: getattr(row, f"{name}_bytes") or 0.0 for name in DIMENSIONS}
    nan = float("nan")
    return PlanRow(
        Layout(row.tp, row.pp, row.dp, row.cp, row.ep, row.virtual_stages),
        row.order or order,
        nan if row.microbatches is None else row.microbatches,
        nan if row.barriers is None else row.barriers,
        sent,
        row.eliminated_because is None,
    )


def choose(plan: PlanFile, wanted: Layout | None) -> tuple[PlanRow, tuple[Note, ...]]:
    """Take the row that a job is held against.

    Parameters
    ----------
    plan : PlanFile
    wanted : Layout or None
        None: the only row, else the first that is feasible, which a note says.

    Raises
    ------
    SynctaxError
        If the plan has no such layout, or several and none feasible.
    """
    if wanted is not None:
        for row in plan.rows:
            if row.layout == wanted:
                return row, ()
        there = ", ".join(str(row.layout) for row in plan.rows[:_SHOWN])
        more = "" if len(plan.rows) <= _SHOWN else f" and {len(plan.rows) - _SHOWN:,} more"
        raise SynctaxError(f"{plan.source} has no layout {wanted}; it has {there}{more}")
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
