"""How a fit is asked for."""

from dataclasses import dataclass

from synctax.evt.tax import DEFAULT_LEVEL

DEFAULT_RESAMPLES = 400
"""How often instances are drawn anew where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to fit.

    Parameters
    ----------
    fit_ranks : int, optional
        Ranks to cut groups to; those of the smallest group if absent.
    n : tuple of int, optional
        Ranks to predict for; from the ranks of the fit by doubling to 4,096, with 72, 512
        and the groups' own size, if absent.
    level : float
        Of intervals.
    resamples : int
        Draws of instances for the intervals of predictions.
    seed : int
        Of cuts and draws.
    """

    fit_ranks: int | None = None
    n: tuple[int, ...] | None = None
    level: float = DEFAULT_LEVEL
    resamples: int = DEFAULT_RESAMPLES
    seed: int = 0
