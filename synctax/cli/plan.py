"""`synctax plan`: where the ranks of a training job should sit."""

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import click

from synctax.cli.options import MAX_NUMBER, MAX_RANKS, output_options, tax_options
from synctax.cli.plan_options import charge_options, machine_options, training_options
from synctax.cli.plan_types import Chunks, Count, Degrees, merged
from synctax.cli.plotting import Plot, draw, plot_options
from synctax.evt.methods import Method
from synctax.report.output import Output

if TYPE_CHECKING:
    from synctax.cli.plan_results import Found
    from synctax.planning.barriers import Joined
    from synctax.planning.tax import Form
    from synctax.planning.training import Recompute, Sharding, ShardOver

DEFAULT_TOP = 10
"""Lines of the table of a search."""

_COUNT = Count(MAX_NUMBER)


@click.command()
@click.option(
    "--model",
    metavar="NAME|FILE",
    help="A built-in model (--list-models) or a YAML file with a shape.",
)
@click.option(
    "--hardware",
    metavar="NAME|FILE",
    help="A built-in machine (--list-hardware) or a YAML file.",
)
@click.option("--gpus", type=Count(MAX_RANKS), metavar="N", help="All of the job.")
@click.option("--sequence", type=_COUNT, metavar="TOKENS", help="Tokens of a sequence.")
@click.option("--batch", type=_COUNT, metavar="N", help="Sequences of a step, of all GPUs.")
@click.option(
    "--microbatch",
    type=_COUNT,
    default=1,
    show_default=True,
    metavar="N",
    help="Sequences that go through the pipeline together.",
)
@click.option(
    "--layout",
    "layouts",
    multiple=True,
    metavar="LAYOUT",
    help="Only this one, such as tp8,pp16,dp8 (cp, ep and v where they are not 1; dp "
    "follows from --gpus). Repeatable.  [default: all there are]",
)
@click.option(
    "--virtual-stages",
    type=Chunks(),
    metavar="LIST",
    help="Chunks of layers that a pipeline rank holds.  [default: 1,2,4,8; 1 with "
    "--layout]",
)
@click.option(
    "--only",
    "wanted",
    type=Degrees(),
    multiple=True,
    metavar="LIST",
    help="Of all layouts only those with these degrees, such as cp1 or tp8,ep16. "
    "Repeatable.",
)
@training_options
@machine_options
@charge_options
@click.option("--explain", "explained", metavar="LAYOUT", help="Tell one layout in full.")
@click.option(
    "--compare", "compared", metavar="A,B", help="Two layouts side by side: A/B or A;B too."
)
@click.option(
    "--export",
    "exported",
    type=click.Choice(("megatron", "torchtitan", "torchtitan-recipe")),
    help="Write --layout, else the fastest that is feasible, as flags of Megatron-LM, as "
    "TOML of torchtitan's releases, or as Python for its main branch.",
)
@click.option(
    "--top",
    type=click.IntRange(1),
    metavar="N",
    help=f"Lines of the table; files hold every layout.  [default: {DEFAULT_TOP}; all of "
    "--layout]",
)
@click.option(
    "--pareto",
    is_flag=True,
    help="Only layouts that no other beats in all of step time, memory and NIC share.",
)
@click.option("--feasible", is_flag=True, help="Only layouts that nothing rules out.")
@click.option("--list-models", is_flag=True, help="List the built-in models.")
@click.option("--list-hardware", is_flag=True, help="List the built-in machines.")
@tax_options
@output_options
@plot_options("pareto", "step")
def plan(
    model: str | None,
    hardware: str | None,
    gpus: int | None,
    sequence: int | None,
    batch: int | None,
    microbatch: int,
    layouts: tuple[str, ...],
    virtual_stages: tuple[int, ...] | None,
    wanted: tuple[dict[str, int], ...],
    sharding: "Sharding",
    shard_over: "ShardOver",
    recompute: "Recompute",
    no_sequence_parallel: bool,
    order: str,
    no_scatter_gather: bool,
    expert_tp: bool,
    count_attention: bool,
    domain: int | None,
    nic_gb_per_s: float | None,
    memory_gb: float | None,
    reserve_gb: float,
    mfu: float | None,
    tflops: float | None,
    exposed: dict[str, float] | None,
    nvlink_efficiency: float,
    nic_efficiency: float,
    allow_tp_across_domains: bool,
    pool_nics: bool,
    source: str | None,
    tax_method: Method | None,
    tax_form: "Form",
    tax_ranks: "Joined",
    tax_compute_us: float | None,
    explained: str | None,
    compared: str | None,
    exported: str | None,
    top: int | None,
    pareto: bool,
    feasible: bool,
    list_models: bool,
    list_hardware: bool,
    workspace: Path,
    no_cache: bool,
    out: Output,
    plot: Plot,
) -> None:
    r"""Tell where the ranks of a training job should sit: TP, PP, DP, CP and EP.

    Every layout of the GPUs is costed: bytes, memory, bubble, time on NVLink and NICs, and
    the measured wait at barriers. What cannot run keeps its row, with every rule that it
    breaks and what would let it run. If nothing can, the nearest misses are shown, and the
    exit code is 0 all the same.

    \b
    Examples:
      synctax plan --model llama3-405b --hardware dgx-h100 --gpus 1024 \
        --sequence 8192 --batch 2048
      ... --layout tp8,pp16,dp8 --format json -o plan.json
      ... --explain tp8,pp8,cp2
      ... --compare tp8,pp16,dp8/tp8,pp8,dp8,cp2
      ... --plot front.png
    """
    from synctax.report.output import notes

    if list_models or list_hardware:
        if plot.path is not None:
            raise click.UsageError("--plot is for layouts, not for lists of names")
        _lists("models" if list_models else "hardware", out)
        return
    _refuse_idle()
    from synctax.cli import plan_setup as setup
    from synctax.cli.bandwidth_tax import find_tax
    from synctax.cli.plan_results import Found, figures, noted

    needed = _needed(model, hardware, gpus, sequence, batch)
    asked = setup.Asked(
        *needed,
        microbatch=microbatch,
        virtual_stages=virtual_stages,
        only=merged(wanted),
        layouts=layouts,
        explained=explained,
        compared=compared,
        machine=setup.Changes(domain, nic_gb_per_s, memory_gb),
        assumed=setup.Assumed(
            mfu,
            tflops,
            exposed,
            nvlink_efficiency,
            nic_efficiency,
            reserve_gb,
            allow_tp_across_domains,
            pool_nics,
        ),
        training={
            "sequence_parallel": not no_sequence_parallel,
            "recompute": recompute,
            "sharding": sharding,
            "shard_over": shard_over,
            "order": None if order == "auto" else order,
            "scatter_gather": not no_scatter_gather,
            "expert_tp": expert_tp,
            "count_attention": count_attention,
        },
    )
    ready = setup.set_up(asked)
    tax = find_tax(source, None if no_cache else workspace, tax_method)
    judged = setup.search(ready, setup.charge(tax, tax_form, tax_compute_us, tax_ranks))
    found = Found(judged, tax, ready, pareto, feasible)
    notes(noted(found), out)
    if exported is not None:
        _export(found, exported, out)
    elif explained is not None:
        _explain(found, out)
    elif compared is not None:
        _compare(found, out)
    else:
        _list_layouts(found, top, out)
        draw(plot, figures(found, top, usual=DEFAULT_TOP))


def _lists(what: str, out: Output) -> None:
    from synctax.cli import plan_results as results
    from synctax.report import plan_lists_view as view
    from synctax.report.output import emit, show

    rows, table = results.models() if what == "models" else results.hardware()
    if out.fmt == "table":
        show(view.models(rows) if what == "models" else view.hardware(rows), out)
    else:
        emit(results.listed(rows, table), out)


def _list_layouts(found: "Found", top: int | None, out: Output) -> None:
    from synctax.cli import plan_results as results
    from synctax.report import plan_view
    from synctax.report.output import emit, show

    rows = results.chosen(found)
    if out.fmt == "table":
        shown = results.shown(found, rows, top, usual=DEFAULT_TOP)
        show(plan_view.parts(found.plan, shown), out)
        return
    from synctax.cli.progress import counting

    with counting(
        len(rows), what="layouts", verbosity=out.verbosity, doing="writing"
    ) as on_rows:
        emit(results.result(found, rows, on_rows=on_rows), out)


def _explain(found: "Found", out: Output) -> None:
    from synctax.cli import plan_results as results
    from synctax.report import plan_explain_view as view
    from synctax.report.output import emit, show

    one = results.explanation(found)
    if out.fmt == "table":
        show(view.parts(one, found.plan, found.tax.words), out)
    else:
        emit(results.explained(found, one), out)


def _compare(found: "Found", out: Output) -> None:
    from synctax.cli import plan_results as results
    from synctax.report import plan_compare_view as view
    from synctax.report.output import emit, show

    both = results.comparison(found)
    if out.fmt == "table":
        show(view.parts(both, found.plan.setting, found.tax.words), out)
    else:
        emit(results.compared(found, both), out)


def _export(found: "Found", framework: str, out: Output) -> None:
    from synctax.cli import plan_results as results
    from synctax.report.output import emit, notes, write

    if out.fmt not in ("table", "json"):
        raise click.UsageError(f"--export is text or JSON, not {out.fmt}")
    made = results.exported(found.plan, framework)
    notes([made.said], out)
    if out.fmt == "table":
        # as it is: a line that is broken to fit a terminal would be none of the framework
        write(f"{made.text}\n".encode(), out.path)
    else:
        extra = {"export": {"framework": framework, "text": made.text}}
        emit(results.result(found, made.row, extra), out)


def _needed(
    model: str | None,
    hardware: str | None,
    gpus: int | None,
    sequence: int | None,
    batch: int | None,
) -> tuple[str, str, int, int, int]:
    """Return what no plan can do without, or say all of it that is missing."""
    given = {
        "--model": model,
        "--hardware": hardware,
        "--gpus": gpus,
        "--sequence": sequence,
        "--batch": batch,
    }
    missing = [name for name, value in given.items() if value is None]
    if (
        model is None
        or hardware is None
        or gpus is None
        or sequence is None
        or batch is None
    ):
        raise click.UsageError(
            f"missing {', '.join(missing)}; --list-models and --list-hardware list names"
        )
    return model, hardware, gpus, sequence, batch


_AGAINST = {
    ("mfu", "tflops"): "--mfu and --tflops say the same; give one",
    ("layouts", "explained"): "--explain names its layout; leave out --layout",
    ("layouts", "wanted"): "--layout names its layouts; leave out --only",
    ("compared", "wanted"): "--compare names its layouts; leave out --only",
    ("explained", "wanted"): "--explain names its layout; leave out --only",
    ("layouts", "compared"): "--compare names its layouts; leave out --layout",
    ("explained", "compared"): "--explain and --compare exclude each other",
    ("explained", "exported"): "--explain and --export exclude each other",
    ("compared", "exported"): "--compare and --export exclude each other",
}
"""Options that exclude each other, by parameters."""

_IN_FULL = {"explained": "--explain", "compared": "--compare", "exported": "--export"}
"""Options that show one or two layouts."""

_OF_LISTS = {
    "top": "--top",
    "pareto": "--pareto",
    "feasible": "--feasible",
    "plot": "--plot",
}
"""Options that say which layouts are listed, or draw them."""


def _refuse_idle() -> None:
    """Refuse options that would change nothing: whoever gives one expects something."""
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    given = {
        name for name in context.params if context.get_parameter_source(name) != default
    }
    for (one, other), said in _AGAINST.items():
        if one in given and other in given:
            raise click.UsageError(said)
    for one, other in product(_IN_FULL, _OF_LISTS):
        if one in given and other in given:
            raise click.UsageError(
                f"{_OF_LISTS[other]} is for the list of layouts; leave it out with "
                f"{_IN_FULL[one]}"
            )
    _refuse_idle_tax(context, given)


def _refuse_idle_tax(context: click.Context, given: set[str]) -> None:
    of_tax = {
        "tax_method": "--tax-method",
        "tax_form": "--tax-form",
        "tax_ranks": "--tax-ranks",
        "tax_compute_us": "--tax-compute-us",
    }
    if context.params["source"] == "none":
        for name, option in of_tax.items():
            if name in given:
                raise click.UsageError(f"--tax none has no {option}")
    if "tax_compute_us" in given and context.params["tax_form"] == "absolute":
        raise click.UsageError(
            "--tax-form absolute takes no --tax-compute-us: it is in proportion to nothing"
        )
