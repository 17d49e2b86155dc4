"""How the wait grows, for people to read: sentences, predictions, doubts, plots."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.report import tables
from synctax.report.evt_plots import drawn
from synctax.report.tables import Field, Sentence, column
from synctax.schema import FIT_EVT_POINTS
from synctax.texts import (
    ABSENT,
    counted,
    is_absent,
    number,
    p_value,
    percent,
    signed,
    time_us,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.evt.results import EvtFit
    from synctax.report.output import Result

GO_ON = 4
"""Blanks before the second line of a sentence."""

REJECTED_P = 0.05
"""Below this p of one of its distances a law does not fit."""

NAME_WIDTH = 44
MESSAGE_LEAST = 40


def parts(fit: "EvtFit", result: "Result", *, every: bool) -> "list[RenderableType]":
    """Lay out the verdict, the predictions, how predictors miss, doubts and a plot.

    Parameters
    ----------
    fit : EvtFit
    result : Result
        Of `schema.FIT_EVT`.
    every : bool
        Whether to tell all doubts and tests, and draw all plots.
    """
    from synctax.evt.verdict import headline

    shown: list[RenderableType] = [Sentence(headline(fit), GO_ON)]
    shown += [Sentence(text, GO_ON) for text in fit.verdict()]
    shown += ["", growth(result), *_beside(fit)]
    if fit.held_out:
        shown += ["", "how far predictors miss what they were not fitted to:", errors(fit)]
    shown += ["", *_doubts(fit, every=every)]
    if every:
        shown += _goodness(fit)
    for kind in list(FIT_EVT_POINTS)[: None if every else 1]:
        shown += ["", *drawn(fit, kind)]
    return shown


def growth(result: "Result") -> "RenderableType":
    """Lay out the predictions by number of ranks, with their intervals.

    Parameters
    ----------
    result : Result
        Of `schema.FIT_EVT`.
    """
    from synctax.evt.verdict import level_text

    rows, level = tables.records(result.frame), level_text(result.parameters["level"])
    fields = [
        column(rows, "n", "ranks"),
        column(rows, "tau_us", "Gumbel", time_us),
        _between(rows, "tau", level, rank=1),
        column(rows, "tau_gev_us", "GEV", time_us),
        _between(rows, "tau_gev", level, rank=2),
        column(rows, "tau_lmoments_us", "L-moments", time_us, rank=5),
        column(rows, "tau_deviations_us", "deviations", time_us, rank=3),
        _between(rows, "tau_deviations", level, rank=4),
        column(rows, "measured_us", "measured", time_us),
    ]
    return tables.table(_filled(fields))


def errors(fit: "EvtFit") -> "RenderableType":
    """Lay out how far predictors miss what was held out: a line a predictor.

    Parameters
    ----------
    fit : EvtFit
    """
    from synctax.evt.tax import METHODS
    from synctax.evt.verdict import NAMES

    trials = list(dict.fromkeys((one.kind, one.n_fit, one.n) for one in fit.held_out))
    found = {(one.kind, one.n_fit, one.n, one.method): one for one in fit.held_out}
    methods = [m for m in METHODS if any((*trial, m) in found for trial in trials)]
    fields = [Field("predictor", [NAMES[method] for method in methods], right=False)]
    for rank, trial in enumerate(trials):
        kind, n_fit, n = trial
        cells = []
        for method in methods:
            one = found.get((*trial, method))
            known = one is not None and not is_absent(one.error_lo)
            cells.append(
                ABSENT
                if one is None
                else f"{signed(one.error)} ({_span(one.error_lo, one.error_hi, signed)})"
                if known
                else signed(one.error)
            )
        title = f"{n} ranks by groups of {n_fit}"
        if kind == "time":
            title = "2nd half by the 1st"
            if len(fit.inputs.sets) > 1:
                title += f", {n} ranks"
        fields.append(Field(title, cells, right=False, rank=rank))
    return tables.table(fields)


def table(fit: "EvtFit", result: "Result") -> "list[RenderableType]":
    """Lay out one of the other tables below what the fit is of.

    Parameters
    ----------
    fit : EvtFit
    result : Result
        Of one of the tables of `fit-evt`.
    """
    from synctax import schema
    from synctax.evt.verdict import headline

    rows = tables.records(result.frame)
    if not rows:
        return tables.plain(result)
    layout: dict[Any, Callable[[Sequence[dict[str, Any]]], RenderableType]] = {
        schema.FIT_EVT_BLOCKS: _blocks,
        schema.FIT_EVT_SEGMENTS: _segments,
        schema.FIT_EVT_CHECKS: _checks,
    }
    head: list[RenderableType] = [Sentence(headline(fit), GO_ON), ""]
    if result.table == schema.FIT_EVT_HOLDOUT:
        return [*head, errors(fit)]
    if result.table not in layout:
        return tables.plain(result)
    return [*head, layout[result.table](rows)]


def points(fit: "EvtFit", result: "Result", kind: str) -> "list[RenderableType]":
    """Lay out what a diagnostic plot shows: the plot, and its points.

    Parameters
    ----------
    fit : EvtFit
    result : Result
    kind : {"pdf", "qq", "return-level"}
    """
    return [*drawn(fit, kind), "", *tables.plain(result)]


def _beside(fit: "EvtFit") -> "list[RenderableType]":
    """One line: what is predicted and measured on the paths that were fitted."""
    if not fit.segments:
        return []
    one = fit.segments[0]
    if not np.isfinite(one.tax_mean_us):
        return []
    said = (
        f"on these paths: predicted {time_us(one.tau_us)}, measured at the collectives "
        f"{time_us(one.tax_mean_us)}: {_times(one.ratio)} times "
        f"({_span(one.ratio_lo, one.ratio_hi, _times)})"
    )
    more = "; by kind of block: --segments" if len(fit.segments) > 2 else ""
    return ["", Sentence(f"{said}{more}", GO_ON)]


def _goodness(fit: "EvtFit") -> "list[RenderableType]":
    """Say how far the laws are from the maxima: effects, then tests."""
    gof = fit.quality.gof
    told = []
    for name, title in (("gumbel", "Gumbel"), ("gev", "GEV")):
        if f"{name}_d" in gof:
            most = min(gof[f"{name}_{test}_p_hi"] or 0.0 for test in ("d", "a2"))
            fits = "does not fit" if most < REJECTED_P else "may fit"
            told.append(
                f"{title} {fits}: distribution off by {percent(gof[f'{name}_d'])} at most "
                f"(p {_bracket(gof, f'{name}_d')}), A² {number(gof[f'{name}_a2'])} "
                f"(p {_bracket(gof, f'{name}_a2')})"
            )
    return [Sentence(f"laws beside the maxima: {'; '.join(told)}", GO_ON)] if told else []


def _bracket(gof: dict[str, float | None], name: str) -> str:
    """Write a p-value, or what it lies between."""
    low, high = gof[f"{name}_p_lo"] or 0.0, gof[f"{name}_p_hi"] or 0.0
    if low == high:
        return number(low)
    if low == 0:
        return f"< {high:g}"
    return f"> {low:g}" if high == 1 else f"{low:g} to {high:g}"


def _doubts(fit: "EvtFit", *, every: bool) -> "list[RenderableType]":
    """Tell the doubts about the predictor of the verdict, or all there are."""
    from synctax.evt.doubts import in_order, pressing
    from synctax.evt.verdict import NAMES, trusted

    fired = in_order([one for one in fit.checked if one.fired])
    if not fired:
        return ["no check speaks against the fit (all: --checks)"]
    told = fired if every else pressing(fired, trusted(fit))
    lines: list[RenderableType] = [Sentence(f"! {one.message}", GO_ON) for one in told]
    rest = len(fired) - len(told)
    if not told:
        lines.append(f"no check speaks against {NAMES[trusted(fit)]}")
    if rest:
        lines.append(f"  {counted(rest, 'more doubt')}: -v, or --checks")
    return lines


def _blocks(rows: Sequence[dict[str, Any]]) -> "RenderableType":
    fields = [
        column(rows, "block", "block", str),
        column(rows, "source", "source", str, rank=8),
        column(rows, "group", "group", str, rank=5),
        column(rows, "phase", "phase", str, rank=3),
        column(rows, "dtype", "type", str, rank=4),
        column(rows, "gpu", "GPU", str, rank=7),
        column(rows, "kernels", "kernels", rank=6),
        column(rows, "gemm", "GEMM", _short, rank=2),
        column(rows, "instances", "instances"),
        column(rows, "n", "ranks", rank=6),
        column(rows, "a_us", "a", time_us),
        column(rows, "b_us", "b", time_us),
        column(rows, "r", "b/a", percent, rank=1),
        column(rows, "z_max", "largest z", rank=3),
        column(rows, "tau_us", "predicted", time_us),
        column(rows, "measured_us", "measured", time_us),
        column(rows, "tax_mean_us", "at collectives", time_us, rank=1),
    ]
    return tables.table(_filled(fields))


def _segments(rows: Sequence[dict[str, Any]]) -> "RenderableType":
    def bounds(name: str) -> list[str]:
        ends = [(row[f"{name}_lo"], row[f"{name}_hi"]) for row in rows]
        return [
            ABSENT if is_absent(low) else _span(low, high, _times) for low, high in ends
        ]

    fields = [
        column(rows, "group", "group", str),
        column(rows, "gpu", "GPU", str, rank=3),
        column(rows, "dtype", "type", str, rank=2),
        column(rows, "phase", "phase", str, rank=1),
        column(rows, "n", "ranks"),
        column(rows, "instances", "instances", rank=4),
        column(rows, "a_us", "a", time_us, rank=5),
        column(rows, "b_us", "b", time_us, rank=5),
        column(rows, "tau_us", "predicted", time_us),
        column(rows, "tax_mean_us", "at collectives", time_us),
        column(rows, "ratio", "times", _times),
        Field("", bounds("ratio"), rank=1),
        column(rows, "measured_us", "by blocks", time_us, rank=6),
        column(rows, "blocks_ratio", "times", _times, rank=6),
        Field("", bounds("blocks_ratio"), rank=6),
        column(rows, "z_p99", "z, 99 %", rank=7),
    ]
    return tables.table(_filled(fields))


def _checks(rows: Sequence[dict[str, Any]]) -> "RenderableType":
    fields = [
        Field("check", [row["check"].replace("_", " ") for row in rows], right=False),
        column(rows, "effect", "found", _real),
        Field("matters if", [_limit(row) for row in rows], right=False),
        column(rows, "unit", "of", str, rank=2),
        column(rows, "p", "p", p_value, rank=1),
        Field("", ["!" if row["fired"] else "" for row in rows], right=False),
        Field(
            "what it means",
            [row["message"] or ABSENT for row in rows],
            right=False,
            least=MESSAGE_LEAST,
        ),
    ]
    return tables.table(fields)


def _filled(fields: Sequence[Field]) -> list[Field]:
    """Leave out columns that no row has anything in."""
    return [one for one in fields if any(c not in (ABSENT, "") for c in one.cells)]


def _short(name: str) -> str:
    return name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 1]}…"


def _between(rows: Sequence[dict[str, Any]], name: str, level: str, *, rank: int) -> Field:
    """Make a column of an interval."""
    from synctax.evt.verdict import span_us

    cells = [
        ABSENT
        if is_absent(row[f"{name}_lo_us"])
        else span_us(row[f"{name}_us"], row[f"{name}_lo_us"], row[f"{name}_hi_us"])
        for row in rows
    ]
    return Field(level, cells, right=False, rank=rank)


def _limit(row: Mapping[str, Any]) -> str:
    """Say which effects matter."""
    value = _real(row["threshold"])
    if row["direction"] == "both":
        return f"beyond ±{value}" if row["threshold"] else "sure not to be 0"
    return f"{row['direction']} {value}"


def _real(value: float) -> str:
    """Write a number that may be negative."""
    return number(value).replace("-", "−")


def _times(factor: float) -> str:
    """Write how many times; around 1, two digits tell how far from it."""
    return f"{factor:.2f}" if factor < 10 else number(factor)


def _span(low: float, high: float, show: Callable[[float], str]) -> str:
    if is_absent(low):
        return "no interval"
    return f"{show(low)} to {show(high)}"
