"""Where facts on a participation stand: on itself, or on ranges around its launch."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from synctax.arrays import ABSENT, I32, I64, U64, Bool, take
from synctax.collectives.catalog import Catalog
from synctax.collectives.distinct import distinct_rows
from synctax.collectives.link import Anchors, Ranges, anchor
from synctax.collectives.model import Op
from synctax.trace import names
from synctax.trace.model import RankTrace
from synctax.trace.names import by_name


@dataclass(frozen=True, slots=True)
class Sources:
    """Participations and the events that describe them; all (n,) int64, -1 where none.

    Parameters
    ----------
    event : the kernel, or the span on a CPU thread
    annotation, record, operator : innermost range of each kind around its launch
    anchors : Anchors
        Where it was launched.
    adopted : (n,) bool
        Its sources do not enclose its launch but come before it.
    many : (n,) bool
        It serves several calls, of which the sources are one.
    """

    event: I64
    annotation: I64
    record: I64
    operator: I64
    anchors: Anchors
    adopted: Bool
    many: Bool

    def __len__(self) -> int:
        return int(self.event.size)


def of_kernels(trace: RankTrace, found: Catalog) -> Sources:
    """Link kernels to the ranges that launched them."""
    anchors = anchor(trace.events, found.kernels)
    sources = around(trace, found, found.kernels, anchors)
    return _adopt_grouped(trace, found, sources)


def of_spans(trace: RankTrace, found: Catalog) -> Sources:
    """Link spans to the ranges around them; a span launches itself."""
    events = trace.events
    anchors = Anchors(events.lane[found.spans], events.start_ns[found.spans])
    return around(trace, found, found.spans, anchors)


def around(trace: RankTrace, found: Catalog, rows: I64, anchors: Anchors) -> Sources:
    """Find the innermost range of each kind around each anchor."""
    linked = []
    for pool in (found.annotations, found.records, found.operators):
        ranges = Ranges.of(trace.events, pool)
        slot = ranges.innermost(anchors)
        linked.append(take(ranges.event, slot))
    no = np.zeros(rows.size, np.bool_)
    return Sources(rows, linked[0], linked[1], linked[2], anchors, adopted=no, many=no)


def _adopt_grouped(trace: RankTrace, found: Catalog, sources: Sources) -> Sources:
    """Describe kernels that a group of calls launched at its end by the calls before them.

    In `batch_isend_irecv` and coalesced collectives the ranges of the calls end before the
    group's end launches the one kernel that serves them all; nothing encloses that
    launch. They lie on its thread, after the launch before it.
    """
    name, comms = trace.events.name, trace.comms
    does = by_name(trace.strings, name[sources.event], _nccl_op, np.int8)
    lost = np.flatnonzero(
        (does != 0)
        & sources.anchors.known
        & (sources.annotation < 0)
        & (sources.record < 0)
    )
    if not lost.size:
        return sources
    collective = np.full(len(trace.events), ABSENT, np.int32)
    collective[comms.event] = comms.collective
    linked = [sources.record.copy(), sources.annotation.copy()]
    many = sources.many.copy()
    for pool, column, told in (
        (found.records, linked[0], collective),
        (found.annotations, linked[1], name),
    ):
        op = by_name(trace.strings, told[pool], op_code, np.int8)
        row, several = _preceding(trace, sources, lost, pool[op > 0])
        row_op = by_name(
            trace.strings, np.where(row >= 0, told[row], ABSENT), op_code, np.int8
        )
        fits = (row_op > 0) & ((does[lost] < 0) | (does[lost] == row_op))
        column[lost] = np.where(fits, row, ABSENT)
        many[lost] |= fits & several
    adopted = (linked[0] != sources.record) | (linked[1] != sources.annotation)
    return replace(
        sources, record=linked[0], annotation=linked[1], adopted=adopted, many=many
    )


def _nccl_op(name: str) -> int:
    """Operation of an NCCL kernel, plus 1; -1 where open, 0 for kernels of others."""
    known = names.kernel(name)
    if known.library not in ("nccl", "rccl"):
        return 0
    return -1 if known.op is None or known.guess else Op[known.op.upper()] + 1


def _preceding(
    trace: RankTrace, sources: Sources, lost: I64, pool: I64
) -> tuple[I64, Bool]:
    """Last range without a kernel of its own, between a launch and the launch before it.

    Returns
    -------
    (n,) int64, (n,) bool
        Events, -1 where none; whether there were several.
    """
    anchors = sources.anchors
    used = np.concatenate([sources.record, sources.annotation])
    orphans = Ranges.of(trace.events, pool[~np.isin(pool, used)])
    lane = anchors.lane[lost]
    last = orphans.before(Anchors(lane, anchors.time_ns[lost]))
    first = orphans.before(Anchors(lane, _launch_before(anchors)[lost])) + 1
    row = np.where(last >= first, last, ABSENT)
    return take(orphans.event, row), last > first


def _launch_before(anchors: Anchors) -> I64:
    """Time of the launch before on the same lane, before all times where none."""
    order = np.lexsort((anchors.time_ns, anchors.lane))
    lane, time_ns = anchors.lane[order], anchors.time_ns[order]
    before = np.full(order.size, np.iinfo(np.int64).min)
    before[1:] = np.where(lane[1:] == lane[:-1], time_ns[:-1], before[1:])
    result = np.empty_like(before)
    result[order] = before
    return result


@dataclass(frozen=True, slots=True)
class Described:
    """The rows of `CommArgs` on each participation's sources, nearest first.

    `rows` are (n,) int64 indices into `CommArgs`, -1 where a source has none: of the
    event itself, its record, its annotation and its operator.
    """

    trace: RankTrace
    rows: tuple[I64, I64, I64, I64]

    @classmethod
    def of(cls, trace: RankTrace, sources: Sources) -> "Described":
        """Look up the metadata of every source."""
        described = trace.comms.event
        events = (sources.event, sources.record, sources.annotation, sources.operator)
        own, record, annotation, operator = (_row_of(described, one) for one in events)
        return cls(trace, (own, record, annotation, operator))

    def first(self, column: I32 | I64) -> I64:
        """Take a column's value from the nearest source that has one, else -1."""
        value = np.full(self.rows[0].size, ABSENT, np.int64)
        for rows in self.rows:
            open_ = np.flatnonzero((value < 0) & (rows >= 0))
            value[open_] = column[rows[open_]]
        return value

    def comms_id(self) -> U64:
        """Take `Comms Id` from the nearest source that has one, else 0."""
        value = np.zeros(self.rows[0].size, np.uint64)
        for rows in self.rows:
            open_ = np.flatnonzero((value == 0) & (rows >= 0))
            value[open_] = self.trace.comms.comms_id[rows[open_]]
        return value


def _row_of(described: I64, event: I64) -> I64:
    """Find the last row of each event, in order of which rows are; -1 where it has none."""
    at = np.searchsorted(described, event, side="right") - 1
    found = np.flatnonzero(at >= 0)
    found = found[described[at[found]] == event[found]]
    rows = np.full(event.size, ABSENT, np.int64)
    rows[found] = at[found]
    return rows


@dataclass(frozen=True, slots=True)
class Operations:
    """What participations do: `op` (n,) int8, `named` (n,) bool (not a guess)."""

    op: I64
    named: Bool


def operations(trace: RankTrace, sources: Sources, described: Described) -> Operations:
    """Find what each participation does: metadata, then ranges, then the kernel's name."""
    collective = trace.comms.collective
    own, record = (_row_value(collective, rows) for rows in described.rows[:2])
    candidates: Iterable[I64] = (
        own,
        _name_code(trace, sources.annotation),
        record,
        _name_code(trace, sources.operator),
        _name_code(trace, sources.event),
    )
    op = np.full(len(sources), ABSENT, np.int64)
    for codes in candidates:
        told = by_name(trace.strings, codes.astype(np.int32), op_code, np.int8) - 1
        op = np.where(op < 0, told, op)
    named = op >= 0
    kernel_name = _name_code(trace, sources.event).astype(np.int32)
    by_kernel = by_name(trace.strings, kernel_name, _kernel_op, np.int8)
    op = np.where(named, op, np.abs(by_kernel) - 1)
    named |= by_kernel > 0
    return Operations(np.where(op < 0, np.int64(Op.UNKNOWN), op), named)


def settle(trace: RankTrace, sources: Sources, does: Operations, group: I32) -> Operations:
    """Let kernels whose name leaves the operation open do what their like do.

    Where all named kernels of the same name and group agree on an operation, the others
    take it; they remain unnamed.
    """
    if does.named.all():
        return does
    first, like = distinct_rows(trace.events.name[sources.event], group)
    n = first.size
    low, high = np.full(n, np.int64(len(Op))), np.full(n, ABSENT, np.int64)
    np.minimum.at(low, like[does.named], does.op[does.named])
    np.maximum.at(high, like[does.named], does.op[does.named])
    agreed = (low == high)[like] & ~does.named
    return Operations(np.where(agreed, low[like], does.op), does.named)


def _row_value(column: I32, rows: I64) -> I64:
    return np.where(rows >= 0, column[np.maximum(rows, 0)], ABSENT) if column.size else rows


def _name_code(trace: RankTrace, event: I64) -> I64:
    return np.where(event >= 0, trace.events.name[event], ABSENT)


def op_code(name: str) -> int:
    """Operation of a collective's name, plus 1; 0 where the name tells none."""
    op = names.operation(name)
    return 0 if op is None else Op[op.upper()] + 1


def _kernel_op(name: str) -> int:
    """Operation of a kernel's name, plus 1, negative for a guess; 0 where it tells none."""
    known = names.kernel(name)
    if known.op is None:
        return 0
    code = Op[known.op.upper()] + 1
    return -code if known.guess else code
