"""Whether columns that were read back can be those of a trace.

What a reader makes is coherent; a file may be damaged, or made by somebody else. What
follows takes codes, lanes and rows for indices, so that one beyond would end in an error
far from its cause, and a negative one in a wrong answer.
"""

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from synctax.arrays import ABSENT, I64, parts
from synctax.trace.kineto_columns import COMM_JSON, COMM_NUMBERS, COMM_TEXTS
from synctax.trace.model import EventKind, RankTrace, TraceMeta
from synctax.trace.numbers import MAX_RANK
from synctax.trace.times import LIMIT_NS


def check(trace: RankTrace) -> None:
    """Refuse a trace whose columns do not belong together.

    Parameters
    ----------
    trace : RankTrace
        Its columns are of the types that the model says.

    Raises
    ------
    ValueError
        If columns of one table differ in length, a code, lane or row is of nothing, an
        event has a time or a kind that none has, rows are out of order, or something that
        counts is negative.
    """
    events, lanes, texts = trace.events, trace.lanes, len(trace.strings)
    for table in (events, trace.kernels, trace.syncs, trace.comms, lanes):
        if len({len(getattr(table, field.name)) for field in fields(table)}) > 1:
            raise ValueError(f"columns of {type(table).__name__} differ in length")
    _within("kind", events.kind, 0, max(EventKind))
    _within("name", events.name, 0, texts - 1)
    _within("duration_ns", events.duration_ns, 0, LIMIT_NS)
    _within("lane", events.lane, 0, lanes.process.size - 1)
    for name in ("device", "stream"):
        _within(name, getattr(events, name), ABSENT, np.iinfo(np.int32).max)
    _ascends("start_ns", events.start_ns)
    for rows in (trace.kernels.event, trace.syncs.event, trace.comms.event):
        _within("event", rows, 0, len(events) - 1)
        _ascends("event", rows)
    _within("geometry", trace.kernels.geometry, ABSENT, texts - 1)
    for name in (*COMM_TEXTS, *COMM_JSON):
        _within(name, getattr(trace.comms, name), ABSENT, texts - 1)
    for name, limit in COMM_NUMBERS.items():
        _within(name, getattr(trace.comms, name), ABSENT, limit)
    counts = [trace.bytes_read, *(note.count for note in trace.notes)]
    if min(counts) < 0:
        raise ValueError("a count is negative")
    _check_meta(trace.meta)


def _check_meta(meta: TraceMeta) -> None:
    numbers = [meta.rank, meta.world_size, *(group.size for group in meta.groups)]
    for group in meta.groups:
        numbers += group.ranks or ()
    if any(number is not None and not 0 <= number <= MAX_RANK for number in numbers):
        raise ValueError("a rank, or a number of ranks, is none")


def _within(name: str, values: npt.NDArray[Any], least: int, most: int) -> None:
    if values.size and not least <= int(values.min()) <= int(values.max()) <= most:
        raise ValueError(f"a {name} is not from {least} to {most}")


def _ascends(name: str, values: I64) -> None:
    for part in parts(values.size - 1):
        if not bool((values[1:][part] >= values[:-1][part]).all()):
            raise ValueError(f"{name} is not in order")
