"""Options of `characterize` by where profiles come from."""

from pathlib import Path

import click

from synctax.cli.options import MAX_NUMBER, together
from synctax.cli.plan_types import Count

_FILE = click.Path(path_type=Path)

pool_options = together(
    click.option(
        "--workload",
        "names",
        multiple=True,
        metavar="NAME",
        help="Of the pool (--list-workloads). Repeatable.  [default: all of it]",
    ),
    click.option(
        "--pool",
        type=_FILE,
        metavar="FILE",
        help="YAML with workloads of one's own.  [default: the twelve of the MoSim paper]",
    ),
    click.option(
        "--model",
        metavar="NAME|FILE",
        help="A transformer that `plan` knows or its YAML file, data-parallel only; with "
        "--sequence.",
    ),
    click.option(
        "--sequence", type=Count(MAX_NUMBER), metavar="TOKENS", help="Of it, of a sequence."
    ),
    click.option(
        "--batch-per-gpu",
        type=Count(MAX_NUMBER),
        metavar="N",
        help="Samples of a GPU in an iteration.  [default: of the workload; 1 of --model]",
    ),
)
"""What is trained."""

import_options = together(
    click.option(
        "--astra-log",
        type=_FILE,
        metavar="FILE",
        help="What ASTRA-sim printed, of any version; --astra-et tells the bytes.",
    ),
    click.option(
        "--astra-et",
        type=_FILE,
        metavar="PREFIX",
        help="Its workload: Chakra traces PREFIX.0.et, PREFIX.1.et, ... or their folder.",
    ),
    click.option(
        "--astra-network",
        type=_FILE,
        metavar="FILE",
        help="Its network, YAML; with --astra-et alone, times follow from the two.",
    ),
    click.option(
        "--astra-groups",
        type=_FILE,
        metavar="FILE",
        help="Its communicator groups, JSON.",
    ),
    click.option(
        "--astra-sim",
        type=_FILE,
        metavar="PROGRAM",
        help="Run this ASTRA-sim on --astra-et, --astra-network, --astra-system and "
        "--astra-memory.",
    ),
    click.option("--astra-system", type=_FILE, metavar="FILE", help="Its system, JSON."),
    click.option("--astra-memory", type=_FILE, metavar="FILE", help="Its memory, JSON."),
    click.option(
        "--simai",
        type=_FILE,
        metavar="FILE",
        help="Times that SimAI wrote, such as EndToEnd.csv; --simai-workload tells the "
        "bytes.",
    ),
    click.option(
        "--simai-workload",
        type=_FILE,
        metavar="FILE",
        help="The workload that AICB made for it; else --gpus tells how many there are.",
    ),
    click.option(
        "--iterations",
        type=Count(MAX_NUMBER),
        metavar="N",
        help="That ASTRA-sim or SimAI simulated, or that traces hold which mark no steps.  "
        "[default: 1]",
    ),
    click.option("--measured", is_flag=True, help="Of the traces that were measured last."),
)
"""Profiles that others tell."""
