"""What `synctax inject` does, stage after stage."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from synctax.cli.job_options import check_first_step
from synctax.errors import GateFailedError, SynctaxError
from synctax.record.plan import DEFAULT_WARMUP, DelayRule, Plan
from synctax.report.output import SUFFIXES, Output, Render, Result

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution
    from synctax.experiment.recovered import Recovered
    from synctax.notes import Note
    from synctax.record.outcome import Outcome
    from synctax.trace.pool import Workers
    from synctax.workspace import Workspace

OF_RECORDING = (
    "folder", "rank", "op", "doses_ms", "repeats", "pick", "skip", "seed", "how",
    "step_at", "overwrite",
)  # fmt: skip
"""Options of the experiment; traces that are there have been made with their own."""


class JobFailedError(SynctaxError):
    """The job that was recorded did not end well; the exit code is its own."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def check(
    ctx: click.Context,
    command: tuple[str, ...],
    traces: Path | None,
    folder: Path,
    *,
    skip: int,
    step_at: str,
) -> None:
    """Refuse options that contradict each other."""
    if bool(command) == (traces is not None):
        raise click.UsageError(
            "give either a COMMAND to record, or --traces DIR to judge what has been "
            "recorded into DIR",
            ctx,
        )
    given = [
        option.opts[0]
        for option in ctx.command.params
        if option.name in OF_RECORDING
        and ctx.get_parameter_source(option.name) is not ParameterSource.DEFAULT
    ]
    if traces is not None and given:
        raise click.UsageError(
            f"{', '.join(given)}: for recording a COMMAND only; --traces DIR reads what "
            "has been recorded, and --result FILE takes the result",
            ctx,
        )
    if folder.suffix.lower() in SUFFIXES and not folder.is_dir():
        raise click.UsageError(
            f"-o names the folder of the recording, not {folder}; the result goes to "
            f"--result {folder}",
            ctx,
        )
    check_first_step(ctx, skip=skip, step_at=step_at)


def plan_of(
    ctx: click.Context,
    folder: Path,
    doses_ms: tuple[float, ...],
    repeats: int,
    skip: int,
    step_at: str,
    rule: Callable[[], DelayRule],
) -> Plan:
    """Plan one step a dose, block after block."""
    from synctax.experiment.design import blocks, rules

    try:
        every = rule()
        doses = blocks(doses_ms, repeats, seed=every.seed)
        return Plan(
            folder,
            skip=skip,
            warmup=DEFAULT_WARMUP,
            steps=len(doses),
            delays=rules(doses, every, first_step=skip + DEFAULT_WARMUP),
            step_by="function" if step_at else "optimizer",
            step_at=step_at,
        )
    except ValueError as error:
        raise click.UsageError(str(error), ctx) from error


def recorded(
    plan: Plan, command: tuple[str, ...], out: Output, *, overwrite: bool
) -> "Outcome":
    """Run the job.

    Raises
    ------
    JobFailedError
        If it fails.
    SynctaxError
        If it leaves no trace, or none of a step that was to be delayed.
    """
    from synctax.experiment.planned import put_off_text
    from synctax.record.launch import launch
    from synctax.report.streams import say, visible

    steps = plan.skip + plan.warmup + plan.steps
    if out.verbosity >= 0:
        where = visible(str(plan.folder))
        say(f"synctax: recording {plan.steps} of {steps} steps into {where}")
    outcome = launch(plan, command, overwrite=overwrite, stdout_to_stderr=True)
    said = "; ".join(outcome.verdict())
    if outcome.exit_code:
        raise JobFailedError(said, outcome.exit_code)
    if not outcome.n_traces:
        raise SynctaxError(
            f"{said}; the experiment needs {steps} steps: {plan.skip} to skip, "
            f"{plan.warmup} to warm up, {plan.steps} with delays (fewer: --repeats)"
        )
    if out.verbosity >= 0:
        say(f"synctax: {said}")
    planned = range(plan.skip + plan.warmup, steps)
    windows = [range(one.first_step, one.end_step) for one in outcome.ranks if one.trace]
    if all(window.start >= planned.stop for window in windows):
        raise SynctaxError(f"nothing was delayed: {put_off_text(planned, windows[0])}")
    return outcome


def cores_of(outcome: "Outcome") -> int | None:
    """Cores that all ranks share; None if they ran on several hosts."""
    import socket

    from synctax.trace.pool import available_cores

    hosts = {rank.host for rank in outcome.ranks}
    return available_cores() if hosts == {socket.gethostname()} else None


def attributed(
    folder: Path,
    space: "Workspace | None",
    out: Output,
    workers: "Workers",
    group: str | None,
) -> "tuple[Attribution, Note | None]":
    """Measure and attribute; the note says why nothing can be kept, if so."""
    from synctax.attribution.attribute import attribute
    from synctax.cli.progress import RoundsOfFiles
    from synctax.cli.reading import measure_again
    from synctax.cli.recall import Sources

    sources = Sources((str(folder),), None, None, None, None)
    tax, unwritable = measure_again(sources, space, out, workers, group=group)
    with RoundsOfFiles(verbosity=out.verbosity) as rounds:
        found = attribute(
            tax,
            workers=workers,
            cache=space,
            on_progress=rounds.on_progress,
            on_round=rounds.on_round,
        )
    return found, unwritable


def result_of(
    found: "Recovered", asked: dict[str, Any], *, per_collective: bool
) -> tuple[Result, Render]:
    """Build the result, and choose what people read of it."""
    from synctax.report import inject_view
    from synctax.schema import INJECT, INJECT_COLLECTIVES

    left_out = (*found.left_out(), *found.notes)
    extra = found.envelope()
    if per_collective:
        frame = found.per_collective()
        result = Result(INJECT_COLLECTIVES, frame, asked, left_out, extra)
        return result, inject_view.collectives
    result = Result(INJECT, found.to_frame(), asked, left_out, extra)
    return result, lambda shown: inject_view.parts(found, shown)


def gate(found: "Recovered", fail_below: float | None, out: Output) -> None:
    """Hold what came back against a limit.

    Raises
    ------
    GateFailedError
        If less came back.
    SynctaxError
        If too little could be judged to tell.
    """
    from synctax.experiment.recovered import LEAST_JUDGED_SHARE
    from synctax.experiment.verdict import why_not_judged
    from synctax.report.streams import say
    from synctax.texts import counted

    if fail_below is None:
        return
    tally = found.tally
    if not tally.judged:
        raise SynctaxError(f"nothing to hold against --fail-below: {found.verdict()[0]}")
    judged = f"{tally.judged:,} of {tally.reached:,} that were reached could be judged"
    if tally.judged_share < LEAST_JUDGED_SHARE:
        raise SynctaxError(
            f"too little to hold against --fail-below: only {judged}, a share of "
            f"{tally.judged_share:.3f} and below {LEAST_JUDGED_SHARE:g}, and of these "
            f"{tally.recovered:,} were recovered; not judged: {why_not_judged(found)}"
        )
    share = (
        f"recovered {tally.recovered:,} of {counted(tally.judged, 'collective')}, a share "
        f"of {tally.share:.3f} ({judged}, a share of {tally.judged_share:.3f})"
    )
    if tally.share < fail_below:
        raise GateFailedError(f"{share}: below {fail_below:g}")
    if out.verbosity >= 0:
        say(f"synctax: {share}: not below {fail_below:g}")
