"""What attribution says of each collective."""

from dataclasses import dataclass
from enum import IntEnum

from synctax.arrays import I8, I32, I64, Bool


class Known(IntEnum):
    """What can be said of the path to a collective."""

    OK = 0
    NO_FENCE = 1
    """The group's first in the window, or none before it that all ranks leave together."""
    NOT_COMPARABLE = 2
    """The paths of the ranks have no collective in common (`window="lca"` only)."""
    PATH_UNKNOWN = 3
    """Launches or the head of the window are missing where they decide."""
    NO_TAX = 4
    """The tax itself is not known: see the status that `measure` gives it."""


class Why(IntEnum):
    """How an item owes the wait."""

    NONE = 0
    SLOWER = 1
    """It took longer than its counterpart."""
    ALONE = 2
    """It has no counterpart."""
    CARRIED = 3
    """It took longer, before the window: the rank was late when that began."""


@dataclass(frozen=True, slots=True)
class Results:
    """One entry a collective that was attributed, by slot.

    Parameters
    ----------
    slot : (s,) int64
        Number in `Matches`.
    known : (s,) int8
        `Known`: `OK` or `PATH_UNKNOWN`.
    unknown_rank : (s,) int32
        Position of the rank on which most of the path is not known, -1 for none.
    tax_ns : (s,) int64
        Longest less shortest duration.
    path_variation_ns : (s,) int64
        Equation 2, right-hand side: items of the slowest rank's path less those of the
        fastest rank's.
    carried_ns : (s,) int64
        Of the tax, what the slow rank was late already: at most the tax, less the
        variation of a culprit within the window.
    propagated_ns : (s,) int64
        Waits in other groups' collectives on the slow path less those on the fast path.
    launch_ns, queue_ns, cross_ns : (s,) int64
        Idle time on the slow path less that on the fast path: launch latency, stream
        queueing, latency between streams.
    host_ns : (s,) int64
        Time of the slow path on the host.
    culprit : (s,) int64
        Row of the culprit among the items of `slow` (or of `slow.before` where `why` is
        `CARRIED`), -1 for none.
    why : (s,) int8
        `Why`.
    culprit_ns : (s,) int64
        Its variation, at most the tax.
    culprit_class, culprit_side : (s,) int8
        Index into `culprits.CLASSES` and `SIDES`; -1 for no side.
    comm_slot : (s,) int64
        The collective in which a wait is the culprit, -1 for none.
    origin : (s,) int64
        Position in these arrays of the collective where the cause lies: its own, or,
        where the culprit is a wait for another group, that collective's, and so on; -1
        where that was not attributed.
    origin_rank : (s,) int32
        Position of the straggler there.
    equal_work, equal_geometry : (s,) bool
        All ranks launched the same kernels since the collective before: names; names and
        launch geometry.
    """

    slot: I64
    known: I8
    unknown_rank: I32
    tax_ns: I64
    path_variation_ns: I64
    carried_ns: I64
    propagated_ns: I64
    launch_ns: I64
    queue_ns: I64
    cross_ns: I64
    host_ns: I64
    culprit: I64
    why: I8
    culprit_ns: I64
    culprit_class: I8
    culprit_side: I8
    comm_slot: I64
    origin: I64
    origin_rank: I32
    equal_work: Bool
    equal_geometry: Bool

    def __len__(self) -> int:
        return int(self.slot.size)
