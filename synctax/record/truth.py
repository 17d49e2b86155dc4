"""What was delayed, in a file beside the trace: the answers of an experiment."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from synctax.errors import BadInputError
from synctax.record.names import DELAYS_SCHEMA
from synctax.record.plan import DelayRule, Side
from synctax.record.state import write_whole


@dataclass(frozen=True, slots=True)
class Made:
    """A delay that was made.

    Parameters
    ----------
    step : int
        As the job counts them (`ProfilerStep#N` in the trace).
    operator : str
        Its name, `aten::mm`.
    nth : int
        Occurrence within the step, from 0, among the operators that match the rule.
    rule : int
        Position among the rules.
    asked_us : float
        How long it was to be, in µs.
    start_ns, end_ns : int
        When it was, in ns of Unix time: what the trace has as `baseTimeNanoseconds` plus
        `ts`. On a GPU, when its kernel was launched.
    thread : int
        OS id of the thread.
    side : str
        `host` or `gpu`.
    """

    step: int
    operator: str
    nth: int
    rule: int
    asked_us: float
    start_ns: int
    end_ns: int
    thread: int
    side: Side


@dataclass(frozen=True, slots=True)
class Truth:
    """What one rank was to delay, and what it did.

    Parameters
    ----------
    rank : int
    host : str
    rules : tuple of DelayRule
    occurrences : dict of int to dict of int to int
        By step and rule: how many operators matched, delayed or not.
    delays : tuple of Made
    """

    rank: int
    host: str
    rules: tuple[DelayRule, ...]
    occurrences: Mapping[int, Mapping[int, int]]
    delays: tuple[Made, ...]


def write_truth(path: Path, truth: Truth) -> None:
    """Write it as JSON, under a name that appears when it is whole."""
    keys = {
        "schema": DELAYS_SCHEMA,
        "rank": truth.rank,
        "host": truth.host,
        "rules": [asdict(rule) for rule in truth.rules],
        "occurrences": truth.occurrences,
        "delays": [asdict(made) for made in truth.delays],
    }
    write_whole(path, json.dumps(keys) + "\n")


def read_truth(path: Path) -> Truth:
    """Read what `write_truth` wrote.

    Raises
    ------
    BadInputError
        If the file is something else.
    """
    try:
        return _truth(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise BadInputError(
            f"{path} does not tell what was delayed ({DELAYS_SCHEMA}): {error}"
        ) from error


def _truth(keys: Any) -> Truth:
    found = keys["schema"]
    if found != DELAYS_SCHEMA:
        raise ValueError(f"the schema is {found!r}")
    return Truth(
        rank=keys["rank"],
        host=keys["host"],
        rules=tuple(_rule(rule) for rule in keys["rules"]),
        occurrences={
            int(step): {int(rule): count for rule, count in counts.items()}
            for step, counts in keys["occurrences"].items()
        },
        delays=tuple(_made(keys["delays"])),
    )


def _rule(keys: Any) -> DelayRule:
    nth = keys.get("nth")
    return DelayRule(**keys | {"nth": None if nth is None else tuple(nth)})


def _made(rows: Sequence[Any]) -> list[Made]:
    names = [field.name for field in fields(Made)]
    return [Made(**{name: row[name] for name in names}) for row in rows]
