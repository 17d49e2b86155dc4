"""How a comparison is asked for."""

from dataclasses import dataclass

DEFAULT_LEVEL = 0.95
DEFAULT_RESAMPLES = 2000

LEAST_RESAMPLES = 100
"""Fewer tell no standard error."""

LEAST_LEVEL, MOST_LEVEL = 0.5, 0.9999
"""What is called change below the one would mostly be chance."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to compare.

    Parameters
    ----------
    level : float
        Of intervals; of differences that are called changes, a share of at most 1 - level
        is expected to be chance.
    resamples : int
        How often units are drawn anew.
    seed : int
        Of the draws.
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
        if self.resamples < LEAST_RESAMPLES:
            raise ValueError(
                f"resamples must be {LEAST_RESAMPLES} or more, not {self.resamples}"
            )
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, and {self.seed} is")
