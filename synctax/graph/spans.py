"""Collectives that run on CPU threads (gloo): which operator issued each.

The operator (`c10d::allreduce_`) returns at once; a thread of the backend runs the
collective, and the program's thread blocks later, in `wait()`, which nobody logs.
"""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I64
from synctax.collectives.catalog import Catalog
from synctax.trace.model import RankTrace
from synctax.trace.names import by_name, operation


@dataclass(frozen=True, slots=True)
class Issued:
    """Spans on threads of their own, and who issued them.

    Parameters
    ----------
    span : (k,) int64
        Index into events, in order of start.
    operator : (k,) int64
        The range on another thread that issued it, index into events.
    """

    span: I64
    operator: I64


def issued(trace: RankTrace, found: Catalog, spans: I64) -> Issued:
    """Pair the spans of each operation with the operators of it, in order of start.

    A backend starts collectives in the order in which they were issued. Where the numbers
    differ, the window cut some off: operators without a span at its end, else spans
    without an operator at its beginning.

    Parameters
    ----------
    trace : RankTrace
    found : Catalog
    spans : (s,) int64
        Indices into events, in order of start.

    Returns
    -------
    Issued
        Pairs in which the operator started first, on another thread; no trace links them,
        so what comes of them is inferred.
    """
    events = trace.events
    sources = _outermost(trace, found.operators if found.operators.size else found.records)
    codes: dict[str | None, int] = {}

    def code(name: str) -> int:
        return codes.setdefault(operation(name), len(codes))

    of_span = by_name(trace.strings, events.name[spans], code, np.int64)
    of_source = by_name(trace.strings, events.name[sources], code, np.int64)
    operator = np.full(spans.size, ABSENT, np.int64)
    for number in np.unique(of_span).tolist():
        ran = np.flatnonzero(of_span == number)
        asked = sources[of_source == number]
        count = min(ran.size, asked.size)
        if count:
            operator[ran[-count:]] = asked[:count]
    before = events.start_ns[operator] <= events.start_ns[spans]
    apart = events.lane[operator] != events.lane[spans]
    hit = (operator >= 0) & before & apart
    return Issued(spans[hit], operator[hit])


def _outermost(trace: RankTrace, ranges: I64) -> I64:
    """Ranges, in order of start, but for those within another one of their thread."""
    events = trace.events
    ranges = ranges[np.lexsort((ranges, events.lane[ranges]))]
    lane, start = events.lane[ranges], events.start_ns[ranges]
    end = start + events.duration_ns[ranges]
    begin = np.flatnonzero(np.diff(lane, prepend=lane[:1] - 1))
    outer = np.ones(ranges.size, np.bool_)
    for low, high in zip(begin.tolist(), [*begin[1:].tolist(), ranges.size], strict=True):
        latest = np.maximum.accumulate(end[low:high])
        outer[low + 1 : high] = start[low + 1 : high] >= latest[:-1]
    return np.sort(ranges[outer])
