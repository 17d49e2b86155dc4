"""Line up the collectives of two ranks that may each have lost some of them.

Profilers drop what straddles the edge of their window, so ranks lose different leading
and trailing collectives, and nothing in a name shows it. What does is the end of each
collective: ranks leave it together. `align` judges shifts of one sequence against the
other by how closely their ends agree (`shifts.ranked`), then follows the best one through
the sequence, where single collectives may be missing too (`follow`).
"""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import I64, Bool
from synctax.collectives.clock import NO_LAG, ClockFit, fit_clock
from synctax.collectives.follow import follow
from synctax.collectives.sequence import OpSequence, anchors, to_neighbour_ns
from synctax.collectives.shifts import EVIDENCE, FEWEST, Scale, Shift, ranked

AMBIGUOUS = float(np.log(10.0))
"""Two shifts whose odds are closer than ten to one are both possible."""

EXTRAORDINARY = 50.0
"""Offsets of clocks that are so many times their usual scale need evidence."""

UNLIKELY = 20.0
NEIGHBOURLY = 0.4
"""Ends so many times further apart than usual, and so large a part of the way to the next
end apart, may be those of two collectives."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """For each collective of the second rank its place in the first, or -1.

    Parameters
    ----------
    place : (n,) int64
        Increasing where it is not -1.
    unsure : (n,) bool
        Next to a lost collective, so that its place may be one off.
    far : (n,) bool
        Ends much further from its place than ends usually do, so that the two may be
        different collectives of which each rank lost the other's.
    clock : ClockFit
        The second rank's clock against the first's.
    agreement : float
        Share of shared symmetric collectives whose ends agree within the tolerance; 1.0
        where there are none.
    anchors : int
        Number of shared symmetric collectives.
    ambiguous : bool
        Another shift fits about as well.
    whole : bool
        One shift holds for (almost) all ends, however far they are scattered.
    """

    place: I64
    unsure: Bool
    far: Bool
    clock: ClockFit
    agreement: float
    anchors: int
    ambiguous: bool
    whole: bool


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

    Notes
    -----
    A shift is worth ln(U/r) for each end that agrees within the residual r, where ends
    are a spacing U apart, for at most ten ends; one is spent on the unknown offset of the
    clocks, for which a Cauchy prior stands. The time is linear in the collectives.
    """
    if not len(a) or not len(b):
        nothing = np.zeros(len(b), np.bool_)
        place = np.full(len(b), -1, np.int64)
        return Alignment(
            place, nothing, nothing, NO_LAG, 1.0, 0, ambiguous=False, whole=True
        )
    scale = Scale.of(a, b, offset_ns=offset_scale_ns)
    best, *others = ranked(a, b, scale)
    rivals = [one.score for one in others if one.whole and best.whole]
    ambiguous = any(best.score - score < AMBIGUOUS for score in rivals)
    # A few ends agree at some shift of any two ranks, also of such as share nothing.
    unlike = abs(best.clock.offset_ns) > EXTRAORDINARY * offset_scale_ns
    ambiguous |= unlike and 0 < best.ends < EVIDENCE
    ambiguous |= best.ends < EVIDENCE and any(_closer(one, best, scale) for one in others)
    noise_ns = max(best.residual_ns, scale.resolution_ns)
    along = _Along(best.shift, best.clock, noise_ns, whole=best.whole)
    return _place(a, b, along, tolerance_ns=tolerance_ns, ambiguous=ambiguous)


def _closer(one: Shift, best: Shift, scale: Scale) -> bool:
    """Whether fewer ends agree at a shift, but much more closely than at the best."""
    if not FEWEST <= one.ends <= best.ends:
        return False
    return 2 * one.residual_ns + scale.resolution_ns < best.residual_ns


def align_on_one_clock(
    a: OpSequence, b: OpSequence, *, tolerance_ns: float, noise_ns: float
) -> Alignment:
    """Find which collective of `a` each of `b` is, where clocks have been aligned before.

    Parameters
    ----------
    a, b : OpSequence
        In order of time, on one clock, not empty.
    tolerance_ns : float
        As for `align`.
    noise_ns : float
        How far the ends of one collective usually lie apart.

    Returns
    -------
    Alignment
    """
    along = _Along(0, NO_LAG, noise_ns, whole=True)
    return _place(a, b, along, tolerance_ns=tolerance_ns, ambiguous=False)


@dataclass(frozen=True, slots=True)
class _Along:
    shift: int
    clock: ClockFit
    noise_ns: float
    whole: bool


def _place(
    a: OpSequence, b: OpSequence, along: _Along, *, tolerance_ns: float, ambiguous: bool
) -> Alignment:
    path = follow(a, b, along.shift, clock=along.clock, noise_ns=along.noise_ns)
    rows = np.flatnonzero(path.place >= 0)
    left, right = a.take(path.place[rows]), b.take(rows)
    shared = anchors(left, right)
    clock, agreement = NO_LAG, 1.0
    if shared.any():
        end = right.end_ns[shared].astype(np.float64)
        lead = (right.end_ns - left.end_ns)[shared].astype(np.float64)
        clock = fit_clock(end, lead)
        agreement = float((np.abs(lead - clock.lag_ns(end)) <= tolerance_ns).mean())
    far = np.zeros(len(b), np.bool_)
    far[rows] = shared & _far(a, b, path.place, along)[rows]
    return Alignment(
        path.place,
        path.unsure,
        far,
        clock,
        agreement,
        int(shared.sum()),
        ambiguous=ambiguous,
        whole=along.whole,
    )


def _far(a: OpSequence, b: OpSequence, place: I64, along: _Along) -> Bool:
    """Mark pairs whose ends disagree as much as those of neighbours would.

    One odd end is no different collective unless it is odd by about as much as its
    neighbours are away.
    """
    result = np.zeros(len(b), np.bool_)
    rows = np.flatnonzero(place >= 0)
    lag = along.clock.lag_ns(b.end_ns[rows].astype(np.float64))
    apart = np.abs(b.end_ns[rows] - a.end_ns[place[rows]] - lag)
    nearest = np.minimum(to_neighbour_ns(a)[place[rows]], to_neighbour_ns(b)[rows])
    result[rows] = apart > np.maximum(UNLIKELY * along.noise_ns, NEIGHBOURLY * nearest)
    return result
