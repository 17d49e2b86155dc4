"""Who made the others wait, for people to read: sentences, then what they rest on."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from synctax.report import tables
from synctax.report.tables import Field, Sentence
from synctax.report.text_plots import can_show_blocks
from synctax.texts import is_absent, percent, time_us

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.attribution.attribute import Attribution
    from synctax.report.output import Result

BAR_WIDTH = 10
"""Characters of a bar that stands for all of the tax."""

RANKS_SHOWN = 4
"""Ranks of each role below the table of classes."""

NAME_WIDTH = 44
NAME_LEAST = 20
"""On a narrow terminal."""

GO_ON = 4
"""Blanks before the second line of a sentence, so that it is no sentence of its own."""


def parts(found: "Attribution", result: "Result") -> "list[RenderableType]":
    """Lay out the verdict on each role, the table of classes, and the ranks that count."""
    shown: list[RenderableType] = []
    for role in result.extra["groups"]:
        first, *more = role["verdict"]
        said = [f"{role['group']}: {first}", *(f"  {text}" for text in more)]
        shown += [*(Sentence(text, GO_ON) for text in said), ""]
    shown += [classes(result), ""]
    return [*shown, *_top_ranks(found)]


def classes(result: "Result") -> "RenderableType":
    """Lay out the classes of culprits, as table 3 of the paper does."""
    rows = tables.records(result.frame)
    shares = [row["share_of_tax"] for row in rows]
    fields = [
        tables.column(rows, "group", "group", str),
        tables.column(rows, "culprit_class", "culprit", str),
        tables.column(rows, "side", "side", str, rank=4),
        tables.column(rows, "collectives", "collectives"),
        tables.column(rows, "share_of_collectives", "share", percent, rank=2),
        tables.column(rows, "variation_us", "variation", time_us, rank=1),
        tables.column(rows, "share_of_variation", "share", percent, rank=1),
        tables.column(rows, "tax_us", "tax", time_us),
        tables.column(rows, "share_of_tax", "share", percent),
        Field("", [_bar(share) for share in shares], right=False, rank=3),
    ]
    if any(row["group_ranks"] is not None for row in rows):
        fields.insert(1, tables.column(rows, "group_ranks", "ranks", str))
    return tables.table(fields)


def collectives(result: "Result") -> "list[RenderableType]":
    """Lay out every collective: of its columns those that a person compares."""
    rows = tables.records(result.frame)
    if not rows:
        return tables.plain(result)
    fields = [
        tables.column(rows, "group", "group", str),
        tables.column(rows, "group_ranks", "ranks", str, rank=4),
        tables.column(rows, "op", "op", str, rank=3),
        tables.column(rows, "index", "index"),
        tables.column(rows, "step", "step", rank=6),
        tables.column(rows, "tax_max_us", "tax", time_us),
        tables.column(rows, "straggler_rank", "straggler", _rank),
        replace(tables.column(rows, "culprit", "culprit", short), least=NAME_LEAST),
        tables.column(rows, "culprit_class", "class", str, rank=2),
        tables.column(rows, "culprit_why", "why", str, rank=5),
        tables.column(rows, "culprit_share", "share", percent, rank=1),
        tables.column(rows, "path_side", "path", str, rank=3),
        tables.column(rows, "carried_us", "carried", time_us, rank=4),
        tables.column(rows, "propagated_us", "passed on", time_us, rank=4),
        tables.column(rows, "origin_rank", "origin", _rank, rank=2),
        tables.column(rows, "residual_us", "residual", time_us, rank=5),
        tables.column(rows, "status", "status", str, rank=1),
    ]
    for name, rank in (("window", 6), ("reason", 7)):
        if any(not is_absent(row[name]) for row in rows):
            fields.append(tables.column(rows, name, name, str, rank=rank))
    return [tables.table(fields)]


def ranks(result: "Result") -> "list[RenderableType]":
    """Lay out every rank: what it was blamed for, and with what."""
    rows = tables.records(result.frame)
    return [_ranks(rows)] if rows else tables.plain(result)


def _ranks(rows: Sequence[dict[str, Any]]) -> "RenderableType":
    fields = [
        tables.column(rows, "group", "group", str),
        tables.column(rows, "rank", "rank"),
        tables.column(rows, "host", "host", str, rank=5),
        tables.column(rows, "gpu", "GPU", str, rank=6),
        tables.column(rows, "collectives", "last in"),
        tables.column(rows, "tax_us", "tax", time_us),
        tables.column(rows, "share_of_tax", "share", percent),
        tables.column(rows, "gpu_us", "by GPU", time_us, rank=3),
        tables.column(rows, "cpu_us", "by CPU", time_us, rank=3),
        tables.column(rows, "comm_us", "by comm", time_us, rank=3),
        tables.column(rows, "carried_us", "carried", time_us, rank=4),
        tables.column(rows, "origin_tax_us", "origin of", time_us, rank=1),
        replace(tables.column(rows, "culprit", "most by", short), least=NAME_LEAST),
        tables.column(rows, "culprit_us", "of it", time_us, rank=2),
    ]
    if any(not is_absent(row["window"]) for row in rows):
        fields.append(tables.column(rows, "window", "window", str, rank=5))
    return tables.table(fields)


def _top_ranks(found: "Attribution") -> "list[RenderableType]":
    """The ranks of each role that were last, or are the origin, for most of the tax.

    In order of the tax for which they were last.
    """
    records = found.per_rank().astype(object).to_dict("records")
    rows = [{str(name): value for name, value in row.items()} for row in records]
    kept: list[dict[str, Any]] = []
    cut = []
    for group in dict.fromkeys(row["group"] for row in rows):
        mine = [row for row in rows if row["group"] == group]
        own = sorted((row for row in mine if _taxed(row) > 0), key=_taxed, reverse=True)
        own = sorted(own[:RANKS_SHOWN], key=lambda row: -float(row["tax_us"]))
        kept += own
        if 0 < len(own) < len(mine):
            cut.append(f"{group}: {len(own)} of {len(mine)} ranks shown")
    if not kept:
        return ["no rank made others wait"]
    said = [Sentence(f"{'; '.join(cut)} (all: --per-rank)")] if cut else []
    return [_ranks(kept), *said]


def _taxed(row: dict[str, Any]) -> float:
    return max(float(row["tax_us"]), float(row["origin_tax_us"]))


def short(name: str) -> str:
    """Shorten a name to what a column has room for."""
    from synctax.attribution.labels import short_name

    return short_name(name, width=NAME_WIDTH)


def _bar(share: float | None) -> str:
    """Draw a share of the tax."""
    mark = "█" if can_show_blocks() else "#"
    return "" if is_absent(share) else mark * round(BAR_WIDTH * float(share or 0))


def _rank(rank: int) -> str:
    return f"rank {rank}"
