"""Close a file's columns: doubtful times out, in order of start, base time added."""

import re
from typing import Any

import numpy as np

from synctax.arrays import ABSENT, I32, I64, Bool, median
from synctax.trace.columns import Codes, Columns
from synctax.trace.kineto_columns import (
    COMM_JSON,
    COMM_NUMBERS,
    COMM_TEXTS,
    WAITS,
    Collector,
)
from synctax.trace.kineto_keys import STEP_PREFIX
from synctax.trace.model import (
    GPU_KINDS,
    CommArgs,
    EventKind,
    Events,
    KernelArgs,
    Lanes,
    SyncArgs,
)
from synctax.trace.numbers import MAX_COUNT, MAX_RANK, bounded
from synctax.trace.tally import Tally
from synctax.trace.times import impossible

_EPOCH_NS = 10**18
"""A start beyond is a time since 1970 (after 2001), not since a base."""
_FEW = 1_000


def take_events(
    collector: Collector, base_ns: int, tally: Tally
) -> tuple[Events, I32 | None]:
    """Build the event columns.

    Returns
    -------
    Events
    (k,) int32 or None
        For each collected event its row in `Events`, -1 where it was left out; None
        where each has the row it came in.
    """
    columns = collector.events.take_all()
    start_ns, duration_ns = columns.pop("start_ns"), columns.pop("duration_ns")
    kind, name = columns.pop("kind"), columns.pop("name")
    steps = _step_codes(collector)
    kind[(kind == EventKind.CPU_OP) & np.isin(name, steps)] = EventKind.ANNOTATION
    _count_odd_numbers(collector, name, tally)
    doubtful = impossible(
        start_ns,
        duration_ns,
        np.isin(kind, GPU_KINDS),
        end_ns=max(collector.end_marks_ns, default=None),
        base_ns=base_ns,
    )
    keep = _told(doubtful, start_ns, collector, name, tally)
    order, count = _order(start_ns, keep), keep.size
    # column by column, so that no more than one is held twice
    start_ns = _in(order, start_ns)
    start_ns += base_ns
    duration_ns = _in(order, duration_ns)
    kind, name = _in(order, kind), _in(order, name)
    rest = {key: _in(order, columns.pop(key)) for key in tuple(columns)}
    row = None
    if order is not None:
        row = np.full(count, -1, np.int32)
        row[order] = np.arange(order.size, dtype=np.int32)
    events = Events(
        kind=kind, name=name, start_ns=start_ns, duration_ns=duration_ns, **rest
    )
    return events, row


def _in(order: I32 | I64 | None, column: Any) -> Any:
    return column if order is None else column[order]


def base_time(collector: Collector, base_ns: int, tally: Tally) -> int:
    """Return the base time to add: none where the events hold absolute times already."""
    first = collector.events.head("start_ns", _FEW)
    if base_ns and first.size and median(first) > _EPOCH_NS:
        tally.add(
            "base_time_ignored",
            "times are since 1970 already; baseTimeNanoseconds was not added",
        )
        return 0
    return base_ns


def _step_codes(collector: Collector) -> list[int]:
    return [code for text, code in collector.names.items() if text.startswith(STEP_PREFIX)]


_NUMBERED = re.compile(
    STEP_PREFIX + r"([0-9]+)$|[a-z]+:(?:send|recv)\s+[0-9]+\s*(?:->|<-)\s*([0-9]+)"
)


def _count_odd_numbers(collector: Collector, name: I32, tally: Tally) -> None:
    """Count events whose name holds a step or a peer that cannot be."""
    odd = []
    for text, code in collector.names.items():
        found = _NUMBERED.match(text)
        if not found:
            continue
        step, peer = found.groups()
        if bounded(step or peer, MAX_COUNT if step else MAX_RANK) is None:
            odd.append(code)
    if odd:  # all at once: every name may be such
        count = int(np.count_nonzero(np.isin(name, odd)))
        tally.add("integer_out_of_range", count=count)


def _order(start_ns: I64, keep: Bool) -> I32 | I64 | None:
    """Order of start of what is kept; None if that is what there is."""
    if not keep.all():
        kept = _short(np.flatnonzero(keep))
        return kept[_short(np.argsort(start_ns[kept], kind="stable"))]
    if np.all(start_ns[1:] >= start_ns[:-1]):
        return None
    return _short(np.argsort(start_ns, kind="stable"))


def _short(rows: I64) -> I32 | I64:
    """Half as wide where that is enough: the largest of what is held beside the columns."""
    return rows.astype(np.int32) if rows.size < np.iinfo(np.int32).max else rows


def _told(
    doubtful: dict[str, Bool], start_ns: I64, collector: Collector, name: I32, tally: Tally
) -> Bool:
    """Count events that cannot be, and tell which are left."""
    keep = np.ones(start_ns.size, np.bool_)
    texts: tuple[str, ...] = ()
    for reason, found in doubtful.items():
        at = np.flatnonzero(found)
        if at.size:
            texts = texts or tuple(collector.names)
            first = f"{texts[name[at[0]]]!r:.80} at {start_ns[at[0]] / 1000:,.3f} µs"
            tally.add(reason, count=at.size, where=first.__str__)
            keep &= ~found
    return keep


def take_lanes(collector: Collector) -> Lanes:
    """Build the lanes."""
    lanes = collector.lanes
    places = lanes.places()
    labels = [""] * len(places)
    for key, label in collector.labels.values():
        lane = lanes.known(key)
        if lane is not None:
            labels[lane] = label
    return Lanes(places[:, 0].copy(), places[:, 1].copy(), tuple(labels))


def take_strings(collector: Collector) -> tuple[Codes, dict[str, I32]]:
    """Merge the dictionaries of the columns.

    Returns
    -------
    Codes
        All strings: the names with the codes they have, then what the columns add.
    dict of str to (k,) int32
        For each column, the merged code of each of its own codes.
    """
    merged = collector.names
    return merged, {
        key: np.array(merged.code(codes), np.int32)
        for key, codes in collector.texts.items()
    }


def take_kernels(
    collector: Collector, row: I32 | None, merged: dict[str, I32]
) -> KernelArgs:
    """Build the launch geometries."""
    return KernelArgs(**_rows(collector.kernels, ("geometry", "graph_node"), row, merged))


def take_syncs(collector: Collector, row: I32 | None) -> SyncArgs:
    """Build the waits."""
    return SyncArgs(**_rows(collector.syncs, WAITS, row, {}))


def take_comms(collector: Collector, row: I32 | None, merged: dict[str, I32]) -> CommArgs:
    """Build the metadata of communication."""
    keys = (*COMM_TEXTS, *COMM_JSON, *COMM_NUMBERS, "comms_id")
    return CommArgs(**_rows(collector.comms, keys, row, merged))


def _rows(
    columns: Columns, keys: tuple[str, ...], row: I32 | None, merged: dict[str, I32]
) -> dict[str, Any]:
    event = columns.take("event")
    event = event if row is None else row[event].astype(np.int64)
    order = np.argsort(event, kind="stable")
    order = order[event[order] >= 0]
    rows = {"event": event[order]}
    for key in keys:
        column = columns.take(key)[order]
        if key in merged and merged[key].size:
            column = np.where(column == ABSENT, np.int32(ABSENT), merged[key][column])
        rows[key] = column
    return rows
