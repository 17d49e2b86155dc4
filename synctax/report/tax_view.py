"""The synchronization tax for people to read: a table, a sentence a row, a distribution."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.report import tables
from synctax.report.tables import Field, number, percent, rate_gb_per_s, size_bytes, time_us
from synctax.report.text_plots import can_show_blocks, cdf, sparkline

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.collectives.tax import Tax
    from synctax.report.output import Result

CERTAIN = 0.001
SIGNIFICANT = 0.05

MIN_DECIDED = 10
"""Where ranks tie in all but fewer collectives than this, nobody is named."""

MIN_FOR_CDF = 20
"""Fewer collectives than this draw no curve worth looking at."""


def parts(tax: "Tax", result: "Result") -> "list[RenderableType]":
    """Lay out the summary: the table, a sentence a row, and the CDF of the first row."""
    records = result.frame.astype(object).to_dict("records")
    rows = [{str(name): value for name, value in row.items()} for row in records]
    shares = list(_shares(tax, rows))
    shown: list[RenderableType] = [_table(rows, shares), ""]
    decided = _decided(tax)
    shown += [_sentence(row, decided[row["group"], row["op"]]) for row in rows]
    shown += ["", _lost(tax)]
    if shares and shares[0].size >= MIN_FOR_CDF:
        blocks = can_show_blocks()
        title = (
            f"share of {rows[0]['group']} {rows[0]['op']} that its fastest rank waits, "
            f"cumulated over {shares[0].size} collectives"
        )
        shown += ["", title, *cdf(shares[0], blocks=blocks)]
    return shown


def _shares(tax: "Tax", rows: list[dict[str, Any]]) -> Iterator[np.ndarray]:
    """Shares of the fastest rank in the collectives of each row."""
    from synctax.collectives.summary import parts as parts_of
    from synctax.collectives.summary import shares_and_taxes

    found = {(p.role, p.op.label): shares_and_taxes(tax, p.slots) for p in parts_of(tax)}
    for row in rows:
        yield found[row["group"], row["op"]]["share_fastest"]


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
            Field("ranks", ranks, right=True),
            Field("n", column("collectives"), right=True),
            Field(
                "payload", column("payload_bytes_median", size_bytes), right=True, rank=3
            ),
            Field("transfer", column("transfer_us_median", time_us), right=True, rank=1),
            Field("tax", column("tax_max_us_median", time_us), right=True),
            Field("p99", column("tax_max_us_p99", time_us), right=True),
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
    if tables.is_absent(row["straggler_rank"]):
        return tables.ABSENT
    return f"rank {row['straggler_rank']} {percent(row['straggler_share'])}"


def _decided(tax: "Tax") -> dict[tuple[str, str], int]:
    """In how many collectives of each row one rank alone was last."""
    from synctax.collectives.summary import parts as parts_of

    last = tax.waits.straggler
    return {(p.role, p.op.label): int((last[p.slots] >= 0).sum()) for p in parts_of(tax)}


def _sentence(row: dict[str, Any], decided: int) -> str:
    """Say a row in words; a rank is accused only of what is not chance."""
    text = (
        f"{row['group']} {row['op']}: the fastest of {row['n_ranks']} ranks waits "
        f"{percent(row['share_fastest_median'])} of the time"
    )
    if decided < min(MIN_DECIDED, row["collectives"]):
        tied = row["collectives"] - decided
        return f"{text}; ranks tie in {tied} of {row['collectives']}"
    p = row["straggler_uniform_p"]
    rank, share = f"rank {row['straggler_rank']}", percent(row["straggler_share"])
    if p >= SIGNIFICANT:
        often = f"{rank} was last most often, in {share}, p = {p:.2f}"
        return f"{text}; no rank stands out ({often})"
    place = [rank]
    if not tables.is_absent(row["straggler_gpu"]):
        place.append(f"GPU {row['straggler_gpu']}")
    if not tables.is_absent(row["straggler_host"]):
        place.append(str(row["straggler_host"]))
    return f"{text}; {' on '.join(place)} was last in {share} ({chance(p)})"


def chance(p: float) -> str:
    """Say that stragglers so uneven are not chance.

    Examples
    --------
    >>> chance(0.00001), chance(0.02)
    ('p < 0.001: not chance', 'p = 0.020: hardly chance')
    """
    return "p < 0.001: not chance" if p < CERTAIN else f"p = {p:.3f}: hardly chance"


def _lost(tax: "Tax") -> str:
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
