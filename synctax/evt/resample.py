"""Draw instances anew, in blocks of time, and standardise what was drawn."""

import math
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64
from synctax.evt.cut import units
from synctax.evt.deviations import deviations_us
from synctax.evt.model import BlockTimes
from synctax.evt.standard import Standard
from synctax.notes import Note

MOST_ROWS = 25_000
"""Rows of one resample: of more, a part is drawn that varies by more, as is allowed for."""

MOST_VALUES = 400_000
"""Block times of one resample."""

LONGEST_SHARE = 0.1
"""A block of the resample spans at most this share of its series."""


@dataclass(frozen=True, slots=True)
class Units:
    """Instances as what is drawn: all rows of one, in order of time within its series.

    Parameters
    ----------
    row, rows : (u,) int64
        First row of each instance, and how many it has.
    series, block : (u,) int64
        Of each instance; series numbered from 0 without gaps.
    begin, size : (s,) int64
        First instance of each series, and how many it has.
    """

    row: I64
    rows: I64
    series: I64
    block: I64
    begin: I64
    size: I64

    def __len__(self) -> int:
        return int(self.row.size)

    def rows_of(self, drawn: I64) -> I64:
        """List the rows of instances, in the order in which these were drawn."""
        counts = self.rows[drawn]
        offset = np.cumsum(counts) - counts
        first: I64 = np.repeat(self.row[drawn] - offset, counts)
        return np.asarray(first + np.arange(first.size))


def units_of(times: BlockTimes) -> Units:
    """Find the instances of block times.

    Parameters
    ----------
    times : BlockTimes
        i > 0 rows.

    Returns
    -------
    Units
    """
    number = units(times)
    row = np.flatnonzero(np.diff(number, prepend=-1))
    rows = np.diff(np.append(row, number.size))
    _, begin, series, size = np.unique(
        times.series[row], return_index=True, return_inverse=True, return_counts=True
    )
    return Units(row, rows, series, times.block[row], begin, size)


@dataclass(frozen=True, slots=True)
class Memory:
    """How long instances remember those before them.

    Parameters
    ----------
    autocorrelation : (k,) float64
        Of instance maxima at lags 1 ... k; the last one is the first below the bound.
    bound : float
        2/√J: what chance alone rarely exceeds.
    block_length : int
        Instances that are drawn together: twice the first lag below the bound.
    effective : float
        Independent instances that would tell as much.
    blocks : float
        Blocks that a resample consists of.
    """

    autocorrelation: F64
    bound: float
    block_length: int
    effective: float
    blocks: float = math.inf


def memory(standard: Standard) -> Memory:
    """Measure the autocorrelation of instance maxima, pooled over series.

    What blocks and series differ by on average is no memory and is taken off first.

    Parameters
    ----------
    standard : Standard

    Returns
    -------
    Memory
    """
    u = units_of(standard.times)
    mean_z = np.add.reduceat(standard.z, u.row) / u.rows
    cell = u.series * len(standard.times.blocks) + u.block
    _, cell, count = np.unique(cell, return_inverse=True, return_counts=True)
    z = mean_z - (np.bincount(cell, mean_z) / count)[cell]
    bound = 2 / np.sqrt(len(u))
    power = float(z @ z)
    longest = max(int(LONGEST_SHARE * u.size.max()) // 2, 1)
    found: list[float] = []
    while len(found) < longest and (not found or found[-1] >= bound):
        lag = len(found) + 1
        same = u.series[lag:] == u.series[:-lag]
        found.append(float((z[lag:] * z[:-lag])[same].sum()) / power if power else 0.0)
    correlated = sum(r for r in found if r >= bound)
    length = max(min(2 * len(found), int(LONGEST_SHARE * u.size.max())), 1)
    return Memory(
        autocorrelation=np.array(found),
        bound=float(bound),
        block_length=length,
        effective=len(u) / (1 + 2 * correlated),
        blocks=float(_pieces(u, u.size, length)[0].sum()),
    )


def _pieces(u: Units, size: I64, block_length: int) -> tuple[I64, I64]:
    """Count the blocks that `size` of each series are drawn in, and their lengths."""
    length = np.clip((LONGEST_SHARE * u.size).astype(np.int64), 1, block_length)
    return -(-size // length), length


def drawn_share(rows: int, m: int) -> float:
    """Tell what share of the instances a resample draws: all, unless there are very many.

    Parameters
    ----------
    rows, m : int
        Rows of block times, and the ranks of each.
    """
    return min(1.0, MOST_ROWS / rows, MOST_VALUES / (rows * m))


def as_of_all(resampled: F64, share: float) -> F64:
    """Bring estimates of resamples of a share of the instances to the spread of all.

    Parameters
    ----------
    resampled : (r, k) float64
        Positive estimates of r resamples; NaN where one failed.
    share : float
        What each drew of the instances: logarithms vary as 1/√share.

    Returns
    -------
    (r, k) float64
        The same about the same mean of the logarithm, NaN where it is not known.

    References
    ----------
    Bickel, Götze and van Zwet, Resampling fewer than n observations, 1997.
    """
    if share == 1:
        return resampled
    known = np.isfinite(resampled) & (resampled > 0)
    logs = np.log(np.where(known, resampled, 1.0))
    mean = logs.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    scaled = np.exp(mean + math.sqrt(share) * (logs - mean))
    return np.asarray(np.where(known, scaled, np.nan))


def notes_of(u: Units, share: float) -> tuple[Note, ...]:
    """Tell where resamples draw but a share of the instances.

    Parameters
    ----------
    u : Units
    share : float
    """
    if share == 1:
        return ()
    some = math.ceil(share * len(u))
    detail = f"instances, of which a resample draws {some:,}; intervals are scaled to all"
    return (Note("resample_of_some", len(u), detail),)


def draw(
    u: Units, block_length: int, random: np.random.Generator, share: float = 1.0
) -> I64:
    """Draw as many instances as each series has, or a share: circular blocks of its own.

    Parameters
    ----------
    u : Units
    block_length : int
        Instances drawn together; in a short series at most a tenth of it.
    random : numpy.random.Generator
    share : float, optional
        Part of each series that is drawn, at least one of its instances.

    Returns
    -------
    (u,) int64
        Instances, series after series; fewer for a share.

    References
    ----------
    Politis and Romano, A circular block-resampling procedure for stationary data, 1992.
    """
    count = np.ceil(u.size * share).astype(np.int64)
    pieces, length = _pieces(u, count, block_length)
    first = np.cumsum(pieces) - pieces
    series = np.repeat(np.arange(u.size.size), pieces)
    start = (random.random(series.size) * u.size[series]).astype(np.int64)
    of = np.repeat(np.arange(u.size.size), count)
    within = np.arange(of.size) - (np.cumsum(count) - count)[of]
    piece, offset = np.divmod(within, length[of])
    at = (start[first[of] + piece] + offset) % u.size[of]
    return np.asarray(u.begin[of] + at)


@dataclass(frozen=True, slots=True)
class Sample:
    """What the predictors need of a resample.

    Parameters
    ----------
    z : (i,) float64
        Maxima, standardised by mean and spread of the resample.
    b_us : float
        Mean spread of the blocks, in µs, in the mix of the data.
    block_b_us : (c,) float64
        Spread of each.
    rows : (i,) int64
        Rows that were drawn.
    weight : (c,) float64
        Instances of each block in the data; 0 where none was drawn.
    """

    z: F64
    b_us: float
    block_b_us: F64
    rows: I64
    weight: F64


@dataclass(frozen=True, slots=True)
class Resampler:
    """Block times with all that resamples share computed once.

    Parameters
    ----------
    units : Units
    block : (i,) int64
        Block of each row.
    mix : (c,) int64
        How many instances of each block a prediction is for.
    m : int
        Ranks of a row.
    maximum, total, squares : (i,) float64
        Of each row, relative to the mean of its block: maximum, sum, sum of squares.
    d_us : (i, m) float64 or None
        Deviations from the mean of the row; None for single ranks.
    """

    units: Units
    block: I64
    mix: I64
    m: int
    maximum: F64
    total: F64
    squares: F64
    d_us: F64 | None

    def sample(self, drawn: I64) -> Sample:
        """Standardise the instances that were drawn, as `standardise` does.

        A step runs each block a fixed number of times: the mix of blocks is no matter of
        chance, and stays that of the data however many of each were drawn.
        """
        rows = self.units.rows_of(drawn)
        block = self.block[rows]
        count = int(self.block.max()) + 1
        values = np.maximum(np.bincount(block, minlength=count) * self.m, 2)
        mean = np.bincount(block, self.total[rows], count) / values
        squares = np.bincount(block, self.squares[rows], count)
        b_us = np.sqrt((squares - values * mean * mean).clip(min=0) / (values - 1))
        seen = np.bincount(self.units.block[drawn], minlength=count) > 0
        weight = np.where(seen, self.mix, 0).astype(np.float64)
        if not weight.any():  # a draw may miss all blocks that are predicted for
            weight = seen.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (self.maximum[rows] - mean[block]) / b_us[block]
        # a block of one instance, drawn again and again, may have no spread
        return Sample(
            z=z[b_us[block] > 0],
            b_us=float(np.average(b_us, weights=weight)),
            block_b_us=b_us,
            rows=rows,
            weight=weight,
        )


def resampler(standard: Standard) -> Resampler:
    """Prepare resamples of standardised block times.

    Parameters
    ----------
    standard : Standard

    Returns
    -------
    Resampler
    """
    times = standard.times
    off = times.us - standard.a_us[times.block, None]
    return Resampler(
        units=units_of(times),
        block=times.block,
        mix=standard.instances,
        m=times.m,
        maximum=off.max(axis=1),
        total=off.sum(axis=1),
        squares=(off * off).sum(axis=1),
        d_us=deviations_us(times) if times.m > 1 else None,
    )
