"""`synctax report`: one page of a job, to look at and to share."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synctax.cli.bandwidth_types import Topologies
from synctax.cli.options import (
    MAX_NUMBER,
    GroupSizes,
    end_tolerance_option,
    group_option,
    manifest_option,
    op_option,
    ranks_option,
    steps_option,
    verbosity,
    verbosity_options,
    workspace_options,
)
from synctax.cli.reading_options import workers_option
from synctax.cli.recall import Sources
from synctax.cli.targets import check_targets
from synctax.errors import BadInputError
from synctax.files import is_special
from synctax.report.output import Output
from synctax.report.page_choices import DEFAULT_PATHS

if TYPE_CHECKING:
    from synctax.cli.report_stages import Asked
    from synctax.trace.pool import Workers

SUFFIXES = (".html", ".htm")

DEFAULT_FILE = "report.html"


MAX_PATHS = 100_000


def _page(_ctx: click.Context, _option: click.Parameter, path: Path) -> Path:
    """Refuse what does not look like a page, or lies nowhere."""
    if path.suffix.lower() not in SUFFIXES and not is_special(path):
        raise click.BadParameter(f"{str(path)!r} is no page: end it in .html or .htm")
    if not path.parent.is_dir():
        raise click.BadParameter(f"{path.parent} is no folder")
    return path


@click.command()
@click.argument("traces", nargs=-1, metavar="[TRACES]...")
@click.option(
    "-o",
    "--output",
    "target",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    default=Path(DEFAULT_FILE),
    show_default=True,
    callback=_page,
    help="Where the page goes; it is there whole or not at all.",
)
@click.option("--title", metavar="TEXT", default="", help="Title of the page.")
@group_option
@op_option
@steps_option
@ranks_option
@click.option(
    "--paths",
    type=click.IntRange(0, MAX_PATHS),
    metavar="N",
    default=DEFAULT_PATHS,
    show_default=True,
    help="Show the critical paths of N collectives, those with the largest taxes.",
)
@click.option(
    "--topology",
    "topologies",
    type=Topologies(),
    metavar="LIST",
    default="switched",
    show_default=True,
    help="Which wiring bandwidth is for: as for `synctax bandwidth`.",
)
@click.option(
    "--n",
    "n",
    type=GroupSizes(),
    metavar="LIST",
    help="Ranks to predict for: 512, 8,72,512, or by doubling.  [default: 8:4096]",
)
@end_tolerance_option
@manifest_option
@workers_option
@workspace_options
@verbosity_options
@click.pass_context
def report(
    ctx: click.Context,
    traces: tuple[str, ...],
    target: Path,
    title: str,
    group: str | None,
    op: str | None,
    steps: range | None,
    ranks: frozenset[int] | None,
    paths: int,
    topologies: tuple[str, ...],
    n: tuple[int, ...] | None,
    end_tolerance_us: float | None,
    manifest: Path | None,
    workers: "Workers",
    workspace: Path,
    no_cache: bool,
) -> None:
    r"""Write one HTML page of a job: waits, culprits, growth, what bandwidth is worth.

    TRACES are as for `measure`; without them, those that were measured last, with the same
    ranks and steps. The page needs no network: it can be mailed, and opened from a file.
    A section that cannot be made says why. Where that is because a trace can no longer be
    read, the exit code is 3, as it is where `measure` cannot read it.

    \b
    Examples:
      synctax report traces/ -o job.html
      synctax report --group tp --steps 3:10 --title "70B, tuesday"
      synctax report traces/ --paths 2000 --topology switched,torus3d
    """
    check_targets({"target": target})
    from synctax.cli import report_stages as stages
    from synctax.cli.recall import recall
    from synctax.report.output import notes, show, write
    from synctax.report.page.build import render
    from synctax.report.page.content import Content, Options
    from synctax.report.page.markup import Texts
    from synctax.report.page.verdict import sentences
    from synctax.report.tables import Sentence
    from synctax.texts import size_bytes
    from synctax.workspace import Workspace

    out = Output(verbosity=verbosity(ctx))
    given = Sources(traces, manifest, ranks, steps, end_tolerance_us)
    sources = recall(given, workspace)
    notes(sources.said, out)
    asked = stages.Asked(sources, group, op, topologies, n)
    space = None if no_cache else Workspace(workspace)
    reading = stages.Reading(space, workers, out)
    tax = stages.measured(asked, reading)
    found = stages.attributed(tax, reading)
    fit = stages.fitted(tax, asked, reading)
    worth = stages.worth(fit, asked, reading)
    told = _asked(asked, paths, tax.end_tolerance_us)
    options = Options(title, paths, asked=told)
    content = Content(tax, found, fit, worth, options)
    made = render(content)
    write(made, target)
    said = [Sentence(Texts().sentence(text)) for text in sentences(content)]
    show([*said, "", f"{target}: {size_bytes(len(made))}"], out)
    if reading.broken:
        raise BadInputError(
            f"{reading.broken[0]}; {target} holds the measurement, and says what it lacks"
        )


def _asked(asked: "Asked", paths: int, end_tolerance_us: float) -> dict[str, Any]:
    """What was asked, by the names of options."""
    sources = asked.sources
    steps, ranks = sources.steps, sources.ranks
    from synctax.collectives.summary import ranks_text

    return {
        "traces": sources.traces,
        "manifest": sources.manifest,
        "group": asked.group,
        "op": asked.op,
        "steps": None if steps is None else steps_text(steps),
        "ranks": None if ranks is None else ranks_text(tuple(sorted(ranks))),
        "topology": asked.topologies,
        "n": asked.n,
        "paths": paths,
        "end_tolerance_us": f"{end_tolerance_us:g}",
    }


def steps_text(steps: range) -> str:
    """Write steps as the option takes them.

    Examples
    --------
    >>> import sys
    >>> steps_text(range(3, 10)), steps_text(range(3, sys.maxsize))
    ('3:10', '3:')
    """
    return f"{steps.start}:{steps.stop if steps.stop <= MAX_NUMBER else ''}"
