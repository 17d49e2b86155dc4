"""What came back of injected delays, for people to read: sentences, sizes, a plot."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.report import tables
from synctax.report.tables import Field, Sentence, column
from synctax.report.text_plots import Layer, can_show_blocks, plot
from synctax.texts import ABSENT, counted, is_absent, percent, time_us

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.experiment.recovered import Recovered
    from synctax.report.output import Result

GO_ON = 4
"""Blanks before the second line of a sentence."""

WIDTH = 48
HEIGHT = 8

NAME_WIDTH = 44
NAME_LEAST = 18


def parts(found: "Recovered", result: "Result") -> "list[RenderableType]":
    """Lay out the verdict, a line a size of delay, and tax against delay.

    Parameters
    ----------
    found : Recovered
    result : Result
        Of `schema.INJECT`.
    """
    shown: list[RenderableType] = [Sentence(text, GO_ON) for text in found.verdict()]
    shown += ["", doses(result)]
    several = int((found.hits.positive > 1).sum())
    if several:
        shown.append(
            f"several delays reach {counted(several, 'collective')}: their sum is the size"
        )
    if found.setting.on_gpu:
        shown += ["", *_through_cpu(found)]
    drawing = _drawn(found)
    return [*shown, "", *drawing] if drawing else shown


def doses(result: "Result") -> "RenderableType":
    """Lay out what came back of each size of delay.

    Parameters
    ----------
    result : Result
        Of `schema.INJECT`.
    """
    from synctax.experiment.lines import INTERVAL

    rows = tables.records(result.frame)
    fields = [
        column(rows, "dose_us", "delay", time_us),
        column(rows, "collectives", "reached", rank=3),
        column(rows, "judged", "judged"),
        column(rows, "expected_us_median", "to show", time_us, rank=4),
        column(rows, "tax_max_us_median", "tax", time_us),
        _between(rows, "tax_max_us_p10", "tax_max_us_p90", "10 to 90 %", time_us, rank=5),
        column(rows, "excess_us_median", "over 0", time_us, rank=2),
        column(rows, "rank_named_share", "rank", percent, rank=1),
        column(rows, "operator_named_share", "operator", percent, rank=1),
        column(rows, "recovered_share", "recovered", percent),
        _between(rows, "recovered_lo", "recovered_hi", INTERVAL, percent, rank=3),
        column(rows, "amount_named_share", "amount", percent, rank=3),
        column(rows, "operator_path_share_median", "of path", percent, rank=2),
        column(rows, "cpu_path_share_median", "CPU of path", percent, rank=4),
    ]
    return tables.table(fields)


def _between(
    rows: Sequence[dict[str, Any]], low: str, high: str, title: str, show: Any, *, rank: int
) -> Field:
    cells = [
        ABSENT if is_absent(row[low]) else f"{show(row[low])} to {show(row[high])}"
        for row in rows
    ]
    return Field(title, cells, rank=rank)


def collectives(result: "Result") -> "list[RenderableType]":
    """Lay out every collective that is reached.

    Parameters
    ----------
    result : Result
        Of `schema.INJECT_COLLECTIVES`.
    """
    from synctax.attribution.labels import short_name

    rows = tables.records(result.frame)
    if not rows:
        return tables.plain(result)

    def short(name: str) -> str:
        return short_name(name, width=NAME_WIDTH)

    culprit = column(rows, "culprit", "culprit", short)
    fields = [
        column(rows, "group", "group", str),
        column(rows, "group_ranks", "ranks", str, rank=4),
        column(rows, "op", "op", str, rank=3),
        column(rows, "index", "index"),
        column(rows, "step", "step", rank=5),
        column(rows, "delayed_rank", "delayed", rank=1),
        column(rows, "operator", "operator", short, rank=6),
        column(rows, "delay_us", "delay", time_us),
        column(rows, "expected_us", "to show", time_us, rank=5),
        column(rows, "tax_max_us", "tax", time_us),
        column(rows, "straggler_rank", "straggler"),
        Field(culprit.title, culprit.cells, right=False, least=NAME_LEAST),
        column(rows, "culprit_variation_us", "of it", time_us, rank=3),
        column(rows, "operator_path_share", "of path", percent, rank=4),
        column(rows, "recovered", "recovered", _yes),
        column(rows, "passed_on", "passed on", _yes, rank=6),
        column(rows, "status", "status", str, rank=2),
    ]
    return [tables.table(fields)]


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _through_cpu(found: "Recovered") -> "list[RenderableType]":
    """How many paths go through the CPU, by delay less slack: the paper's figure 5."""
    rows = found.through_cpu()
    if not rows:
        return []
    what = "delay less slack" if found.knows_slack else "delay"
    fields = [
        Field(what, [_bin(row["from_us"], row["to_us"]) for row in rows]),
        column(rows, "collectives", "judged"),
        column(rows, "through_cpu_share", "through CPU", percent),
        column(rows, "cpu_path_share_median", "CPU of path", percent),
        column(rows, "operator_path_share_median", "operator of path", percent, rank=1),
        column(rows, "tax_max_us_median", "tax", time_us, rank=2),
    ]
    return [f"paths through the CPU, by {what}:", tables.table(fields)]


def _bin(low_us: float | None, high_us: float | None) -> str:
    if low_us is None or high_us is None:
        end_us = low_us if high_us is None else high_us
        return f"{'from' if high_us is None else 'below'} {time_us(end_us or 0.0)}"
    return f"{time_us(low_us)} to {time_us(high_us)}"


def _drawn(found: "Recovered") -> list[str]:
    """Draw tax against delay, with the line on which the whole delay shows."""
    hits, rows = found.hits, found.hits.judged
    x = (hits.expected_us if found.knows_slack else hits.delay_us)[rows]
    y = hits.tax_us[rows]
    known = np.isfinite(x)
    x, y = x[known], y[known]
    if not x.size or np.ptp(x) == 0:
        return []
    blocks = can_show_blocks()
    dot = "·" if blocks else "."
    line = np.linspace(float(x.min()), float(x.max()), WIDTH)
    drawing = plot(
        [Layer(line, line, dot), Layer(x, y, "o")],
        labels=(
            time_us(float(line[0])),
            time_us(float(line[-1])),
            time_us(float(min(y.min(), line[0]))),
            time_us(float(max(y.max(), line[-1]))),
        ),
        width=WIDTH,
        height=HEIGHT,
        blocks=blocks,
    )
    what = "delay beyond the slack" if found.knows_slack else "delay"
    said = f"tax of {counted(x.size, 'collective')} (o) against {what}"
    return [f"{said}; all of it shows on the line ({dot}):", *drawing]
