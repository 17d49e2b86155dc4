"""Tables of the page: the same columns as on the terminal, with values to sort by."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synctax.bandwidth.basis import below, elasticity_text
from synctax.report.page.markup import Html, Texts, element
from synctax.texts import (
    ABSENT,
    is_absent,
    number,
    p_value,
    percent,
    rate_gb_per_s,
    size_bytes,
    time_us,
)

if TYPE_CHECKING:
    from synctax.report.output import NoteLike

Row = dict[str, Any]

MAX_ROWS = 2_000
"""Rows of a table in the page; commands and files have all of them."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    title : str
    cells : n strings
        Of names, as they are in the trace.
    values : n numbers or None, optional
        What a column of numbers is sorted by; names have none.
    """

    title: str
    cells: Sequence[str]
    values: Sequence[float | None] | None = None


def column(rows: Sequence[Row], name: str, title: str, show: Any = number) -> Column:
    """Make a column of numbers; `str` for `show` makes one of names.

    Parameters
    ----------
    rows : sequence of mapping
    name, title : str
    show : callable
        Writes a value that is there.
    """
    own = [None if is_absent(row[name]) else row[name] for row in rows]
    cells = [ABSENT if value is None else show(value) for value in own]
    return Column(title, cells, None if show is str else own)


def table(
    name: str, caption: str, columns: Sequence[Column], texts: Texts, *, rest: str = ""
) -> Html:
    """Write a table that can be sorted, in a container of its own to scroll in.

    Parameters
    ----------
    name : str
        Its id.
    caption : str
    columns : sequence of Column
        Those in which every cell is absent are left out.
    texts : Texts
    rest : str
        Where all rows are, if there are too many.
    """
    count = len(columns[0].cells)
    filled = [
        one
        for at, one in enumerate(columns)
        if not at or any(cell not in (ABSENT, "") for cell in one.cells)
    ]
    kept = min(count, MAX_ROWS)
    if kept < count:
        caption += f"; the first {kept:,} of {count:,} rows ({rest})"
    head = [
        element(
            "th",
            one.title,
            attributes={
                "scope": "col",
                "data-kind": "text" if one.values is None else "number",
            },
        )
        for one in filled
    ]
    body = [
        element("tr", [_cell(one, row, texts) for one in filled]) for row in range(kept)
    ]
    return element(
        "div",
        element(
            "table",
            element("caption", caption),
            element("thead", element("tr", head)),
            element("tbody", body),
            attributes={"class": "sortable", "id": name},
        ),
        attributes={"class": "scroll"},
    )


def _cell(one: Column, row: int, texts: Texts) -> Html:
    text = texts.plain(one.cells[row])
    if one.values is None:
        return element("td", text)
    value = one.values[row]
    told = "" if value is None else f"{float(value):.9g}"
    return element("td", text, attributes={"class": "number", "data-value": told})


def measure(rows: Sequence[Row], texts: Texts) -> Html:
    """Lay out `schema.MEASURE`."""
    ranks = Column(
        "ranks",
        [
            f"{row['n_groups']} × {row['n_ranks']}"
            if row["n_groups"] > 1
            else str(row["n_ranks"])
            for row in rows
        ],
        [row["n_ranks"] for row in rows],
    )
    columns = [
        column(rows, "group", "group", str),
        column(rows, "op", "op", str),
        ranks,
        column(rows, "collectives", "n"),
        column(rows, "payload_bytes_median", "payload", size_bytes),
        column(rows, "transfer_us_median", "transfer", time_us),
        column(rows, "tax_max_us_median", "median tax", time_us),
        column(rows, "tax_max_us_p99", "99 %", time_us),
        column(rows, "tax_max_us_max", "largest", time_us),
        column(rows, "share_fastest_median", "waits", percent),
        column(rows, "wait_share_of_step", "of the step", percent),
        column(rows, "busbw_gb_per_s_median", "busbw", rate_gb_per_s),
        column(rows, "straggler_rank", "often last", _rank),
        column(rows, "straggler_share", "in", percent),
        column(rows, "straggler_uniform_p", "p", p_value),
    ]
    caption = (
        "The tax by group and operation. n: collectives that count; waits: share of its "
        "time in a collective that the rank waits which waits most (median); p: that "
        "somebody is last so often by chance"
    )
    return table("table-measure", caption, columns, texts)


def ranks(rows: Sequence[Row], texts: Texts) -> Html:
    """Lay out `schema.MEASURE_RANKS`."""
    columns = [
        column(rows, "group", "group", str),
        column(rows, "op", "op", str),
        column(rows, "rank", "rank"),
        column(rows, "host", "host", str),
        column(rows, "gpu", "GPU", str),
        column(rows, "window", "window", str),
        column(rows, "collectives", "n"),
        column(rows, "straggler_count", "last in"),
        column(rows, "straggler_share", "share", percent),
        column(rows, "caused_us", "waited for", time_us),
        column(rows, "tax_mean_us", "mean wait", time_us),
        column(rows, "wait_us_p90", "90 %", time_us),
        column(rows, "wait_us_max", "longest", time_us),
        column(rows, "wait_us_sum", "all its waits", time_us),
        column(rows, "exposed_wait_us_sum", "exposed", time_us),
    ]
    caption = (
        "How long others waited for each rank (the tax of the collectives in which it was "
        "last), and what it waited itself; exposed: with nothing else to compute"
    )
    rest = "all: synctax measure --per-rank"
    return table("table-ranks", caption, columns, texts, rest=rest)


def classes(rows: Sequence[Row], texts: Texts) -> Html:
    """Lay out `schema.ATTRIBUTE`."""
    columns = [
        column(rows, "group", "group", str),
        column(rows, "culprit_class", "class of culprit", str),
        column(rows, "side", "side", str),
        column(rows, "collectives", "collectives"),
        column(rows, "share_of_collectives", "share of them", percent),
        column(rows, "variation_us", "variation", time_us),
        column(rows, "share_of_variation", "share of variation", percent),
        column(rows, "tax_us", "tax", time_us),
        column(rows, "share_of_tax", "share of tax", percent),
    ]
    caption = (
        "What made ranks late: collectives and their tax by the class of the culprit; "
        "variation: how much longer culprits took than on the fastest rank"
    )
    return table("table-classes", caption, columns, texts)


def largest(rows: Sequence[Row], texts: Texts) -> Html:
    """Lay out the collectives with the largest taxes."""
    columns = [
        column(rows, "group", "group", str),
        column(rows, "op", "operation", str),
        column(rows, "index", "index"),
        column(rows, "step", "step"),
        column(rows, "tax_us", "tax", time_us),
        column(rows, "share", "of it waiting", percent),
        column(rows, "transfer_us", "transfer", time_us),
        column(rows, "last", "last", _rank),
        column(rows, "culprit", "culprit", str),
        column(rows, "class", "class", str),
    ]
    caption = f"The {len(rows)} collectives with the largest taxes"
    return table("table-largest", caption, columns, texts)


def growth(rows: Sequence[Row], texts: Texts) -> Html:
    """Lay out `schema.FIT_EVT`."""
    columns = [
        column(rows, "n", "ranks"),
        column(rows, "tau_us", "Gumbel", time_us),
        *_bounds(rows, "tau", "Gumbel"),
        column(rows, "tau_gev_us", "GEV", time_us),
        *_bounds(rows, "tau_gev", "GEV"),
        column(rows, "tau_lmoments_us", "L-moments", time_us),
        column(rows, "tau_deviations_us", "deviations", time_us),
        *_bounds(rows, "tau_deviations", "deviations"),
        column(rows, "measured_us", "measured", time_us),
    ]
    caption = "Mean wait of a rank by the number of ranks, by each predictor"
    return table("table-fit", caption, columns, texts)


def bandwidth(rows: Sequence[Row], texts: Texts) -> Html:
    """Lay out `schema.BANDWIDTH`."""
    columns = [
        column(rows, "topology", "topology", str),
        column(rows, "n", "ranks"),
        column(rows, "elasticity", "elasticity", elasticity_text),
        column(rows, "tau_us", "tax", time_us),
        column(rows, "gb_per_s", "B*", rate_gb_per_s),
        column(rows, "gb_per_s_lo", "from", rate_gb_per_s),
        column(rows, "gb_per_s_hi", "to", rate_gb_per_s),
        column(rows, "hockney_gb_per_s", "B* without the tax", rate_gb_per_s),
        column(rows, "reduction", "below it by", below),
        column(rows, "reach", "times the ranks of the fit"),
    ]
    caption = (
        "Bandwidth above which 1 % more saves less time than the elasticity says; "
        "10⁹ bytes a second, per GPU and direction"
    )
    return table("table-bandwidth", caption, columns, texts)


def notes(found: "Sequence[NoteLike]", texts: Texts) -> Html:
    """Lay out what was left out, repaired or inferred."""
    columns = [
        Column("count", [number(one.count) for one in found], [one.count for one in found]),
        Column("what", [one.detail or one.reason for one in found]),
        Column("reason", [one.reason for one in found]),
        Column("first", [getattr(one, "where", "") for one in found]),
    ]
    caption = "How often, what, and where first"
    return table("table-notes", caption, columns, texts, rest="all: --format json")


def _bounds(rows: Sequence[Row], name: str, title: str) -> tuple[Column, Column]:
    """The interval of a predictor, with its name: any of them may be left out."""
    return (
        column(rows, f"{name}_lo_us", f"{title} from", time_us),
        column(rows, f"{name}_hi_us", f"{title} to", time_us),
    )


def _rank(rank: int) -> str:
    return f"rank {rank}"
