"""`synctax compare`: what changed between two runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synctax.cli.compare_stages import Asked, check_paths, read_sides, runs_of
from synctax.cli.options import (
    Finite,
    end_tolerance_option,
    group_option,
    op_option,
    output_options,
    ranks_option,
    steps_option,
    workspace_options,
)
from synctax.cli.plotting import Plot, draw, plot_options
from synctax.cli.reading_options import workers_option
from synctax.cli.resampling import resampling_options
from synctax.comparison.options import FAIL_ON, Options
from synctax.report.output import Output, Render, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from synctax.comparison.comparison import Comparison
    from synctax.trace.pool import Workers

KERNEL_CLASSES = ("gemm", "attention", "norm", "elementwise", "reduction", "copy", "other")
"""Those that compute (`comparison.kernels.COMPUTE`), which help shows without numpy."""

TABLES = ("--per-rank", "--culprits", "--fit", "--kernels")


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--also-a", multiple=True, metavar="PATH", help="A further run like A.")
@click.option("--also-b", multiple=True, metavar="PATH", help="A further run like B.")
@group_option
@op_option
@steps_option
@ranks_option
@click.option("--per-rank", is_flag=True, help="A row for every rank.")
@click.option(
    "--culprits",
    is_flag=True,
    help="A row for every class, rank and item that causes tax.",
)
@click.option("--fit", is_flag=True, help="A row for every fitted parameter.")
@click.option("--kernels", is_flag=True, help="A row for every class of kernels: GEMMs.")
@click.option("--no-fit", is_flag=True, help="Do not fit how waits grow: quicker.")
@resampling_options
@click.option(
    "--fail-above-us",
    type=Finite(least=0),
    metavar="US",
    help="Exit with 4 if a row rises by more than this, beyond chance; with 1 if that "
    "cannot be told, as where B lacks a rank.",
)
@click.option(
    "--fail-on",
    type=click.Choice(tuple(FAIL_ON)),
    default="median",
    show_default=True,
    help="What --fail-above-us holds: statistics of the tax, the mean wait of a rank, the "
    "median transfer, or the mean time of a step.",
)
@click.option(
    "--kernel-class",
    type=click.Choice(KERNEL_CLASSES),
    default="gemm",
    show_default=True,
    help="Which kernels `--figure clocks` draws.",
)
@end_tolerance_option
@workers_option
@workspace_options
@output_options
@plot_options("tax", "clocks")
def compare(
    a: str,
    b: str,
    also_a: tuple[str, ...],
    also_b: tuple[str, ...],
    group: str | None,
    op: str | None,
    steps: range | None,
    ranks: frozenset[int] | None,
    per_rank: bool,
    culprits: bool,
    fit: bool,
    kernels: bool,
    no_fit: bool,
    level: float,
    resamples: int,
    seed: int,
    fail_above_us: float | None,
    fail_on: str,
    kernel_class: str,
    end_tolerance_us: float | None,
    workers: "Workers",
    workspace: Path,
    no_cache: bool,
    out: Output,
    plot: Plot,
) -> None:
    r"""Tell what changed from run A to run B: tax, shares, stragglers, culprits, fit.

    A and B are each a folder with the traces of one run, a manifest (a .csv as --manifest
    of measure), or a pattern in quotes. A pattern that matches several folders is as many
    runs of one setup.

    \b
    Examples:
      synctax compare before/ after/
      synctax compare 'old/run-*' 'new/run-*' --culprits
      synctax compare main/ branch/ --fail-above-us 50
      synctax compare pinned/ default/ --plot clocks.png --figure clocks
    """
    chosen = [per_rank, culprits, fit, kernels]
    if sum(chosen) > 1:
        raise click.UsageError(
            f"{', '.join(TABLES[:-1])} and {TABLES[-1]} exclude each other"
        )
    if fit and no_fit:
        raise click.UsageError("--fit and --no-fit exclude each other")
    table = TABLES[chosen.index(True)] if any(chosen) else ""
    from synctax.report.output import emit, notes
    from synctax.workspace import Workspace

    sides = (runs_of((a, *also_a)), runs_of((b, *also_b)))
    check_paths(sides)
    timed = kernels or (plot.path is not None and plot.figure == "clocks")
    asked = Asked(
        group,
        op,
        steps,
        ranks,
        end_tolerance_us,
        fitted=not no_fit,
        timed=timed,
        options=Options(level, resamples, seed),
        space=None if no_cache else Workspace(workspace),
        workers=workers,
        out=out,
    )
    found, said = read_sides(sides, asked)
    parameters = asked.parameters() | {"a": sides[0], "b": sides[1]}
    if fail_above_us is not None:
        parameters |= {"fail_above_us": fail_above_us, "fail_on": fail_on}
    notes(said, out)
    result = _result(found, parameters, table)
    emit(result, out, render=_render(found, table))
    draw(plot, _figures(found, kernel_class))
    if fail_above_us is not None:
        _hold(found, fail_above_us, fail_on)


def _hold(found: "Comparison", fail_above_us: float, fail_on: str) -> None:
    """Stop at a rise that is too much; say which rises are not, also with `-q`."""
    from synctax.comparison.gate import gate
    from synctax.report.streams import say
    from synctax.texts import number

    rose = gate(found, fail_above_us=fail_above_us, fail_on=fail_on)
    if rose:
        say(
            f"the gate passed (--fail-on {fail_on}, {number(fail_above_us)} µs), though "
            f"this rose beyond chance or is new: {'; '.join(rose)}"
        )


def _result(found: "Comparison", asked: dict[str, Any], table: str) -> Result:
    from synctax.schema import compare as schema

    extra = {
        "verdict": list(found.verdict()),
        "runs_a": len(found.a.runs),
        "runs_b": len(found.b.runs),
    }
    made = {
        "": (schema.COMPARE, found.to_frame),
        "--per-rank": (schema.COMPARE_RANKS, found.per_rank),
        "--culprits": (schema.COMPARE_CULPRITS, found.culprits),
        "--fit": (schema.COMPARE_FIT, found.fit),
        "--kernels": (schema.COMPARE_KERNELS, found.per_kernel_class),
    }
    declared, frame = made[table]
    return Result(declared, frame(), asked, found.notes, extra)


def _render(found: "Comparison", table: str) -> Render:
    """Choose what people read of a result."""
    from synctax.report import compare_tables_view, compare_view

    views: dict[str, Render] = {
        "": lambda _: compare_view.parts(found),
        "--per-rank": compare_tables_view.ranks,
        "--culprits": compare_tables_view.culprits,
        "--fit": lambda result: compare_tables_view.fit(found, result),
        "--kernels": compare_tables_view.kernels,
    }
    return views[table]


def _figures(found: "Comparison", kernel_class: str) -> "dict[str, Any]":
    def tax() -> "Figure":
        from synctax.report.figures.compare import tax

        return tax(found)

    def clocks() -> "Figure":
        from synctax.report.figures.compare import clocks

        return clocks(found, kernel_class=kernel_class)

    return {"tax": tax, "clocks": clocks}
