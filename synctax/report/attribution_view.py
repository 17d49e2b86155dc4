"""Who made the others wait, for people to read: sentences, then what they rest on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from synctax.report import tables
from synctax.report.tables import Field, Sentence, number, percent, time_us
from synctax.report.text_plots import can_show_blocks

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
    rows = _rows(result)
    shares = [row["share_of_tax"] for row in rows]
    fields = [
        _field(rows, "group", "group", str),
        _field(rows, "culprit_class", "culprit", str),
        _field(rows, "side", "side", str, rank=4),
        _field(rows, "collectives", "collectives"),
        _field(rows, "share_of_collectives", "share", percent, rank=2),
        _field(rows, "variation_us", "variation", time_us, rank=1),
        _field(rows, "share_of_variation", "share", percent, rank=1),
        _field(rows, "tax_us", "tax", time_us),
        _field(rows, "share_of_tax", "share", percent),
        Field("", [_bar(share) for share in shares], right=False, rank=3),
    ]
    if any(row["group_ranks"] is not None for row in rows):
        fields.insert(1, _field(rows, "group_ranks", "ranks", str))
    return tables.table(fields)


def collectives(result: "Result") -> "list[RenderableType]":
    """Lay out every collective: of its columns those that a person compares."""
    rows = _rows(result)
    if not rows:
        return tables.plain(result)
    fields = [
        _field(rows, "group", "group", str),
        _field(rows, "group_ranks", "ranks", str, rank=4),
        _field(rows, "op", "op", str, rank=3),
        _field(rows, "index", "index"),
        _field(rows, "step", "step", rank=6),
        _field(rows, "tax_max_us", "tax", time_us),
        _field(rows, "straggler_rank", "straggler", _rank),
        replace(_field(rows, "culprit", "culprit", short), least=NAME_LEAST),
        _field(rows, "culprit_class", "class", str, rank=2),
        _field(rows, "culprit_why", "why", str, rank=5),
        _field(rows, "culprit_share", "share", percent, rank=1),
        _field(rows, "path_side", "path", str, rank=3),
        _field(rows, "carried_us", "carried", time_us, rank=4),
        _field(rows, "propagated_us", "passed on", time_us, rank=4),
        _field(rows, "origin_rank", "origin", _rank, rank=2),
        _field(rows, "residual_us", "residual", time_us, rank=5),
        _field(rows, "status", "status", str, rank=1),
    ]
    for name, rank in (("window", 6), ("reason", 7)):
        if any(not tables.is_absent(row[name]) for row in rows):
            fields.append(_field(rows, name, name, str, rank=rank))
    return [tables.table(fields)]


def ranks(result: "Result") -> "list[RenderableType]":
    """Lay out every rank: what it was blamed for, and with what."""
    rows = _rows(result)
    return [_ranks(rows)] if rows else tables.plain(result)


def _ranks(rows: Sequence[dict[str, Any]]) -> "RenderableType":
    fields = [
        _field(rows, "group", "group", str),
        _field(rows, "rank", "rank"),
        _field(rows, "host", "host", str, rank=5),
        _field(rows, "gpu", "GPU", str, rank=6),
        _field(rows, "collectives", "last in"),
        _field(rows, "tax_us", "tax", time_us),
        _field(rows, "share_of_tax", "share", percent),
        _field(rows, "gpu_us", "by GPU", time_us, rank=3),
        _field(rows, "cpu_us", "by CPU", time_us, rank=3),
        _field(rows, "comm_us", "by comm", time_us, rank=3),
        _field(rows, "carried_us", "carried", time_us, rank=4),
        _field(rows, "origin_tax_us", "origin of", time_us, rank=1),
        replace(_field(rows, "culprit", "most by", short), least=NAME_LEAST),
        _field(rows, "culprit_us", "of it", time_us, rank=2),
    ]
    if any(not tables.is_absent(row["window"]) for row in rows):
        fields.append(_field(rows, "window", "window", str, rank=5))
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
    return "" if tables.is_absent(share) else mark * round(BAR_WIDTH * float(share or 0))


def _rank(rank: int) -> str:
    return f"rank {rank}"


def _rows(result: "Result") -> list[dict[str, Any]]:
    records: Iterator[dict[Any, Any]] = iter(result.frame.astype(object).to_dict("records"))
    return [{str(name): value for name, value in row.items()} for row in records]


def _field(
    rows: Sequence[dict[str, Any]],
    name: str,
    title: str,
    show: Callable[[Any], str] = number,
    *,
    rank: int = 0,
) -> Field:
    """Make a printed column of a column of the result."""
    values = [row[name] for row in rows]
    cells = [tables.ABSENT if tables.is_absent(v) else show(v) for v in values]
    return Field(title, cells, right=show not in (str, short), rank=rank)
