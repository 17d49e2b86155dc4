"""Collectives that run on CPU threads (gloo): which operator issued each.

The operator (`c10d::allreduce_`) returns at once; a thread of the backend runs the
collective, and the program's thread blocks later, in `wait()`, which nobody logs.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from synctax.arrays import ABSENT, I64, distinct, runs
from synctax.collectives.catalog import Catalog
from synctax.trace.model import RankTrace
from synctax.trace.names import by_name, operation, runs_as


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

    Operators of an operation that the backend never ran were run as another one, if there
    is one that stands in for it (`names.runs_as`).

    A backend starts collectives in the order in which they were issued, and none before.
    As many at the beginning as that demands were issued before the window; operators that
    are left over at its end had no time to run.

    Parameters
    ----------
    trace : RankTrace
    found : Catalog
    spans : (s,) int64
        Indices into events, in order of start.

    Returns
    -------
    Issued
        Pairs on different threads. No trace links them: what comes of them is inferred.
    """
    events, start = trace.events, trace.events.start_ns
    sources = _outermost(trace, found.operators if found.operators.size else found.records)
    codes: dict[str | None, int] = {}
    ran_ops: set[str | None] = set()

    def of_range(name: str) -> int:
        op = operation(name)
        ran_ops.add(op)
        return codes.setdefault(op, len(codes))

    def of_operator(name: str) -> int:
        op = operation(name)
        if op not in ran_ops and runs_as(op) in ran_ops:
            op = runs_as(op)
        return codes.setdefault(op, len(codes))

    of_span = by_name(trace.strings, events.name[spans], of_range, np.int64)
    of_source = by_name(trace.strings, events.name[sources], of_operator, np.int64)
    operator = np.full(spans.size, ABSENT, np.int64)
    for number in distinct(of_span).tolist():
        ran = np.flatnonzero(of_span == number)
        asked = sources[of_source == number]
        begun = np.searchsorted(start[asked], start[spans[ran]], side="right")
        before = max(0, int((np.arange(1, ran.size + 1) - begun).max()))
        count = min(ran.size - before, asked.size)
        operator[ran[before : before + count]] = asked[:count]
    hit = (operator >= 0) & (events.lane[operator] != events.lane[spans])
    return Issued(spans[hit], operator[hit])


def _outermost(trace: RankTrace, ranges: I64) -> I64:
    """Ranges, in order of start, but for those within another one of their thread."""
    events = trace.events
    ranges = ranges[np.lexsort((ranges, events.lane[ranges]))]
    lane, start = events.lane[ranges], events.start_ns[ranges]
    end = start + events.duration_ns[ranges]
    outer = np.ones(ranges.size, np.bool_)
    for low, high in pairwise(runs(lane).tolist()):
        latest = np.maximum.accumulate(end[low:high])
        outer[low + 1 : high] = start[low + 1 : high] >= latest[:-1]
    return np.sort(ranges[outer])
