"""The synchronization tax for people to read: a table, a sentence a row, a distribution."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.report import tables
from synctax.report.tables import Field
from synctax.report.text_plots import can_show_blocks, cdf, sparkline
from synctax.texts import (
    ABSENT,
    LEAST_P,
    is_absent,
    number,
    p_equals,
    percent,
    rate_gb_per_s,
    size_bytes,
    time_us,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.collectives.summary import Part
    from synctax.collectives.tax import Tax
    from synctax.report.output import Result

SIGNIFICANT = 0.05

MIN_DECIDED = 10
"""Where ranks tie in all but fewer collectives than this, nobody is named."""

MIN_FOR_CDF = 20
"""Fewer collectives than this draw no curve worth looking at."""


def parts(tax: "Tax", result: "Result") -> "list[RenderableType]":
    """Lay out the summary: the table, a sentence a row, and the CDF of the first row."""
    from synctax.collectives.summary import parts as parts_of
    from synctax.collectives.summary import shares_and_taxes

    rows = tables.records(result.data)
    found = {(part.role, part.op.label): part for part in parts_of(tax)}
    own = [found[row["group"], row["op"]] for row in rows]
    shares = [shares_and_taxes(tax, part.slots)["share_fastest"] for part in own]
    shown: list[RenderableType] = [_table(rows, shares), ""]
    shown += [*sentences(tax, rows), "", lost(tax)]
    if shares and shares[0].size >= MIN_FOR_CDF:
        blocks = can_show_blocks()
        title = (
            f"share of {rows[0]['group']} {rows[0]['op']} that its fastest rank waits, "
            f"cumulated over {shares[0].size} collectives"
        )
        shown += ["", title, *cdf(shares[0], blocks=blocks)]
    return shown


def sentences(tax: "Tax", rows: "Sequence[dict[str, Any]]") -> list[str]:
    """Say each row of a tax's own `schema.MEASURE` in words, without a full stop."""
    from synctax.collectives.summary import parts as parts_of

    found = {(part.role, part.op.label): part for part in parts_of(tax)}
    own = [found[row["group"], row["op"]] for row in rows]
    return [
        _sentence(row, _decided(tax, part), _read(tax, part))
        for row, part in zip(rows, own, strict=True)
    ]


def collectives(result: "Result") -> "list[RenderableType]":
    """Lay out every collective: of its columns those that a person compares."""
    if result.empty:
        return tables.plain(result)
    fields = [
        _field(result, "group", "group", str),
        _field(result, "group_ranks", "ranks", str, rank=4),
        _field(result, "op", "op", str),
        _field(result, "index", "index", rank=2),
        _field(result, "step", "step", rank=3),
        _field(result, "payload_bytes", "payload", size_bytes, rank=5),
        _field(result, "duration_min_us", "transfer", time_us, rank=3),
        _field(result, "tax_max_us", "tax", time_us),
        _field(result, "share_fastest", "share", percent, rank=2),
        _field(result, "straggler_rank", "straggler", _rank, rank=1),
        _field(result, "status", "status", str, rank=1),
    ]
    for name, rank in (("window", 4), ("reason", 6)):
        if any(map(_known, result.column(name))):
            fields.append(_field(result, name, name, str, rank=rank))
    return [tables.table(fields)]


def ranks(result: "Result") -> "list[RenderableType]":
    """Lay out every rank: how often it was waited for, and how long it waited."""
    if result.empty:
        return tables.plain(result)
    fields = [
        _field(result, "group", "group", str),
        _field(result, "op", "op", str),
        _field(result, "rank", "rank"),
        _field(result, "host", "host", str, rank=4),
        _field(result, "collectives", "n", rank=3),
        _field(result, "straggler_count", "last", rank=3),
        _field(result, "straggler_share", "share last", percent, rank=1),
        _field(result, "tax_mean_us", "mean wait", time_us),
        _field(result, "wait_us_p90", "p90", time_us, rank=2),
        _field(result, "wait_us_max", "max", time_us, rank=3),
        _field(result, "exposed_wait_us_sum", "exposed", time_us, rank=2),
    ]
    if any(map(_known, result.column("window"))):
        fields.append(_field(result, "window", "window", str, rank=4))
    return [tables.table(fields)]


def _field(
    result: "Result",
    name: str,
    title: str,
    show: Callable[[Any], str] = number,
    *,
    rank: int = 0,
) -> Field:
    """Make a printed column of a column of the result."""
    cells = [ABSENT if is_absent(v) else show(v) for v in result.column(name)]
    return Field(title, cells, right=show is not str, rank=rank)


def _known(value: object) -> bool:
    return not is_absent(value)


def _rank(rank: int) -> str:
    return f"rank {rank}"


def _table(rows: list[dict[str, Any]], shares: list[np.ndarray]) -> "RenderableType":
    blocks = can_show_blocks()

    def column(name: str, show: Any = number) -> list[str]:
        return [show(row[name]) for row in rows]

    ranks = [
        f"{row['n_groups']} × {row['n_ranks']}"
        if row["n_groups"] > 1
        else f"{row['n_ranks']}"
        for row in rows
    ]
    drawn = [sparkline(one, low=0.0, high=1.0, bins=10, blocks=blocks) for one in shares]
    return tables.table(
        [
            Field("group", column("group", str), right=False),
            Field("op", column("op", str), right=False),
            Field("ranks", ranks, right=True, rank=2),
            Field("n", column("collectives"), right=True, rank=2),
            Field(
                "payload", column("payload_bytes_median", size_bytes), right=True, rank=3
            ),
            Field("transfer", column("transfer_us_median", time_us), right=True, rank=1),
            Field("tax", column("tax_max_us_median", time_us), right=True),
            Field("p99", column("tax_max_us_p99", time_us), right=True, rank=1),
            Field("waits", column("share_fastest_median", percent), right=True),
            Field("0…100 %", drawn, right=False, rank=4),
            Field("of step", column("wait_share_of_step", percent), right=True, rank=2),
            Field(
                "busbw", column("busbw_gb_per_s_median", rate_gb_per_s), right=True, rank=5
            ),
            Field("last", [_last(row) for row in rows], right=False, rank=1),
        ]
    )


def _last(row: dict[str, Any]) -> str:
    if is_absent(row["straggler_rank"]):
        return ABSENT
    return f"rank {row['straggler_rank']} {percent(row['straggler_share'])}"


def _decided(tax: "Tax", part: "Part") -> int:
    """In how many collectives of a row one rank alone was last."""
    return int((tax.waits.straggler[part.slots] >= 0).sum())


def _read(tax: "Tax", part: "Part") -> int:
    """Of how many ranks of a group traces were read, at least."""
    groups = tax.matches.groups
    return min(len(groups[g].members) for g in set(tax.matches.group[part.slots]))


def _sentence(row: dict[str, Any], decided: int, read: int) -> str:
    """Say a row in words; a rank is accused only of what is not chance."""
    ranks = f"{row['n_ranks']} ranks"
    if read < row["n_ranks"]:
        ranks = f"{read} ranks that were read (of {row['n_ranks']})"
    text = (
        f"{row['group']} {row['op']}: the fastest of {ranks} waits "
        f"{percent(row['share_fastest_median'])} of the time"
    )
    if decided < min(MIN_DECIDED, row["collectives"]):
        tied = row["collectives"] - decided
        return f"{text}; ranks tie in {tied} of {row['collectives']}"
    p = row["straggler_uniform_p"]
    rank, share = f"rank {row['straggler_rank']}", percent(row["straggler_share"])
    if p >= SIGNIFICANT:
        often = f"{rank} was last most often, in {share}, {p_equals(p)}"
        return f"{text}; no rank stands out ({often})"
    place = [rank]
    if not is_absent(row["straggler_gpu"]):
        place.append(f"GPU {row['straggler_gpu']}")
    if not is_absent(row["straggler_host"]):
        place.append(str(row["straggler_host"]))
    return f"{text}; {' on '.join(place)} was last in {share} ({chance(p)})"


def chance(p: float) -> str:
    """Say that stragglers so uneven are not chance.

    Examples
    --------
    >>> chance(0.00001), chance(0.02)
    ('p < 0.001: not chance', 'p = 0.020: hardly chance')
    """
    return f"{p_equals(p)}: {'not' if p < LEAST_P else 'hardly'} chance"


def lost(tax: "Tax") -> str:
    """Say what all waits come to."""
    whole, exposed = tax.gpu_hours_waited, tax.gpu_hours_waited_exposed
    share = (
        f" ({percent(exposed / whole)} of it with nothing else to compute)" if whole else ""
    )
    text = f"all ranks together waited {time_us(whole * 3.6e9)}{share}"
    apart = tax.start_disagreement_us
    if apart is not None:
        text += f"; waits told by starts differ by {time_us(apart[0])} (median)"
    return text
