"""What may be said of each collective of a group, and why not more."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I8, I32, I64, Bool, apart
from synctax.collectives.matches import Identity, Status
from synctax.collectives.model import IS_SYMMETRIC
from synctax.collectives.pool import Participations
from synctax.collectives.union import REASONS, Doubt


@dataclass(frozen=True, slots=True)
class Facts:
    """What the verdict on a group's m collectives rests on.

    `slot`, `own_rank` (global), `paired` (a send/recv of a known pair), `identity` and
    `doubt` (`union.Doubt`) have one entry a participation, sorted by slot; `valid` (ranks
    leave it together), `instant` (a kernel of no duration) and `end_spread_ns` (NaN:
    unknown) one a collective.
    """

    slot: I64
    own_rank: I64
    paired: Bool
    identity: I8
    doubt: I8
    valid: Bool
    instant: Bool
    end_spread_ns: F64


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was said of each of m collectives.

    `status` (m,) int8 is a `Status`, `reason` (m,) int32 the number of a text among
    `reasons`, -1 for `OK`.
    """

    status: I8
    reason: I32
    reasons: tuple[str, ...]

    def recoded(self, number: Mapping[str, int]) -> I32:
        """Reasons by the numbers of another list of texts."""
        table = np.array([*map(number.__getitem__, self.reasons), -1], np.int32)
        return table[self.reason]


def judge(facts: Facts, *, members: int, size: int, tolerance_ns: float) -> Verdict:
    """Give each collective its status (but for the window's head) and the reason.

    Parameters
    ----------
    facts : Facts
        Of one group.
    members : int
        How many ranks of the group were read.
    size : int
        How many it has.
    tolerance_ns : float
        Ends of one collective may lie this far apart.

    Returns
    -------
    Verdict
    """
    count = facts.valid.size
    status = np.full(count, Status.OK, np.int8)
    reason = np.full(count, -1, np.int32)
    reasons: dict[str, int] = {}
    seen = np.bincount(facts.slot, minlength=count)
    first = np.searchsorted(facts.slot, np.arange(count))
    exact = facts.identity[first] <= Identity.SEQ

    def say(which: Bool, verdict: Status, why: str) -> None:
        hit = which & (status == Status.OK)
        if hit.any():
            status[hit], reason[hit] = verdict, reasons.setdefault(why, len(reasons))

    if size == 1:
        say(seen > 0, Status.UNMATCHED, "the group has one rank, which waits for nobody")
    if members == 1:
        say(seen > 0, Status.UNMATCHED, "only one rank of the group was read")
    doubtful = np.flatnonzero(facts.doubt)
    kinds = facts.own_rank[doubtful] * len(Doubt) + facts.doubt[doubtful]
    for kind, some in apart(kinds):
        rank, doubt = divmod(kind, len(Doubt))
        hit = np.zeros(count, np.bool_)
        hit[facts.slot[doubtful[some]]] = True
        why = f"order of rank {rank} is not certain: {REASONS[Doubt(doubt)]}"
        say(hit, Status.UNMATCHED, why)
    say(~facts.valid, Status.INVALID, "ranks do not leave this operation together")
    say(facts.instant, Status.INVALID, "a rank's kernel has no duration")
    far = facts.end_spread_ns > tolerance_ns
    say(far & exact, Status.INVALID, "ends are further apart than the tolerance")
    say(far, Status.UNMATCHED, "ends are further apart than the tolerance")
    unchecked = np.isnan(facts.end_spread_ns) & (seen > 1)
    say(unchecked & ~exact, Status.UNMATCHED, "too few ends to check the order by")
    expected = np.where(facts.paired[first], min(2, members), members)
    say(seen < expected, Status.PARTIAL, "some ranks did not record it")
    return Verdict(status, reason, tuple(reasons))


def operations(rows: I64, slot: I64, table: Participations, count: int) -> tuple[I8, Bool]:
    """Find the operation of each collective, and whether its ranks leave it together.

    Parameters
    ----------
    rows, slot : (n,) int64
        Participations, sorted by slot, and the collective of each.
    table : Participations
        The table they are rows of.
    count : int
        Number m of collectives.

    Returns
    -------
    (m,) int8, (m,) bool
        What most participations that name it say; symmetric and even.
    """
    if not count:
        return np.empty(0, np.int8), np.empty(0, np.bool_)
    op = table.op[rows]
    first = np.searchsorted(slot, np.arange(count + 1))
    low = np.minimum.reduceat(op, first[:-1])
    result = low.copy()
    for one in np.flatnonzero(low != np.maximum.reduceat(op, first[:-1])):
        inside = slice(first[one], first[one + 1])
        result[one] = _majority_op(op[inside], table.named[rows[inside]])
    uneven = np.logical_or.reduceat(table.uneven[rows], first[:-1])
    return result, IS_SYMMETRIC[result] & ~uneven


def _majority_op(op: I8, named: Bool) -> int:
    """The operation most named participations say, else most of all."""
    votes = op[named] if named.any() else op
    return int(np.bincount(votes.astype(np.int64)).argmax())
