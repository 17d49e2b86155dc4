"""Where a job's groups sit, for people to read: sentences, the groups, the checks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.planning.nccl.commands import Command
from synctax.planning.verify.host_names import host_text
from synctax.planning.verify.job import Verification
from synctax.planning.verify.place_checks import spread
from synctax.planning.verify.verify_words import verdict
from synctax.report import tables
from synctax.report.output import Result
from synctax.report.tables import Field, Sentence, column
from synctax.texts import ABSENT, is_absent, number, percent, rate_gb_per_s
from synctax.trace.oddities import rank_text

if TYPE_CHECKING:
    from rich.console import RenderableType

_GROUPS_SHOWN = 3
_CUT = 20
"""Signs that texts of a table are cut down to before a column leaves."""


def checks(found: Verification, result: Result, *, strict: bool) -> "list[RenderableType]":
    """Lay out the verdict, the groups of each role, and a row for each check.

    Parameters
    ----------
    found : Verification
    result : Result
        Of `found`, by check.
    strict : bool
        Whether warnings fail.
    """
    rows = tables.records(result.frame)
    places = found.observed.places
    shown: list[RenderableType] = [
        *(Sentence(line) for line in verdict(found, strict=strict)),
        "",
        *_groups(found),
    ]
    if places.hosts:
        shown += [Sentence(f"domains: {places.domain_known_by}"), ""]
    return [*shown, tables.table(_fields(rows, strict=strict))]


def groups(result: Result) -> "list[RenderableType]":
    """Lay out a row for each process group.

    Parameters
    ----------
    result : Result
        Of `Verification.per_group`.
    """
    rows = tables.records(result.frame)
    if not rows:
        return ["no process group is known"]
    return [
        tables.table(
            [
                column(rows, "group", "group", str),
                column(rows, "name", "name", str, rank=5),
                column(rows, "ranks", "ranks", str),
                column(rows, "n_ranks", "of"),
                column(rows, "hosts", "hosts", _hosts, rank=1),
                column(rows, "n_domains", "domains"),
                column(rows, "busbw_gb_per_s_median", "busbw", rate_gb_per_s),
                column(rows, "busbw_of_siblings", "of siblings'", percent, rank=2),
                column(rows, "link_gb_per_s", "link", rate_gb_per_s, rank=3),
                column(rows, "waited_share", "waited", percent, rank=4),
                column(rows, "faults", "faults", str),
            ]
        )
    ]


def _hosts(names: str) -> str:
    """Write hosts so that many take little room."""
    return host_text(names.split(", "))


def runs(commands: Sequence[Command]) -> "list[RenderableType]":
    """Lay out the runs of nccl-tests that measure the planned groups.

    Parameters
    ----------
    commands : sequence of Command
    """
    if not commands:
        return []
    shown: list[RenderableType] = ["", "to measure the planned groups (--nccl-tests FILE):"]
    for one in commands:
        shown += [Sentence(f"  # {one.checks}", 4), Sentence(f"  {one.line}", 4)]
    return shown


def _groups(found: Verification) -> "list[RenderableType]":
    """Show the groups of each role: how many, of which size, on how many hosts."""
    observed = found.observed
    rows = []
    for role in found.roles:
        mine = observed.of(role)
        over = spread(observed, mine)
        hosts = [len(observed.places.host_names(group.ranks)) for group in mine]
        first = " | ".join(rank_text(group.ranks) for group in mine[:_GROUPS_SHOWN])
        more = len(mine) - _GROUPS_SHOWN
        rows.append(
            (
                role,
                number(len(mine)),
                _range([group.size for group in mine]),
                first + (f" | {more:,} more" if more > 0 else ""),
                _range([n for n in hosts if n]),
                _range([int(n) for n in over.domains[over.known > 0]]),
            )
        )
    if not rows:
        return ["no process group of more than one rank is known", ""]
    titles = ("group", "groups", "of", "ranks", "hosts each", "domains each")
    cells = list(zip(*rows, strict=True))
    fields = [
        Field(title, part, right=title not in ("group", "ranks"))
        for title, part in zip(titles, cells, strict=True)
    ]
    return [tables.table(fields), ""]


def _range(values: Sequence[int]) -> str:
    if not values:
        return ABSENT
    low, high = int(np.min(values)), int(np.max(values))
    return number(low) if low == high else f"{number(low)}-{number(high)}"


def _fields(rows: Sequence[dict[str, Any]], *, strict: bool) -> list[Field]:
    counts = [_counts(row) for row in rows]
    return [
        Field("check", [row["check"] for row in rows], right=False),
        Field("group", [_text(row["group"]) for row in rows], right=False),
        Field("status", [_status(row, strict=strict) for row in rows], right=False),
        Field("expected", [row["expected"] for row in rows], right=False, least=_CUT),
        Field("found", [_text(row["found"]) for row in rows], right=False, least=_CUT),
        Field("groups", counts, rank=1),
    ]


def _counts(row: dict[str, Any]) -> str:
    checked, unknown = row["groups_checked"], row["groups_unknown"]
    if not row["group"] or is_absent(row["group"]):
        return ABSENT
    return number(checked) + (f" + {unknown:,} unknown" if unknown else "")


def _status(row: dict[str, Any], *, strict: bool) -> str:
    """Call a broken warning, and a remark, what it is."""
    level = str(row["level"])
    fails = level == "rule" or (strict and level == "warning")
    return str(row["status"]) if fails or row["status"] != "broken" else level


def _text(value: Any) -> str:
    return ABSENT if is_absent(value) else str(value)
