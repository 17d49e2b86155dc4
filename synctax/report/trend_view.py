"""The trend of a job for people to read: sentences, a row a line, windows of the first."""

from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.report import tables
from synctax.report.tables import Field, Sentence, column, records
from synctax.report.text_plots import can_show_blocks
from synctax.texts import (
    ABSENT,
    is_absent,
    number,
    p_value,
    percent,
    seconds,
    signed_us,
    time_us,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.comparison.trend import Trend
    from synctax.report.output import Result

MOST_POINTS = 40
"""Of more windows so many are shown, first and last among them; files hold all."""

SPARKS = 24
"""Signs of the small picture of a tax over the windows."""

SINGLE = (
    "a single step does not tell what steps differ by, nor do fewer than 5 that are all "
    "alike"
)
"""Why a mean has no interval."""

_BLOCKS, _SIGNS = "▁▂▃▄▅▆▇█", "_.-=+*%#"


def parts(found: "Trend", result: "Result") -> "list[RenderableType]":
    """Lay out the verdict, a row for every line, and the windows of the first line."""
    rows = records(result.frame)
    shown: list[RenderableType] = [Sentence(text) for text in found.verdict()]
    if len(found.points) > 1:
        shown += ["", _overview(found, rows)]
    first = found.lines[0].part
    mine = [r for r in rows if (r["group"], r["op"]) == (first.role, first.op.label)]
    return [*shown, "", *_windows(found, mine, of=len(found.lines))]


def _overview(found: "Trend", rows: list[dict[str, Any]]) -> "RenderableType":
    tested = records(found.tests())
    by_line: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        by_line.setdefault((row["group"], row["op"]), []).append(row["tax_max_us_mean"])
    own = [by_line[row["group"], row["op"]] for row in tested]
    return tables.table(
        [
            column(tested, "group", "group", str),
            column(tested, "op", "op", str),
            column(tested, "points", f"{found.points.noun}s", rank=3),
            Field("from", [time_us(values[0]) for values in own]),
            Field("to", [time_us(values[-1]) for values in own]),
            Field("mean tax", [sparks(values) for values in own], right=False, rank=2),
            column(tested, "finding", "finding", _finding),
            *_known(
                Field("change", [_change(row) for row in tested], rank=1),
                Field("p", [_p(row) for row in tested], rank=1),
                Field("worse", [_worse(row) for row in tested], rank=1),
            ),
        ]
    )


def _known(*fields: Field) -> list[Field]:
    """Leave out columns that hold nothing."""
    return [one for one in fields if set(one.cells) != {ABSENT}]


def _worse(row: dict[str, Any]) -> str:
    return ABSENT if is_absent(row["worse_rank"]) else f"rank {row['worse_rank']}"


def _finding(name: str) -> str:
    return name.replace("_", " ")


def _change(row: dict[str, Any]) -> str:
    """Write how much the tax changes: the shift of a step, the slope of a trend."""
    if row["finding"] in ("step_up", "step_down"):
        return signed_us(row["shift_us"])
    if row["finding"] in ("rise", "fall"):
        per = row["per"].replace("iterations", "it.")
        return f"{signed_us(row['slope_us'])}/{per}"
    return ABSENT


_DECIDES = {
    "step_up": ("break_p",),
    "step_down": ("break_p",),
    "rise": ("trend_p",),
    "fall": ("trend_p",),
}


def _p(row: dict[str, Any]) -> str:
    """Write the p-value of the finding; where there is none, the least."""
    names = _DECIDES.get(row["finding"], ("trend_p", "break_p"))
    known = [row[name] for name in names if not is_absent(row[name])]
    if not known:
        return ABSENT
    return p_value(min(known))


def sparks(values: list[float]) -> str:
    """Draw values from 0 to the largest; of many, medians of neighbours.

    Examples
    --------
    >>> len(sparks([1.0, 2.0, 3.0]))
    3
    """
    signs = _BLOCKS if can_show_blocks() else _SIGNS
    pieces = np.array_split(np.array(values, np.float64), min(SPARKS, len(values)))
    heights = [float(np.median(piece)) for piece in pieces]
    top = max(heights) or 1.0
    return "".join(signs[min(int(len(signs) * h / top), len(signs) - 1)] for h in heights)


def _windows(
    found: "Trend", rows: list[dict[str, Any]], *, of: int
) -> "list[RenderableType]":
    """Lay out the windows of one line."""
    shown = rows
    if len(rows) > MOST_POINTS:
        chosen = np.unique(np.linspace(0, len(rows) - 1, MOST_POINTS).round().astype(int))
        shown = [rows[i] for i in chosen]
    title = f"{rows[0]['group']} {rows[0]['op']}"
    if len(shown) < len(rows):
        title += f": {len(shown)} of {len(rows)} {found.points.noun}s; all: -o FILE"
    elif of > 1:
        title = f"shown: {title}; the others: --group and --op; all: -o FILE"
    listed: list[RenderableType] = [Sentence(title), tables.table(_fields(found, shown))]
    return [*listed, "", *(Sentence(text) for text in _legend(found, shown))]


def _legend(found: "Trend", rows: list[dict[str, Any]]) -> list[str]:
    """Say what columns and marks mean, and why there is no interval where there is none."""
    noun, level = found.points.noun, percent(found.options.level)
    without = sum(is_absent(row["tax_max_mean_us_lo"]) for row in rows)
    said = []
    if without < len(rows):
        said.append(f"tax: median; {level}: interval of the mean, with steps drawn anew")
    if without:
        what = "no interval of the mean" + ("" if without == len(rows) else f" ({ABSENT})")
        said.append(f"{what}: {SINGLE}")
    if any(_is_new(row) for row in rows):
        said.append(f"* another rank than in the {noun} before, beyond chance")
    return said


def _fields(found: "Trend", rows: list[dict[str, Any]]) -> list[Field]:
    fields = [
        _when(found, rows),
        column(rows, "collectives", "n", rank=5),
        column(rows, "tax_max_us_median", "tax", time_us),
        column(rows, "tax_max_us_mean", "mean", time_us),
        *_interval(found, rows),
        column(rows, "tax_max_us_p90", "p90", time_us, rank=4),
        column(rows, "wait_share_of_step", "of step", percent, rank=3),
        column(rows, "step_us_median", "step", time_us, rank=5),
        Field("last", [_last(row) for row in rows], right=False, rank=1),
    ]
    if found.attributed:
        fields.append(Field("culprits", [_culprit(r) for r in rows], right=False, rank=2))
    if not all(row["compared"] for row in rows):
        fields.insert(1, Field("ranks", [_ranks(row) for row in rows]))
    return fields


def _ranks(row: dict[str, Any]) -> str:
    """Write how many ranks there are, and that the point is compared with no other."""
    return f"{row['n_ranks']}{'' if row['compared'] else ' (out)'}"


def _when(found: "Trend", rows: list[dict[str, Any]]) -> Field:
    """Name the points by what the reader knows: iteration, window, step, or time."""
    at = found.points
    if not is_absent(rows[0]["iteration"]):
        title = "iteration" if at.steps_each is None else "step"
        return column(rows, "iteration", title, number)
    if at.steps_each is None and len(set(at.window)) > 1:
        return column(rows, "window", "window", str)
    if not is_absent(rows[0]["at_s"]):
        return column(rows, "at_s", "after", seconds)
    return column(rows, "point", found.points.noun, number)


def _interval(found: "Trend", rows: list[dict[str, Any]]) -> list[Field]:
    """Lay out the intervals of means, where there are any."""
    cells = [
        ABSENT if is_absent(low) else f"{time_us(low)} to {time_us(high)}"
        for row in rows
        for low, high in [(row["tax_max_mean_us_lo"], row["tax_max_mean_us_hi"])]
    ]
    return _known(Field(percent(found.options.level), cells, rank=1))


def _last(row: dict[str, Any]) -> str:
    """Write who was last most often; what differs from the window before has a mark."""
    if is_absent(row["straggler_rank"]):
        return ABSENT
    text = f"rank {row['straggler_rank']} {percent(row['straggler_share'])}"
    return f"{text} *" if _is_new(row) else text


def _is_new(row: dict[str, Any]) -> bool:
    """Whether another rank was last most often than in the window before, truly."""
    new = row["straggler_is_new"]
    return not is_absent(new) and bool(new)


def _culprit(row: dict[str, Any]) -> str:
    if is_absent(row["culprit_class"]):
        return ABSENT
    return f"{row['culprit_class']} {percent(row['culprit_share'])}"


def tests(result: "Result") -> "list[RenderableType]":
    """Lay out what every line was asked."""
    rows = records(result.frame)
    return [
        tables.table(
            [
                column(rows, "group", "group", str),
                column(rows, "op", "op", str),
                column(rows, "points", "n", rank=2),
                column(rows, "finding", "finding", _finding),
                column(rows, "slope_us", "slope", time_us, rank=2),
                column(rows, "per", "per", str, rank=2),
                column(rows, "trend_p", "p trend", p_value, rank=1),
                column(rows, "break_point", "break at", rank=3),
                column(rows, "before_us", "before", time_us, rank=3),
                column(rows, "after_us", "after", time_us, rank=3),
                column(rows, "break_p", "p break", p_value, rank=1),
                column(rows, "worse_rank", "worse rank"),
                column(rows, "worse_p", "p rank", p_value, rank=1),
            ]
        )
    ]


def culprits(result: "Result") -> "list[RenderableType]":
    """Lay out the share of the tax of each class, point by point."""
    if result.frame.empty:
        return tables.plain(result)
    rows = records(result.frame)
    return [
        tables.table(
            [
                column(rows, "group", "group", str),
                column(rows, "op", "op", str),
                column(rows, "point", "point"),
                column(rows, "window", "window", str, rank=2),
                column(rows, "culprit_class", "class", str),
                column(rows, "share_of_tax", "of tax", percent),
            ]
        )
    ]
