"""`synctax inject`: put delays into a job, and see whether they come back."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from synctax.cli import inject_stages as stages
from synctax.cli.options import (
    Finite,
    group_option,
    result_options,
    workspace_options,
)
from synctax.cli.plotting import Plot, draw, plot_options
from synctax.cli.reading_options import workers_option
from synctax.record.plan import DEFAULT_SKIP, DelayRule, How
from synctax.report.output import Output

if TYPE_CHECKING:
    from synctax.trace.pool import Workers

DEFAULT_FOLDER = Path("injected")
DEFAULT_DOSES_MS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0)
"""Those of the Synchronization-tax paper, section 4.3: 0 to 20 ms."""

DEFAULT_REPEATS = 5
DEFAULT_PICK = 2
DEFAULT_RANK = 1
DEFAULT_OPERATOR = "aten::mm"
DEFAULT_LEAST_MS = 5.0
LEAST_LEAST_MS = 0.001
"""A delay is told from none by what is above 0; less than 1 µs is."""

MAX_RANK = 2**31 - 1

_EXAMPLES = """\b
Examples:
  synctax inject -- torchrun --nproc-per-node 2 train.py --steps 40
  synctax inject --rank 3 --op 'aten::*mm' --repeats 10 -- torchrun train.py
  synctax inject --traces injected/ --per-collective
  synctax inject --traces injected/ --plot recovery.png
  synctax inject --traces made/ --fail-below 0.95
"""


class Doses(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Delays in ms, such as `0,1,5`; each once."""

    name = "doses"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Parse the text."""
        if isinstance(value, tuple):
            return value
        number = Finite(least=0)
        doses = [number.convert(part, param, ctx) for part in str(value).split(",")]
        if len(set(doses)) < len(doses):
            self.fail(f"{value!r} names a delay twice", param, ctx)
        return tuple(doses)


@click.command(
    no_args_is_help=True,
    epilog=_EXAMPLES,
    options_metavar="[OPTIONS] --",
    context_settings={"allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, metavar="COMMAND...")
@click.option(
    "--traces",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Judge what DIR holds, traces and their truth, recorded before or made by synctax "
    "synth, instead of recording a COMMAND.",
)
@click.option(
    "-o",
    "--folder",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    default=DEFAULT_FOLDER,
    show_default=True,
    help="Record into DIR: traces and their truth, not the result; all hosts must see it.",
)
@click.option(
    "--rank",
    type=click.IntRange(0, MAX_RANK),
    metavar="N",
    default=DEFAULT_RANK,
    show_default=True,
    help="Global rank to delay.",
)
@click.option(
    "--op",
    metavar="PATTERN",
    default=DEFAULT_OPERATOR,
    show_default=True,
    help="Operators to delay, as traces name them: aten::mm, aten::*mm.",
)
@click.option(
    "--doses-ms",
    type=Doses(),
    metavar="LIST",
    default=",".join(f"{dose:g}" for dose in DEFAULT_DOSES_MS),
    show_default=True,
    help="Sizes of the delay; 0 is a control.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    default=DEFAULT_REPEATS,
    show_default=True,
    help="Steps of each size; the sizes come in random order, block after block.",
)
@click.option(
    "--pick",
    type=click.IntRange(min=1),
    metavar="N",
    default=DEFAULT_PICK,
    show_default=True,
    help="Calls to delay in each step, chosen at random.",
)
@click.option(
    "--how",
    type=click.Choice(get_args(How)),
    default="sleep",
    show_default=True,
    help="Sleep, and leave the core to others, or keep it busy.",
)
@click.option(
    "--skip",
    type=click.IntRange(min=0),
    metavar="N",
    default=DEFAULT_SKIP,
    show_default=True,
    help="Steps to leave out first.",
)
@click.option(
    "--step-at",
    default="",
    metavar="MODULE:FUNCTION",
    help="What ends a step, as for synctax record.  [default: a step of the optimizer]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Of the order of sizes and the choice of calls.",
)
@click.option("--overwrite", is_flag=True, help="Replace the recording that is in -o DIR.")
@group_option
@click.option(
    "--least-ms",
    type=Finite(least=LEAST_LEAST_MS),
    metavar="MS",
    default=DEFAULT_LEAST_MS,
    show_default=True,
    help="From this size on delays must come back: what the verdict is about.",
)
@click.option(
    "--fail-below",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Exit with 4 if fewer of these come back, of the collectives that could be "
    "judged; with 1 if those are less than half of what was reached.",
)
@click.option(
    "--per-collective", is_flag=True, help="A row for every collective that is reached."
)
@workers_option
@workspace_options
@result_options
@plot_options("recovery")
@click.pass_context
def inject(
    ctx: click.Context,
    command: tuple[str, ...],
    traces: Path | None,
    folder: Path,
    rank: int,
    op: str,
    doses_ms: tuple[float, ...],
    repeats: int,
    pick: int,
    how: How,
    skip: int,
    step_at: str,
    seed: int,
    overwrite: bool,
    group: str | None,
    least_ms: float,
    fail_below: float | None,
    per_collective: bool,
    workers: "Workers",
    workspace: Path,
    no_cache: bool,
    out: Output,
    plot: Plot,
) -> None:
    r"""Run COMMAND, a training job, with delays in it, and tell what comes back of them.

    One rank is delayed on purpose, in random steps and calls, by several sizes; then it is
    measured and attributed as any job. Are the delayed rank and operator named, and does
    the tax rise by the delay? The script needs no change, as for `synctax record`; it must
    run for as many steps as are skipped and recorded. All that it prints goes to stderr;
    stdout is for the result, or --result FILE.
    """
    from synctax.cli.reading import worth_saying
    from synctax.experiment import judge, read_injections
    from synctax.experiment.design import US_PER_MS
    from synctax.experiment.planned import require
    from synctax.report.figures.inject import recovery
    from synctax.report.output import emit, notes
    from synctax.workspace import Workspace

    stages.check(ctx, command, traces, folder, skip=skip, step_at=step_at)
    asked: dict[str, Any] = {"traces": traces, "group": group, "least_ms": least_ms}
    cores = None
    if traces is None:
        rule = partial(DelayRule, op, 0.0, rank=rank, pick=pick, seed=seed, how=how)
        plan = stages.plan_of(ctx, folder, doses_ms, repeats, skip, step_at, rule)
        outcome = stages.recorded(plan, command, out, overwrite=overwrite)
        cores = stages.cores_of(outcome)
        asked |= {
            "command": command,
            "folder": folder,
            "rank": rank,
            "op": op,
            "doses_ms": doses_ms,
            "repeats": repeats,
            "pick": pick,
            "how": how,
            "skip": skip,
            "step_at": step_at,
            "seed": seed,
        }
    where = folder if traces is None else traces
    injections = read_injections(where)
    if traces is None:
        require(injections)
    space = None if no_cache else Workspace(workspace)
    found, unwritable = stages.attributed(where, space, out, workers, group)
    recovered = judge(found, injections, least_us=least_ms * US_PER_MS, cores=cores)
    result, render = stages.result_of(recovered, asked, per_collective=per_collective)
    said = worth_saying(result.excluded, out.verbosity)
    notes([*([unwritable] if unwritable else []), *said], out)
    emit(result, out, render=render)
    draw(plot, {"recovery": lambda: recovery(recovered)})
    stages.gate(recovered, fail_below, out)
