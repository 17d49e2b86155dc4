"""`synctax verify`: whether a job sits where it should."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synctax.cli.options import (
    MAX_RANKS,
    end_tolerance_option,
    group_option,
    manifest_option,
    output_options,
    ranks_option,
    steps_option,
    workspace_options,
)
from synctax.cli.plotting import Plot, draw, plot_options
from synctax.cli.reading_options import workers_option
from synctax.errors import GateFailedError
from synctax.planning.verify.limits import DEFAULT_BYTES_TOLERANCE, DEFAULT_SLOW_SHARE
from synctax.report.output import Output, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

    from synctax.planning.verify.job import Verification
    from synctax.trace.pool import Workers

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class Share(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """A share above 0 and below 1."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse the text into a number."""
        share = float(click.FLOAT(value, param, ctx))
        if not 0 < share < 1:
            self.fail(f"{value} is no share; give one above 0 and below 1", param, ctx)
        return share


@click.command()
@click.argument("traces", nargs=-1, metavar="[TRACES]...")
@click.option(
    "--plan",
    "plan_file",
    type=_FILE,
    metavar="FILE",
    help="What `synctax plan --format json` wrote: sizes, ranks, bytes, links as planned.",
)
@click.option(
    "--layout",
    metavar="LAYOUT",
    help="The layout that was run, such as tp8,pp16,dp8; with --plan one of its rows.  "
    "[default: the plan's first that is feasible]",
)
@click.option(
    "--order",
    type=click.Choice(("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp")),
    help="Of ranks, innermost first.  [default: as planned, else either]",
)
@click.option(
    "--hosts",
    "hosts_file",
    type=_FILE,
    metavar="FILE",
    help="CSV with rank,host and, where known, domain and gpu; goes before the traces.",
)
@click.option(
    "--domain",
    type=click.IntRange(1, MAX_RANKS),
    metavar="N",
    help="GPUs that NVLink joins. Of several hosts: consecutive ones, in order of their "
    "ranks, unless --hosts has a column domain.  [default: as planned or of --hardware, "
    "else those of a host]",
)
@click.option(
    "--hardware",
    metavar="NAME|FILE",
    help="A built-in machine (`plan --list-hardware`) or a YAML file: domain and rates.",
)
@click.option(
    "--nccl-tests",
    "benchmarks",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="Output of all_reduce_perf and the like, on ranks placed as these. Repeatable.",
)
@click.option(
    "--topology",
    "topologies",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="What NCCL wrote to NCCL_TOPO_DUMP_FILE: NICs and NVLinks of GPUs. Repeatable.",
)
@click.option(
    "--nccl-log",
    "logs",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="Output of the job with NCCL_DEBUG=INFO: hosts and GPUs of ranks, rails, rings, "
    "P2P. Repeatable.",
)
@click.option(
    "--slow-share",
    type=Share(),
    default=DEFAULT_SLOW_SHARE,
    show_default=True,
    metavar="SHARE",
    help="A group below this share of its siblings' bandwidth (net of the wait), or of "
    "what nccl-tests measured, is slow.",
)
@click.option(
    "--bytes-tolerance",
    type=Share(),
    default=DEFAULT_BYTES_TOLERANCE,
    show_default=True,
    metavar="SHARE",
    help="By how much bytes and microbatches of a step may differ from the plan.",
)
@group_option
@steps_option
@ranks_option
@end_tolerance_option
@click.option("--per-group", is_flag=True, help="A row for every process group.")
@click.option(
    "--strict",
    is_flag=True,
    help="Warnings fail too: rails, slow links, groups that are not near, bytes.",
)
@manifest_option
@workers_option
@workspace_options
@output_options
@plot_options("groups")
def verify(
    traces: tuple[str, ...],
    plan_file: Path | None,
    layout: str | None,
    order: str | None,
    hosts_file: Path | None,
    domain: int | None,
    hardware: str | None,
    benchmarks: tuple[Path, ...],
    topologies: tuple[Path, ...],
    logs: tuple[Path, ...],
    slow_share: float,
    bytes_tolerance: float,
    group: str | None,
    steps: range | None,
    ranks: frozenset[int] | None,
    end_tolerance_us: float | None,
    per_group: bool,
    strict: bool,
    manifest: Path | None,
    workers: "Workers",
    workspace: Path,
    no_cache: bool,
    out: Output,
    plot: Plot,
) -> None:
    r"""Check that the groups of a job are those of a layout, and sit where they should.

    TRACES are as for `measure`; without them, those that were measured last. Without a
    plan, what every layout has in common is checked: TP in one NVLink domain, groups of a
    role of one size, every rank in one, degrees that multiply to the ranks.

    A broken rule (world, size, coverage, members, domain) ends in exit code 4, after the
    table; a warning does with --strict. What the traces cannot tell is unknown, and fails
    nothing.

    \b
    Examples:
      synctax verify traces/
      synctax verify traces/ --plan plan.json --hosts map.csv
      synctax verify traces/ --layout tp8,pp4,dp4 --hardware dgx-h100 --per-group
      synctax verify traces/ --plot groups.png
    """
    from synctax.cli.reading import read_job, worth_saying
    from synctax.cli.recall import Sources, recall
    from synctax.cli.verify_stages import Asked, commands, look, other_row, read
    from synctax.collectives.load import require
    from synctax.report import verify_view
    from synctax.report.output import emit, notes
    from synctax.schema import VERIFY, VERIFY_GROUPS
    from synctax.workspace import Workspace

    given = Sources(traces, manifest, ranks, steps, end_tolerance_us)
    sources = recall(given, workspace)
    notes(sources.said, out)
    asked = Asked(
        plan_file=plan_file,
        layout=layout,
        order=order,
        hosts_file=hosts_file,
        domain=domain,
        hardware=hardware,
        benchmarks=benchmarks,
        topologies=topologies,
        logs=logs,
        slow_share=slow_share,
        bytes_tolerance=bytes_tolerance,
        group=group,
        steps=sources.steps,
        end_tolerance_us=sources.end_tolerance_us,
    )
    files = read(asked)
    space = None if no_cache else Workspace(workspace)
    unwritable = space.prepare() if space else None
    job = require(
        read_job(
            sources.traces,
            manifest=sources.manifest,
            workers=workers,
            verbosity=out.verbosity,
            ranks=sources.ranks,
            space=space,
        )
    )
    found = look(job, asked, files)
    left_out = (*found.notes, *files.notes, *other_row(found, asked, files))
    runs = commands(files)
    parameters = {
        "traces": sources.traces,
        "manifest": sources.manifest,
        "ranks": None if sources.ranks is None else sorted(sources.ranks),
        **asked.told(),
        "strict": strict,
    }
    extra = {
        **_extra(found, strict=strict),
        "nccl_tests_commands": [dataclasses.asdict(run) for run in runs],
    }
    table, frame = (VERIFY, found.to_frame)
    if per_group:
        table, frame = (VERIFY_GROUPS, found.per_group)
    result = Result(table, frame(), parameters, left_out, extra)
    said = worth_saying(left_out, out.verbosity)
    notes([*([unwritable] if unwritable else []), *said], out)

    def render(shown: Result) -> "list[RenderableType]":
        if per_group:
            return verify_view.groups(shown)
        lines = verify_view.checks(found, shown, strict=strict)
        return lines if benchmarks else [*lines, *verify_view.runs(runs)]

    emit(result, out, render=render)
    draw(plot, {"groups": lambda: _figure(found)})
    failed = found.failed(strict=strict)
    if failed:
        told = ", ".join(f"{one.role} {one.name}".strip() for one in failed)
        raise GateFailedError(f"the job does not sit as it should: {told}")


def _figure(found: "Verification") -> "Figure":
    from synctax.report.figures.verify import groups

    return groups(found)


def _extra(found: "Verification", *, strict: bool) -> dict[str, Any]:
    from synctax.planning.verify.verify_words import verdict

    layout, places = found.seen.layout, found.observed.places
    return {
        "verdict": verdict(found, strict=strict),
        "failed": bool(found.failed(strict=strict)),
        "layout": None if layout is None else str(layout),
        "order": found.order,
        "world_size": found.observed.world,
        "ranks_read": int(found.observed.traced.size),
        "hosts": list(places.hosts),
        "domains_known_by": places.domain_known_by,
        "broken": found.broken(),
    }
