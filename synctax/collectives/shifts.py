"""Judge shifts of one sequence of collectives against another by how their ends agree."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64, NS_PER_US, Bool, distinct, median
from synctax.collectives.clock import ClockFit, fit_clock, robust_sd
from synctax.collectives.sequence import OpSequence, agrees, anchors

MAX_EXTRA_SHIFT = 128
"""How many collectives beyond the difference in number a rank may have lost."""

SAMPLES = 64
"""So many ends of a rank are tried at every shift; the best shifts are tried in full."""

CANDIDATES = 12

HOPELESS = 30.0
"""A shift whose ends are so many times further scattered than another's is no rival."""

EVIDENCE = 10
"""So many agreeing ends are evidence: in a periodic job more of them say nothing more."""

NS_RESOLUTION = 50.0
"""Ends written in ns are not believed to agree better than this."""

THIRD, EIGHTH = 3, 8

FEWEST = 4
"""Fewer ends than this agree somewhere by chance."""

TIGHT = 0.1
"""Ends scattered over a larger part of a spacing than this are not of one shift."""

MOST = 4_096
"""So many pairs of ends judge a shift; those of the best shift are then all used."""

GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, less their whole parts, fill the unit interval evenly."""

MANY = 30
"""The tightest third of fewer ends than this may be tight by chance."""

WHOLE = 0.8
"""Share of ends that agree where a shift holds for the whole sequence."""

CLASH_COST, MISSING_COST, STRAY_COST = 2.0, 0.5, 20.0
"""Log odds against a pair of unlike operations where no end tells more, a collective that
only one rank has, and (for all of them together) pairs that do not agree."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What times are measured by.

    `offset_ns` is the scale of clock offsets (see `align`), `spacing_ns` the
    usual time from one end to the next, `resolution_ns` what ends are believed to agree
    to at best.
    """

    offset_ns: float
    spacing_ns: float
    resolution_ns: float

    @classmethod
    def of(cls, a: OpSequence, b: OpSequence, *, offset_ns: float) -> "Scale":
        """Measure the spacing and the resolution of two sequences."""
        ends_ns = np.sort(a.end_ns)
        gaps: I64 = ends_ns[1:] - ends_ns[:-1]
        spacing = max(median(gaps), 4.0 * NS_PER_US) if gaps.size else 1e6
        whole_us = all(bool((one.end_ns % NS_PER_US == 0).all()) for one in (a, b))
        return cls(
            offset_ns,
            spacing,
            float(NS_PER_US) if whole_us else NS_RESOLUTION,
        )


@dataclass(frozen=True, slots=True)
class Shift:
    """One shift: b[i] is a[i + shift].

    `score` are log odds, comparable between shifts of one pair of sequences; `clock` is
    that of `b` against `a`; `whole` says that the shift holds for (almost) all ends;
    `residual_ns` is how far they still disagree, `ends` how many agree.
    """

    shift: int
    score: float
    clock: ClockFit
    whole: bool
    residual_ns: float
    ends: int


def ranked(a: OpSequence, b: OpSequence, scale: Scale) -> list[Shift]:
    """Judge the shifts that may be right, the most probable first.

    Parameters
    ----------
    a, b : OpSequence
        In order of time, not empty.
    scale : Scale
        Of these two.

    Returns
    -------
    list of Shift
        At least one.
    """
    judged = [_judge(a, b, shift, scale) for shift in _candidates(a, b, scale)]
    return sorted(judged, key=lambda one: (-one.score, abs(one.shift), one.shift))


def _candidates(a: OpSequence, b: OpSequence, scale: Scale) -> list[int]:
    """The shifts at which a sample of the ends agrees best."""
    reach = abs(len(a) - len(b)) + MAX_EXTRA_SHIFT
    shifts = np.arange(max(1 - len(b), -reach), min(len(a) - 1, reach) + 1)
    if shifts.size <= CANDIDATES:
        return [int(shift) for shift in shifts]
    rows = distinct(np.linspace(0, len(b) - 1, min(SAMPLES, len(b))).astype(np.int64))
    place = rows[None, :] + shifts[:, None]
    inside = (place >= 0) & (place < len(a))
    clipped = np.clip(place, 0, len(a) - 1)
    flat_a, flat_b = a.take(clipped.ravel()), b.take(np.tile(rows, shifts.size))
    fits = agrees(flat_a, flat_b).reshape(place.shape)
    shared = inside & fits & anchors(flat_a, flat_b).reshape(place.shape)
    lead = (b.end_ns[rows][None, :] - a.end_ns[clipped]).astype(np.float64)
    lead[~shared] = np.nan
    strays = (inside & ~fits).sum(axis=1) / np.maximum(inside.sum(axis=1), 1)
    best: set[int] = set()
    for part in (THIRD, EIGHTH):  # several losses leave only small pieces at one shift
        level, spread = _rough(lead, part)
        spread = np.where(shared.sum(axis=1) > 1, spread, scale.spacing_ns)
        score = -EVIDENCE * np.log(spread + scale.resolution_ns) - STRAY_COST * strays
        score -= np.log1p((np.nan_to_num(level) / scale.offset_ns) ** 2)
        order = np.argsort(-score, kind="stable")[: CANDIDATES // 2 + 2]
        hopeless = spread[order] > HOPELESS * (spread.min() + scale.resolution_ns)
        best |= set(map(int, shifts[order[~hopeless]]))
    plain = {0, len(a) - len(b)} & set(map(int, shifts))
    return sorted(plain | best)


def _rough(lead: F64, part: int) -> tuple[F64, F64]:
    """Median of each row and the width of its tightest part; NaN are left out."""
    ordered = np.sort(lead, axis=1)  # NaN last
    count = (~np.isnan(lead)).sum(axis=1)
    least = 2 if part == THIRD else FEWEST
    size = np.maximum(-(-count // part), np.minimum(count, least))
    last = np.arange(lead.shape[1])[None, :] + size[:, None] - 1
    upper = np.take_along_axis(ordered, np.clip(last, 0, lead.shape[1] - 1), axis=1)
    width = np.where(last < count[:, None], upper - ordered, np.inf).min(axis=1)
    middle = np.take_along_axis(ordered, np.maximum(count - 1, 0)[:, None] // 2, axis=1)
    return middle[:, 0], np.where(np.isfinite(width), width, 0.0)


def _judge(a: OpSequence, b: OpSequence, shift: int, scale: Scale) -> Shift:
    """Judge one shift by all ends that then face each other."""
    first, last = max(0, -shift), min(len(b), len(a) - shift)
    left, right = a.take(slice(first + shift, last + shift)), b.take(slice(first, last))
    fits = agrees(left, right)
    shared = fits & anchors(left, right)
    gap = right.end_ns - left.end_ns
    clash = int((~fits).sum())
    missing = len(a) + len(b) - 2 * len(left)
    score = -MISSING_COST * missing
    if not shared.any():
        clock = ClockFit(median(gap), 0.0, 0.0, 0.0, 0)
        score -= CLASH_COST * clash
        score += _prior(clock.offset_ns, scale)
        return Shift(shift, score, clock, clash == 0, scale.spacing_ns, 0)
    pairs = np.flatnonzero(shared)
    chosen = pairs[_some(pairs.size)]
    lead, end = gap[chosen].astype(np.float64), right.end_ns[chosen].astype(np.float64)
    clock, close = _tightest(lead, end, scale)
    share = float(close.mean())
    left_over = lead - clock.lag_ns(end)
    residual = robust_sd(left_over if share >= WHOLE else left_over[close])
    worth = float(np.log(scale.spacing_ns / (residual + scale.resolution_ns)))
    spent = 1 + (clock.drift != 0)
    ends = round(int(close.sum()) * (pairs.size / chosen.size))
    score += min(max(ends - spent, 0), EVIDENCE) * max(worth, 0.0)
    fitting = ends / (pairs.size + clash)
    score += _prior(clock.offset_ns, scale) - STRAY_COST * (1.0 - float(fitting))
    return Shift(shift, score, clock, clash == 0 and share >= WHOLE, residual, ends)


def _some(count: int) -> I64:
    """Choose up to `MOST` of so many pairs, one of each stretch of them.

    At another place in each stretch: a job repeats itself, and what stands at the same
    place of each step is one collective, not a sample of them.
    """
    if count <= MOST:
        return np.arange(count)
    stretch = np.arange(MOST)
    place: I64 = ((stretch + stretch * GOLDEN % 1.0) * (count / MOST)).astype(np.int64)
    return place


def _tightest(lead: F64, end: F64, scale: Scale) -> tuple[ClockFit, Bool]:
    """Fit the clock to the ends that agree best, and mark all that agree with it.

    Collectives lost in the middle leave several clusters of leads: the tightest half of
    few leads, or third of many, lies in one of them. Where even that is scattered, there
    are more clusters, and smaller parts are tried.
    """
    ordered = np.sort(lead)
    part = THIRD if ordered.size >= MANY else 2
    first = _around(ordered, part, lead, end, scale)
    found = first
    while _scatter_ns(found, lead, end) > TIGHT * scale.spacing_ns:
        part *= 2
        if ordered.size / part < FEWEST:
            return first
        found = _around(ordered, part, lead, end, scale)
    return found


def _scatter_ns(found: tuple[ClockFit, Bool], lead: F64, end: F64) -> float:
    clock, close = found
    return robust_sd((lead - clock.lag_ns(end))[close])


def _around(
    ordered: F64, part: int, lead: F64, end: F64, scale: Scale
) -> tuple[ClockFit, Bool]:
    """Fit the clock to the tightest of so many parts of the leads, and to all near it."""
    size = max(-(-ordered.size // part), min(2, ordered.size))
    width = ordered[size - 1 :] - ordered[: ordered.size - size + 1]
    at = int(np.argmin(width))
    noise = max(float(width[at]), scale.resolution_ns)
    close: Bool = np.abs(lead - median(ordered[at : at + size])) <= 4 * noise
    clock = fit_clock(end[close], lead[close])
    for _ in range(4):
        left = lead - clock.lag_ns(end)
        noise = max(robust_sd(left[close]), scale.resolution_ns)
        nearer: Bool = np.abs(left) <= max(6 * noise, float(NS_PER_US))
        if not nearer.any() or np.array_equal(nearer, close):
            break
        close = nearer
        clock = fit_clock(end[close], lead[close])
    return clock, close


def _prior(offset_ns: float, scale: Scale) -> float:
    """Log odds of a clock offset under a Cauchy prior, against one spacing."""
    relative = offset_ns / scale.offset_ns
    return float(np.log(scale.spacing_ns / scale.offset_ns) - np.log1p(relative**2))
