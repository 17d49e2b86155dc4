"""Draw what happened anew: whole runs, steps, or blocks of neighbours, as weights.

Collectives of a step share what made a rank late, and steps follow one another: they are
no independent draws. So what is drawn is a unit (a profiler step, or a few neighbouring
collectives where no step is marked), in blocks of neighbouring units of the same series
(a window of a run). Of several runs whole runs are drawn, and of a run with several windows
whole windows: what steps within them differ by is in them already. Of a few windows, units
within each: what the windows differ by is then in no draw.
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

LEAST_WINDOWS = 5
"""Of a run with so many windows whole windows are drawn."""

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
    def windows(self) -> tuple[int, ...]:
        """Units of each window that has any."""
        return tuple(size for size in self.sizes if size)

    @property
    def whole(self) -> bool:
        """Whether whole windows are drawn."""
        return len(self.windows) >= LEAST_WINDOWS

    @property
    def strata(self) -> int:
        """How many windows units are drawn within, each for itself."""
        return 1 if self.whole else max(len(self.windows), 1)

    @property
    def blocks(self) -> float:
        """How many there are to draw from; may be a fraction, 0 where one cannot."""
        if self.whole:
            return float(len(self.windows))
        each = [size / self.length(size) for size in self.windows]
        if len(each) > 1 and min(each) <= 1:
            # what such a window varies by is not known
            return 0.0
        return float(sum(each))

    def length(self, size: int) -> int:
        """Units of a block in a window of this size: two blocks at least in a stratum."""
        if len(self.windows) == 1:
            return min(self.block_length, size)
        return min(self.block_length, max(size // 2, 1))


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
    Rao and Wu, Resampling inference with complex survey data, Journal of the American
    Statistical Association 83 (1988), 231-241: within strata, one less than there are.
    """
    if len(runs) > 1:
        drawn = random.multinomial(
            len(runs), np.full(len(runs), 1 / len(runs)), size=resamples
        )
        return np.repeat(drawn, [len(run) for run in runs], axis=1).astype(np.float64)
    if not runs:
        return np.empty((resamples, 0))
    one = runs[0]
    windows = one.windows
    if one.whole:
        drawn = random.multinomial(
            len(windows), np.full(len(windows), 1 / len(windows)), size=resamples
        )
        return np.repeat(drawn, windows, axis=1).astype(np.float64)
    if len(windows) == 1:
        size = windows[0]
        return _circular((size, size), one.length(size), resamples, random)
    parts = [_stratum(size, one.length(size), resamples, random) for size in windows]
    return np.concatenate(parts, axis=1) if parts else np.empty((resamples, 0))


def _stratum(size: int, length: int, resamples: int, random: np.random.Generator) -> F64:
    """Draw a block less than there are, and weigh what is drawn as the whole window.

    Variances of resamples are then right in every window, however many there are.
    """
    if size == length:
        return np.ones((resamples, size))
    drawn = _circular((size, size - length), length, resamples, random)
    return drawn * (size / (size - length))


def _circular(
    of: tuple[int, int], length: int, resamples: int, random: np.random.Generator
) -> F64:
    """Cover so many units of a ring by as many blocks as it takes, the last one cut."""
    size, covers = of
    pieces = -(-covers // length)
    start = random.integers(size, size=(resamples, pieces))
    last = covers - (pieces - 1) * length
    span = np.full(pieces, length)
    span[-1] = last
    counts = np.zeros((resamples, 2 * size + 1))
    row = np.arange(resamples)[:, None]
    np.add.at(counts, (row, start), 1.0)
    np.add.at(counts, (row, start + span), -1.0)
    covered = np.cumsum(counts[:, :-1], axis=1)
    return np.asarray(covered[:, :size] + covered[:, size:])


def freedom(runs: Sequence[Series]) -> float:
    """Count what is drawn independently: runs if there are several, else windows or blocks.

    Parameters
    ----------
    runs : sequence of Series

    Returns
    -------
    float
        1 or less where nothing can be said of chance.
    """
    return float(len(runs)) if len(runs) > 1 else runs[0].blocks if runs else 0.0


def strata(runs: Sequence[Series]) -> int:
    """Count what units are drawn within, each for itself: windows where they are few.

    Parameters
    ----------
    runs : sequence of Series

    Returns
    -------
    int
        1 where all that is drawn is drawn from one lot.
    """
    return runs[0].strata if len(runs) == 1 else 1


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
