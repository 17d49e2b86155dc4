"""`synctax record`: run a job, and record the traces of its ranks."""

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from synctax.cli.job_options import check_first_step
from synctax.cli.options import Finite, verbosity, verbosity_options
from synctax.cli.record_types import DelayRuleType
from synctax.errors import SynctaxError
from synctax.record.plan import (
    DEFAULT_MEET_TIMEOUT_S,
    DEFAULT_SKIP,
    DEFAULT_STEPS,
    DEFAULT_WARMUP,
    DelayRule,
    Plan,
)

if TYPE_CHECKING:
    from synctax.record.outcome import Outcome

DEFAULT_FOLDER = Path("traces")

_EXAMPLES = """\b
Examples:
  synctax record -- torchrun --nproc-per-node 4 train.py
  synctax record -o runs/7 --skip 20 -- python train.py --lr 1e-4
  synctax record --step-at train:Trainer.step -- srun python train.py
  synctax record --delay rank=1,op=aten::mm,ms=5 -- torchrun train.py
  synctax measure traces/
"""


@click.command(
    no_args_is_help=True,
    epilog=_EXAMPLES,
    options_metavar="[OPTIONS] --",
    context_settings={"allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, required=True, metavar="COMMAND...")
@click.option(
    "-o",
    "--folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_FOLDER,
    show_default=True,
    help="Write DIR/iteration_N/rankR_trace.json.gz; all hosts must see DIR.",
)
@click.option(
    "--skip",
    type=click.IntRange(min=0),
    default=DEFAULT_SKIP,
    show_default=True,
    help="Steps to leave out first: compilation, caches, slow first batches.",
)
@click.option(
    "--warmup",
    type=click.IntRange(min=0),
    default=DEFAULT_WARMUP,
    show_default=True,
    help="Steps after them in which the profiler warms up.",
)
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=DEFAULT_STEPS,
    show_default=True,
    help="Steps to record.",
)
@click.option(
    "--step-at",
    default="",
    metavar="MODULE:FUNCTION",
    help="A step ends whenever this function returns, such as train:Trainer.step; a "
    "script is known by its file's name or as __main__.  [default: a step of the "
    "optimizer that takes most]",
)
@click.option(
    "--whole-run",
    is_flag=True,
    help="Record from the process group, or the first forward pass, to the end of the "
    "script, as one window.",
)
@click.option("--stack", is_flag=True, help="Record the calls of Python functions.")
@click.option(
    "--no-shapes", is_flag=True, help="Leave out the shapes of operators' inputs."
)
@click.option(
    "--delay",
    "delays",
    type=DelayRuleType(),
    multiple=True,
    metavar="RULE",
    help="Delay operators on purpose: rank=1,op=aten::mm,step=3:10,nth=5,ms=5. op is a "
    "name or pattern (aten::*mm). Where: rank, step (N or A:B; only while the profiler "
    "warms up or records), nth (occurrence within the step, N or A:B) or pick (so many "
    "at random); each is all by default. How "
    "long: us, ms or s; ms=2:8 is uniform, law=exponential has that mean; seed. "
    "side=gpu spins on the GPU, how=spin keeps the CPU busy instead of sleeping. "
    "Repeatable.",
)
@click.option(
    "--meet-timeout-s",
    type=Finite(least=0),
    metavar="S",
    default=DEFAULT_MEET_TIMEOUT_S,
    show_default=True,
    help="How long ranks wait for each other before they record; 0: not at all.",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace the recording that is in DIR; other files stay.",
)
@click.option(
    "--format",
    "fmt",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="Form of the summary: the table goes to stderr, others to stdout, after what "
    "the job has written there.",
)
@verbosity_options
@click.pass_context
def record(
    ctx: click.Context,
    command: tuple[str, ...],
    folder: Path,
    skip: int,
    warmup: int,
    steps: int,
    step_at: str,
    whole_run: bool,
    stack: bool,
    no_shapes: bool,
    delays: tuple[DelayRule, ...],
    meet_timeout_s: float,
    overwrite: bool,
    fmt: str,
) -> None:
    r"""Run COMMAND, a training job, and record the traces of all its ranks.

    The script needs no change: each of its processes that trains records some steps, of
    torch.optim or as told, and meets the others before. torchrun, srun, mpirun, shell
    scripts and python itself can be the COMMAND. The Python of the job needs PyTorch;
    neither synctax nor its environment has to be installed there.

    The job has stdin and stdout to itself, and its exit code is kept. Where it is 0,
    synctax exits with 1 if no trace was written. A rank that fails leaves the traces of
    the others, and its own up to there.
    """
    from synctax.record.launch import launch
    from synctax.report.streams import say, visible

    _check(ctx, skip=skip, step_at=step_at, whole_run=whole_run)
    try:
        plan = Plan(
            folder,
            skip=skip,
            warmup=warmup,
            steps=steps,
            record_shapes=not no_shapes,
            with_stack=stack,
            delays=delays,
            step_by="run" if whole_run else "function" if step_at else "optimizer",
            step_at=step_at,
            meet_timeout_s=meet_timeout_s,
        )
    except ValueError as error:
        raise click.UsageError(str(error), ctx) from error
    _check_delays(ctx, plan)

    def announce() -> None:
        if verbosity(ctx) >= 0:
            say(f"synctax: recording {_what(plan)} into {visible(str(folder))}")

    outcome = launch(plan, command, overwrite=overwrite, on_start=announce)
    try:
        _show(ctx, outcome, fmt, _parameters(plan, command))
    except (OSError, SynctaxError) as error:
        if not outcome.exit_code:
            raise
        say(f"synctax: no summary: {visible(str(error))}")  # the job's code goes first
    if outcome.n_traces and verbosity(ctx) >= 0:
        reads = "measure" if outcome.n_traces > 1 else "inspect"
        say(f"next: synctax {reads} {visible(shlex.quote(str(folder)))}")
    if outcome.exit_code:
        ctx.exit(outcome.exit_code)
    ctx.exit(0 if outcome.n_traces else SynctaxError.exit_code)


def _check(ctx: click.Context, *, skip: int, step_at: str, whole_run: bool) -> None:
    if whole_run and step_at:
        raise click.UsageError("--step-at and --whole-run exclude each other", ctx)
    for name in ("skip", "warmup", "steps"):
        given = ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
        if whole_run and given:
            raise click.UsageError(f"--whole-run leaves nothing for --{name}", ctx)
    check_first_step(ctx, skip=skip, step_at=step_at)


def _check_delays(ctx: click.Context, plan: Plan) -> None:
    """Refuse delays of steps in which nothing is delayed."""
    first = 0 if plan.step_by == "run" else plan.skip
    end = 1 if plan.step_by == "run" else plan.skip + plan.warmup + plan.steps
    for rule in plan.delays:
        if rule.first_step >= end or (rule.end_step is not None and rule.end_step <= first):
            asked = f"{rule.first_step}:{'' if rule.end_step is None else rule.end_step}"
            raise click.UsageError(
                f"--delay of step={asked} delays nothing: it acts in the warm-up and the "
                f"recorded steps, {first}:{end}",
                ctx,
            )


def _what(plan: Plan) -> str:
    first = plan.skip + plan.warmup
    last = first + plan.steps - 1
    if plan.step_by == "run":
        text = "the whole run"
    elif first == last:
        text = f"step {first} (from 0) of each rank"
    else:
        text = f"steps {first} to {last} (from 0) of each rank"
    if plan.delays:
        number = len(plan.delays)
        text += ", with a delay," if number == 1 else f", with {number} delays,"
    return text


def _parameters(plan: Plan, command: tuple[str, ...]) -> dict[str, Any]:
    """Name what was asked as the options do."""
    return {
        "command": command,
        "folder": plan.folder,
        "skip": plan.skip,
        "warmup": plan.warmup,
        "steps": plan.steps,
        "step_at": plan.step_at or None,
        "whole_run": plan.step_by == "run",
        "stack": plan.with_stack,
        "shapes": plan.record_shapes,
        "delays": [dataclasses.asdict(rule) for rule in plan.delays],
        "meet_timeout_s": plan.meet_timeout_s,
    }


def _show(
    ctx: click.Context, outcome: "Outcome", fmt: str, parameters: dict[str, Any]
) -> None:
    from synctax.report import record_view, tables
    from synctax.report.output import Output, emit
    from synctax.report.streams import say

    quiet = verbosity(ctx) < 0
    whole = outcome.n_traces and all(rank.fate == "written" for rank in outcome.ranks)
    if fmt != "table":
        result = record_view.result(outcome, parameters)
        emit(result, Output("json" if fmt == "json" else "csv"))
    elif not (quiet and whole):
        parts = record_view.parts(outcome, every_rank=verbosity(ctx) > 0)
        say(tables.to_text(parts, stream=sys.stderr).rstrip("\n"))
