"""What the groups of a job moved: bytes a step, and how fast, net of the wait."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import ABSENT, F64, I8, I32, I64, NS_PER_US, Bool
from synctax.collectives.model import Op
from synctax.collectives.tax import Tax
from synctax.collectives.wait import busbw_factor
from synctax.planning.verify.observed import Observed

RECEIVED_TOO: Final = 0.5
"""Of what is sent and received from rank to rank, the share that is sent: every message is
in the trace of both sides, and there both are called send_recv."""


@dataclass(frozen=True, slots=True, eq=False)
class Collectives:
    """Those of a job that can be measured, one entry each.

    Parameters
    ----------
    group : (m,) int64
        Number of its group among those of `Observed`.
    op : (m,) int8
        `Op`.
    payload_bytes : (m,) int64
        Largest of a rank's input and output.
    net_gb_per_s : (m,) float64
        Bus bandwidth over the time of the last rank to arrive; NaN where no trace tells
        the payload.
    shortest_us, longest_us : (m,) float64
        Durations on the last rank to arrive, and on the first.
    last : (m,) int64
        Global rank that arrived last; -1 where ranks tie.
    whole : (m,) bool
        Whether all of its ranks are in the traces. Else the last to arrive may be one that
        is not, and the shortest duration holds the wait for it.
    """

    group: I64
    op: I8
    payload_bytes: I64
    net_gb_per_s: F64
    shortest_us: F64
    longest_us: F64
    last: I64
    whole: Bool


@dataclass(frozen=True, slots=True, eq=False)
class Sent:
    """What each rank sent in groups of one role, in a profiler step.

    Parameters
    ----------
    rank : (r,) int64
        Ranks that took part.
    bytes_per_step : (r,) float64
        On the wire, the mean over the rank's steps: payload times nccl-tests' factor of bus
        bandwidth; of sends and receives half.
    calls_per_step : dict of int to (r,) float64
        By `Op`: collectives a step.
    unknown : int
        Collectives whose payload no trace tells, left out.
    """

    rank: I64
    bytes_per_step: F64
    calls_per_step: dict[int, F64]
    unknown: int


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """What the groups of a job moved.

    Parameters
    ----------
    collectives : Collectives
    sent : dict of str to Sent
        By role.
    steps : int
        Fewest steps that a rank recorded; 0 where some marked none.
    waited_us : dict of int to float
        How long each rank waited for others, over all collectives that can be measured.
    """

    collectives: Collectives
    sent: dict[str, Sent]
    steps: int
    waited_us: dict[int, float]


def traffic(tax: Tax, observed: Observed) -> Traffic:
    """Tell what each group of a job moved.

    Parameters
    ----------
    tax : Tax
        Of the job that `observed` is of.
    observed : Observed

    Returns
    -------
    Traffic
        Bytes count every collective that was recorded in a step, whatever its status;
        bandwidths only those whose waits are known.
    """
    number = _numbers(tax, observed)
    return Traffic(
        _collectives(tax, number),
        _sent(tax, observed, number),
        _steps(tax),
        _waited_us(tax),
    )


def _waited_us(tax: Tax) -> dict[int, float]:
    """Sum up the waits of each rank."""
    found = tax.matches
    rows = np.repeat(tax.used, np.diff(found.first))
    own = found.table.own_rank[found.table.rank[found.row[rows]]]
    ranks, at = np.unique(own, return_inverse=True)
    total = np.bincount(at, tax.waits.wait_ns[rows], minlength=ranks.size) / NS_PER_US
    return dict(zip(ranks.tolist(), total.tolist(), strict=True))


def _numbers(tax: Tax, observed: Observed) -> I64:
    """Find the group of `Observed` that each of the matched ones is, -1 for none."""
    place = {(group.name, group.ranks): at for at, group in enumerate(observed.groups)}
    by_ranks = {(group.role, group.ranks): at for at, group in enumerate(observed.groups)}
    return np.array(
        [
            by_ranks.get(
                (group.role, group.ranks), place.get((group.name, group.ranks), -1)
            )
            for group in tax.matches.groups
        ],
        np.int64,
    )


def _collectives(tax: Tax, number: I64) -> Collectives:
    found, waits = tax.matches, tax.waits
    group = np.append(number, ABSENT)[found.group]
    net = tax.busbw_gb_per_s
    slots = np.flatnonzero(tax.used & (group >= 0))
    shortest, longest = waits.shortest_ns[slots], waits.longest_ns[slots]
    own = np.array([*(rank.rank for rank in found.ranks), ABSENT], np.int64)
    size = np.array([one.size for one in found.groups], np.int64)
    return Collectives(
        group=group[slots],
        op=found.op[slots],
        payload_bytes=found.payload_bytes[slots],
        net_gb_per_s=net[slots],
        shortest_us=shortest / NS_PER_US,
        longest_us=longest / NS_PER_US,
        last=own[waits.straggler[slots]],
        whole=waits.n_ranks[slots] >= size[found.group[slots]],
    )


def _steps(tax: Tax) -> int:
    return min((_steps_of(tax, at) for at in range(len(tax.matches.ranks))), default=0)


def _steps_of(tax: Tax, position: int) -> int:
    numbers = np.unique(tax.matches.ranks[position].step_number)
    if tax.steps is not None:
        numbers = numbers[(numbers >= tax.steps.start) & (numbers < tax.steps.stop)]
    return int(numbers.size)


def _sent(tax: Tax, observed: Observed, number: I64) -> dict[str, Sent]:
    table, groups = tax.matches.table, tax.matches.groups
    roles = tuple(dict.fromkeys(observed.groups[at].role for at in number if at >= 0))
    code = np.array(
        [roles.index(observed.groups[at].role) if at >= 0 else ABSENT for at in number],
        np.int64,
    )
    if not roles:
        return {}
    role = np.append(code, ABSENT)[table.group]
    inside = (table.step >= 0) & (role >= 0)
    if tax.steps is not None:
        inside &= (table.step >= tax.steps.start) & (table.step < tax.steps.stop)
    size = np.array([group.size for group in groups], np.int64)[table.group]
    wire = table.payload_bytes * wire_factors(table.op, size)
    known = inside & (table.payload_bytes >= 0) & ~np.isnan(wire)
    moves = ~np.isin(table.op, (Op.BARRIER, Op.UNKNOWN))
    steps = np.array([_steps_of(tax, at) for at in range(len(tax.matches.ranks))], np.int64)
    return {
        name: _sent_in(
            tax,
            steps,
            _Mine(inside & (role == at), known & (role == at), moves, wire),
        )
        for at, name in enumerate(roles)
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Mine:
    """Participations: of a role, of these with a known size, all that move bytes; bytes."""

    of_role: Bool
    known: Bool
    moves: Bool
    wire_bytes: F64


def _sent_in(tax: Tax, steps: I64, mine: _Mine) -> Sent:
    table = tax.matches.table
    taking_part = np.zeros(steps.size, np.bool_)
    taking_part[table.rank[mine.of_role]] = True
    # a rank has as many entries as profiler windows
    at = np.flatnonzero(taking_part & (steps > 0))
    ranks, number = np.unique(table.own_rank[at], return_inverse=True)
    of_rank = np.bincount(number, steps[at], minlength=ranks.size)

    def per_step(chosen: Bool, weight: F64) -> F64:
        total = np.bincount(table.rank[chosen], weight[chosen], minlength=steps.size)
        found: F64 = np.bincount(number, total[at], minlength=ranks.size) / of_rank
        return found

    one = np.ones(table.rank.size)
    return Sent(
        rank=ranks,
        bytes_per_step=per_step(mine.known, mine.wire_bytes),
        calls_per_step={
            op: per_step(mine.of_role & (table.op == op), one)
            for op in np.unique(table.op[mine.of_role]).tolist()
        },
        unknown=int((mine.of_role & ~mine.known & mine.moves).sum()),
    )


def wire_factors(op: I8, size: I64) -> F64:
    """Give bytes on the wire that a rank sends over the payload, of each participation.

    Parameters
    ----------
    op : (n,) int8
        `Op`.
    size : (n,) int64
        Ranks of the group.

    Returns
    -------
    (n,) float64
        nccl-tests' factor of bus bandwidth; half of sends and receives. NaN for operations
        that move no payload of their own.
    """
    pairs, place = np.unique(
        np.stack([op.astype(np.int64), size]), axis=1, return_inverse=True
    )
    factors = [
        RECEIVED_TOO if one == Op.SEND_RECV else busbw_factor(one, n)
        for one, n in pairs.T.tolist()
    ]
    return np.array(factors, np.float64)[place.reshape(-1)]


def class_of(moved: Collectives) -> I32:
    """Number what may be compared: one operation, payloads within a power of two.

    Parameters
    ----------
    moved : Collectives

    Returns
    -------
    (m,) int32
    """
    with np.errstate(divide="ignore"):
        power = np.floor(np.log2(np.maximum(moved.payload_bytes, 1))).astype(np.int64)
    _, number = np.unique(np.stack([moved.op, power]), axis=1, return_inverse=True)
    return number.reshape(-1).astype(np.int32)
