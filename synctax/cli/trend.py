"""`synctax trend`: tax, straggler and culprits over the windows of a job."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synctax.cli.options import (
    MAX_NUMBER,
    end_tolerance_option,
    group_option,
    manifest_option,
    op_option,
    output_options,
    ranks_option,
    steps_option,
    workspace_options,
)
from synctax.cli.plotting import Plot, plot_options
from synctax.cli.reading_options import workers_option
from synctax.cli.recall import Sources
from synctax.cli.resampling import resampling_options
from synctax.comparison.options import Options
from synctax.errors import BadInputError, SynctaxError
from synctax.report.output import Output, Render, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from synctax.attribution.attribute import Attribution
    from synctax.collectives.tax import Tax
    from synctax.comparison.trend import By, Trend
    from synctax.trace.pool import Workers
    from synctax.workspace import Workspace


class Points(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """`window`, `step`, or a number of steps."""

    name = "points"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> "By | int":
        """Parse the text."""
        if isinstance(value, int) or value in ("window", "step"):
            return value  # type: ignore[no-any-return]
        text = str(value).strip()
        if not (text.isascii() and text.isdigit() and 0 < int(text) <= MAX_NUMBER):
            self.fail(f"{value!r} is neither window nor step nor a number", param, ctx)
        return int(text)


@click.command()
@click.argument("traces", nargs=-1, metavar="[TRACES]...")
@click.option(
    "--by",
    type=Points(),
    default="window",
    show_default=True,
    metavar="window|step|N",
    help="A point for every profiler window, for every step, or for N steps.",
)
@group_option
@op_option
@steps_option
@ranks_option
@click.option(
    "--no-culprits",
    is_flag=True,
    help="Do not ask who made the others wait: much quicker, each file is read once.",
)
@click.option("--tests", is_flag=True, help="A row for every group and operation.")
@click.option(
    "--culprits", is_flag=True, help="A row for every class of culprit of every window."
)
@resampling_options
@end_tolerance_option
@manifest_option
@workers_option
@workspace_options
@output_options
@plot_options("trend")
def trend(
    traces: tuple[str, ...],
    by: "By | int",
    group: str | None,
    op: str | None,
    steps: range | None,
    ranks: frozenset[int] | None,
    no_culprits: bool,
    tests: bool,
    culprits: bool,
    level: float,
    resamples: int,
    seed: int,
    end_tolerance_us: float | None,
    manifest: Path | None,
    workers: "Workers",
    workspace: Path,
    no_cache: bool,
    out: Output,
    plot: Plot,
) -> None:
    r"""Follow tax, straggler and culprits over the windows of a job.

    TRACES hold several profiler windows: folders such as iteration_100, or files with step
    numbers in their names. Without them, those that were measured last.

    \b
    Examples:
      synctax trend traces/
      synctax trend traces/ --group tp --no-culprits --plot trend.png
      synctax trend traces/ --by step -o steps.csv
    """
    if tests and culprits:
        raise click.UsageError("--tests and --culprits exclude each other")
    if culprits and no_culprits:
        raise click.UsageError("--culprits and --no-culprits exclude each other")
    from synctax.cli.reading import measure_again, worth_saying
    from synctax.cli.recall import recall
    from synctax.comparison.trend import trend as trend_of
    from synctax.report.output import emit, notes
    from synctax.workspace import Workspace

    options = _options(level, resamples, seed)
    sources = recall(Sources(traces, manifest, ranks, steps, end_tolerance_us), workspace)
    notes(sources.said, out)
    space = None if no_cache else Workspace(workspace)
    tax, unwritable = measure_again(sources, space, out, workers, group=group, op=op)
    blamed, refused = None, ""
    if not no_culprits:
        blamed, refused = _attribute(tax, space, out, workers, needed=culprits)
    found = trend_of(tax, blamed, by=by, options=options)
    asked = {**_parameters(sources, tax), "group": group, "op": op, "by": by}
    asked |= {"level": level, "resamples": resamples, "seed": seed}
    result = _result(found, asked, tests=tests, culprits=culprits)
    said = worth_saying(result.excluded, out.verbosity)
    notes([*(text for text in (unwritable, refused) if text), *said], out)
    emit(result, out, render=_render(found, tests=tests, culprits=culprits))
    _draw(plot, found)


def _options(level: float, resamples: int, seed: int) -> Options:
    from synctax.comparison.trend import check

    options = Options(level, resamples, seed)
    try:
        check(options)
    except ValueError as error:
        raise click.UsageError(f"{error} (--resamples)") from error
    return options


def _attribute(
    tax: "Tax",
    space: "Workspace | None",
    out: Output,
    workers: "Workers",
    *,
    needed: bool,
) -> "tuple[Attribution | None, str]":
    """Ask for culprits; where none can be told and none must be, say why."""
    from synctax.attribution.attribute import attribute
    from synctax.cli.progress import RoundsOfFiles

    with RoundsOfFiles(verbosity=out.verbosity) as rounds:
        try:
            found = attribute(
                tax,
                workers=workers,
                cache=space,
                on_progress=rounds.on_progress,
                on_round=rounds.on_round,
            )
        except BadInputError:
            raise
        except SynctaxError as error:
            if needed:
                raise
            return None, f"culprits are not told: {error}"
    return found, ""


def _parameters(sources: Sources, tax: "Tax") -> dict[str, Any]:
    steps = sources.steps
    return {
        "traces": sources.traces,
        "manifest": sources.manifest,
        "steps": None if steps is None else [steps.start, steps.stop],
        "ranks": None if sources.ranks is None else sorted(sources.ranks),
        "end_tolerance_us": tax.end_tolerance_us,
    }


def _result(
    found: "Trend", asked: dict[str, Any], *, tests: bool, culprits: bool
) -> Result:
    from synctax.schema import TREND, TREND_CULPRITS, TREND_TESTS

    extra = {"verdict": list(found.verdict())}
    if tests:
        return Result(TREND_TESTS, found.tests(), asked, found.notes, extra)
    if culprits:
        return Result(TREND_CULPRITS, found.culprits(), asked, found.notes, extra)
    return Result(TREND, found.to_frame(), asked, found.notes, extra)


def _render(found: "Trend", *, tests: bool, culprits: bool) -> Render:
    from synctax.report import trend_view

    if tests:
        return trend_view.tests
    if culprits:
        return trend_view.culprits
    return lambda result: trend_view.parts(found, result)


def _draw(plot: Plot, found: "Trend") -> None:
    from synctax.cli.plotting import draw

    def figure() -> "Figure":
        from synctax.report.figures.trend import trend as trend_figure

        return trend_figure(found)

    draw(plot, {"trend": figure})
