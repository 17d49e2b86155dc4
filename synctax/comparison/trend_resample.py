"""How far a median, mean or tail of one window may be from that of like windows.

Waits of one step hang together, so whole steps are drawn.
"""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64

DRAWS = 999
"""Resamples."""

CONFIDENCE = 0.95

MIN_BLOCKS = 5
"""With fewer steps single values are drawn: of three steps hardly anything is drawn but
those same three."""

_CELLS = 4_000_000
"""So many counts are held at a time."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Statistics of resamples, each (draws,) float64, in the unit of the values."""

    median: F64
    mean: F64
    p90: F64


def drawn(values: F64, block: I64, *, draws: int = DRAWS, seed: int = 0) -> Drawn:
    """Resample values, whole blocks at a time, and summarise every resample.

    Parameters
    ----------
    values : (n,) float64
        At least one.
    block : (n,) int64
        What each belongs to, such as its step. With fewer than `MIN_BLOCKS` of them,
        values are drawn one by one.
    draws : int
        Resamples.
    seed : int
        The same values, blocks and seed give the same result.

    Returns
    -------
    Drawn
        Quantiles are those of the empirical distribution: the smallest value that so
        large a share does not exceed.

    Raises
    ------
    ValueError
        If there is no value, or the arrays differ in length.

    References
    ----------
    Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapters 8 and 13.

    Examples
    --------
    Values that do not differ have no other median:

    >>> bool((drawn(np.full(8, 3.0), np.arange(8)).median == 3.0).all())
    True
    """
    if not values.size or values.size != block.size:
        raise ValueError(f"{values.size} values in {block.size} blocks")
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    known, number = np.unique(block[order], return_inverse=True)
    if known.size < MIN_BLOCKS:
        number = np.arange(values.size)
    count = int(number.max()) + 1
    rng = np.random.default_rng(seed)
    median, mean, p90 = (np.empty(draws) for _ in range(3))
    rows = max(1, _CELLS // max(count, values.size))
    for start in range(0, draws, rows):
        part = slice(start, min(start + rows, draws))
        weight = _counts(rng, part.stop - part.start, count)[:, number]
        reached = np.cumsum(weight, axis=1)
        whole: F64 = reached[:, -1].astype(np.float64)
        mean[part] = (weight @ ordered) / whole
        median[part] = ordered[_first(reached, 0.5 * whole)]
        p90[part] = ordered[_first(reached, 0.9 * whole)]
    return Drawn(median, mean, p90)


def interval(statistic: F64, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the percentile interval of a statistic of resamples.

    Examples
    --------
    >>> interval(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    outside = (1 - confidence) / 2
    low, high = np.quantile(statistic, (outside, 1 - outside))
    return float(low), float(high)


def _counts(rng: np.random.Generator, draws: int, count: int) -> I64:
    """How often each of `count` blocks is in each resample, (draws, count) int64."""
    chosen = rng.integers(count, size=(draws, count))
    chosen += count * np.arange(draws)[:, None]
    flat: I64 = np.bincount(chosen.ravel(), minlength=draws * count)
    return flat.reshape(draws, count)


def _first(reached: I64, wanted: np.ndarray) -> I64:
    """Where each row of cumulated counts first reaches what is wanted, (draws,) int64."""
    result: I64 = (reached < wanted[:, None] - 1e-9).sum(axis=1)
    return result
