"""How a comparison is asked for."""

import operator
from dataclasses import dataclass

DEFAULT_LEVEL = 0.95
DEFAULT_RESAMPLES = 2000

LEAST_RESAMPLES = 100
"""Fewer tell no standard error."""

MOST_RESAMPLES = 100_000
"""More make no number surer, and take memory."""

LEAST_LEVEL, MOST_LEVEL = 0.5, 0.9999
"""What is called change below the one would mostly be chance."""

FAIL_ON = {
    "median": "tax_max_us_median",
    "mean": "tax_max_us_mean",
    "p90": "tax_max_us_p90",
    "wait": "tax_mean_us_mean",
    "transfer": "transfer_us_median",
    "step": "step_us_mean",
}
"""Quantities that a gate may hold, by short names."""

WORDS = {
    "tax_max_us_median": "median tax",
    "tax_max_us_mean": "mean tax",
    "tax_max_us_p90": "90 % quantile of the tax",
    "tax_mean_us_mean": "mean wait",
    "transfer_us_median": "median transfer",
    "step_us_mean": "mean time of a step",
}
"""What these are called in sentences."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to compare.

    Parameters
    ----------
    level : float
        Of intervals; of differences that are called changes, a share of at most 1 - level
        is expected to be chance.
    resamples : int
        How often units are drawn anew, from `LEAST_RESAMPLES` to `MOST_RESAMPLES`.
    seed : int
        Of the draws.

    Raises
    ------
    TypeError, ValueError
        If resamples or seed are no whole numbers, or anything is out of its range.
    """

    level: float = DEFAULT_LEVEL
    resamples: int = DEFAULT_RESAMPLES
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no comparison can be made with."""
        if not LEAST_LEVEL <= self.level <= MOST_LEVEL:
            raise ValueError(
                f"level must lie from {LEAST_LEVEL} to {MOST_LEVEL}, not {self.level}"
            )
        for name in ("resamples", "seed"):
            given = getattr(self, name)
            try:
                operator.index(given)
            except TypeError:
                raise TypeError(f"{name} must be a whole number, not {given}") from None
        if not LEAST_RESAMPLES <= self.resamples <= MOST_RESAMPLES:
            raise ValueError(
                f"resamples must be from {LEAST_RESAMPLES} to {MOST_RESAMPLES}, not "
                f"{self.resamples}"
            )
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, and {self.seed} is")

    @property
    def alpha(self) -> float:
        """Share of false alarms: 1 - level, without what floats add to it."""
        return round(1 - self.level, 12)
