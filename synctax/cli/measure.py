"""`synctax measure`: how long ranks wait for each other."""

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synctax.cli.options import (
    Finite,
    group_option,
    manifest_option,
    op_option,
    output_options,
    ranks_option,
    steps_option,
    traces_argument,
    workspace_options,
)
from synctax.cli.plotting import Plot, draw, plot_options
from synctax.cli.reading_options import workers_option
from synctax.errors import GateFailedError, SynctaxError
from synctax.report.output import Output, Render, Result

if TYPE_CHECKING:
    from synctax.collectives.tax import Tax
    from synctax.trace.pool import Workers

ROUTINE = frozenset({"skipped_category"})
"""Reasons that every trace has and nobody acts on: said with `-v`, and in JSON."""

_AFTER_READING = (
    "synctax.collectives.tax",
    "synctax.collectives.summary",
    "numpy.random",
    "numpy.ma",  # `np.quantile` imports it
)
_FOR_A_TABLE = ("synctax.report.tax_view", "rich.console", "rich.table")


@click.command()
@traces_argument
@group_option
@op_option
@steps_option
@ranks_option
@click.option(
    "--include-head",
    is_flag=True,
    help="Count the first collective of each group and window too, in which ranks "
    "still wait for each other's profiler.",
)
@click.option(
    "--end-tolerance-us",
    type=Finite(least=0),
    metavar="US",
    help="How far the ends of one collective may lie apart.  [default: 200, on CPUs 10000]",
)
@click.option("--per-collective", is_flag=True, help="A row for every collective.")
@click.option("--per-rank", is_flag=True, help="A row for every rank.")
@click.option(
    "--only-cache",
    is_flag=True,
    help="Only fill the workspace, of any of the ranks; a later measure of all of them, "
    "on any machine that sees it, reads no trace.",
)
@click.option(
    "--fail-above-us",
    type=Finite(least=0),
    metavar="US",
    help="Exit with 4 if a row's tax_max_us_median is above this.",
)
@manifest_option
@workers_option
@workspace_options
@output_options
@plot_options("cdf", "last", "runs")
def measure(
    traces: tuple[str, ...],
    group: str | None,
    op: str | None,
    steps: range | None,
    ranks: frozenset[int] | None,
    include_head: bool,
    end_tolerance_us: float | None,
    per_collective: bool,
    per_rank: bool,
    only_cache: bool,
    fail_above_us: float | None,
    manifest: Path | None,
    workers: "Workers",
    workspace: Path,
    no_cache: bool,
    out: Output,
    plot: Plot,
) -> None:
    r"""Measure how long the ranks of each group wait for their slowest member.

    TRACES are folders (searched with their subfolders), files, patterns, or URLs.

    \b
    Examples:
      synctax measure traces/
      synctax measure traces/ --group tp --per-rank
      synctax measure traces/ --per-collective -o collectives.csv
      synctax measure traces/ --plot last.png --figure last
    """
    if only_cache:
        from synctax.cli import measure_cache

        measure_cache.only_cache(traces, manifest, workers, workspace, out)
        return
    if per_collective and per_rank:
        raise click.UsageError("--per-collective and --per-rank exclude each other")
    from synctax.cli.reading import read_job
    from synctax.collectives.load import require
    from synctax.report.output import emit, notes
    from synctax.workspace import Workspace

    space = None if no_cache else Workspace(workspace)
    unwritable = space.prepare() if space else None
    job = require(
        read_job(
            traces,
            manifest=manifest,
            workers=workers,
            verbosity=out.verbosity,
            ranks=ranks,
            space=space,
            meanwhile=partial(_import_the_rest, out),
        )
    )
    from synctax.collectives.tax import measure as measure_job

    tax = measure_job(
        job,
        group=group,
        op=op,
        steps=steps,
        include_head=include_head,
        end_tolerance_us=end_tolerance_us,
    )
    asked: dict[str, Any] = {
        "group": group,
        "op": op,
        "steps": None if steps is None else [steps.start, steps.stop],
        "ranks": None if ranks is None else sorted(ranks),
        "include_head": include_head,
        "end_tolerance_us": tax.end_tolerance_us,
    }
    if space and not unwritable:
        space.prune()
        files = [row.path for row in job.files]
        unwritable = space.record_measure(
            traces,
            files,
            manifest=None if manifest is None else str(manifest),
            options=asked,
        )
    asked = {"traces": traces, "manifest": manifest, **asked}
    result = _result(tax, asked, per_collective=per_collective, per_rank=per_rank)
    whole = per_collective or per_rank
    if result.empty and not whole:
        raise SynctaxError(_nothing_counts(tax))
    told = [n for n in result.excluded if n.reason not in ROUTINE or out.verbosity > 0]
    notes([*([unwritable] if unwritable else []), *told], out)
    emit(result, out, render=_render(tax, result))
    _draw(plot, tax)
    _gate(tax, fail_above_us)


def _import_the_rest(out: Output) -> None:
    """Import what comes after reading: a tenth of the time that eight ranks take."""
    wanted = [*_AFTER_READING, *(_FOR_A_TABLE if out.fmt == "table" else ())]
    for name in wanted:
        import_module(name)


def _draw(plot: Plot, tax: "Tax") -> None:
    if plot.path is None:
        return
    from synctax.report.figures import measure as figures

    makers = {"cdf": figures.cdf, "last": figures.last, "runs": figures.runs}
    draw(plot, {name: partial(maker, tax) for name, maker in makers.items()})


def _result(
    tax: "Tax", asked: dict[str, Any], *, per_collective: bool, per_rank: bool
) -> Result:
    from synctax.collectives import summary
    from synctax.schema import MEASURE, MEASURE_COLLECTIVES, MEASURE_RANKS

    # not by the methods of the tax: to print a table needs no pandas
    table, rows = MEASURE, summary.summary
    if per_collective:
        table, rows = MEASURE_COLLECTIVES, summary.per_collective
    elif per_rank:
        table, rows = MEASURE_RANKS, summary.per_rank
    apart = tax.start_disagreement_us
    extra = {
        "gpu_hours_waited": tax.gpu_hours_waited,
        "gpu_hours_waited_exposed": tax.gpu_hours_waited_exposed,
        "start_disagreement_us_median": apart and apart[0],
        "start_disagreement_us_p90": apart and apart[1],
    }
    return Result(table, rows(tax), asked, tax.excluded(), extra)


def _render(tax: "Tax", result: Result) -> Render:
    """Choose what people read of a result."""
    from synctax.report import tax_view
    from synctax.schema import MEASURE_COLLECTIVES, MEASURE_RANKS

    if result.table is MEASURE_COLLECTIVES:
        return tax_view.collectives
    if result.table is MEASURE_RANKS:
        return tax_view.ranks
    return lambda found: tax_view.parts(tax, found)


def _nothing_counts(tax: "Tax") -> str:
    """Say why no collective entered the summary."""
    reasons = [f"{note.count} {note.detail}" for note in tax.excluded()[:4]]
    return (
        f"none of {int(tax.shown.sum())} collectives can be measured "
        f"({'; '.join(reasons)}); `synctax inspect` says what the traces hold, "
        "--per-collective lists each with its reason"
    )


def _gate(tax: "Tax", fail_above_us: float | None) -> None:
    if fail_above_us is None:
        return
    frame = tax.to_frame()
    if frame.empty:
        raise SynctaxError(
            f"nothing to hold against --fail-above-us: {_nothing_counts(tax)}"
        )
    above = frame[frame["tax_max_us_median"] > fail_above_us]
    if len(above):
        worst = ", ".join(
            f"{row.group} {row.op} {row.tax_max_us_median:,.1f} µs"
            for row in above.itertuples(index=False)
        )
        raise GateFailedError(f"median tax above {fail_above_us:,.1f} µs: {worst}")
