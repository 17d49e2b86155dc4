"""How a rank's time was spent, iteration by iteration: computed, transferred, waited."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I64, Bool
from synctax.collectives.busy import intersection, union
from synctax.collectives.matches import Status
from synctax.collectives.model import RankCollectives
from synctax.collectives.tax import Tax

Spans = tuple[I64, I64]
"""Starts and ends of disjoint intervals in ascending order."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Times of the r windows of ranks of a job, each of several iterations.

    `window_ns` is the sum of the four others but for the wait at the window's head.

    Parameters
    ----------
    window_ns : (r,) int64
        From the first iteration's begin to the last one's end.
    iterations : (r,) int64
    marked : (r,) bool
        Steps are marked.
    network_ns : (r,) int64
        Transfer with no computation beside it; with the wait where that is not known.
    tax_ns : (r,) int64
        Waiting for the last rank to arrive, with no computation beside it.
    head_ns : (r,) int64
        Waiting in the first collective of a group in a window, where ranks wait for each
        other's profiler: no part of an iteration.
    compute_ns : (r,) int64
        The rest.
    unsure_ns : (r,) int64
        Of `network_ns`, what may hold a wait.
    chosen : (n,) bool
        Participations (rows of `tax.matches.table`) that are within these iterations.
    sure : (n,) bool
        Those whose wait is known.
    """

    window_ns: I64
    iterations: I64
    marked: Bool
    network_ns: I64
    tax_ns: I64
    head_ns: I64
    compute_ns: I64
    unsure_ns: I64
    chosen: Bool
    sure: Bool


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Of each participation: whether it counts, how long it transfers, what is known."""

    shown: Bool
    transfer_ns: I64
    sure: Bool
    head: Bool


def parts(tax: Tax, iterations: int) -> Parts:
    """Take the time of every rank apart.

    Parameters
    ----------
    tax : Tax
    iterations : int
        Of a window without marked steps.
    """
    rows, table = _rows(tax), tax.matches.table
    chosen = np.zeros(table.rank.size, np.bool_)
    found = np.zeros((6, len(tax.matches.ranks)), np.int64)
    marked = np.zeros(len(tax.matches.ranks), np.bool_)
    for position, one in enumerate(tax.matches.ranks):
        own = table.of_rank(position)
        mine = np.arange(own.start, own.stop)
        begin, end, steps = _span(tax, one, mine)
        marked[position] = steps is not None
        count = iterations if steps is None else len(steps)
        inside = np.ones(mine.size, np.bool_)
        if steps is not None:
            step = table.step[mine]
            inside = (step >= steps.start) & (step < steps.stop)
        chosen[mine[inside]] = True
        window = (np.array([begin]), np.array([max(begin, end)]))
        spent = _spent(
            one, window, _of(rows, mine), (table.start_ns[mine], table.end_ns[mine])
        )
        found[:, position] = (window[1][0] - begin, count, *spent)
    window_ns, counts, network, unsure, waiting, exposed = found
    return Parts(
        window_ns=window_ns,
        iterations=counts,
        marked=marked,
        network_ns=network,
        tax_ns=waiting - network,
        head_ns=exposed - waiting,
        compute_ns=window_ns - exposed,
        unsure_ns=unsure,
        chosen=chosen,
        sure=rows.shown & rows.sure,
    )


def _rows(tax: Tax) -> _Rows:
    found, n = tax.matches, tax.matches.table.rank.size
    slot = np.full(n, ABSENT, np.int64)
    slot[found.row] = np.repeat(np.arange(len(found)), np.diff(found.first))
    placed = slot >= 0
    sure = np.append(found.own_status == Status.OK, False)[slot]
    shortest = np.append(tax.waits.shortest_ns, 0)[slot]
    duration = found.table.duration_ns
    return _Rows(
        shown=placed & np.append(tax.shown, False)[slot],
        transfer_ns=np.where(sure, np.minimum(shortest, duration), duration),
        sure=sure,
        head=np.append(found.status == Status.HEAD, False)[slot],
    )


def _of(rows: _Rows, mine: I64) -> _Rows:
    return _Rows(rows.shown[mine], rows.transfer_ns[mine], rows.sure[mine], rows.head[mine])


def _span(tax: Tax, one: RankCollectives, mine: I64) -> tuple[int, int, range | None]:
    """Say when a rank's iterations begin and end, and which steps they are.

    The host runs ahead of the GPU, so `ProfilerStep` ranges do not say when the work of a
    step was done; the ends of its last collectives do.
    """
    if not one.step_number.size:
        return one.window_start_ns, one.window_end_ns, None
    low, high = int(one.step_number.min()), int(one.step_number.max()) + 1
    if tax.steps is not None:
        low, high = max(low, tax.steps.start), min(high, tax.steps.stop)
    table = tax.matches.table
    step, end_ns = table.step[mine], table.end_ns[mine]
    seen = np.unique(step[(step >= 0) & (step < high)])
    within = seen[seen >= low]
    if within.size and seen.size > 1:
        # a step before those asked for, else the first of these, says when they begin
        first = seen[seen < low][-1] if seen[0] < low else seen[0]
        last = within[-1]
        begin, end = end_ns[step == first].max(), end_ns[step == last].max()
        return int(begin), int(end), range(int(first) + 1, int(last) + 1)
    asked = (one.step_number >= low) & (one.step_number < high)
    if not asked.any():
        return one.window_start_ns, one.window_start_ns, range(0)
    inside = (step >= low) & (step < high)
    begin = min([one.step_start_ns[asked].min(), *table.start_ns[mine][inside]])
    end = max([one.step_end_ns[asked].max(), *end_ns[inside]])
    return int(begin), int(end), range(low, high)


def _spent(
    one: RankCollectives, window: Spans, rows: _Rows, times: Spans
) -> tuple[int, int, int, int]:
    """Measure transfer, of it what may hold waits, both with waits, all with the head's.

    Each is the time within the window in which the GPU computes nothing beside it.
    """
    start, end = times
    arrived = end - rows.transfer_ns
    begun = np.where(rows.head, arrived, start)
    return (
        _exposed(one, window, arrived[rows.shown], end[rows.shown]),
        _exposed(one, window, *_spans(arrived, end, rows.shown & ~rows.sure)),
        _exposed(one, window, begun[rows.shown], end[rows.shown]),
        _exposed(one, window, start[rows.shown], end[rows.shown]),
    )


def _spans(start: I64, end: I64, which: Bool) -> Spans:
    return start[which], end[which]


def _exposed(one: RankCollectives, window: Spans, start: I64, end: I64) -> int:
    """How long any of some intervals runs in the window and nothing computes, in ns."""
    order = np.argsort(start, kind="stable")
    inside = intersection(*union(start[order], end[order]), *window)
    busy = intersection(*inside, one.busy_start_ns, one.busy_end_ns)
    return _length(inside) - _length(busy)


def _length(spans: Spans) -> int:
    return int((spans[1] - spans[0]).sum())
