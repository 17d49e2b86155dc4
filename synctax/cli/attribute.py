"""`synctax attribute`: who made the others wait, and why."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from synctax.attribution.options import Match, Method, Options, Window
from synctax.cli.options import (
    Finite,
    RankSet,
    end_tolerance_option,
    group_option,
    manifest_option,
    op_option,
    output_options,
    ranks_option,
    steps_option,
    workspace_options,
)
from synctax.cli.plotting import Plot, draw, plot_options
from synctax.cli.reading_options import workers_option
from synctax.cli.recall import Sources
from synctax.errors import SynctaxError
from synctax.report.output import Output, Render, Result

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution
    from synctax.collectives.tax import Tax
    from synctax.trace.pool import Workers

MAX_DIGITS = 9
"""No index has more."""

DEFAULT = Options()


class CollectiveIndex(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """An index such as `39`, or with the ranks of its group: `39@0-3`, `39@0,1,2,3`."""

    name = "index"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, str | None]:
        """Parse the text."""
        if isinstance(value, tuple):
            return value
        index, at, ranks = (part.strip() for part in str(value).partition("@"))
        if not (index.isascii() and index.isdigit() and len(index) <= MAX_DIGITS):
            self.fail(f"{value!r} is no index like 39 or 39@0-3", param, ctx)
        if at and not ranks:
            self.fail(f"{value!r} names no ranks after the @", param, ctx)
        if not at:
            return int(index), None
        from synctax.collectives.summary import ranks_text

        return int(index), ranks_text(tuple(sorted(RankSet().convert(ranks, param, ctx))))


@click.command()
@click.argument("traces", nargs=-1, metavar="[TRACES]...")
@group_option
@op_option
@steps_option
@ranks_option
@click.option(
    "--window",
    type=click.Choice(get_args(Window)),
    default=DEFAULT.window,
    show_default=True,
    help="Where paths begin: at the collective before that all ranks left together, or at "
    "the paper's lowest common ancestor.",
)
@click.option(
    "--match",
    type=click.Choice(get_args(Match)),
    default=DEFAULT.match,
    show_default=True,
    help="What an item is compared with: its counterpart anywhere on the fastest rank, or "
    "(the paper) by name and index on that rank's path.",
)
@click.option(
    "--method",
    type=click.Choice(get_args(Method)),
    default=DEFAULT.method,
    show_default=True,
    help="Blame what lies on the critical path, or only the longest or last kernel.",
)
@click.option(
    "--tolerance-us",
    type=Finite(least=0),
    metavar="US",
    default=DEFAULT.tolerance_us,
    show_default=True,
    help="A path stays on its stream if that was ready this close to the last.",
)
@end_tolerance_option
@click.option("--per-collective", is_flag=True, help="A row for every collective.")
@click.option("--per-rank", is_flag=True, help="A row for every rank.")
@click.option("--per-group", is_flag=True, help="Tell sibling groups of a role apart.")
@click.option(
    "--explain",
    type=CollectiveIndex(),
    metavar="INDEX[@RANKS]",
    help="Tell one collective event by event: its index, and its ranks where siblings "
    "have it too, such as 39@0-3. Of --method path only.",
)
@manifest_option
@workers_option
@workspace_options
@output_options
@plot_options("variation", "classes", "ranks")
def attribute(
    traces: tuple[str, ...],
    group: str | None,
    op: str | None,
    steps: range | None,
    ranks: frozenset[int] | None,
    window: Window,
    match: Match,
    method: Method,
    tolerance_us: float,
    end_tolerance_us: float | None,
    per_collective: bool,
    per_rank: bool,
    per_group: bool,
    explain: tuple[int, str | None] | None,
    manifest: Path | None,
    workers: "Workers",
    workspace: Path,
    no_cache: bool,
    out: Output,
    plot: Plot,
) -> None:
    r"""Find out which rank, and what on it, made the others wait.

    TRACES are as for `measure`; without them, those that were measured last, with the same
    ranks and steps.

    \b
    Examples:
      synctax attribute traces/
      synctax attribute --group tp --per-collective -o culprits.csv
      synctax attribute --group tp --explain 39@0-3
      synctax attribute --plot classes.svg --figure classes
    """
    chosen = [per_collective, per_rank, per_group, explain is not None]
    if sum(chosen) > 1:
        raise click.UsageError(
            "--per-collective, --per-rank, --per-group and --explain exclude each other"
        )
    if explain is not None and method != "path":
        raise click.UsageError(f"--explain tells of paths, and --method {method} of none")
    from synctax.attribution.attribute import attribute as attribute_tax
    from synctax.cli.progress import RoundsOfFiles
    from synctax.cli.reading import measure_again, worth_saying
    from synctax.cli.recall import recall
    from synctax.report.output import emit, notes
    from synctax.workspace import Workspace

    given = Sources(traces, manifest, ranks, steps, end_tolerance_us)
    sources = recall(given, workspace)
    notes(sources.said, out)
    space = None if no_cache else Workspace(workspace)
    tax, unwritable = measure_again(sources, space, out, workers, group=group, op=op)
    options = Options(window, match, method, tolerance_us)
    with RoundsOfFiles(verbosity=out.verbosity) as rounds:
        found = attribute_tax(
            tax,
            options=options,
            workers=workers,
            cache=space,
            on_progress=rounds.on_progress,
            on_round=rounds.on_round,
        )
    asked = _parameters(sources, group, op, tax, options)
    if explain is not None:
        result, render = _explained(found, asked, explain, out)
    else:
        tables = ("collectives", "ranks", "groups")
        table = tables[chosen.index(True)] if any(chosen) else ""
        result, render = _result(found, asked, table), _render(found, table)
    said = worth_saying(result.excluded, out.verbosity)
    notes([*([unwritable] if unwritable else []), *said], out)
    emit(result, out, render=render)
    _draw(plot, found)


def _draw(plot: Plot, found: "Attribution") -> None:
    from synctax.report.figures.attribute import classes, variation
    from synctax.report.figures.attribute_ranks import ranks

    makers = {"variation": variation, "classes": classes, "ranks": ranks}
    draw(plot, {name: partial(maker, found) for name, maker in makers.items()})


def _parameters(
    sources: Sources, group: str | None, op: str | None, tax: "Tax", options: "Options"
) -> dict[str, Any]:
    steps = sources.steps
    return {
        "traces": sources.traces,
        "manifest": sources.manifest,
        "group": group,
        "op": op,
        "steps": None if steps is None else [steps.start, steps.stop],
        "ranks": None if sources.ranks is None else sorted(sources.ranks),
        "window": options.window,
        "match": options.match,
        "method": options.method,
        "tolerance_us": options.tolerance_us,
        "end_tolerance_us": tax.end_tolerance_us,
    }


def _result(found: "Attribution", asked: dict[str, Any], table: str) -> Result:
    from synctax.attribution.envelope import envelope
    from synctax.attribution.summary import excluded
    from synctax.schema import ATTRIBUTE, ATTRIBUTE_COLLECTIVES, ATTRIBUTE_RANKS

    left_out = excluded(found)
    extra = envelope(found)
    if table == "collectives":
        frame = found.per_collective()
        return Result(ATTRIBUTE_COLLECTIVES, frame, asked, left_out, extra)
    if not found.used.any():
        raise SynctaxError(_nothing(found))
    if table == "ranks":
        return Result(ATTRIBUTE_RANKS, found.per_rank(), asked, left_out, extra)
    frame = found.to_frame(per_group=table == "groups")
    return Result(ATTRIBUTE, frame, asked, left_out, extra)


def _explained(
    found: "Attribution",
    asked: dict[str, Any],
    explain: tuple[int, str | None],
    out: Output,
) -> tuple[Result, Render]:
    """Tell one collective."""
    from synctax.attribution.choose import find
    from synctax.attribution.story import story
    from synctax.attribution.summary import excluded
    from synctax.report import story_view
    from synctax.schema import ATTRIBUTE_STORY

    index, group_ranks = explain
    told = story(found, find(found, index, group_ranks=group_ranks))
    asked = {**asked, "explain": index if group_ranks is None else f"{index}@{group_ranks}"}
    result = Result(
        ATTRIBUTE_STORY, told.to_frame(), asked, excluded(found), told.envelope()
    )
    return result, lambda _: story_view.parts(told, every_event=out.verbosity > 0)


def _nothing(found: "Attribution") -> str:
    """Say why not one collective was attributed."""
    from synctax.attribution.facts import overall

    why = ", ".join(f"{count} {reason}" for reason, count in overall(found).left_out)
    return (
        f"none of {int(found.tax.used.sum())} collectives can be attributed ({why}); "
        "--per-collective lists each with its reason"
    )


def _render(found: "Attribution", table: str) -> Render:
    """Choose what people read of a result."""
    from synctax.report import attribution_view

    if table == "collectives":
        return attribution_view.collectives
    if table == "ranks":
        return attribution_view.ranks
    return lambda result: attribution_view.parts(found, result)
