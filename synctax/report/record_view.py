"""What became of a recorded job, for people to read: a table of ranks, then sentences."""

from typing import TYPE_CHECKING, Any

from synctax.report.output import Result
from synctax.report.tables import Field, table
from synctax.schema.record import RECORD
from synctax.texts import ABSENT

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.record.outcome import Outcome, RankOutcome

MANY_RANKS = 16
"""With more ranks than this, those whose trace is whole are counted instead of listed."""

SHOWN_ALIKE = 8
"""Of them, so many are listed all the same."""


def result(outcome: "Outcome", parameters: dict[str, Any]) -> Result:
    """Make the public table of ranks.

    Parameters
    ----------
    outcome : Outcome
    parameters : dict
        What was asked.
    """
    rows = [_row(rank) for rank in outcome.ranks]
    frame = RECORD.to_frame({name: [row[name] for row in rows] for name in RECORD.names})
    extra = {
        "exit_code": outcome.exit_code,
        "traces": outcome.n_traces,
        "verdict": outcome.verdict(),
        "bystanders": [
            {"rank": one.rank, "host": one.host, "reason": one.reason}
            for one in outcome.bystanders
        ],
    }
    return Result(RECORD, frame, parameters, (), extra)


def _row(rank: "RankOutcome") -> dict[str, Any]:
    return {
        "rank": rank.rank,
        "host": rank.host or None,
        "state": rank.fate,
        "first_step": rank.first_step if rank.trace else None,
        "end_step": rank.end_step if rank.trace else None,
        "steps_seen": rank.steps_seen,
        "trace": rank.trace or None,
        "delays": rank.delays or None,
        "reason": rank.reason or None,
    }


def parts(outcome: "Outcome", *, every_rank: bool = False) -> "list[RenderableType]":
    """Lay out the ranks and the verdict.

    Parameters
    ----------
    outcome : Outcome
    every_rank : bool
        List every rank, however many are alike.
    """
    shown: list[RenderableType] = []
    ranks = list(outcome.ranks)
    if len(ranks) > MANY_RANKS and not every_rank:
        whole = [rank for rank in ranks if rank.fate == "written"]
        left_out = {rank.rank for rank in whole[SHOWN_ALIKE:]}
        ranks = [rank for rank in ranks if rank.rank not in left_out]
    if ranks:
        shown += [_table(ranks)]
    if len(ranks) < len(outcome.ranks):
        shown += [f"… and {len(outcome.ranks) - len(ranks):,} more alike; -v lists them"]
    return [*shown, *outcome.verdict()]


def _table(ranks: "list[RankOutcome]") -> "RenderableType":
    fields = [
        Field("rank", [f"{rank.rank}" for rank in ranks]),
        Field("host", [rank.host or ABSENT for rank in ranks], right=False, rank=1),
        Field("state", [rank.fate for rank in ranks], right=False),
        Field("steps", [_steps(rank) for rank in ranks], right=False),
        Field("trace", [rank.trace or ABSENT for rank in ranks], right=False, rank=2),
    ]
    if any(rank.reason for rank in ranks):
        reasons = [rank.reason for rank in ranks]
        fields.append(Field("why", reasons, right=False, rank=3, least=20))
    return table(fields)


def _steps(rank: "RankOutcome") -> str:
    if not rank.trace or rank.end_step <= rank.first_step:
        return ABSENT
    last = rank.end_step - 1
    return f"{last}" if last == rank.first_step else f"{rank.first_step}-{last}"
