"""`synctax whatif`: what step time and tax would be if some durations were different."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synctax.cli.options import (
    StepRange,
    end_tolerance_option,
    manifest_option,
    output_options,
    ranks_option,
    workspace_options,
)
from synctax.cli.plotting import Plot, draw, plot_options
from synctax.cli.reading_options import workers_option
from synctax.cli.recall import Sources
from synctax.report.output import Output, Result

if TYPE_CHECKING:
    from synctax.attribution.changes import Change
    from synctax.attribution.whatif import WhatIf
    from synctax.trace.pool import Workers


class ChangeType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """A change such as `class=gemm:median`."""

    name = "change"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> "Change":
        """Parse the text."""
        from synctax.attribution.changes import parse_change

        try:
            return parse_change(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command()
@click.argument("traces", nargs=-1, metavar="[TRACES]...")
@click.option(
    "--change",
    "changes",
    type=ChangeType(),
    multiple=True,
    required=True,
    metavar="TEXT",
    help="What is different. Several are tried one by one, and all together.",
)
@click.option(
    "--steps",
    type=StepRange(),
    metavar="A:B",
    help="Report profiler steps A to B-1 only (as Python slices); also A:, :B, or one "
    "step A. The whole window is replayed all the same.",
)
@ranks_option
@end_tolerance_option
@click.option("--per-op", is_flag=True, help="The tax by group role and operation.")
@click.option("--per-step", is_flag=True, help="A row for every profiler step.")
@manifest_option
@workers_option
@workspace_options
@output_options
@plot_options("steps")
def whatif(
    traces: tuple[str, ...],
    changes: "tuple[Change, ...]",
    steps: range | None,
    ranks: frozenset[int] | None,
    end_tolerance_us: float | None,
    per_op: bool,
    per_step: bool,
    manifest: Path | None,
    workers: "Workers",
    workspace: Path,
    no_cache: bool,
    out: Output,
    plot: Plot,
) -> None:
    r"""Replay a job with other durations, and tell what step time and tax would be.

    TRACES are as for `measure`; without them, those that were measured last, with the same
    ranks and steps. All ranks run again along their dependencies, and leave each
    collective together.

    \b
    A change names work, then what becomes of it:
      class=gemm:median      kernels of a class as on the median rank
      rank=3:median          all GPU work of a rank as on the median rank
      cpu:median             all host work (launches: launching calls only;
                             gaps: the host time that nobody logged)
      kernel=NAME*0.5        GPU work whose name contains NAME takes half as
                             long (*0: no time at all)
      tax=0                  nobody waits at a collective (group=tp,tax=0: of tp)
      rank=3,class=gemm*0.9  selectors combine

    \b
    Examples:
      synctax whatif traces/ --change class=gemm:median
      synctax whatif --change cpu:median --change tax=0 --plot steps.pdf
    """
    if per_op and per_step:
        raise click.UsageError("--per-op and --per-step exclude each other")
    from synctax.attribution.whatif import whatif as replay_job
    from synctax.cli.progress import RoundsOfFiles
    from synctax.cli.reading import measure_again, worth_saying
    from synctax.cli.recall import recall
    from synctax.report import whatif_view
    from synctax.report.figures.whatif import steps as drawn_steps
    from synctax.report.output import emit, notes
    from synctax.workspace import Workspace

    given = Sources(traces, manifest, ranks, steps, end_tolerance_us)
    sources = recall(given, workspace)
    notes(sources.said, out)
    space = None if no_cache else Workspace(workspace)
    tax, unwritable = measure_again(sources, space, out, workers)
    with RoundsOfFiles(verbosity=out.verbosity) as rounds:
        found = replay_job(
            tax,
            *changes,
            workers=workers,
            cache=space,
            on_progress=rounds.on_progress,
            on_round=rounds.on_round,
            on_replay=rounds.on_replay,
        )
    table = "ops" if per_op else "steps" if per_step else ""
    result = _result(found, _parameters(sources, found), table)
    said = worth_saying(result.excluded, out.verbosity)
    notes([*([unwritable] if unwritable else []), *said], out)
    emit(result, out, render=lambda shown: whatif_view.parts(found, shown))
    draw(plot, {"steps": lambda: drawn_steps(found)})


def _parameters(sources: Sources, found: "WhatIf") -> dict[str, Any]:
    steps, tried = sources.steps, found.scenarios
    return {
        "traces": sources.traces,
        "manifest": sources.manifest,
        "changes": [one.text for one in tried if len(one.changes) == 1],
        "steps": None if steps is None else [steps.start, steps.stop],
        "ranks": None if sources.ranks is None else sorted(sources.ranks),
        "end_tolerance_us": found.tax.end_tolerance_us,
    }


def _result(found: "WhatIf", asked: dict[str, Any], table: str) -> Result:
    from synctax.arrays import NS_PER_US
    from synctax.schema import WHATIF, WHATIF_OPS, WHATIF_STEPS

    extra = {
        "verdict": found.verdict(),
        "replay_error_us": found.error_ns / NS_PER_US,
        "nodes": found.nodes,
    }
    left_out = found.excluded()
    if table == "ops":
        return Result(WHATIF_OPS, found.per_op(), asked, left_out, extra)
    if table == "steps":
        return Result(WHATIF_STEPS, found.per_step(), asked, left_out, extra)
    return Result(WHATIF, found.to_frame(), asked, left_out, extra)
