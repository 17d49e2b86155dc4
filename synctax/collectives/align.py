"""Line up the collectives of two ranks that may each have lost some of them.

Profilers drop what straddles the edge of their window, so ranks lose different leading
and trailing collectives, and nothing in a name shows it. What does is the end of each
collective: ranks leave it together. A shift is judged by how probable the agreement of
the ends is: every shared end that agrees within a residual r, where ends are a spacing U
apart, is worth ln(U/r); one is spent on the unknown offset of the clocks, for which a
Cauchy prior (narrow on one host) stands.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from synctax.arrays import F64, I8, I32, I64, Bool
from synctax.collectives.clock import (
    MIN_POINTS_FOR_DRIFT,
    NO_LAG,
    ClockFit,
    fit_clock,
    robust_sd,
)
from synctax.collectives.model import SYMMETRIC, Op

FLOOR_NS = 2_000.0
"""Ends are not believed to agree better than this: whole-µs traces round both."""

AMBIGUOUS = float(np.log(10.0))
"""Two shifts whose odds are closer than ten to one are both possible."""

MAX_EXTRA_SHIFT = 128
"""How many collectives beyond the difference in number a rank may have lost."""

_SYMMETRIC = np.isin(np.arange(len(Op)), [int(op) for op in SYMMETRIC])


@dataclass(frozen=True, slots=True)
class OpSequence:
    """The collectives of one rank in one group, in order, as alignment sees them.

    `op` (n,) int8, `dtype` (n,) int32 and `payload_bytes` (n,) int64 (-1 unknown: agrees
    with all), `named` (n,) bool (an op not named agrees with all-to-all), `end_ns`
    (n,) int64.
    """

    op: I8
    dtype: I32
    payload_bytes: I64
    named: Bool
    end_ns: I64

    def __len__(self) -> int:
        return int(self.op.size)

    def take(self, rows: I64 | slice) -> "OpSequence":
        """Select rows by index array or slice."""
        return OpSequence(
            self.op[rows],
            self.dtype[rows],
            self.payload_bytes[rows],
            self.named[rows],
            self.end_ns[rows],
        )


@dataclass(frozen=True, slots=True)
class Alignment:
    """For each collective of the second rank its place in the first, or -1.

    `clock` is the second rank's clock against the first; `agreement` the share of shared
    symmetric collectives whose ends agree within the tolerance (1.0 where there are
    none); `anchors` their number; `ambiguous` says that another shift fits about as well;
    `complete` that ends agree at no shift, but both ranks have the same sequence.
    """

    place: I64
    clock: ClockFit
    agreement: float
    anchors: int
    ambiguous: bool
    complete: bool = False


def agrees(a: OpSequence, b: OpSequence) -> Bool:
    """Whether the k-th collectives of two equally long sequences can be the same one."""
    same_op = a.op == b.op
    for guess, other in ((a, b), (b, a)):
        loose = ~guess.named & (guess.op == Op.SEND_RECV) & (other.op == Op.ALL_TO_ALL)
        same_op |= loose | (guess.op == Op.UNKNOWN)
    same_dtype = (a.dtype == b.dtype) | (a.dtype < 0) | (b.dtype < 0)
    free_size = np.isin(a.op, (Op.ALL_TO_ALL, Op.SEND_RECV)) | (a.payload_bytes < 0)
    same_size = (a.payload_bytes == b.payload_bytes) | free_size | (b.payload_bytes < 0)
    result: Bool = same_op & same_dtype & same_size
    return result


def anchors(a: OpSequence, b: OpSequence) -> Bool:
    """Whether a pair is one that ranks leave together, so that its ends can be compared."""
    result: Bool = _SYMMETRIC[a.op] | _SYMMETRIC[b.op]
    return result


def align(
    a: OpSequence, b: OpSequence, *, tolerance_ns: float, offset_scale_ns: float
) -> Alignment:
    """Find which collective of `a` each collective of `b` is.

    Parameters
    ----------
    a, b : OpSequence
        In order of time, each on its own clock.
    tolerance_ns : float
        Ends of one collective differ by less than this (after the clocks are aligned).
    offset_scale_ns : float
        Scale of the offset between the clocks: small on one host.

    Returns
    -------
    Alignment
        Increasing places; -1 for collectives that `a` lacks.
    """
    if not len(a) or not len(b):
        return Alignment(np.full(len(b), -1, np.int64), NO_LAG, 1.0, 0, ambiguous=False)
    scale = _Scale(tolerance_ns, offset_scale_ns, _spacing_ns(a, tolerance_ns))
    best, ambiguous = _best_shift(a, b, scale)
    # As many of the same kinds on both ranks, and no shift that ends speak for.
    complete = not best.whole and len(a) == len(b) and bool(agrees(a, b).all())
    if best.whole or complete:
        place = _shifted(len(a), len(b), 0 if complete else best.shift)
    else:
        place = _fill(a, b, _join(a, b, best.clock, tolerance_ns))
        ambiguous = False
    found = _describe(a, b, place, tolerance_ns, ambiguous=ambiguous and not complete)
    return replace(found, complete=complete)


@dataclass(frozen=True, slots=True)
class _Scale:
    tolerance_ns: float
    offset_ns: float
    spacing_ns: float


@dataclass(frozen=True, slots=True)
class _Shift:
    shift: int
    score: float
    clock: ClockFit
    whole: bool
    residual_ns: float
    ends: int


def _best_shift(a: OpSequence, b: OpSequence, scale: _Scale) -> tuple[_Shift, bool]:
    """The most probable shift, and whether another is nearly as probable."""
    irregular = robust_sd(np.diff(a.end_ns).astype(np.float64))
    shifts = []
    for shift in sorted(_shifts(a, b), key=abs):
        one = _judge(a, b, shift, scale)
        enough = one.whole and one.ends >= MIN_POINTS_FOR_DRIFT
        at_once = abs(one.clock.offset_ns) <= scale.offset_ns
        if enough and at_once and one.residual_ns < 0.2 * irregular:
            # Irregular spacings betray every other shift on clocks that agree. On clocks
            # that may differ by anything, a shift by a whole step looks nearly as good.
            return one, False
        shifts.append(one)
    ranked = sorted(shifts, key=lambda s: (-s.score, abs(s.shift)))
    close = len(ranked) > 1 and ranked[0].score - ranked[1].score < AMBIGUOUS
    return ranked[0], close


def _shifts(a: OpSequence, b: OpSequence) -> range:
    reach = abs(len(a) - len(b)) + MAX_EXTRA_SHIFT
    return range(max(1 - len(b), -reach), min(len(a) - 1, reach) + 1)


def _overlap(n_a: int, n_b: int, shift: int) -> tuple[slice, slice]:
    """Rows of `a` and of `b` that face each other when b[i] is a[i + shift]."""
    first, last = max(0, -shift), min(n_b, n_a - shift)
    return slice(first + shift, last + shift), slice(first, last)


def _shifted(n_a: int, n_b: int, shift: int) -> I64:
    place = np.arange(n_b, dtype=np.int64) + shift
    place[(place < 0) | (place >= n_a)] = -1
    return place


def _judge(a: OpSequence, b: OpSequence, shift: int, scale: _Scale) -> _Shift:
    rows_a, rows_b = _overlap(len(a), len(b), shift)
    left, right = a.take(rows_a), b.take(rows_b)
    fits = agrees(left, right)
    shared = fits & anchors(left, right)
    gap = right.end_ns - left.end_ns
    clash = int((~fits).sum())
    if not shared.any():
        clock = ClockFit(float(np.median(gap)), 0.0, 0.0, 0.0, 0)
        score = _prior(clock.offset_ns, scale) - clash + 0.01 * len(left)
        return _Shift(shift, score, clock, clash == 0, np.inf, 0)
    lead, end = gap[shared].astype(np.float64), right.end_ns[shared].astype(np.float64)
    dense = _densest(lead, 2 * scale.tolerance_ns + 50e-6 * float(np.ptp(end)))
    clock = fit_clock(end[dense], lead[dense])
    left_over = lead - clock.lag_ns(end)
    near = np.abs(left_over) <= scale.tolerance_ns
    residual = robust_sd(left_over[near]) if near.any() else scale.spacing_ns
    worth = max(float(np.log(scale.spacing_ns / (residual + FLOOR_NS))), 0.0)
    spent = 1 + (clock.drift != 0)
    score = max(int(near.sum()) - spent, 0) * worth - int((~near).sum()) - clash
    score += _prior(clock.offset_ns, scale)
    whole = clash == 0 and float(near.mean()) >= 0.8
    return _Shift(shift, score, clock, whole, residual, int(near.sum()))


def _prior(offset_ns: float, scale: _Scale) -> float:
    """Log odds of a clock offset under a Cauchy prior, against one spacing."""
    relative = offset_ns / scale.offset_ns
    return float(np.log(scale.spacing_ns / scale.offset_ns) - np.log1p(relative**2))


def _spacing_ns(a: OpSequence, tolerance_ns: float) -> float:
    """Typical time between the ends of consecutive collectives."""
    gaps = np.diff(np.sort(a.end_ns))
    return max(float(np.median(gaps)), 4 * FLOOR_NS) if gaps.size else 10 * tolerance_ns


def _densest(values: F64, width: float) -> Bool:
    """Mark the values of the fullest window of a width."""
    ordered = np.sort(values)
    upto = np.searchsorted(ordered, ordered + width, side="right")
    first = int(np.argmax(upto - np.arange(ordered.size)))
    low, high = ordered[first], ordered[upto[first] - 1]
    result: Bool = (values >= low) & (values <= high)
    return result


def _join(a: OpSequence, b: OpSequence, clock: ClockFit, tolerance_ns: float) -> I64:
    """Match symmetric collectives by their corrected ends, in increasing order."""
    origin = a.end_ns[0]  # subtracted as integers: floats of the epoch hold 256 ns
    target = (b.end_ns - origin) - clock.lag_ns(b.end_ns.astype(np.float64))
    order = np.argsort(a.end_ns, kind="stable")
    ends = (a.end_ns[order] - origin).astype(np.float64)
    after = np.searchsorted(ends, target)
    place = np.full(len(b), -1, np.int64)
    gap = np.full(len(b), np.inf)
    rows = np.arange(len(b))
    for candidate in (after - 1, after):
        inside = (candidate >= 0) & (candidate < len(a))
        index = order[np.clip(candidate, 0, len(a) - 1)]
        left = a.take(index)
        distance = np.abs(ends[np.clip(candidate, 0, len(a) - 1)] - target)
        good = inside & agrees(left, b) & anchors(left, b)
        good &= (distance <= tolerance_ns) & (distance < gap)
        place[rows[good]], gap[good] = index[good], distance[good]
    return _increasing(place, gap)


def _increasing(place: I64, gap: F64) -> I64:
    """Drop matches that repeat a place or go back in it, the worse of two first."""
    place = place.copy()
    kept: list[int] = []
    for row in np.flatnonzero(place >= 0):
        while kept and place[row] <= place[kept[-1]] and gap[row] < gap[kept[-1]]:
            place[kept.pop()] = -1
        if kept and place[row] <= place[kept[-1]]:
            place[row] = -1
        else:
            kept.append(int(row))
    return place


def _fill(a: OpSequence, b: OpSequence, place: I64) -> I64:
    """Match what lies between two matches if both ranks have the same things there.

    Before the first match and behind the last only collectives are matched that say
    nothing by their ends (broadcast and the like), outwards from the match.
    """
    place = place.copy()
    known = np.flatnonzero(place >= 0)
    if not known.size:
        return place
    for low, high in pairwise(known):
        rows = np.arange(low + 1, high)
        spots = np.arange(place[low] + 1, place[high])
        if (
            rows.size
            and rows.size == spots.size
            and agrees(a.take(spots), b.take(rows)).all()
        ):
            place[rows] = spots
    for step, start in ((-1, known[0]), (1, known[-1])):
        row, spot = start + step, place[start] + step
        while 0 <= row < len(b) and 0 <= spot < len(a):
            left, right = a.take(np.array([spot])), b.take(np.array([row]))
            if not agrees(left, right)[0] or anchors(left, right)[0]:
                break
            place[row] = spot
            row, spot = row + step, spot + step
    return place


def _describe(
    a: OpSequence, b: OpSequence, place: I64, tolerance_ns: float, *, ambiguous: bool
) -> Alignment:
    rows = np.flatnonzero(place >= 0)
    left, right = a.take(place[rows]), b.take(rows)
    shared = anchors(left, right)
    if not shared.any():
        return Alignment(place, NO_LAG, 1.0, 0, ambiguous=ambiguous)
    end = right.end_ns[shared].astype(np.float64)
    lead = (right.end_ns - left.end_ns)[shared].astype(np.float64)
    clock = fit_clock(end, lead)
    near = np.abs(lead - clock.lag_ns(end)) <= tolerance_ns
    return Alignment(place, clock, float(near.mean()), int(shared.sum()), ambiguous)
