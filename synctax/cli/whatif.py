"""`synctax whatif`: what step time and tax would be if some durations were different."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synctax.cli.options import (
    Finite,
    manifest_option,
    output_options,
    ranks_option,
    workers_option,
    workspace_options,
)
from synctax.report.output import Output, Result

if TYPE_CHECKING:
    from synctax.attribution.changes import Change
    from synctax.attribution.whatif import WhatIf
    from synctax.collectives.tax import Tax
    from synctax.trace.model import RankTrace
    from synctax.workspace import LastMeasure, Workspace

ROUTINE = frozenset({"skipped_category", "thread_ignored", "sync_recorded"})
"""Reasons that most traces have and nobody acts on: said with `-v`, and in JSON."""


class ChangeType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """A change such as `class=gemm:median`."""

    name = "change"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> "Change":
        """Parse the text."""
        from synctax.attribution.changes import Change, parse_change

        if isinstance(value, Change):
            return value
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
    help="What is different; may be given several times.",
)
@ranks_option
@click.option(
    "--end-tolerance-us",
    type=Finite(least=0),
    metavar="US",
    help="How far the ends of one collective may lie apart.  [default: as for measure]",
)
@click.option("--per-group", is_flag=True, help="The tax by group role and operation.")
@click.option("--per-step", is_flag=True, help="A row for every profiler step.")
@manifest_option
@workers_option
@workspace_options
@output_options
def whatif(
    traces: tuple[str, ...],
    changes: "tuple[Change, ...]",
    ranks: frozenset[int] | None,
    end_tolerance_us: float | None,
    per_group: bool,
    per_step: bool,
    manifest: Path | None,
    workers: int | None,
    workspace: Path,
    no_cache: bool,
    out: Output,
) -> None:
    r"""Tell what step time and tax would be if some durations were different.

    TRACES are as for `measure`; without them, those that were measured last. All ranks are
    replayed along their dependencies, and leave each collective together.

    \b
    A change names work, then what becomes of it:
      class=gemm:median      kernels of a class as on the median rank
      rank=3:median          all GPU work of a rank as on the median rank
      cpu:median             all host work (launches: launching calls only; gaps: the
                             host time that nobody logged)
      kernel=NAME*0.5        GPU work whose name contains NAME takes half as long
      tax=0                  nobody ever waits at a collective (group=tp,tax=0: of tp)
      rank=3,class=gemm*0.9  selectors combine

    \b
    Examples:
      synctax whatif traces/ --change class=gemm:median
      synctax whatif --change cpu:median --change tax=0
    """
    if per_group and per_step:
        raise click.UsageError("--per-group and --per-step exclude each other")
    from synctax.attribution.whatif import whatif as replay_job
    from synctax.cli.reading import read_job
    from synctax.collectives.load import require
    from synctax.collectives.tax import measure
    from synctax.report.output import emit, notes
    from synctax.workspace import Workspace

    space = None if no_cache else Workspace(workspace)
    if not traces and manifest is None:
        last = Workspace(workspace).last_measure()
        traces, manifest = last.targets, Path(last.manifest) if last.manifest else None
        asked = last.options.get("ranks")
        ranks = frozenset(asked) if ranks is None and asked is not None else ranks
        if end_tolerance_us is None:
            end_tolerance_us = last.options.get("end_tolerance_us")
        notes([_told(last, workspace)], out)
    unwritable = space.prepare() if space else None
    job = require(
        read_job(
            traces,
            manifest=manifest,
            workers=workers,
            verbosity=out.verbosity,
            ranks=ranks,
            space=space,
        )
    )
    tax = measure(job, end_tolerance_us=end_tolerance_us)
    found = replay_job(tax, _traces(tax, space), changes)
    parameters = {
        "traces": traces,
        "manifest": manifest,
        "changes": [change.text for change in changes],
        "ranks": None if ranks is None else sorted(ranks),
        "end_tolerance_us": tax.end_tolerance_us,
    }
    result = _result(found, parameters, per_group=per_group, per_step=per_step)
    told = [n for n in result.excluded if n.reason not in ROUTINE or out.verbosity > 0]
    notes([*([unwritable] if unwritable else []), *told], out)
    from synctax.report import whatif_view

    whole = per_group or per_step
    emit(
        result,
        out,
        render=None if whole else lambda shown: whatif_view.changes(found, shown),
    )


def _told(last: "LastMeasure", workspace: Path) -> str:
    """Say in one line what is replayed when nothing was named."""
    text = f"{', '.join(last.targets) or last.manifest}: measured last ({workspace})"
    changed, files = len(last.changed_files), len(last.files)
    return f"{text}; {changed} of {files} files changed since" if changed else text


def _traces(tax: "Tax", space: "Workspace | None") -> "Iterator[RankTrace]":
    """Read the trace of each rank, from the workspace where it is there."""
    from synctax.trace.kineto import read_rank

    for rank in tax.matches.ranks:
        read = partial(read_rank, rank.path)
        yield space.read(rank.path, read) if space else read()


def _result(
    found: "WhatIf", parameters: dict[str, Any], *, per_group: bool, per_step: bool
) -> Result:
    from synctax.attribution.whatif_tables import WHATIF, WHATIF_GROUPS, WHATIF_STEPS

    table, frame = WHATIF, found.to_frame
    if per_group:
        table, frame = WHATIF_GROUPS, found.per_group
    elif per_step:
        table, frame = WHATIF_STEPS, found.per_step
    extra = {"replay_error_us": found.error_ns / 1000, "nodes": found.nodes}
    return Result(table, frame(), parameters, (*found.notes, *found.tax.excluded()), extra)
