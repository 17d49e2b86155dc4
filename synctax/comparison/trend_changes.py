"""What changes in the lines of a trend, beyond chance."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from synctax.arrays import F64, I64
from synctax.comparison.options import Options
from synctax.comparison.trend_memory import block_for, correlation, enough, inflation
from synctax.comparison.trend_numbers import (
    MIN_FOR_BREAK,
    MIN_FOR_TREND,
    Break,
    adjusted,
    among,
    break_sizes,
    largest_break,
    least_attainable,
    place_of_break,
    random_orders,
    standard_ranks,
    step_fits_better,
    trend_sizes,
)
from synctax.comparison.trend_parts import Line
from synctax.comparison.trend_points import Points
from synctax.comparison.trend_slopes import Slope, slope
from synctax.errors import SynctaxError

MOST_CELLS = 20_000_000
"""Random orders of points, times points or times questions: 160 MB of numbers each."""

QUESTIONS = 3
"""Of a line, at most: trend, break, and a rank that became worse."""

MOST_RANKS = 32
"""So many ranks of a line are looked at: those that most is owed by over all points, which
tells nothing of when."""

Finding = Literal["rise", "fall", "step_up", "step_down", "none", "too_few"]


@dataclass(frozen=True, slots=True)
class Worse:
    """A rank for which others wait more from a point on; times per collective of its own.

    `point` is the first of these points.
    """

    rank: int
    host: str
    point: int
    before_us: float
    after_us: float


@dataclass(frozen=True, slots=True)
class Change:
    """What changed in a line.

    Parameters
    ----------
    points : (n,) int64
        Points that are compared: those at which the line has collectives of the same ranks
        as at most points.
    finding : str
        As in `schema.TREND_TESTS`.
    slope : Slope or None
        None for fewer than 2 points.
    trend_p, break_p, worse_p : float
        Adjusted for all questions asked of the job; NaN where too few points are there.
    largest : Break or None
        Its `first` counts `points`. None with fewer than `MIN_FOR_BREAK`.
    worse : Worse or None
        None where no rank is beyond chance.
    least_p : float
        Adjusted p-value of the clearest break (of fewer than `MIN_FOR_BREAK` points: of
        the clearest trend); NaN where nothing was asked.
    questions : int
        Asked of all lines together.
    correlation : float
        Of neighbouring points, the largest of all lines; 0 between windows.
    block : int
        So many neighbouring points stay together in random orders.
    """

    points: I64
    finding: Finding
    slope: Slope | None
    trend_p: float
    largest: Break | None
    break_p: float
    worse_p: float
    worse: Worse | None
    least_p: float
    questions: int
    correlation: float
    block: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one line was asked, before the answers of all lines are judged together.

    `sizes` are by question ("trend", "break", "worse") what it is decided by, as
    `trend_numbers.adjusted` takes it.
    """

    at: I64
    x: F64
    y: F64
    slope: Slope | None
    largest: Break | None
    worse: Worse | None
    sizes: dict[str, F64]


def changes(at: Points, lines: Sequence[Line], options: Options) -> Iterator[Change]:
    """Ask every line whether it changes, and judge the answers together.

    Raises
    ------
    SynctaxError
        If there are too many points, or lines, for so many orders of them.
    """
    if len(at) * options.resamples > MOST_CELLS:
        raise SynctaxError(
            f"{options.resamples:,} random orders of {len(at):,} points are too many to "
            f"be held; take {MOST_CELLS // len(at):,} resamples or fewer, or more steps a "
            "point"
        )
    if QUESTIONS * len(lines) * options.resamples > MOST_CELLS:
        most = MOST_CELLS // (QUESTIONS * len(lines))
        raise SynctaxError(
            f"answers about {len(lines):,} rows in {options.resamples:,} random orders are "
            f"too many to be held; take {most:,} resamples or fewer, or fewer rows "
            "(--group, --op)"
        )
    r = 0.0 if at.steps_each is None else _correlation(lines)
    block, alpha = block_for(r), options.alpha
    orders = random_orders(
        len(at),
        block=min(block, len(at)),
        draws=options.resamples - 1,
        seed=options.seed,
    )
    asked = [_ask(at, line, orders, r, options.level) for line in lines]
    keys = [(i, name) for i, one in enumerate(asked) for name in one.sizes]
    sizes = [asked[i].sizes[name] for i, name in keys]
    p = dict(zip(keys, adjusted(sizes), strict=True))
    least: dict[bytes, float] = {}
    for number, one in enumerate(asked):
        trend_p, break_p, worse_p = (
            p.get((number, name), float("nan")) for name in ("trend", "break", "worse")
        )
        key = one.at.tobytes()
        if one.sizes and key not in least:
            least[key] = least_attainable(sizes, _clearest(among(orders, one.at)))
        least_p = least[key] if one.sizes else float("nan")
        yield Change(
            points=one.at,
            finding=_finding(one, (trend_p, break_p, least_p), alpha),
            slope=one.slope,
            trend_p=trend_p,
            largest=one.largest,
            break_p=break_p,
            worse_p=worse_p,
            worse=one.worse if worse_p <= alpha else None,
            least_p=least_p,
            questions=len(keys),
            correlation=r,
            block=block,
        )


def _correlation(lines: Sequence[Line]) -> float:
    """Return the largest correlation of neighbouring points, of all lines."""
    series = [means_us(line, compared(line)) for line in lines]
    return max((correlation(y) for y in series if y.size >= MIN_FOR_TREND), default=0.0)


def _clearest(orders: I64) -> F64:
    """Size of the clearest answer, and of the same points in random orders."""
    n = orders.shape[1]
    ranks = standard_ranks(np.arange(float(n))[None, :])
    if n < MIN_FOR_BREAK:
        return trend_sizes(ranks[0], orders)
    result: F64 = break_sizes(ranks, orders)[0]
    return result


def compared(line: Line) -> I64:
    """Points at which a line has the ranks that it has at most points, (n,) int64.

    A tax of fewer ranks is a smaller one. Of sets that are equally frequent it is the one
    with more ranks.
    """
    there = np.flatnonzero([one.size > 0 for one in line.tax_us])
    present = ~np.isnan(line.owed_us[:, there])
    _, number, count = np.unique(present, axis=1, return_inverse=True, return_counts=True)
    number = number.ravel()
    most = np.lexsort((present.sum(axis=0), count[number]))
    result: I64 = there[number == number[most[-1]]] if there.size else there
    return result


def left_out(line: Line) -> I64:
    """Points at which a line has collectives, but of other ranks, (n,) int64."""
    there = np.flatnonzero([one.size > 0 for one in line.tax_us])
    result: I64 = np.setdiff1d(there, compared(line))
    return result


def _ask(at: Points, line: Line, orders: I64, r: float, level: float) -> _Asked:
    there = compared(line)
    y = means_us(line, there)
    x = at.x[there]
    own = among(orders, there)
    sizes: dict[str, F64] = {}
    worse = None
    can, wider = enough(there.size, block_for(r)), inflation(r)
    many = there.size >= MIN_FOR_BREAK
    if can and there.size >= MIN_FOR_TREND:
        sizes["trend"] = trend_sizes(standard_ranks(y[None, :])[0], own)
    if can and many:
        sizes["break"] = break_sizes(standard_ranks(y[None, :]), own)[0]
        worse, of_ranks = _worse(line, there, own)
        sizes |= of_ranks
    return _Asked(
        at=there,
        x=x,
        y=y,
        slope=slope(x, y, level, wider) if there.size > 1 else None,
        largest=largest_break(y, level, wider) if many else None,
        worse=worse,
        sizes=sizes,
    )


def means_us(line: Line, points: I64) -> F64:
    """Mean tax of a line at some of its points, (n,) float64."""
    return np.array([line.tax_us[point].mean() for point in points], np.float64)


def _worse(line: Line, there: I64, orders: I64) -> tuple[Worse | None, dict[str, F64]]:
    """Find the rank with the largest break; None where it became no worse.

    Ranks are compared by what is owed, not by their ranks in it: one that owes much more
    than before is not one of many that owe a little more or less. Square roots keep a
    single bad window from hiding it.
    """
    owed = line.owed_us[:, there]
    known = np.flatnonzero(~np.isnan(owed).any(axis=1))
    known = known[np.argsort(-owed[known].sum(axis=1), kind="stable")[:MOST_RANKS]]
    if not known.size:
        return None, {}
    roots = np.sqrt(owed[known])
    roots -= roots.mean(axis=1, keepdims=True)
    sizes = break_sizes(roots, orders)
    best = int(sizes[:, 0].argmax())
    cut, row = place_of_break(roots[best]), int(known[best])
    before, after = float(owed[row, :cut].mean()), float(owed[row, cut:].mean())
    worse = None
    if after > before:
        rank, host = int(line.ranks[row]), line.hosts[row]
        worse = Worse(rank, host, int(there[cut]), before, after)
    return worse, {"worse": sizes.max(axis=0)}


def _finding(one: _Asked, p: tuple[float, float, float], alpha: float) -> Finding:
    """Name what was found; p-values are of trend, break, and the clearest break."""
    trend_p, break_p, least_p = p
    if not one.sizes or one.slope is None:
        return "too_few"
    told, broken = trend_p <= alpha, break_p <= alpha
    steps = one.largest is not None and step_fits_better(
        one.x, one.y, one.slope, one.largest
    )
    if one.largest is not None and broken and (steps or not told):
        return "step_up" if one.largest.shift > 0 else "step_down"
    if told:
        return "rise" if one.slope.tau > 0 else "fall"
    return "none" if least_p <= alpha else "too_few"
