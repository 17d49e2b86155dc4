"""Draw what happened anew: whole runs, steps, or blocks of neighbours, as weights.

Collectives of a step share what made a rank late, and steps follow one another: they are
no independent draws. So what is drawn is a unit (a profiler step, or a few neighbouring
collectives where no step is marked), in blocks of neighbouring units of the same series
(a window of a run). Of several runs whole runs are drawn: what steps within them differ by
is in them already.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64

MOST_UNITS = 2_000
"""Units of a run; neighbours are put together where it has more."""

LEAST_BLOCKS = 4
"""A run is cut into at least so many blocks, where it has the units."""

_SIGNIFICANT = 2.0
"""Standard errors of an autocorrelation that chance rarely exceeds."""


@dataclass(frozen=True, slots=True)
class Series:
    """Units of one run, window after window.

    Parameters
    ----------
    sizes : tuple of int
        Units of each window, in order of time.
    block_length : int
        Neighbouring units that are drawn together.
    """

    sizes: tuple[int, ...]
    block_length: int

    def __len__(self) -> int:
        return sum(self.sizes)

    @property
    def blocks(self) -> float:
        """How many blocks there are to draw from; may be a fraction."""
        return sum(size / min(self.block_length, size) for size in self.sizes if size)


def block_length(values: F64, sizes: Sequence[int]) -> int:
    """Choose how many neighbouring units are drawn together.

    The cube root of their number, or twice the first lag at which ranks of the values are
    no longer correlated, if that is more; at most a quarter of the longest series.

    Parameters
    ----------
    values : (u,) float64
        Of each unit, series after series.
    sizes : sequence of int
        Of the series.

    Returns
    -------
    int

    References
    ----------
    Hall, Horowitz and Jing, On blocking rules for the bootstrap with dependent data, 1995.

    Examples
    --------
    >>> block_length(np.arange(5.0), [5]), block_length(np.tile([0.0, 1.0], 40), [80])
    (1, 5)
    """
    longest = int(max(sizes, default=0))
    most = max(longest // LEAST_BLOCKS, 1)
    if most == 1:
        return 1
    series = np.repeat(np.arange(len(sizes)), sizes)
    rank = np.empty(values.size)
    rank[np.argsort(values, kind="stable")] = np.arange(values.size)
    _, tie = np.unique(values, return_inverse=True)
    rank = (np.bincount(tie, rank) / np.bincount(tie))[tie]
    mean = np.bincount(series, rank, len(sizes)) / np.maximum(sizes, 1)
    z = rank - mean[series]
    power = float(z @ z)
    bound = _SIGNIFICANT / math.sqrt(values.size)
    lag = 0
    while power and lag < most:
        following = series[lag + 1 :] == series[: -lag - 1]
        if (z[lag + 1 :] * z[: -lag - 1])[following].sum() / power < bound:
            break
        lag += 1
    memory = 2 * (lag + 1) if lag else 1
    cube_root = math.ceil(float(longest) ** (1 / 3) - 1e-9)
    return int(min(max(cube_root, memory), most))


def weights(runs: Sequence[Series], resamples: int, random: np.random.Generator) -> F64:
    """Draw all units anew many times.

    Parameters
    ----------
    runs : sequence of Series
        Of one side.
    resamples : int
    random : Generator

    Returns
    -------
    (resamples, u) float64
        How often each unit was drawn, run after run.

    References
    ----------
    Politis and Romano, A circular block-resampling procedure for stationary data, 1992.
    Davison and Hinkley, Bootstrap Methods and their Application (1997), section 3.8: runs
    with replacement, and all that is in them, come closest to how means of runs vary.
    """
    if len(runs) > 1:
        drawn = random.multinomial(
            len(runs), np.full(len(runs), 1 / len(runs)), size=resamples
        )
        return np.repeat(drawn, [len(run) for run in runs], axis=1).astype(np.float64)
    parts = [
        _circular(size, min(runs[0].block_length, size), resamples, random)
        for size in runs[0].sizes
        if size
    ]
    return np.concatenate(parts, axis=1) if parts else np.empty((resamples, 0))


def _circular(size: int, length: int, resamples: int, random: np.random.Generator) -> F64:
    """Cover a ring of units by as many blocks as it takes, the last one cut."""
    pieces = -(-size // length)
    start = random.integers(size, size=(resamples, pieces))
    last = size - (pieces - 1) * length
    span = np.full(pieces, length)
    span[-1] = last
    counts = np.zeros((resamples, 2 * size + 1))
    row = np.arange(resamples)[:, None]
    np.add.at(counts, (row, start), 1.0)
    np.add.at(counts, (row, start + span), -1.0)
    covered = np.cumsum(counts[:, :-1], axis=1)
    return np.asarray(covered[:, :size] + covered[:, size:])


def freedom(runs: Sequence[Series]) -> float:
    """Count what is drawn independently: runs if there are several, else blocks.

    Parameters
    ----------
    runs : sequence of Series

    Returns
    -------
    float
        1 or less where nothing can be said of chance.
    """
    return float(len(runs)) if len(runs) > 1 else runs[0].blocks if runs else 0.0


def pieces_of(count: int) -> I64:
    """Number neighbours so that there are no more than `MOST_UNITS` units.

    Parameters
    ----------
    count : int

    Returns
    -------
    (count,) int64
        Unit of each, ascending without gaps.
    """
    return np.arange(count) // max(-(-count // MOST_UNITS), 1)
