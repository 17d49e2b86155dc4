"""Match collectives across ranks, say how each was matched, and what may be said of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from synctax.arrays import F64, I8, I32, I64, NS_PER_US, apart, distinct
from synctax.collectives.clock import NO_LAG, ClockFit
from synctax.collectives.group_clock import group_clocks, lags_ns, spread_ns
from synctax.collectives.matches import Matches, Status
from synctax.collectives.model import RankCollectives
from synctax.collectives.number import number
from synctax.collectives.pool import JobGroup, Participations, gather
from synctax.collectives.repeats import without_repeats
from synctax.collectives.siblings import sibling_sets
from synctax.collectives.status import Facts, Verdict, judge, operations
from synctax.collectives.union import sequence
from synctax.notes import Note
from synctax.texts import time_us
from synctax.trace.discover import natural_key

DEFAULT_END_TOLERANCE_US = 200.0
"""On one host the ends of healthy collectives were seen to lie up to 72 µs apart."""

DEFAULT_CPU_END_TOLERANCE_US = 10_000.0
"""Collectives on CPUs (gloo) end on a rank when its thread is scheduled again."""

SAME_HOST_OFFSET_NS = 20_000.0
OTHER_HOST_OFFSET_NS = 500_000.0
"""Scales of clock offsets: one clock read by several processes; NTP between hosts."""


def match(
    ranks: Sequence[RankCollectives], *, end_tolerance_us: float | None = None
) -> Matches:
    """Match the collectives of all ranks, group by group and window by window.

    Parameters
    ----------
    ranks : sequence of RankCollectives
        In any order; `rank` and `window` are assigned, no (rank, window) twice.
    end_tolerance_us : float, optional
        Ends of one collective (on aligned clocks) may lie this far apart, in µs. Default:
        200, or 10,000 where collectives run on CPUs.

    Returns
    -------
    Matches
        Every participation is in exactly one collective.

    References
    ----------
    Synchronization-tax paper, section 3.2 (aligning ranks); that ends agree is what
    validates a match.
    """
    ranks = tuple(sorted(ranks, key=lambda rank: (natural_key(rank.window), rank.rank)))
    ranks, repeated = without_repeats(ranks)
    table, groups, notes = gather(ranks)
    notes = (*repeated, *notes)
    if end_tolerance_us is None:
        end_tolerance_us = default_end_tolerance_us(ranks)
    tolerance_ns = end_tolerance_us * NS_PER_US
    table, groups = _split_siblings(ranks, table, groups, tolerance_ns)
    matched = [
        _match_group(ranks, table, rows, group, tolerance_ns)
        for rows, group in zip(_rows_of(table, len(groups)), groups, strict=True)
    ]
    notes = (*notes, *_odd_clocks(ranks, groups, table, matched, tolerance_ns))
    return _assemble(ranks, table, groups, matched, notes)


def default_end_tolerance_us(ranks: Sequence[RankCollectives]) -> float:
    """How far apart, in µs, the ends of one collective may lie if nobody says so."""
    return DEFAULT_END_TOLERANCE_US if _on_gpus(ranks) else DEFAULT_CPU_END_TOLERANCE_US


def _on_gpus(ranks: Sequence[RankCollectives]) -> bool:
    return any(rank.comm_kernels for rank in ranks)


def _rows_of(table: Participations, groups: int) -> list[I64]:
    """Rows of each group by rank, then by end: ranks leave in one order on any stream."""
    order = np.lexsort((table.end_ns, table.rank, table.group))
    begins = np.searchsorted(table.group[order], np.arange(groups + 1))
    return [order[low:high] for low, high in pairwise(begins.tolist())]


def _split_siblings(
    ranks: tuple[RankCollectives, ...],
    table: Participations,
    groups: tuple[JobGroup, ...],
    tolerance_ns: float,
) -> tuple[Participations, tuple[JobGroup, ...]]:
    """Split groups without metadata into the sets of ranks that leave together."""
    unlabelled = [
        which
        for which, group in enumerate(groups)
        if not group.labelled and len(group.members) >= 4
    ]
    result = list(groups)
    column = table.group.copy()
    rows_of = _rows_of(table, len(groups)) if unlabelled else []
    for which in unlabelled:
        group, rows = groups[which], rows_of[which]
        own = dict(apart(table.rank[rows]))
        if not own:
            continue
        members = list(own)
        parts = [sequence(rows[inside], table) for inside in own.values()]
        sets = sibling_sets(parts, tolerance_ns=tolerance_ns)
        for extra, positions in enumerate(sets):
            chosen = tuple(members[p] for p in positions)
            shown = tuple(sorted(ranks[m].rank for m in chosen))
            part = replace(group, ranks=shown, size=len(shown), members=chosen)
            if extra == 0:
                result[which] = part
                continue
            column[rows[np.isin(table.rank[rows], chosen)]] = len(result)
            result.append(part)
    order = sorted(
        range(len(result)),
        key=lambda i: (natural_key(result[i].window), result[i].role, i),
    )
    place = np.argsort(np.array(order, np.int64)).astype(np.int32)
    column = place[column] if column.size else column
    return replace(table, group=column), tuple(result[i] for i in order)


@dataclass(frozen=True, slots=True)
class _Slots:
    """The collectives of one group; rows sorted by (slot, rank)."""

    rows: I64
    slot: I64
    op: I8
    identity: I8
    verdict: Verdict
    end_spread_ns: F64
    start_spread_ns: F64
    clocks: dict[int, ClockFit]


def _match_group(
    ranks: tuple[RankCollectives, ...],
    table: Participations,
    rows: I64,
    group: JobGroup,
    tolerance_ns: float,
) -> _Slots:
    one_host = _one_host(ranks, group.members)
    scale = SAME_HOST_OFFSET_NS if one_host else OTHER_HOST_OFFSET_NS
    union, identity = number(
        rows,
        table,
        group,
        tolerance_ns=tolerance_ns,
        offset_scale_ns=scale,
        on_cpu=not _on_gpus(ranks),
    )
    slot = union.slot
    count = int(slot.max(initial=-1)) + 1
    clocks, checked = group_clocks(
        rows, slot, table, tolerance_ns=tolerance_ns, one_host=one_host
    )
    start = table.start_ns[rows] - lags_ns(rows, table, clocks)
    duration = table.duration_ns[rows]
    end = start + duration
    slot = _in_order_of_time(slot, end, count)
    end_spread = spread_ns(slot, end, count)
    start_spread = spread_ns(slot, start, count)
    instant = np.zeros(count, np.bool_)
    instant[slot[duration == 0]] = True
    del start, duration, end
    order = np.lexsort((slot,))  # in a slot by rank, as they are
    rows, slot, identity = rows[order], slot[order], identity[order]
    op, valid = operations(rows, slot, table, count)
    if not checked:
        end_spread[:], start_spread[:] = np.nan, np.nan
    facts = Facts(
        slot=slot,
        own_rank=table.own_rank[table.rank[rows]],
        paired=table.peer[rows] >= 0,
        identity=identity,
        doubt=union.doubt[order],
        valid=valid,
        instant=instant,
        end_spread_ns=end_spread,
    )
    verdict = judge(
        facts, members=len(group.members), size=group.size, tolerance_ns=tolerance_ns
    )
    leader = np.searchsorted(slot, np.arange(count))
    return _Slots(
        rows, slot, op, identity[leader], verdict, end_spread, start_spread, clocks
    )


def _odd_clocks(
    ranks: tuple[RankCollectives, ...],
    groups: tuple[JobGroup, ...],
    table: Participations,
    matched: list["_Slots"],
    tolerance_ns: float,
) -> list[Note]:
    """Say where clocks differ that are on one host: hosts or matches may be wrong."""
    odd: dict[int, float] = {}
    for group, part in zip(groups, matched, strict=True):
        if not part.clocks or not _one_host(ranks, group.members):
            continue
        present = distinct(table.rank[part.rows]).tolist()
        # the reference is first: of two clocks it is the other that is named
        positions = sorted(present, key=lambda position: position in part.clocks)
        offset_ns = [part.clocks.get(one, NO_LAG).offset_ns for one in positions]
        far_ns = _far_ns(np.array(offset_ns), tolerance_ns)
        for position, own_ns in zip(positions, far_ns.tolist(), strict=True):
            rank = ranks[position].rank
            if own_ns:
                odd[rank] = max(odd.get(rank, 0.0), own_ns)
    if not odd:
        return []
    apart = time_us(max(odd.values()) / NS_PER_US)
    some = ", ".join(map(str, sorted(odd)[:8]))
    text = f"ranks of one host with clocks up to {apart} apart: {some}"
    return [Note("clocks_of_one_host_differ", len(odd), text)]


def _far_ns(offset_ns: F64, tolerance_ns: float) -> F64:
    """Tell how far each clock is from that with which most agree; 0 for those that do.

    Where all agree with it, though not with each other, the distances as they are.
    """
    apart_ns = np.abs(offset_ns[:, np.newaxis] - offset_ns)
    from_most_ns: F64 = apart_ns[np.argmax((apart_ns <= tolerance_ns).sum(axis=1))]
    far = from_most_ns > tolerance_ns
    return np.where(far, from_most_ns, 0.0) if far.any() else from_most_ns


def _one_host(ranks: tuple[RankCollectives, ...], members: tuple[int, ...]) -> bool:
    hosts = {ranks[member].host for member in members}
    return len(hosts) == 1 and "" not in hosts


def _in_order_of_time(slot: I64, end: I64, count: int) -> I64:
    """Number the slots anew by the latest end in each."""
    latest = np.full(count, np.iinfo(np.int64).min)
    np.maximum.at(latest, slot, end)
    place = np.empty(count, np.int64)
    place[np.lexsort((np.arange(count), latest))] = np.arange(count)
    result: I64 = place[slot]
    return result


def _assemble(
    ranks: tuple[RankCollectives, ...],
    table: Participations,
    groups: tuple[JobGroup, ...],
    matched: list[_Slots],
    notes: tuple[Note, ...],
) -> Matches:
    counts = np.array([part.op.size for part in matched], np.int64)
    base = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    rows = _join([part.rows for part in matched], np.int64)
    slot = _join([part.slot + base[i] for i, part in enumerate(matched)], np.int64)
    total = int(base[-1])
    first = np.searchsorted(slot, np.arange(total + 1)).astype(np.int64)
    index = np.arange(total) - np.repeat(base[:-1], counts)
    own_status = _join([part.verdict.status for part in matched], np.int8)
    status = np.where(index == 0, Status.HEAD, own_status).astype(np.int8)
    verdicts = [part.verdict for part in matched]
    reasons = tuple(dict.fromkeys(text for one in verdicts for text in one.reasons))
    code = {text: number for number, text in enumerate(reasons)}
    reason = [one.recoded(code) for one in verdicts]

    def largest(column: I64 | I32) -> I64:
        result = np.full(total, -1, np.int64)
        if total:
            result[:] = np.maximum.reduceat(column[rows], first[:-1])
        return result

    return Matches(
        ranks=ranks,
        groups=groups,
        table=table,
        group=np.repeat(np.arange(len(groups), dtype=np.int32), counts).astype(np.int32),
        index=index.astype(np.int64),
        op=_join([part.op for part in matched], np.int8),
        dtype=largest(table.dtype).astype(np.int32),
        payload_bytes=largest(table.payload_bytes),
        seq=largest(table.seq),
        step=largest(table.step),
        identity=_join([part.identity for part in matched], np.int8),
        status=status,
        own_status=own_status,
        reason=_join(reason, np.int32),
        reasons=reasons,
        end_spread_ns=_join([part.end_spread_ns for part in matched], np.float64),
        start_spread_ns=_join([part.start_spread_ns for part in matched], np.float64),
        first=first,
        row=rows,
        clocks=tuple(part.clocks for part in matched),
        notes=notes,
    )


def _join(parts: list[Any], dtype: type[np.generic]) -> Any:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype, copy=False)
