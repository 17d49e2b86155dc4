"""Options of commands that draw anew, and tell changes from chance at a level."""

from typing import Any

import click

from synctax.cli.options import Decorator, together
from synctax.comparison.options import (
    DEFAULT_LEVEL,
    DEFAULT_RESAMPLES,
    LEAST_LEVEL,
    LEAST_RESAMPLES,
    MOST_LEVEL,
    MOST_RESAMPLES,
)

resampling_options: Decorator[Any] = together(
    click.option(
        "--level",
        type=click.FloatRange(LEAST_LEVEL, MOST_LEVEL),
        metavar="P",
        default=DEFAULT_LEVEL,
        show_default=True,
        help="Level of intervals; 1 - P is the share of false alarms.",
    ),
    click.option(
        "--resamples",
        type=click.IntRange(LEAST_RESAMPLES, MOST_RESAMPLES),
        metavar="N",
        default=DEFAULT_RESAMPLES,
        show_default=True,
        help="How often steps (or runs) are drawn anew.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        metavar="N",
        default=0,
        show_default=True,
        help="Of the draws.",
    ),
)
"""`level: float`, `resamples: int` and `seed: int`."""
