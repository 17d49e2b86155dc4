"""What may be said of each collective of a group, and why not more."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I8, I64, Bool
from synctax.collectives.matches import Identity, Status
from synctax.collectives.model import SYMMETRIC
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


def judge(
    facts: Facts, *, members: int, size: int, tolerance_ns: float
) -> tuple[I8, list[str]]:
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
    (m,) int8, list of m str
        `Status`; the reason, empty for `OK`.
    """
    count = facts.valid.size
    status = np.full(count, Status.OK, np.int8)
    reason = [""] * count
    seen = np.bincount(facts.slot, minlength=count)
    first = np.searchsorted(facts.slot, np.arange(count))
    exact = facts.identity[first] <= Identity.SEQ

    def say(which: Bool, verdict: Status, why: str) -> None:
        for one in np.flatnonzero(which & (status == Status.OK)):
            status[one], reason[one] = verdict, why

    if size == 1:
        say(seen > 0, Status.UNMATCHED, "the group has one rank, which waits for nobody")
    if members == 1:
        say(seen > 0, Status.UNMATCHED, "only one rank of the group was read")
    doubtful = np.flatnonzero(facts.doubt)
    for rank, doubt in sorted(
        {*zip(facts.own_rank[doubtful], facts.doubt[doubtful], strict=True)}
    ):
        hit = np.zeros(count, np.bool_)
        hit[facts.slot[(facts.own_rank == rank) & (facts.doubt == doubt)]] = True
        why = f"order of rank {rank} is not certain: {REASONS[Doubt(int(doubt))]}"
        say(hit, Status.UNMATCHED, why)
    say(~facts.valid, Status.INVALID, "ranks do not leave this operation together")
    say(facts.instant, Status.INVALID, "a rank's kernel has no duration")
    apart = facts.end_spread_ns > tolerance_ns
    say(apart & exact, Status.INVALID, "ends are further apart than the tolerance")
    say(apart, Status.UNMATCHED, "ends are further apart than the tolerance")
    unchecked = np.isnan(facts.end_spread_ns) & (seen > 1)
    say(unchecked & ~exact, Status.UNMATCHED, "too few ends to check the order by")
    expected = np.where(facts.paired[first], min(2, members), members)
    say(seen < expected, Status.PARTIAL, "some ranks did not record it")
    return status, reason


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
    op, named = table.op[rows], table.named[rows]
    first = np.searchsorted(slot, np.arange(count + 1))
    result = op[first[:-1]].copy()
    low, high = result.copy(), result.copy()
    np.minimum.at(low, slot, op)
    np.maximum.at(high, slot, op)
    for one in np.flatnonzero(low != high):
        inside = slice(first[one], first[one + 1])
        result[one] = _majority_op(op[inside], named[inside])
    uneven = np.zeros(count, np.bool_)
    np.logical_or.at(uneven, slot, table.uneven[rows])
    valid = np.isin(result, [int(symmetric) for symmetric in SYMMETRIC]) & ~uneven
    return result.astype(np.int8), valid


def _majority_op(op: I8, named: Bool) -> int:
    """The operation most named participations say, else most of all."""
    votes = op[named] if named.any() else op
    return int(np.bincount(votes.astype(np.int64)).argmax())
