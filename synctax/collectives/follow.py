"""Follow a shift through two sequences in which single collectives may be missing.

A banded sequence alignment (Needleman and Wunsch): a pair costs as much as its ends
disagree, in units of their usual disagreement and up to a bound; a collective that one
of the two ranks lacks costs `GAP`.
"""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.collectives.clock import ClockFit
from synctax.collectives.model import IS_SYMMETRIC
from synctax.collectives.sequence import (
    OpSequence,
    agrees,
    anchors,
    to_neighbour_ns,
)

BAND = 8
"""The shift may change by so much on the way: more collectives are not lost inside."""

GAP = 6.0
WORST_PAIR = 8.0
"""Below two gaps: one odd end alone does not tear a pair apart."""

CLASH = 30.0
SURE = 4.0
"""Beside a lost collective a pair is sure if the other place would cost this much more."""


ROUNDING = 1e-9
"""More than sums and products of times lose."""


@dataclass(frozen=True, slots=True)
class Path:
    """Place in `a` of each collective of `b` (-1: none), and whether it is unsure."""

    place: I64
    unsure: Bool


def follow(
    a: OpSequence, b: OpSequence, shift: int, *, clock: ClockFit, noise_ns: float
) -> Path:
    """Place the collectives of `b` in `a` along a shift that may change by losses.

    Parameters
    ----------
    a, b : OpSequence
        In order of time, not empty.
    shift : int
        b[i] is a[i + shift], if nothing is lost inside.
    clock : ClockFit
        Of `b` against `a`.
    noise_ns : float
        How far ends of one collective usually disagree then.

    Returns
    -------
    Path
    """
    shifts = np.arange(shift - BAND, shift + BAND + 1)
    rows = np.arange(len(b))
    if _holds(a, b, shift, clock, noise_ns):
        place = np.arange(len(b), dtype=np.int64) + shift
        place[(place < 0) | (place >= len(a))] = -1
        return Path(place, np.zeros(len(b), np.bool_))
    cost = _costs(a, b, rows, shifts, clock, noise_ns)
    column = _cheapest(cost)
    place = np.where(column >= 0, column + shifts[0] + rows, -1)
    return Path(place, _unsure(column, cost))


def _costs(
    a: OpSequence, b: OpSequence, rows: I64, shifts: I64, clock: ClockFit, noise_ns: float
) -> F64:
    """Cost of some b[i] at each shift, (k, shifts); infinite beyond the ends of `a`."""
    cost = np.full((rows.size, shifts.size), np.inf)
    for column, shift in enumerate(shifts):
        inside = (rows + shift >= 0) & (rows + shift < len(a))
        left, right = a.take(rows[inside] + shift), b.take(rows[inside])
        cost[inside, column] = _cost(left, right, _apart_ns(left, right, clock), noise_ns)
    return cost


def _apart_ns(left: OpSequence, right: OpSequence, clock: ClockFit) -> F64:
    """How far the k-th ends of two sequences are apart on the clock of the first."""
    lag_ns = clock.lag_ns(right.end_ns.astype(np.float64))
    result: F64 = np.abs((right.end_ns - left.end_ns) - lag_ns)
    return result


def _cost(left: OpSequence, right: OpSequence, apart_ns: F64, noise_ns: float) -> F64:
    """Cost of the k-th of two sequences as a pair."""
    apart = np.minimum(apart_ns / noise_ns, WORST_PAIR)
    pair = np.where(anchors(left, right), apart, 0.0)
    return np.where(agrees(left, right), pair, CLASH)


def _holds(
    a: OpSequence, b: OpSequence, shift: int, clock: ClockFit, noise_ns: float
) -> bool:
    """Whether no other shift would gain as much as changing over to it costs.

    A pair gains nothing elsewhere unless its end lies nearer to another end of `a`: these
    few are looked at at all shifts.
    """
    low = max(0, -shift)
    high = max(low, min(len(b), len(a) - shift))
    left, right = a.take(slice(low + shift, high + shift)), b.take(slice(low, high))
    apart_ns = _apart_ns(left, right, clock)
    middle = _cost(left, right, apart_ns, noise_ns)
    if (middle >= CLASH).any():
        return False
    rows = np.arange(middle.size)
    if (a.end_ns[1:] >= a.end_ns[:-1]).all():  # else any end may be the nearest
        within_ns = (apart_ns + middle * noise_ns) * (1 + ROUNDING) + 1
        near = to_neighbour_ns(a)[low + shift : high + shift] <= within_ns
        rows = np.flatnonzero((middle > 0) & (near | ~IS_SYMMETRIC[right.op]))
    shifts = np.arange(shift - BAND, shift + BAND + 1)
    cost = _costs(a, b, rows + low, shifts, clock, noise_ns)
    gain = np.maximum(middle[rows, np.newaxis] - cost, 0.0).sum(axis=0)
    return bool((gain < GAP).all())


def _cheapest(cost: F64) -> I64:
    """Column in which each b[i] is matched on the cheapest way, -1 where it is skipped."""
    count, width = cost.shape
    ramp = GAP * np.arange(width)
    skips = np.zeros((count, width), np.bool_)
    source = np.tile(np.arange(width, dtype=np.int64), (count, 1))
    total = reached = np.zeros(width)  # losses at the head are what windows do: free
    for row in range(count):
        if row:  # a collective of `a` that `b` lacks: one column on
            level = reached - ramp
            lowest = np.minimum.accumulate(level)
            source[row] = np.maximum.accumulate(
                np.where(level <= lowest, np.arange(width), 0)
            )
            total = lowest + ramp
        matched = total + np.where(np.isinf(cost[row]), GAP / 4, cost[row])
        skipped = np.append(total[1:], np.inf) + GAP  # b[i] is none of `a`: one column back
        skips[row] = skipped < matched
        reached = np.minimum(matched, skipped)
    column = int(np.argmin(reached))
    result = np.full(count, -1, np.int64)
    for row in range(count - 1, -1, -1):
        if skips[row, column]:
            column += 1
        elif np.isfinite(cost[row, column]):
            result[row] = column
        column = int(source[row, column])
    return result


def _unsure(column: I64, cost: F64) -> Bool:
    """Mark the pairs beside a lost collective that fit nearly as well one place off."""
    result = np.zeros(column.size, np.bool_)
    known = np.flatnonzero(column >= 0)
    own = column[known]
    turns = np.flatnonzero(np.diff(own))
    edges = np.concatenate([[-1], turns, [known.size - 1]])
    for number, turn in enumerate(turns, start=1):
        before = known[edges[number - 1] + 1 : turn + 1][::-1]
        after = known[turn + 1 : edges[number + 1] + 1]
        for rows, mine, other in (
            (before, own[turn], own[turn + 1]),
            (after, own[turn + 1], own[turn]),
        ):
            surer = cost[rows, other] - cost[rows, mine] >= SURE
            stop = int(np.argmax(surer)) if surer.any() else rows.size
            result[rows[:stop]] = True
    return result
