"""Draw what happened anew: whole runs, steps, or blocks of neighbours, as weights.

Collectives of a step share what made a rank late, and steps follow one another: they are
no independent draws. So what is drawn is a unit (a profiler step, or a few neighbouring
collectives where no step is marked), in blocks of neighbouring units of the same series
(a window of a run). Of several runs whole runs are drawn, and of a run with several windows
whole windows: what steps within them differ by is in them already. Of a few windows, units
within each: what the windows differ by is then in no draw.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64

MOST_UNITS = 2_000
"""Units of a run; neighbours are put together where it has more."""

CELLS = 4_000_000
"""Numbers that an array made of resamples may have; there are as many at a time as fit."""

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


@dataclass(frozen=True, slots=True)
class Drawn:
    """How often units were drawn, a resample a row: `counts[:, lot] * scale[lot]`.

    What is drawn together is counted once, in as few bytes as hold it. Of one run there are
    at most `MOST_UNITS` lots, or as many as windows: 100,000 resamples then hold 200 MB.
    What is made of them is made of `CELLS` numbers (32 MB) at a time.

    Parameters
    ----------
    counts : (r, l) unsigned integers
        Of lots: units, or whole windows or runs.
    lot : (u,) int64
        Of each unit.
    scale : (l,) float64
        What a count weighs.
    """

    counts: np.ndarray
    lot: I64
    scale: F64

    @property
    def weights(self) -> F64:
        """How often each unit was drawn, run after run; (r, u) float64."""
        return np.asarray((self.counts * self.scale)[:, self.lot])

    def summed(self, unit: I64, values: F64) -> F64:
        """Add up what there is of each lot.

        Parameters
        ----------
        unit : (k,) int64
        values : (k,) float64

        Returns
        -------
        (l,) float64
        """
        return np.asarray(np.bincount(self.lot[unit], values, self.scale.size), np.float64)

    def sums(self, of_lots: F64) -> F64:
        """Sum over what was drawn.

        Parameters
        ----------
        of_lots : (l, k) float64

        Returns
        -------
        (r, k) float64
        """
        found = np.empty((len(self.counts), of_lots.shape[1]))
        for rows, part in self.parts(of_lots):
            found[rows] = part
        return found

    def parts(self, of_lots: F64) -> Iterator[tuple[slice, F64]]:
        """Sum over what was drawn, some resamples at a time.

        Parameters
        ----------
        of_lots : (l, k) float64

        Yields
        ------
        slice, (s, k) float64
            Which resamples, and their sums.
        """
        scaled = of_lots * self.scale[:, None]
        for rows in _batches(len(self.counts), max(*of_lots.shape, 1)):
            yield rows, self.counts[rows].astype(np.float64) @ scaled


def _batches(resamples: int, width: int) -> Iterator[slice]:
    """Cut resamples so that arrays of a width have no more than `CELLS` numbers."""
    each = max(CELLS // max(width, 1), 1)
    for begin in range(0, resamples, each):
        yield slice(begin, min(begin + each, resamples))


def draw(runs: Sequence[Series], resamples: int, random: np.random.Generator) -> Drawn:
    """Draw all units anew many times.

    Parameters
    ----------
    runs : sequence of Series
        Of one side.
    resamples : int
    random : Generator

    Returns
    -------
    Drawn
        Units run after run.

    References
    ----------
    Politis and Romano, A circular block-resampling procedure for stationary data, 1992.
    Davison and Hinkley, Bootstrap Methods and their Application (1997), section 3.8: runs
    with replacement, and all that is in them, come closest to how means of runs vary.
    Rao and Wu, Resampling inference with complex survey data, Journal of the American
    Statistical Association 83 (1988), 231-241: within strata, one less than there are.
    """
    if len(runs) > 1:
        return _whole([len(run) for run in runs], resamples, random)
    if not runs:
        nothing = np.empty(0)
        return Drawn(np.empty((resamples, 0), np.uint8), nothing.astype(np.int64), nothing)
    one = runs[0]
    windows = one.windows
    if one.whole:
        return _whole(windows, resamples, random)
    counts, scales = [], []
    for size in windows:
        length = one.length(size)
        # of several windows a block less than there are is drawn, and weighed as the whole
        # window: variances of resamples are then right in each, however many there are
        covers = size if len(windows) == 1 else size - length
        counts.append(_circular((size, covers), length, resamples, random))
        scales.append(np.full(size, size / covers if covers else 1.0))
    lots = np.arange(len(one))
    return Drawn(np.concatenate(counts, axis=1), lots, np.concatenate(scales))


def _whole(sizes: Sequence[int], resamples: int, random: np.random.Generator) -> Drawn:
    """Draw runs or windows with all that is in them."""
    lots = len(sizes)
    counts = np.empty((resamples, lots), np.min_scalar_type(lots))
    for rows in _batches(resamples, lots):
        size = rows.stop - rows.start
        counts[rows] = random.multinomial(lots, np.full(lots, 1 / lots), size=size)
    return Drawn(counts, np.repeat(np.arange(lots), sizes), np.ones(lots))


def _circular(
    of: tuple[int, int], length: int, resamples: int, random: np.random.Generator
) -> np.ndarray:
    """Cover so many units of a ring by as many blocks as it takes, the last one cut.

    Where none is to be covered there is nothing to draw, and every unit counts once.
    """
    size, covers = of
    if not covers:
        return np.ones((resamples, size), np.uint8)
    pieces = -(-covers // length)
    span = np.full(pieces, length)
    span[-1] = covers - (pieces - 1) * length
    counts = np.empty((resamples, size), np.min_scalar_type(pieces))
    for rows in _batches(resamples, 2 * size + 1):
        start = random.integers(size, size=(rows.stop - rows.start, pieces))
        counts[rows] = _covered(start, span, size)
    return counts


def _covered(start: I64, span: I64, size: int) -> I64:
    """Count how many of some spans of a ring lie over each unit, (r, size) int64."""
    width = 2 * size + 1
    row = width * np.arange(len(start))[:, None]
    whole = width * len(start)
    turns = np.bincount((row + start).ravel(), minlength=whole)
    turns -= np.bincount((row + start + span).ravel(), minlength=whole)
    over = np.cumsum(turns.reshape(-1, width)[:, :-1], axis=1)
    return np.asarray(over[:, :size] + over[:, size:])


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


def pieces_of(count: int, most: int = MOST_UNITS) -> I64:
    """Number neighbours so that there are no more than `most` units.

    Parameters
    ----------
    count : int
    most : int, optional

    Returns
    -------
    (count,) int64
        Unit of each, ascending without gaps.
    """
    return np.arange(count) // max(-(-count // most), 1)
