"""`synctax characterize`: what an iteration of a job takes alone, without GPUs."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from synctax.cli.bandwidth_types import LATENCY_US, RATE_GB_PER_S
from synctax.cli.characterize_options import import_options, pool_options
from synctax.cli.characterize_sources import check_list, chosen_source
from synctax.cli.characterize_types import EFFICIENCIES, MEMORY_EFFICIENCIES
from synctax.cli.options import (
    MAX_RANKS,
    GroupSizes,
    group_option,
    output_options,
    workspace_options,
)
from synctax.cli.plan_types import Count
from synctax.cli.reading_options import workers_option
from synctax.cluster.characterize.gpus import DEFAULT_GPU, PRECISIONS
from synctax.cluster.characterize.profile import (
    EFFICIENCY,
    MEMORY_EFFICIENCY,
    Assumptions,
)
from synctax.cluster.characterize.ring import DEFAULT_LATENCY_S
from synctax.report.output import Output

if TYPE_CHECKING:
    from synctax.cluster.characterize.gpus import Precision
    from synctax.trace.pool import Workers

DEFAULT_GPUS = (2, 4, 8)
"""Of the jobs of the MoSim paper's traces: 2 to 8."""

DEFAULT_NIC_GB_PER_S = 0.625
"""Of the MoSim paper's testbed: 5 Gb/s."""

US_PER_S = 1e6


@click.command()
@click.argument("traces", nargs=-1, metavar="[TRACES]...")
@pool_options
@click.option(
    "--gpus",
    type=GroupSizes(1, "GPUs"),
    metavar="LIST",
    help="Workers of a job: 8, 2,4,8, or 2:16 by doubling; of TRACES no fewer than were "
    f"read.  [default: {','.join(map(str, DEFAULT_GPUS))}, of which tables show "
    f"{DEFAULT_GPUS[-1]}]",
)
@click.option(
    "--gpu-type",
    metavar="NAME",
    help=f"What computes (--list-gpu-types).  [default: {DEFAULT_GPU}]",
)
@click.option(
    "--dtype",
    type=click.Choice(PRECISIONS),
    help="Of matrix products.  [default: of the workload]",
)
@click.option(
    "--nic-gb-per-s",
    type=RATE_GB_PER_S,
    metavar="RATE",
    default=DEFAULT_NIC_GB_PER_S,
    show_default=True,
    help="NIC of a server, 10^9 bytes/s per direction; 0.625 are the 5 Gb/s of the MoSim "
    "paper.",
)
@click.option(
    "--nvlink-gb-per-s",
    type=RATE_GB_PER_S,
    metavar="RATE",
    help="What a GPU sends to others of its server, 10^9 bytes/s.  [default: of the GPU]",
)
@click.option(
    "--latency-us",
    type=LATENCY_US,
    metavar="US",
    default=US_PER_S * DEFAULT_LATENCY_S,
    show_default=True,
    help="Of a step of a ring.",
)
@click.option(
    "--efficiency",
    type=EFFICIENCIES,
    metavar="SHARE",
    help="Of the peak, reached by matrix products.  [default: "
    f"{', '.join(f'{share} with {name}' for name, share in EFFICIENCY.items())}]",
)
@click.option(
    "--memory-efficiency",
    type=MEMORY_EFFICIENCIES,
    metavar="SHARE",
    default=MEMORY_EFFICIENCY,
    show_default=True,
    help="Of the rate of memory, reached by all other operations.",
)
@click.option(
    "--gpus-per-server",
    type=Count(MAX_RANKS),
    metavar="N",
    help="All-reduce in two levels, over servers of so many workers.  [default: one ring "
    "at the rate of a NIC, as in the MoSim paper]",
)
@import_options
@click.option("--list-workloads", is_flag=True, help="List the pool.")
@click.option("--list-gpu-types", is_flag=True, help="List the kinds of GPUs.")
@group_option
@workers_option
@workspace_options
@output_options
def characterize(
    traces: tuple[str, ...],
    names: tuple[str, ...],
    pool: Path | None,
    model: str | None,
    sequence: int | None,
    batch_per_gpu: int | None,
    gpus: tuple[int, ...] | None,
    gpu_type: str | None,
    dtype: "Precision | None",
    nic_gb_per_s: float,
    nvlink_gb_per_s: float | None,
    latency_us: float,
    efficiency: float | None,
    memory_efficiency: float,
    gpus_per_server: int | None,
    astra_log: Path | None,
    astra_et: Path | None,
    astra_network: Path | None,
    astra_groups: Path | None,
    astra_sim: Path | None,
    astra_system: Path | None,
    astra_memory: Path | None,
    simai: Path | None,
    simai_workload: Path | None,
    iterations: int | None,
    measured: bool,
    list_workloads: bool,
    list_gpu_types: bool,
    group: str | None,
    workers: "Workers",
    workspace: Path,
    no_cache: bool,
    out: Output,
) -> None:
    r"""Tell what an iteration of a job takes alone: computation, network, bytes.

    Without TRACES this is computed, for which no GPU is needed: operations of the layers
    over a share of the GPU's peak, and a ring all-reduce of the gradients. With TRACES, or
    what ASTRA-sim or SimAI wrote, it is what these tell. Each number says where it is from;
    --format csv writes columns that simulate takes.

    \b
    Examples:
      synctax characterize --workload resnet-50 --gpus 2,4,8,16
      synctax characterize --model llama3-8b --sequence 8192 --gpu-type h100
      synctax characterize --astra-log run.log --astra-et dp8/dp
      synctax characterize run-17/ --format csv -o profile.csv
    """
    from synctax.report.output import emit, notes

    if list_workloads and list_gpu_types:
        raise click.UsageError("--list-workloads, --list-gpu-types: one list at a time")
    if list_workloads or list_gpu_types:
        _list(pool, out, gpus=list_gpu_types)
        return
    source = chosen_source()
    from synctax.cli.characterize_results import result, rows

    if source in ("pool", "shape"):
        from synctax.cli import characterize_setup as setup

        shares = (
            efficiency,
            memory_efficiency,
            latency_us / US_PER_S,
            gpus_per_server,
        )
        on = setup.On(
            gpus or _usual_gpus(gpus_per_server or 1),
            gpu_type or DEFAULT_GPU,
            dtype,
            nic_gb_per_s,
            nvlink_gb_per_s,
            Assumptions(*shares),
        )
        if model is not None:
            workloads = setup.of_shape(model, sequence, batch_per_gpu or 1)
        else:
            workloads = setup.in_batches(setup.of_pool(names, pool), batch_per_gpu)
        found = setup.computed(workloads, on)
    else:
        from synctax.cli import characterize_imports as imports

        one = imports.called(names, gpus, iterations)
        if source == "traces":
            where = imports.Where(group, workers, workspace, no_cache, out)
            found = imports.of_traces(traces, one, where, last=measured)
        elif source == "simai":
            found = imports.of_simai(simai, simai_workload, one)
        else:
            files = (astra_log, astra_et, astra_network, astra_groups)
            run = (astra_sim, astra_system, astra_memory)
            found = imports.of_astra(imports.Astra(*files, *run), one)
    notes(found.notes, out)
    if out.fmt == "table":
        from synctax.report import characterize_view as view
        from synctax.report.output import show

        several = source in ("pool", "shape") and gpus is None
        show(view.profiles(rows(found), largest=several), out)
    else:
        emit(result(found), out)


def _list(pool: Path | None, out: Output, *, gpus: bool) -> None:
    from synctax.cli import characterize_results as results
    from synctax.cli.characterize_setup import of_pool
    from synctax.report import characterize_view as view
    from synctax.report.output import emit, show
    from synctax.schema.characterize import CHARACTERIZE_GPUS, CHARACTERIZE_WORKLOADS

    if gpus:
        check_list("--list-gpu-types")
    else:
        check_list("--list-workloads", "pool")
    table = CHARACTERIZE_GPUS if gpus else CHARACTERIZE_WORKLOADS
    told = results.gpu_rows() if gpus else results.workload_rows(of_pool((), pool))
    if out.fmt == "table":
        show(view.gpus(told) if gpus else view.workloads(told), out)
    else:
        emit(results.listed(told, table), out)


def _usual_gpus(per_server: int) -> tuple[int, ...]:
    """Give jobs of several full servers of so many GPUs, where no number is asked for."""
    fitting = tuple(
        one for one in DEFAULT_GPUS if one > per_server and one % per_server == 0
    )
    return fitting or (2 * per_server,)
