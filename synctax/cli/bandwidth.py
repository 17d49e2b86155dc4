"""`synctax bandwidth`: how many bytes per second are worth having."""

from pathlib import Path

import click

from synctax.bandwidth.choices import (
    ACROSS,
    DEFAULT_ALPHA_US,
    DEFAULT_ELASTICITIES,
    DEFAULT_NIC_ALPHA_US,
    DEFAULT_TOPOLOGIES,
    GROUNDINGS,
    LARGEST_N,
    OPS,
    SMALLEST_N,
    TAU_WITH_FLOPS,
    TOPOLOGIES,
    Across,
    Grounding,
    Op,
    TauWithFlops,
)
from synctax.bandwidth.hardware import all_hardware
from synctax.cli.bandwidth_figures import FIGURES, draw_rows, figure_asked
from synctax.cli.bandwidth_types import (
    COMPUTE_US,
    LATENCY_US,
    PRICE,
    RATE_GB_PER_S,
    ByteRange,
    Bytes,
    Elasticities,
    Growths,
    HardwareName,
    Topologies,
    Torus,
)
from synctax.cli.options import GroupSizes, output_options, tax_options
from synctax.cli.plotting import Plot, plot_options
from synctax.evt.methods import METHODS, Method
from synctax.report.output import Output

_EVERY_SIZE = (0.0, float("inf"))


@click.command()
@click.option(
    "--topology",
    "topologies",
    type=Topologies(),
    metavar="LIST",
    help=f"Of {', '.join(TOPOLOGIES)}; or all.  [default: {','.join(DEFAULT_TOPOLOGIES)}]",
)
@click.option(
    "--op",
    type=click.Choice(OPS),
    help="Operation, also of --nccl-tests that do not tell theirs.  [default: of "
    "--nccl-tests, else all_reduce]",
)
@click.option(
    "--n",
    "n",
    type=GroupSizes(),
    metavar="LIST",
    help="Ranks: 512, 8,64,512, or 8:4096, which doubles from 8 on.  [default: those of "
    f"--torus, of a domain of --hardware, else {SMALLEST_N}:{LARGEST_N}]",
)
@click.option(
    "--elasticity",
    "elasticities",
    type=Elasticities(),
    metavar="LIST",
    help="E: at B* 1 % more bandwidth saves -E % of the time.  [default: "
    f"{','.join(map(str, DEFAULT_ELASTICITIES))}]",
)
@click.option(
    "--payload-bytes",
    type=Bytes(),
    metavar="BYTES",
    help="S: 268435456, 256MiB or 268MB.  [default: of the tax model]",
)
@click.option(
    "--alpha-us",
    type=LATENCY_US,
    metavar="US",
    help="Latency of a message.  [default: of --nccl-tests, of the tax model, else "
    f"{DEFAULT_ALPHA_US:g}]",
)
@click.option(
    "--tax",
    "source",
    metavar="SOURCE",
    help="A file that fit-evt wrote, llama3-70b-h200, or none.  [default: what was fitted "
    "last, else llama3-70b-h200]",
)
@click.option(
    "--tax-method",
    type=click.Choice(METHODS),
    help="Which of its predictors.  [default: gumbel; where there is none, the first that "
    "there is of gev, lmoments, deviations]",
)
@click.option(
    "--link-gb-per-s",
    type=RATE_GB_PER_S,
    metavar="RATE",
    help="Today's link, 10^9 bytes/s per GPU and direction.  [default: of --nccl-tests or "
    "--hardware; of H200 with its tax]",
)
@click.option(
    "--hardware",
    type=HardwareName(),
    metavar="NAME",
    help=f"Link and domain of {', '.join(one.name for one in all_hardware())}.",
)
@click.option("--torus", type=Torus(), metavar="AxBxC", help="Dimensions of torus3d.")
@click.option(
    "--domain",
    type=click.IntRange(2),
    metavar="N",
    help="Ranks of a domain, for hierarchical.",
)
@click.option(
    "--nic-gb-per-s",
    type=RATE_GB_PER_S,
    metavar="RATE",
    help="What each GPU sends to other domains, 10^9 bytes/s per direction.",
)
@click.option(
    "--nic-alpha-us",
    type=LATENCY_US,
    metavar="US",
    help=f"Latency of a message between domains.  [default: {DEFAULT_NIC_ALPHA_US:g}]",
)
@click.option(
    "--across",
    type=click.Choice(ACROSS),
    default="ring",
    show_default=True,
    help="Algorithm between domains.",
)
@click.option(
    "--nccl-tests",
    "benchmarks",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Fit latency and link to what all_reduce_perf, reduce_scatter_perf, "
    "all_gather_perf or alltoall_perf printed. Repeatable.",
)
@click.option("--in-place", is_flag=True, help="Of these, take the in-place times.")
@click.option(
    "--nccl-bytes",
    type=ByteRange(),
    metavar="A:B",
    help="Of these, fit sizes from A to B, such as 1MiB:4GiB.",
)
@click.option("--residuals", is_flag=True, help="A row for every line that was fitted.")
@click.option(
    "--flops-growth",
    "growths",
    type=Growths(),
    metavar="LIST",
    help="End to end: B* with 2,4 times the FLOPS; 2250/989 and b200/h200 are ratios.",
)
@click.option(
    "--compute-us",
    type=COMPUTE_US,
    metavar="US",
    help="Computation before the collective, for --flops-growth.  [default: of the tax "
    "model]",
)
@click.option(
    "--tau-with-flops",
    type=click.Choice(TAU_WITH_FLOPS),
    default="stays",
    show_default=True,
    help="Whether the tax stays or shrinks with the computation; both are shown.",
)
@click.option(
    "--grounding",
    type=click.Choice(GROUNDINGS),
    default="own",
    show_default=True,
    help="Whether the model without a tax has its own elasticity today; both are shown.",
)
@click.option(
    "--price-per-gb-per-s",
    type=PRICE,
    metavar="PRICE",
    help="Price of 1 GB/s for a GPU, in any unit: adds what B* costs for all ranks.",
)
@click.option("--algorithms", is_flag=True, help="List p and q of each, and exit.")
@tax_options
@output_options
@plot_options(*FIGURES)
def bandwidth(
    topologies: tuple[str, ...] | None,
    op: Op | None,
    n: tuple[int, ...] | None,
    elasticities: tuple[float, ...] | None,
    payload_bytes: int | None,
    alpha_us: float | None,
    source: str | None,
    tax_method: Method | None,
    link_gb_per_s: float | None,
    hardware: str | None,
    torus: tuple[int, ...] | None,
    domain: int | None,
    nic_gb_per_s: float | None,
    nic_alpha_us: float | None,
    across: Across,
    benchmarks: tuple[Path, ...],
    in_place: bool,
    nccl_bytes: tuple[float, float] | None,
    residuals: bool,
    growths: tuple[float, ...] | None,
    compute_us: float | None,
    tau_with_flops: TauWithFlops,
    grounding: Grounding,
    price_per_gb_per_s: float | None,
    algorithms: bool,
    workspace: Path,
    no_cache: bool,
    out: Output,
    plot: Plot,
) -> None:
    r"""Tell which interconnect bandwidth is worth having, with the wait and without.

    A collective of n ranks takes T = p*alpha + q*S/B + tau: latency, transfer, and the mean
    wait for the last rank. B* is the bandwidth above which 1 % more of it saves less than
    -E % of T, for an elasticity E. Rates are 10^9 bytes a second, per GPU and direction.

    \b
    Examples:
      synctax bandwidth --topology switched --n 512
      synctax bandwidth --tax none --payload-bytes 256MiB --hardware gb200-nvl72
      synctax bandwidth --nccl-tests all_reduce.txt --topology switched --n 8:1024
      synctax bandwidth --flops-growth b200/h200 --compute-us 10400 --n 4096
      synctax bandwidth --n 8:4096 --plot bandwidth.pdf
    """
    from synctax.bandwidth.flops import Reading
    from synctax.cli import bandwidth_results as results
    from synctax.cli.bandwidth_setup import Asked, Benchmarks, set_up, sizes
    from synctax.cli.bandwidth_tax import find_tax
    from synctax.report import (
        bandwidth_algorithms_view,
        bandwidth_flops_view,
        bandwidth_view,
    )
    from synctax.report.output import emit, notes

    plot = figure_asked(
        plot, growths=growths, n=n, residuals=residuals, algorithms=algorithms
    )
    if algorithms:
        emit(results.algorithms(), out, render=bandwidth_algorithms_view.parts)
        return
    _refuse_idle(topologies, source)
    tax = find_tax(source, None if no_cache else workspace, tax_method)
    asked = Asked(
        topologies,
        op,
        payload_bytes,
        alpha_us,
        link_gb_per_s,
        hardware,
        torus,
        domain,
        nic_gb_per_s,
        nic_alpha_us,
        across,
        Benchmarks(benchmarks, in_place, nccl_bytes or _EVERY_SIZE),
    )
    setup = set_up(asked, tax)
    ranks = sizes(asked, setup, n, tax)
    notes([*tax.notes, *tax.trust(max(*ranks, tax.least_n)), *setup.notes], out)
    if residuals:
        emit(results.residuals(setup, asked), out)
        return
    wait = tax.wait(ranks)
    if growths:
        result, setting = results.flops(
            setup,
            tax,
            asked,
            wait,
            growths=growths,
            compute_us=compute_us,
            reading=Reading(tau_with_flops, grounding),
        )
        emit(result, out, render=lambda shown: bandwidth_flops_view.parts(shown, setting))
        draw_rows(plot, result.frame, setting.tax)
        return
    result, setting = results.best(
        setup,
        tax,
        asked,
        wait,
        elasticities=elasticities,
        price=price_per_gb_per_s,
    )
    emit(result, out, render=lambda shown: bandwidth_view.parts(shown, setting))
    draw_rows(plot, result.frame, setting.tax)


_NEEDS = {
    "residuals": ("benchmarks", "--residuals needs --nccl-tests"),
    "in_place": ("benchmarks", "--in-place needs --nccl-tests"),
    "nccl_bytes": ("benchmarks", "--nccl-bytes needs --nccl-tests"),
    "compute_us": ("growths", "--compute-us needs --flops-growth"),
    "tau_with_flops": ("growths", "--tau-with-flops needs --flops-growth"),
    "grounding": ("growths", "--grounding needs --flops-growth"),
}
"""Options that say something of another, by parameter."""

_AGAINST = {
    ("growths", "elasticities"): (
        "--flops-growth takes the elasticity of today's link; leave out --elasticity"
    ),
    ("growths", "price_per_gb_per_s"): (
        "--price-per-gb-per-s prices B* at an elasticity; leave out --flops-growth"
    ),
    ("residuals", "growths"): "--residuals has no B*; leave out --flops-growth",
    ("residuals", "elasticities"): "--residuals has no B*; leave out --elasticity",
    ("residuals", "price_per_gb_per_s"): (
        "--residuals has no B*; leave out --price-per-gb-per-s"
    ),
}
"""Options that exclude each other, by parameters."""

_OF_LEVELS = {
    "domain": "--domain",
    "nic_gb_per_s": "--nic-gb-per-s",
    "nic_alpha_us": "--nic-alpha-us",
    "across": "--across",
}


def _refuse_idle(topologies: tuple[str, ...] | None, source: str | None) -> None:
    """Refuse options that would change nothing: whoever gives one expects something."""
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    given = {
        name for name in context.params if context.get_parameter_source(name) != default
    }
    for name, (other, said) in _NEEDS.items():
        if name in given and other not in given:
            raise click.UsageError(said)
    for (one, other), said in _AGAINST.items():
        if one in given and other in given:
            raise click.UsageError(said)
    names = topologies or ("torus3d",)
    every = names == ("all",)
    for name, option in _OF_LEVELS.items():
        if name in given and not every and "hierarchical" not in names:
            raise click.UsageError(f"{option} needs --topology hierarchical, or all")
    if "torus" in given and not every and "torus3d" not in names:
        raise click.UsageError("--torus needs --topology torus3d, or all")
    if "tax_method" in given and source == "none":
        raise click.UsageError("--tax none has no --tax-method")
