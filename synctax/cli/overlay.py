"""`synctax overlay`: one trace of all ranks for viewers, with waits and paths drawn in."""

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from synctax.cli.options import (
    end_tolerance_option,
    group_option,
    manifest_option,
    op_option,
    ranks_option,
    result_options,
    steps_option,
    workspace_options,
)
from synctax.cli.reading_options import workers_option
from synctax.cli.recall import Sources
from synctax.cli.targets import check_targets
from synctax.errors import BadInputError, SynctaxError
from synctax.files import is_special
from synctax.overlay.choice import DEFAULT_PATHS, SUFFIXES, Choice, Keep
from synctax.report.output import Output

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution
    from synctax.collectives.tax import Tax
    from synctax.notes import Note
    from synctax.trace.pool import Workers
    from synctax.workspace import Workspace


def _checked(ctx: click.Context, option: click.Parameter, path: Path) -> Path:
    """Refuse before anything is read what could not be written at the end."""
    if not is_special(path) and not path.name.lower().endswith(SUFFIXES):
        raise click.BadParameter(
            f"the name {path.name!r} is none of a trace; end it in {' or '.join(SUFFIXES)}",
            ctx,
            option,
        )
    if not path.parent.is_dir():
        raise click.BadParameter(f"{path.parent} is no folder", ctx, option)
    return path


@click.command()
@click.argument("traces", nargs=-1, metavar="[TRACES]...")
@click.option(
    "-o",
    "--output",
    "target",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    default=Path("overlay.json.gz"),
    show_default=True,
    callback=_checked,
    help="Where the trace goes, .json.gz or .json; it is there whole or not at all.",
)
@group_option
@op_option
@steps_option
@ranks_option
@click.option(
    "--paths",
    type=click.IntRange(min=0),
    metavar="N",
    default=DEFAULT_PATHS,
    show_default=True,
    help="Draw the critical paths of N collectives, those with the longest waits; 0 to "
    "draw none, and name no culprits.",
)
@click.option(
    "--keep",
    type=click.Choice(get_args(Keep)),
    default="all",
    show_default=True,
    help="Which events of the traces: all, those of the GPUs, or collectives alone.",
)
@end_tolerance_option
@manifest_option
@workers_option
@workspace_options
@result_options
def overlay(
    traces: tuple[str, ...],
    target: Path,
    group: str | None,
    op: str | None,
    steps: range | None,
    ranks: frozenset[int] | None,
    paths: int,
    keep: Keep,
    end_tolerance_us: float | None,
    manifest: Path | None,
    workers: "Workers",
    workspace: Path,
    no_cache: bool,
    out: Output,
) -> None:
    r"""Write one trace of all ranks for ui.perfetto.dev and chrome://tracing.

    All ranks are on one clock, each wait is a slice, and arrows follow the critical paths
    to them. Prints how far the clocks are apart. TRACES are as for `measure`; without
    them, those that were measured last, with the same ranks and steps.

    \b
    Examples:
      synctax overlay traces/ -o job.json.gz
      synctax overlay --steps 3 --group tp --paths 10 -o step3.json.gz
      synctax overlay --keep gpu --result clocks.csv
    """
    check_targets({"target": target, "out": out.path})
    from synctax.cli.progress import reading_files
    from synctax.cli.reading import job_again, worth_saying
    from synctax.cli.recall import recall
    from synctax.overlay.overlay import write_overlay
    from synctax.report import overlay_view
    from synctax.report.output import Result, emit, notes
    from synctax.schema import OVERLAY
    from synctax.workspace import Workspace

    given = Sources(traces, manifest, ranks, steps, end_tolerance_us)
    sources = recall(given, workspace)
    notes(sources.said, out)
    space = None if no_cache else Workspace(workspace)
    job, tax, unwritable = job_again(sources, space, out, workers, group=group, op=op)
    found, why = _attributed(tax, space, out, workers) if paths else (None, None)
    mine = {one.path for one in tax.matches.ranks}
    sizes = {row.path: row.size_bytes for row in job.files if row.path in mine}
    with reading_files(sizes, verbosity=out.verbosity, doing="writing") as on_progress:
        made = write_overlay(
            job,
            found or tax,
            target,
            choice=Choice(paths, keep),
            workers=workers,
            on_progress=on_progress,
        )
    extra = overlay_view.envelope(made, str(target))
    steps = sources.steps
    asked = {
        "traces": sources.traces,
        "manifest": sources.manifest,
        "group": group,
        "op": op,
        "steps": None if steps is None else [steps.start, steps.stop],
        "ranks": None if sources.ranks is None else sorted(sources.ranks),
        "paths": paths,
        "keep": keep,
        "end_tolerance_us": tax.end_tolerance_us,
    }
    known = [one for one in (unwritable, why) if one]
    said = {(note.reason, note.detail) for note in made.notes}
    earlier = [n for n in tax.excluded() if (n.reason, n.detail) not in said]
    left_out = (*made.notes, *earlier)
    notes([*known, *worth_saying(left_out, out.verbosity)], out)
    emit(
        Result(OVERLAY, made.to_frame(), asked, (*known, *left_out), extra),
        out,
        render=lambda _: overlay_view.parts(made, extra, every_rank=out.verbosity > 0),
    )


def _attributed(
    tax: "Tax", space: "Workspace | None", out: Output, workers: "Workers"
) -> "tuple[Attribution | None, Note | None]":
    """Attribute the tax; where no path can be known, waits are drawn without."""
    from synctax.attribution.attribute import attribute
    from synctax.cli.progress import RoundsOfFiles
    from synctax.notes import Note

    if not tax.used.any():
        return None, None  # nor can anything be drawn, which is said then
    try:
        with RoundsOfFiles(verbosity=out.verbosity) as rounds:
            return attribute(
                tax,
                workers=workers,
                cache=space,
                on_progress=rounds.on_progress,
                on_round=rounds.on_round,
            ), None
    except BadInputError:
        raise  # of a file that cannot be read nothing can be drawn
    except SynctaxError as error:
        return None, Note("not_attributed", 1, f"no critical path is drawn: {error}")
