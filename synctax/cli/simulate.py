"""`synctax simulate`: what a cluster's queue, and the sharing of NICs, do to jobs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synctax.cli.options import MAX_NUMBER, RankSet, output_options, tax_options
from synctax.cli.plan_types import Count
from synctax.cli.plotting import Plot, draw, plot_options
from synctax.cli.simulate_options import (
    PHILLY_LIKE,
    contention_options,
    given,
    job_options,
    job_tax_options,
    refuse_idle,
)
from synctax.cli.targets import called, check_targets
from synctax.cluster.choices import QUEUES
from synctax.evt.methods import Method
from synctax.report.output import Output

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from synctax.cli.simulate_setup import Asked, Setup
    from synctax.cluster.choices import Basis, Counting, ModelName, QueueName, Scope
    from synctax.cluster.fidelity import Fidelity
    from synctax.cluster.settings import Contention
    from synctax.cluster.simulation import Simulation

DEFAULT_TOP = 10
"""Jobs of the table."""

INTERFERENCE_JOBS = 20_000
"""Of more jobs it takes longer to find out who slowed whom than to simulate them."""

DEFAULT_CLUSTER = "mosim-2x8"
"""Whose GPUs and NICs `--pairs` takes where no cluster is given."""

_SUFFIXES = (".json", ".json.gz")


MOST_RESAMPLES = 100_000
"""More make no interval more certain, and take minutes."""

LEAST_RESAMPLES = 20
"""Ends of an interval are of few draws even so."""


class _Resamples(click.IntRange):
    """None at all, or enough for an interval."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        found = super().convert(value, param, ctx)
        if 0 < found < LEAST_RESAMPLES:
            said = f"{found} draws make no interval; give {LEAST_RESAMPLES} or more, or 0"
            self.fail(said, param, ctx)
        return found


class _Timeline(click.Path):
    """A file in a folder that is there, with a name that tells what it is."""

    def convert(
        self,
        value: str | Path,  # type: ignore[override]
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        path = Path(value)
        if not path.name.endswith(_SUFFIXES):
            self.fail(f"{path.name!r} ends neither in .json nor in .json.gz", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"{path.parent} is no folder", param, ctx)
        return path


@click.command()
@click.argument("trace", required=False)
@click.option(
    "--cluster",
    metavar="NAME|FILE",
    help="A built-in cluster (--list-clusters) or a YAML file.",
)
@click.option(
    "--policy",
    metavar="NAME",
    help="Which servers a job gets: bin-packing, most-allocated, load-balancing, spread, "
    "or your own as package.module:function or file.py:function.  [default: of the "
    "cluster]",
)
@click.option(
    "--queue",
    type=click.Choice(QUEUES),
    help="Who may start: whoever fits (backfill), nobody before the first (fifo), or "
    "whoever does not delay the first (easy).  [default: of the cluster]",
)
@job_options
@contention_options
@job_tax_options
@click.option(
    "--interference/--no-interference",
    default=None,
    help=f"Find out who slowed whom.  [default: of up to {INTERFERENCE_JOBS:,} jobs]",
)
@click.option(
    "--measured",
    metavar="FILE",
    help="CSV with job_id,start_s,end_s (perhaps submit_s) to compare with.  [default: "
    "start_s and end_s of the trace, where it has them]",
)
@click.option(
    "--resamples",
    type=_Resamples(0, MOST_RESAMPLES),
    metavar="N",
    help="Draws of jobs for intervals of that comparison; 0 for none.  [default: 1000]",
)
@click.option(
    "--timeline",
    type=_Timeline(path_type=Path),
    metavar="FILE",
    help="Write a trace for Perfetto, one row a GPU: FILE.json or FILE.json.gz.",
)
@click.option(
    "--timeline-servers",
    type=RankSet("servers"),
    metavar="LIST",
    help="Of it only these servers, such as 0-7,12.",
)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=DEFAULT_TOP,
    show_default=True,
    metavar="N",
    help="Jobs of the table; files hold all.",
)
@click.option(
    "--pairs",
    is_flag=True,
    help="Instead of a trace: every workload of the pool beside every other.",
)
@click.option(
    "--gpus",
    type=Count(MAX_NUMBER),
    metavar="N",
    help="Of each job of --pairs, half on each of two servers.  [default: 8]",
)
@click.option("--list-clusters", is_flag=True, help="List the built-in clusters.")
@tax_options
@output_options
@plot_options("jct", "timeline")
def simulate(
    trace: str | None,
    cluster: str | None,
    policy: str | None,
    queue: "QueueName | None",
    jobs: int | None,
    seed: int,
    counting: "Counting",
    pool: str | None,
    model: "ModelName",
    basis: "Basis",
    min_bandwidth_share: float,
    normalise_solo: bool,
    static_factor: float,
    static_scope: "Scope",
    placement_aware: bool,
    source: str,
    tax_method: Method | None,
    tax_compute_us: float | None,
    interference: bool | None,
    measured: str | None,
    resamples: int | None,
    timeline: Path | None,
    timeline_servers: frozenset[int] | None,
    top: int,
    pairs: bool,
    gpus: int | None,
    list_clusters: bool,
    workspace: Path,
    no_cache: bool,
    out: Output,
    plot: Plot,
) -> None:
    r"""Run the jobs of TRACE on a cluster: who waits, who is slowed, and by whom.

    TRACE is a CSV with job_id,submit_s,gpus,duration_s and perhaps workload or
    compute_s,network_s,network_bytes of an iteration (synctax convert makes one of other
    traces), or philly-like, which makes jobs up. Jobs that share a NIC stretch each other's
    network time from event to event.

    \b
    Examples:
      synctax simulate jobs.csv --cluster mosim-4x8
      synctax simulate philly-like --jobs 60 --cluster mosim-4x8 --queue fifo
      synctax simulate jobs.csv --cluster cluster.yaml --timeline cluster.json.gz
      synctax simulate jobs.csv --cluster mosim-4x8 --plot cluster.png
      synctax simulate --pairs
    """
    if list_clusters:
        _refuse_beside_list(given())
        _list_clusters(out)
        return
    from synctax.cluster.settings import Contention

    contention = Contention(
        model=model,
        basis=basis,
        static_factor=static_factor,
        static_scope=static_scope,
        min_bandwidth_share=min_bandwidth_share,
        normalise_solo=normalise_solo,
        placement_aware=placement_aware,
    )
    asked_for, params = given(), click.get_current_context().params
    refuse_idle(asked_for, params)
    if pairs:
        _refuse_beside_pairs(asked_for)
        _pairs(cluster or DEFAULT_CLUSTER, pool, gpus, contention, out, plot)
        return
    _refuse_idle(asked_for, model)
    check_targets({"out": out.path, "timeline": timeline})
    if trace is None or cluster is None:
        missing = [
            name for name, value in (("TRACE", trace), ("--cluster", cluster)) if not value
        ]
        raise click.UsageError(
            f"missing {' and '.join(missing)}; TRACE is a CSV of jobs or {PHILLY_LIKE}, "
            "--list-clusters lists names of clusters"
        )
    from synctax.cli import simulate_setup as setup

    asked = setup.Asked(
        trace,
        cluster,
        jobs,
        seed,
        counting,
        pool,
        policy,
        queue,
        setup.AskedTax(source, None if no_cache else workspace, tax_method, tax_compute_us),
    )
    ready = setup.set_up(asked)
    setup.check_servers(timeline_servers, ready.cluster)
    # before what takes long: what is wrong with it is said at once
    truth = setup.find_measured(measured, ready.read)
    if truth is None and resamples is not None:
        raise click.UsageError("--resamples is for measured times, and there are none")
    simulation = _run(ready, contention, interference, out)
    near = setup.compare(simulation, truth, resamples, seed)
    _show(asked, ready, simulation, near, top, out, timeline, timeline_servers)
    draw(plot, _figures(simulation))


def _run(
    ready: "Setup", contention: "Contention", interference: bool | None, out: Output
) -> "Simulation":
    from synctax.cli.progress import counting_up
    from synctax.cli.simulate_setup import run
    from synctax.report.output import notes

    if interference is None:
        many = len(ready.read.jobs)
        interference = many <= INTERFERENCE_JOBS and contention.model != "tiresias"
        if many > INTERFERENCE_JOBS:
            notes([f"who slowed whom of {many:,} jobs: only with --interference"], out)

    with counting_up(
        what="jobs", verbosity=out.verbosity, doing="simulating"
    ) as on_progress:
        return run(ready, contention, interference=interference, on_progress=on_progress)


def _show(
    asked: "Asked",
    ready: "Setup",
    simulation: "Simulation",
    near: "Fidelity | None",
    top: int,
    out: Output,
    timeline: Path | None,
    servers: frozenset[int] | None,
) -> None:
    from synctax.cli import simulate_results as results
    from synctax.report.output import emit, notes, show

    found = results.Found(asked, ready, simulation, near)
    notes(results.noted(found), out)
    if timeline is not None:
        notes(results.size_of_timeline(simulation, servers), out)
        results.write_timeline(simulation, timeline, servers)
    if out.fmt == "table":
        from synctax.report import simulate_view

        pool = ready.read.pool
        show(simulate_view.parts(simulation, top=top, fidelity=near, pool=pool), out)
    else:
        emit(results.result(found), out)


def _figures(simulation: "Simulation") -> "dict[str, Callable[[], Figure]]":
    def of_times() -> "Figure":
        from synctax.report.figures.simulate import jct

        return jct(simulation)

    def over_time() -> "Figure":
        from synctax.report.figures.timeline import timeline

        return timeline(simulation)

    return {"jct": of_times, "timeline": over_time}


def _pairs(
    cluster: str,
    pool: str | None,
    gpus: int | None,
    contention: "Contention",
    out: Output,
    plot: Plot,
) -> None:
    from synctax.cli import pairs
    from synctax.cli.simulate_setup import find_cluster, find_pool
    from synctax.cluster.inputs.pool import read_pool

    workloads = find_pool(pool) or read_pool()
    found = find_cluster(cluster, pool=workloads)
    pairs.show(found, workloads, contention, gpus=gpus, out=out, plot=plot.path)


_BESIDE_PAIRS = {
    "trace": "TRACE",
    "policy": "--policy",
    "queue": "--queue",
    "jobs": "--jobs",
    "seed": "--seed",
    "counting": "--counting",
    "source": "--tax",
    "interference": "--interference",
    "measured": "--measured",
    "resamples": "--resamples",
    "timeline": "--timeline",
    "timeline_servers": "--timeline-servers",
    "placement_aware": "--placement-aware",
    "top": "--top",
    "figure": "--figure",
}
"""What changes nothing for two jobs on two servers, by parameters."""


def _refuse_beside_pairs(asked: set[str]) -> None:
    for name, option in _BESIDE_PAIRS.items():
        if name in asked:
            raise click.UsageError(f"{option} changes nothing of --pairs; leave it out")


def _refuse_beside_list(asked: set[str]) -> None:
    for one in click.get_current_context().command.params:
        if one.name in asked - {"list_clusters", "out"}:
            raise click.UsageError(f"{called(one)} changes nothing of --list-clusters")


def _refuse_idle(asked: set[str], model: str) -> None:
    if "gpus" in asked:
        raise click.UsageError("--gpus is for --pairs; jobs of a trace have their own")
    if "interference" in asked and model == "tiresias":
        raise click.UsageError("--model tiresias has no interference")
    if "timeline_servers" in asked and "timeline" not in asked:
        raise click.UsageError("--timeline-servers is for --timeline FILE")


def _list_clusters(out: Output) -> None:
    from synctax.cli import simulate_lists as lists
    from synctax.report.output import emit, show

    if out.fmt == "table":
        show(lists.shown(), out)
    else:
        emit(lists.listed(), out)
