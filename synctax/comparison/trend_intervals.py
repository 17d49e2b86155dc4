"""How far mean, median and tail of the tax of one point may be from those of like points.

What is drawn anew is a profiler step, as `compare` does: collectives of a step share what
made a rank late. Where the data carry no interval at the level that is asked for, there is
none: a single step does not tell what steps differ by, and no choice of five values holds
a 90 % quantile in 95 of 100 cases.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64
from synctax.collectives.tax import Tax
from synctax.comparison.options import Options
from synctax.comparison.resample import Series, block_length, draw, freedom, strata
from synctax.comparison.stats import Draws, Estimate
from synctax.comparison.trend_parts import Line
from synctax.comparison.units import units_of
from synctax.notes import Note
from synctax.texts import level_text

MEDIAN, TAIL = 0.5, 0.9
"""Quantiles of the tax that are told of every point."""

NO_MEAN, NO_QUANTILE = "no_interval_mean", "no_interval_quantile"
"""Reasons of notes."""

Interval = tuple[float, float]

NONE: Interval = (math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class Intervals:
    """Ends of intervals of one point of a line, in µs; NaN where there is none."""

    mean: Interval = NONE
    median: Interval = NONE
    p90: Interval = NONE


def intervals(
    tax: Tax, lines: Sequence[Line], asked: Options
) -> tuple[tuple[Intervals, ...], ...]:
    """Tell intervals of every line at every point.

    Parameters
    ----------
    tax : Tax
    lines : sequence of Line
        Of this tax.
    asked : Options
    """
    unit = units_of(tax).unit
    return tuple(tuple(_of_line(line, unit, asked)) for line in lines)


def _of_line(line: Line, unit: I64, asked: Options) -> Iterator[Intervals]:
    own = [np.unique(unit[slots], return_inverse=True)[1].ravel() for slots in line.slots]
    sizes = [int(one.max()) + 1 if one.size else 0 for one in own]
    sums = [
        np.bincount(one, values) / np.bincount(one)
        for one, values in zip(own, line.tax_us, strict=True)
        if one.size
    ]
    length = block_length(np.concatenate(sums), [size for size in sizes if size])
    drawn: dict[int, Draws] = {}
    for one, values, size in zip(own, line.tax_us, sizes, strict=True):
        if size < 2:
            yield Intervals()
            continue
        if size not in drawn:
            drawn[size] = _draws(Series((size,), length), asked)
        yield _of_point(values, one, drawn[size], asked.level)


def _draws(series: Series, asked: Options) -> Draws:
    random = np.random.default_rng([asked.seed, len(series)])
    runs = [series]
    return Draws(draw(runs, asked.resamples, random), freedom(runs), strata(runs))


def _of_point(values: F64, unit: I64, draws: Draws, level: float) -> Intervals:
    return Intervals(
        mean_interval(draws.mean(unit, values), level),
        quantile_interval(values, unit, draws, MEDIAN, level),
        quantile_interval(values, unit, draws, TAIL, level),
    )


def mean_interval(found: Estimate, level: float) -> Interval:
    """Return the interval of a mean of times, NaN where there is none.

    Student's t of the logarithm of the mean: times have a long tail to the right, and are
    not negative.

    Parameters
    ----------
    found : Estimate
    level : float

    References
    ----------
    Meeker, Hahn and Escobar, Statistical Intervals (2017), section 15.2.2, for intervals of
    positive quantities by their logarithm.

    Examples
    --------
    >>> low, high = mean_interval(Estimate(100.0, 10.0, 9.0), 0.95)
    >>> round(low, 1), round(high, 1)
    (79.8, 125.4)
    """
    if math.isnan(found.error) or found.freedom < 1:
        return NONE
    if not found.error:
        return found.value, found.value
    from scipy.special import stdtrit

    half = float(stdtrit(found.freedom, (1 + level) / 2)) * found.error / found.value
    with np.errstate(over="ignore"):
        ends = found.value * np.exp([-half, half])
    return (float(ends[0]), float(ends[1])) if np.isfinite(ends).all() else NONE


def quantile_interval(
    values: F64, unit: I64, draws: Draws, q: float, level: float
) -> Interval:
    """Return the interval of a quantile between two of the values, NaN where none holds.

    Order statistics, for as many independent values as the ones there are tell as much as:
    fewer where values of a unit resemble each other, or where units are few.

    Parameters
    ----------
    values : (n,) float64
    unit : (n,) int64
    draws : Draws
        Of these units.
    q : float
        Of the quantile, between 0 and 1.
    level : float

    References
    ----------
    David and Nagaraja, Order Statistics (2003), section 7.1.
    Woodruff, Journal of the American Statistical Association 47 (1952), 635-646, and Korn
    and Graubard, Survey Methodology 24 (1998), 193-201, for values that hang together.
    """
    count = _independent(values, unit, draws, q, level)
    places = order_places(count, q, level)
    if places is None:
        return NONE
    ordered = np.sort(values)
    each = values.size / count
    below = math.floor((places[0] - 1) * each + 1e-9)
    above = math.ceil(places[1] * each - 1e-9) - 1
    return float(ordered[below]), float(ordered[above])


def _independent(values: F64, unit: I64, draws: Draws, q: float, level: float) -> int:
    """Count the independent values that would tell a quantile as well."""
    n = values.size
    found = draws.share(unit, values <= np.quantile(values, q))
    if n < 2 or math.isnan(found.error) or found.freedom < 1:
        return 0
    from scipy.special import stdtrit

    spread = found.value * (1 - found.value)
    if not spread:
        # all values are one: as many as were drawn
        return math.floor(draws.blocks)
    worth = min(n, spread / found.error**2) if found.error else float(n)
    beyond = (1 + level) / 2
    ratio = float(stdtrit(n - 1, beyond)) / float(stdtrit(found.freedom, beyond))
    return math.floor(worth * min(ratio, 1.0) ** 2 + 1e-9)


def order_places(count: int, q: float, level: float) -> tuple[int, int] | None:
    """Return between which of some independent values, sorted, a quantile lies.

    Parameters
    ----------
    count : int
        Of values.
    q, level : float

    Returns
    -------
    (int, int) or None
        Counted from 1; each end is beyond the quantile with (1 - level) / 2 at most. None
        where no value is so far out.

    Examples
    --------
    >>> order_places(5, 0.5, 0.95), order_places(6, 0.5, 0.95), order_places(35, 0.9, 0.95)
    (None, (1, 6), None)
    >>> order_places(36, 0.9, 0.95)
    (29, 36)
    """
    if count < 1:
        return None
    from scipy.special import bdtr

    at_most = bdtr(np.arange(count), count, q)
    outside = (1 - level) / 2 + 1e-12
    low = int((at_most <= outside).sum())
    high = int((at_most < 1 - outside).sum()) + 1
    return (low, high) if low >= 1 and high <= count else None


def least_values(q: float, level: float) -> int:
    """Return of how many independent values a quantile has an interval at all.

    Examples
    --------
    >>> least_values(0.5, 0.95), least_values(0.9, 0.95), least_values(0.9, 0.9)
    (6, 36, 29)
    """
    longer = max(q, 1 - q)
    return math.ceil(math.log((1 - level) / 2) / math.log(longer) - 1e-9)


def without(
    lines: Sequence[Line], found: Sequence[Sequence[Intervals]], asked: Options
) -> list[Note]:
    """Count the points whose mean, median or 90 % quantile has no interval, and say why.

    Parameters
    ----------
    lines : sequence of Line
    found : sequence of sequence of Intervals
        Of each line at each point.
    asked : Options
    """
    there = [
        each
        for line, own in zip(lines, found, strict=True)
        for values, each in zip(line.tax_us, own, strict=True)
        if values.size
    ]
    means = sum(math.isnan(one.mean[0]) for one in there)
    medians = sum(math.isnan(one.median[0]) for one in there)
    tails = sum(math.isnan(one.p90[0]) for one in there)
    notes = []
    if means:
        detail = (
            "means without an interval: of a single step, which does not tell what steps "
            "differ by, or of fewer than 5 that are all alike"
        )
        notes.append(Note(NO_MEAN, means, detail))
    if medians or tails:
        level = level_text(asked.level)
        detail = (
            f"{medians:,} medians and {tails:,} 90 % quantiles without an interval: at "
            f"{level} these take {least_values(MEDIAN, asked.level)} and "
            f"{least_values(TAIL, asked.level)} independent collectives at least, in two "
            "steps or more"
        )
        notes.append(Note(NO_QUANTILE, medians + tails, detail))
    return notes
