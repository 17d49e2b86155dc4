"""`synctax sweep`: one trace under many policies, queues, NICs, models and seeds."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synctax.cli.options import output_options, tax_options
from synctax.cli.plotting import Plot, draw, plot_options
from synctax.cli.simulate_options import (
    counting_option,
    given,
    job_tax_options,
    jobs_option,
    pool_option,
    refuse_models,
    refuse_tax,
    refuse_trace,
    sharing_options,
)
from synctax.cli.sweep_types import Names, Rates, Seeds
from synctax.cluster.choices import ALIASES, BASES, MODELS, QUEUES
from synctax.errors import SynctaxError
from synctax.evt.methods import Method
from synctax.report.output import Output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from synctax.cluster.choices import Basis, Counting, ModelName, Scope
    from synctax.cluster.sweep import Sweep
    from synctax.report.sweep_view import Shared


@click.command()
@click.argument("trace")
@click.option(
    "--cluster",
    "cluster_name",
    required=True,
    metavar="NAME|FILE",
    help="A built-in cluster, such as mosim-4x8, or a YAML file.",
)
@click.option(
    "--policies",
    type=Names(aliases=ALIASES),
    metavar="LIST",
    help="bin-packing, most-allocated, load-balancing, spread, or your own as for "
    "simulate.  [default: of the cluster]",
)
@click.option(
    "--queues",
    type=Names(QUEUES),
    metavar="LIST",
    help=f"{', '.join(QUEUES)}.  [default: of the cluster]",
)
@click.option(
    "--nic-gb-per-s",
    "nics",
    type=Rates(),
    metavar="LIST",
    help="Of every server, 10^9 bytes a second in each direction.  [default: as the "
    "cluster has them]",
)
@click.option(
    "--models",
    type=Names(MODELS),
    default=MODELS[0],
    show_default=True,
    metavar="LIST",
    help=f"Of contention: {', '.join(MODELS)}.",
)
@click.option(
    "--demand-bases",
    "bases",
    type=Names(BASES),
    default=BASES[0],
    show_default=True,
    metavar="LIST",
    help=f"What mosim takes bytes over: {', '.join(BASES)}, as for simulate.",
)
@click.option(
    "--seeds",
    type=Seeds(),
    default="0",
    show_default=True,
    metavar="LIST",
    help="Of workloads that are drawn and jobs that are made up: 0:10 is 0 to 9; also "
    "0,5,7.",
)
@jobs_option
@counting_option
@pool_option
@sharing_options
@job_tax_options
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Simulations at the same time.  [default: one per core]",
)
@tax_options
@output_options
@plot_options("jct")
def sweep(
    trace: str,
    cluster_name: str,
    policies: tuple[str, ...] | None,
    queues: tuple[str, ...] | None,
    nics: tuple[float, ...] | None,
    models: "tuple[ModelName, ...]",
    bases: "tuple[Basis, ...]",
    seeds: tuple[int, ...],
    jobs: int | None,
    counting: "Counting",
    pool: str | None,
    min_bandwidth_share: float,
    normalise_solo: bool,
    static_factor: float,
    static_scope: "Scope",
    placement_aware: bool,
    source: str,
    tax_method: Method | None,
    tax_compute_us: float | None,
    workers: int | None,
    workspace: Path,
    no_cache: bool,
    out: Output,
    plot: Plot,
) -> None:
    r"""Simulate TRACE under every combination of policies, queues, NICs, models and seeds.

    TRACE is a CSV of jobs as for simulate, or philly-like, whose jobs differ with the
    seed. The table has means over seeds with 95 % intervals; files have a row for each
    seed. Jobs keep their run time alone, whatever the NICs.

    \b
    Examples:
      synctax sweep jobs.csv --cluster mosim-4x8 \
        --policies bin-packing,load-balancing
      synctax sweep philly-like --cluster mosim-4x8 \
        --models tiresias,pollux,mosim --seeds 0:10 -o sweep.csv --plot jct.png
    """
    _refuse_idle(trace, models, source)
    from synctax.cli import simulate_setup as simulating
    from synctax.cli import sweep_setup as setup
    from synctax.cli.asking import read_named
    from synctax.cli.progress import counting as counted
    from synctax.cluster.policies.lookup import policy
    from synctax.cluster.settings import Contention
    from synctax.cluster.sweep import Choices, of_nic
    from synctax.cluster.sweep import sweep as run
    from synctax.report.output import notes

    workloads = simulating.find_pool(pool)
    cluster = simulating.find_cluster(cluster_name, pool=workloads)
    for name in policies or ():
        read_named("--policies", lambda: policy(name))  # noqa: B023 - called at once
    choices = Choices(
        policies or (cluster.policy,),
        queues or (cluster.queue,),
        nics or (None,),
        models,
        bases,
        seeds,
    )
    total = setup.check_number(choices)
    asked_tax = simulating.AskedTax(
        source, None if no_cache else workspace, tax_method, tax_compute_us
    )
    tax, charge = simulating.find_job_tax(asked_tax)
    found = setup.find_trace(trace, jobs, counting, workloads, charge)
    # what is wrong with a trace is wrong with every combination, so it is told at once
    first = found(of_nic(cluster, choices.nic_gb_per_s[0]), seeds[0])
    notes([*cluster.notes, *tax.notes], out)
    if len(seeds) > 1 and found.alike(first):
        notes([f"nothing of {trace} is drawn: all {len(seeds)} seeds are alike"], out)
    how = Contention(
        static_factor=static_factor,
        static_scope=static_scope,
        min_bandwidth_share=min_bandwidth_share,
        normalise_solo=normalise_solo,
        placement_aware=placement_aware,
    )
    with counted(
        total, what="simulations", verbosity=out.verbosity, doing="simulating"
    ) as told:
        swept = run(
            choices, cluster, found, contention=how, workers=workers, on_progress=told
        )
    notes(swept.notes, out)
    asked = {
        **setup.parameters(trace, found, first, cluster, choices),
        "contention": setup.shared_told(how),
    }
    from synctax.report.sweep_view import Shared

    shared = Shared(cluster, first, how)
    _write(swept, shared, asked, [*cluster.notes, *swept.notes], out)
    draw(plot, {"jct": lambda: _figure(swept)})
    _refuse_failed(swept)


def _figure(swept: "Sweep") -> "Figure":
    from synctax.report.figures.sweep import jct

    return jct(swept)


def _write(
    swept: "Sweep", shared: "Shared", asked: dict[str, Any], noted: list[Any], out: Output
) -> None:
    from synctax.cluster.sweep_lines import lines
    from synctax.report.output import Result, emit, show
    from synctax.schema.sweep import SWEEP

    failed = swept.failed
    if len(failed) == len(swept.combinations):
        raise failed[0][1]
    found = lines(swept)
    if out.fmt == "table":
        from synctax.report import sweep_view

        show(sweep_view.parts(swept, found, shared), out)
    else:
        extra = {"failed": len(failed), "lines": [one.told() for one in found]}
        emit(Result(SWEEP, swept.to_frame(), asked, noted, extra), out)


def _refuse_failed(swept: "Sweep") -> None:
    failed = swept.failed
    if failed:
        raise SynctaxError(
            f"{len(failed):,} of {len(swept.combinations):,} combinations failed, first "
            f"{failed[0][1]}; the numbers of the others are written"
        )


def _refuse_idle(trace: str, models: tuple[str, ...], source: str) -> None:
    """Refuse options that would change nothing: whoever gives one expects something."""
    asked = given()
    if "bases" in asked and "mosim" not in models:
        raise click.UsageError("--demand-bases is for --models mosim")
    refuse_models(asked, models)
    refuse_trace(asked, trace)
    refuse_tax(asked, source)
