"""Close a file's columns: doubtful times out, in order of start, base time added."""

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import numpy as np

from synctax.arrays import ABSENT, I8, I32, I64, Bool, median
from synctax.trace.columns import Codes
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
from synctax.trace.times import Doubts, Part

_EPOCH_NS = 10**18
"""A start beyond is a time since 1970 (after 2001), not since a base."""
_FEW = 1_000


Taken = tuple[Events, KernelArgs, SyncArgs, CommArgs]
"""The columns of a file but for its lanes and strings."""


def take_all(
    collector: Collector, base_ns: int, merged: dict[str, I32], tally: Tally
) -> Taken:
    """Build all columns.

    Parameters
    ----------
    collector : Collector
        Loses them.
    base_ns : int
        Added to starts.
    merged : dict
        As of `take_strings`.
    tally : Tally
        Told of events that are left out.
    """
    events, row = take_events(collector, base_ns, tally)
    return (
        events,
        KernelArgs(**take_arguments(collector, "kernels", row, merged)),
        SyncArgs(**take_arguments(collector, "syncs", row, merged)),
        CommArgs(**take_arguments(collector, "comms", row, merged)),
    )


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
    keep = _kept(collector, kind, name, start_ns, duration_ns, base_ns, tally)
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


def _kept(  # noqa: PLR0913 - columns
    collector: Collector,
    kind: I8,
    name: I32,
    start_ns: I64,
    duration_ns: I64,
    base_ns: int,
    tally: Tally,
) -> Bool:
    """Judge all events as one part, which is not held when they are put in order."""
    part = start_ns, duration_ns, np.isin(kind, GPU_KINDS)
    return Judge(collector, lambda: (part,), base_ns, tally).kept(kind, name, *part)


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


_NUMBERED = re.compile(
    STEP_PREFIX + r"([0-9]+)$|[a-z]+:(?:send|recv)\s+[0-9]+\s*(?:->|<-)\s*([0-9]+)"
)


class Judge:
    """Says which events are left, and counts the others and odd numbers in names.

    Parameters
    ----------
    collector : Collector
    parts, base_ns
        As for `times.Doubts`.
    tally : Tally
    """

    def __init__(
        self,
        collector: Collector,
        parts: Callable[[], Iterable[Part]],
        base_ns: int,
        tally: Tally,
    ) -> None:
        names = collector.names
        self._names, self._tally = names, tally
        self._texts: tuple[str, ...] = ()
        self._steps = [code for text, code in names.items() if text.startswith(STEP_PREFIX)]
        self._odd = [code for text, code in names.items() if _is_odd(text)]
        end_ns = max(collector.end_marks_ns, default=None)
        self._doubts = Doubts(parts, collector.events.size, end_ns, base_ns)

    def kept(
        self, kind: I8, name: I32, start_ns: I64, duration_ns: I64, on_gpu: Bool
    ) -> Bool:
        """Judge events that stand next to each other; the kinds of steps are set.

        Returns
        -------
        (n,) bool
        """
        kind[(kind == EventKind.CPU_OP) & np.isin(name, self._steps)] = EventKind.ANNOTATION
        if self._odd:  # all at once: every name may be such
            count = int(np.count_nonzero(np.isin(name, self._odd)))
            if count:
                self._tally.add("integer_out_of_range", count=count)
        keep = np.ones(start_ns.size, np.bool_)
        for reason, found in self._doubts.of(start_ns, duration_ns, on_gpu).items():
            at = np.flatnonzero(found)
            if at.size:
                where = partial(self._named, int(name[at[0]]), int(start_ns[at[0]]))
                self._tally.add(reason, count=at.size, where=where)
                keep &= ~found
        return keep

    def _named(self, name: int, start_ns: int) -> str:
        self._texts = self._texts or tuple(self._names)
        return f"{self._texts[name]!r:.80} at {start_ns / 1000:,.3f} µs"


def _is_odd(name: str) -> bool:
    """Whether a name holds a step or a peer that cannot be."""
    found = _NUMBERED.match(name)
    if not found:
        return False
    step, peer = found.groups()
    return bounded(step or peer, MAX_COUNT if step else MAX_RANK) is None


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


ARGUMENTS: Final = {
    "kernels": ("geometry", "graph_node"),
    "syncs": WAITS,
    "comms": (*COMM_TEXTS, *COMM_JSON, *COMM_NUMBERS, "comms_id"),
}
"""The columns of what belongs to some events only, beside `event`."""


def take_arguments(
    collector: Collector, table: str, row: I32 | None, merged: dict[str, I32]
) -> dict[str, Any]:
    """Build the columns of one of `ARGUMENTS`, in order of their events.

    Parameters
    ----------
    collector : Collector
        Loses them.
    table : str
    row : (k,) int32 or None
        As of `take_events`.
    merged : dict
        As of `take_strings`.
    """
    columns = getattr(collector, table)
    event = columns.take("event")
    event = event if row is None else row[event].astype(np.int64)
    order = np.argsort(event, kind="stable")
    order = order[event[order] >= 0]
    rows = {"event": event[order]}
    for key in ARGUMENTS[table]:
        rows[key] = recoded(columns.take(key)[order], merged.get(key))
    return rows


def recoded(column: Any, codes: I32 | None) -> Any:
    """Give a column of codes the merged ones; other columns have none."""
    if codes is None or not codes.size:
        return column
    return np.where(column == ABSENT, np.int32(ABSENT), codes[column])
