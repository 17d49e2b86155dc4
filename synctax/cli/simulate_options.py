"""Options of simulations: which jobs, how NICs are shared, what waiting costs."""

from collections.abc import Mapping
from typing import Any

import click

from synctax.cli.bandwidth_types import Within
from synctax.cli.options import MAX_NUMBER, together
from synctax.cli.plan_options import tax_compute_option, tax_method_option
from synctax.cli.plan_types import Count
from synctax.cluster.choices import (
    BASES,
    COUNTINGS,
    MIN_BANDWIDTH_SHARE,
    MODELS,
    SCOPES,
    STATIC_FACTOR,
)
from synctax.schema.jobs import MOST_JOBS

PHILLY_LIKE = "philly-like"
"""The name of a trace that is made up."""

DEFAULT_JOBS = 60
"""Of a trace that is made up, as in the MoSim paper."""

NO_TAX = "none"
FITTED = "fitted"
"""Asks for the tax that was fitted last."""


jobs_option = click.option(
    "--jobs",
    type=Count(MOST_JOBS),
    metavar="N",
    help=f"Jobs that {PHILLY_LIKE} makes up.  [default: {DEFAULT_JOBS}]",
)

counting_option = click.option(
    "--counting",
    type=click.Choice(COUNTINGS),
    default="paper",
    show_default=True,
    help="What network_bytes of a row that does not say it count: paper is 2V/N a NIC "
    "(V/N for 2 GPUs), sent V/N, sent+received half of that.",
)

pool_option = click.option(
    "--pool",
    metavar="FILE",
    help="YAML with the workloads that rows name and others are drawn from.  [default: "
    "the 12 of the MoSim paper]",
)

job_options = together(
    jobs_option,
    click.option(
        "--seed",
        type=click.IntRange(0, MAX_NUMBER),
        default=0,
        show_default=True,
        metavar="N",
        help="Of workloads that are drawn, of jobs that are made up, of intervals.",
    ),
    counting_option,
    pool_option,
)
"""Which jobs: `jobs`, `seed`, `counting`, `pool`."""

model_options = together(
    click.option(
        "--model",
        type=click.Choice(MODELS),
        default=MODELS[0],
        show_default=True,
        help="mosim: NICs are shared by demand; tiresias: no contention; pollux: one "
        "factor while a NIC is shared.",
    ),
    click.option(
        "--demand-basis",
        "basis",
        type=click.Choice(BASES),
        default=BASES[0],
        show_default=True,
        help="What bytes of an iteration are divided by: its time, its network time, or "
        "(overlap) network time for a job's own and time for those of others.",
    ),
)
"""Whose rules: `model`, `basis`."""

sharing_options = together(
    click.option(
        "--min-bandwidth-share",
        type=Within(1e-9, 1, or_0=True),
        default=MIN_BANDWIDTH_SHARE,
        show_default=True,
        metavar="SHARE",
        help="Of a NIC, that a job has at least (MIN_BW).",
    ),
    click.option(
        "--normalise-solo",
        is_flag=True,
        help="Divide S by that of the job alone: for profiles of a faster network.",
    ),
    click.option(
        "--static-factor",
        type=Within(1, 1e6),
        default=STATIC_FACTOR,
        show_default=True,
        metavar="FACTOR",
        help="Of pollux.",
    ),
    click.option(
        "--static-scope",
        type=click.Choice(SCOPES),
        default=SCOPES[0],
        show_default=True,
        help="Whether that is on iterations or on their network time.",
    ),
    click.option(
        "--placement-aware",
        is_flag=True,
        help="Jobs on one server take their network time over NVLink.",
    ),
)
"""How NICs are shared: all other fields of `Contention`."""

contention_options = together(model_options, sharing_options)
"""The fields of `Contention`."""

job_tax_options = together(
    click.option(
        "--tax",
        "source",
        metavar="SOURCE",
        default=NO_TAX,
        show_default=True,
        help="What workers wait for each other: none, a file that fit-evt --tax FILE "
        f"wrote, llama3-70b-h200, or {FITTED} (what was fitted last).",
    ),
    tax_method_option,
    tax_compute_option,
)
"""What waiting at barriers costs: `source`, `tax_method`, `tax_compute_us`."""

_OF_MODELS = {
    "basis": ("mosim", "--demand-basis"),
    "min_bandwidth_share": ("mosim", "--min-bandwidth-share"),
    "normalise_solo": ("mosim", "--normalise-solo"),
    "static_factor": ("pollux", "--static-factor"),
    "static_scope": ("pollux", "--static-scope"),
}
"""Options that one model reads, by parameters."""

_OF_TAX = {
    "tax_method": "--tax-method",
    "tax_compute_us": "--tax-compute-us",
    "workspace": "--workspace",
    "no_cache": "--no-cache",
}


def given() -> set[str]:
    """Name the parameters of the command that runs which were given."""
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    return {
        name for name in context.params if context.get_parameter_source(name) != default
    }


def refuse_idle(asked: set[str], params: Mapping[str, Any]) -> None:
    """Refuse options that would change nothing: whoever gives one expects something.

    Parameters
    ----------
    asked : set of str
        Parameters that were given.
    params : mapping
        Values of all.

    Raises
    ------
    UsageError
    """
    refuse_models(asked, (params["model"],))
    refuse_trace(asked, params["trace"])
    refuse_tax(asked, params["source"])


def refuse_trace(asked: set[str], trace: str | None) -> None:
    """Refuse options of files for jobs that are made up, and the other way round."""
    made_up = trace == PHILLY_LIKE
    if "jobs" in asked and not made_up:
        raise click.UsageError(f"--jobs is for {PHILLY_LIKE}; a file has its own jobs")
    if "counting" in asked and made_up:
        raise click.UsageError(
            f"--counting is for network_bytes of a file, and {PHILLY_LIKE} has none"
        )


def refuse_models(asked: set[str], models: tuple[str, ...]) -> None:
    """Refuse options of models that are not asked for."""
    for name, (model, option) in _OF_MODELS.items():
        if name in asked and model not in models:
            raise click.UsageError(f"{option} is for --model {model}")


def refuse_tax(asked: set[str], source: str) -> None:
    """Refuse options of a tax that is not asked for."""
    for name, option in _OF_TAX.items():
        of_fit = name in ("workspace", "no_cache")
        if name in asked and (source == NO_TAX or (of_fit and source != FITTED)):
            wanted = FITTED if of_fit else "SOURCE"
            raise click.UsageError(f"{option} is for --tax {wanted}")
