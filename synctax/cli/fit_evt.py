"""`synctax fit-evt`: how the wait grows with the ranks."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synctax.attribution.options import Options as AttributeOptions
from synctax.cli import fit_evt_stages as stages
from synctax.cli.fit_evt_figures import FIGURES, check_figure, draw_fit
from synctax.cli.fit_evt_targets import check_targets
from synctax.cli.options import (
    Finite,
    GroupSizes,
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
from synctax.evt.options import Options
from synctax.report.output import Output
from synctax.schema import FIT_EVT_POINTS

if TYPE_CHECKING:
    from synctax.trace.pool import Workers

DEFAULT = Options()

LEAST_RESAMPLES = 50
"""Fewer tell nothing of an interval."""

_File = click.Path(exists=True, dir_okay=False, path_type=Path)


class _Level(click.FloatRange):
    """A number within bounds, which `nan` is not."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is no finite number", param, ctx)
        return number


@click.command("fit-evt")
@click.argument("traces", nargs=-1, metavar="[TRACES]...")
@click.option(
    "--also",
    multiple=True,
    metavar="TRACES",
    help="Traces of another job, pooled with the first; repeatable.",
)
@click.option(
    "--block-times",
    type=_File,
    multiple=True,
    metavar="FILE",
    help="CSV with the columns block, instance, rank and us; repeatable, pooled.",
)
@click.option(
    "--maxima",
    type=_File,
    metavar="FILE",
    help="CSV with a column z, normalised block maxima; with --fit-n, --a-us and --r.",
)
@click.option(
    "--fit-n", type=click.IntRange(min=2), metavar="M", help="Ranks of each maximum."
)
@click.option("--a-us", type=Finite(least=0), metavar="US", help="Mean block time.")
@click.option("--r", type=Finite(least=0), metavar="R", help="Spread over mean, b/a.")
@group_option
@op_option
@steps_option
@ranks_option
@click.option(
    "--fit-ranks",
    type=click.IntRange(min=2),
    metavar="M",
    help="Cut groups to M ranks at random, at most as many as the smallest has.  "
    "[default: as many]",
)
@click.option(
    "--n",
    type=GroupSizes(),
    metavar="LIST",
    help="Ranks to predict for: 512, 8,72,512, or by doubling, 8:4096.  [default: from "
    "the fit's by doubling to 4096, also 72, 512 and the sizes of the groups]",
)
@click.option(
    "--level",
    type=_Level(0, 1, min_open=True, max_open=True),
    default=DEFAULT.level,
    show_default=True,
    help="Level of intervals.",
)
@click.option(
    "--resamples",
    type=click.IntRange(min=LEAST_RESAMPLES),
    metavar="N",
    default=DEFAULT.resamples,
    show_default=True,
    help="How often instances are drawn anew for intervals.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=DEFAULT.seed,
    show_default=True,
    help="Of cuts and draws.",
)
@click.option(
    "--tolerance-us",
    type=Finite(least=0),
    metavar="US",
    default=AttributeOptions().tolerance_us,
    show_default=True,
    help="A path stays on its stream if that was ready this close to the last.",
)
@end_tolerance_option
@click.option("--per-block", is_flag=True, help="A row for every compute block.")
@click.option(
    "--segments", is_flag=True, help="Prediction beside measurement, by kind of block."
)
@click.option("--holdout", is_flag=True, help="Errors of predictors on held-out data.")
@click.option("--checks", is_flag=True, help="What the fit assumes, and whether it holds.")
@click.option(
    "--points",
    "kinds",
    type=click.Choice(list(FIT_EVT_POINTS)),
    multiple=True,
    help="What a diagnostic plot would show.",
)
@click.option(
    "--per-instance",
    is_flag=True,
    help="Every block time; as CSV, --block-times reads it back.",
)
@click.option(
    "--tax",
    "tax_file",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write the tax model there too (synctax.tax/1), for --tax of bandwidth and plan.",
)
@manifest_option
@workers_option
@workspace_options
@output_options
@plot_options(*FIGURES)
def fit_evt(
    traces: tuple[str, ...],
    also: tuple[str, ...],
    block_times: tuple[Path, ...],
    maxima: Path | None,
    fit_n: int | None,
    a_us: float | None,
    r: float | None,
    group: str | None,
    op: str | None,
    steps: range | None,
    ranks: frozenset[int] | None,
    fit_ranks: int | None,
    n: tuple[int, ...] | None,
    level: float,
    resamples: int,
    seed: int,
    tolerance_us: float,
    end_tolerance_us: float | None,
    per_block: bool,
    segments: bool,
    holdout: bool,
    checks: bool,
    kinds: tuple[str, ...],
    per_instance: bool,
    tax_file: Path | None,
    manifest: Path | None,
    workers: "Workers",
    workspace: Path,
    no_cache: bool,
    out: Output,
    plot: Plot,
) -> None:
    r"""Fit how the wait grows with the ranks of a group.

    TRACES are as for `measure`; without them, and without a CSV, those that were measured
    last. The tax model is kept for `bandwidth` and `plan`.

    \b
    Examples:
      synctax fit-evt traces/ --group tp
      synctax fit-evt --n 72,512 --tax tax.json
      synctax fit-evt --n 8:4096 --plot growth.pdf --figure growth
      synctax fit-evt --maxima z.csv --fit-n 4 --a-us 10000 --r 0.02
    """
    chosen = [
        name
        for name, wanted in (
            ("--per-block", per_block),
            ("--segments", segments),
            ("--holdout", holdout),
            ("--checks", checks),
            *((f"--points {kind}", True) for kind in kinds),
            ("--per-instance", per_instance),
        )
        if wanted
    ]
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} exclude each other")
    table = "--points" if kinds else "".join(chosen)
    given = Sources(traces, manifest, ranks, steps, end_tolerance_us)
    data = stages.Selection(given, also, block_times, group, op, tolerance_us)
    stages.check_selection(data, maxima, fit_ranks)
    normalised = stages.check_maxima(maxima, (fit_n, a_us, r), data, table)
    check_figure(plot, maxima, n)
    check_targets(out.path, tax_file, plot.path)
    from synctax.report.output import emit, notes
    from synctax.workspace import Workspace

    options = Options(fit_ranks, n, level, resamples, seed)
    space = None if no_cache else Workspace(workspace)
    if normalised is not None:
        fitted = stages.Outcome(stages.fit_maxima(normalised, options))
    else:
        fitted = stages.fit_times_of(
            data, options, stages.Reading(workspace, space, workers, out)
        )
    kept = stages.keep(fitted, space, tax_file)
    asked = stages.parameters(data, normalised, options, fitted)
    result, render = stages.shown_as(fitted.fit, asked, table, "".join(kinds) or None, out)
    said = stages.worth_saying(result.excluded, resamples, out.verbosity)
    notes([*kept, *map(stages.told, said)], out)
    emit(result, out, render=render)
    draw_fit(plot, fitted.fit)
