"""Critical paths drawn as slices with arrows, and culprits marked.

Viewers bind an arrow to the slice that began last on its thread, ended or not; so the
slices of a path have a thread of their own, on which nothing else begins in between.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NewType

import numpy as np

from synctax.arrays import NS_PER_US
from synctax.attribution.labels import (
    collective_text,
    culprit_items,
    culprit_text,
    item_text,
    short_name,
    thread_text,
)
from synctax.attribution.results import Why
from synctax.graph.model import NodeKind
from synctax.overlay.drawn import (
    CATEGORY,
    COLLECTIVE_COLOUR,
    Place,
    Sheet,
    collective_args,
    process_of,
    slice_text,
)
from synctax.overlay.events import Span
from synctax.overlay.rewrite import CULPRIT_COLOUR, time_text
from synctax.overlay.viewers import apart, around

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution

_EVENTS = (NodeKind.GPU, NodeKind.COLLECTIVE, NodeKind.SLICE)
"""Kinds of items that are events of a trace, whole or a part of one."""

TRACK = "critical path"
"""Track of a rank that the paths through it lie on; arrows are called the same."""

PATH_COLOUR = "generic_work"
"""A colour that chrome://tracing knows by name."""


Arrow = NewType("Arrow", int)
"""Number of an arrow."""


@dataclass(frozen=True, slots=True)
class _Item:
    """One item of a path, from `start_ns` to `end_ns` on the clock of the overlay."""

    start_ns: int
    end_ns: int
    name: str
    args: dict[str, Any]
    blamed: bool


def largest(found: "Attribution", most: int) -> list[int]:
    """Results that count, those with the longest waits first, `most` of them."""
    told = np.flatnonzero(found.used & (found.results.tax_ns > 0))
    order = np.argsort(-found.results.tax_ns[told], kind="stable")
    numbers: list[int] = told[order][:most].tolist()
    return numbers


def culprit_spans(found: "Attribution") -> dict[int, Counter[tuple[Span, int]]]:
    """Count the events that are to blame, by position: span and kind of each.

    Times are on the clock of the rank. What a thread did while nothing is logged, and the
    part of a call in which it waited, is no event.
    """
    events: dict[int, set[tuple[int, tuple[Span, int]]]] = {}
    for number in np.flatnonzero(found.used).tolist():
        row = int(found.results.culprit[number])
        if row < 0:
            continue
        items = culprit_items(found, number)
        if int(items.kind[row]) not in _EVENTS or items.name[row] < 0:
            continue
        start, end = int(items.full_start_ns[row]), int(items.full_end_ns[row])
        span = start, end - start, found.texts[items.name[row]]
        one = int(items.lane[row]), (span, int(items.source[row]))
        events.setdefault(int(found.slow.rank[number]), set()).add(one)
    return {at: Counter(known for _, known in those) for at, those in events.items()}


def draw_paths(
    found: "Attribution", numbers: Sequence[int], sheet: Sheet
) -> Iterator[bytes]:
    """Draw the paths of the last ranks to arrive, and arrows along them to the waits.

    Parameters
    ----------
    found : Attribution
        Made with `method="path"`.
    numbers : sequence of int
        Results whose paths are drawn.
    sheet : Sheet
        On which `draw_waits` has drawn the collectives.

    Yields
    ------
    bytes
        Events as JSON.
    """
    whole = []
    for number in numbers:
        slot, rank = int(found.results.slot[number]), int(found.slow.rank[number])
        there = sheet.ends.get((slot, rank))
        if there is not None:
            items = _items(found, number, sheet.shift_ns[rank], there[1])
            begin = items[0].start_ns if items else there[1]
            whole.append((begin, number, items))
    for begin, number, items in sorted(whole, key=lambda one: one[:2]):
        yield from _path(found, (begin, number), items, sheet)


def _items(
    found: "Attribution", number: int, shift_ns: int, arrival_ns: int
) -> list[_Item]:
    """Items of a path in order of time, none beyond the arrival."""
    results, slow = found.results, found.slow
    rank, culprit = int(slow.rank[number]), int(results.culprit[number])
    carried = results.why[number] == Why.CARRIED
    listed = [
        (slow.items, row, not carried and row == culprit)
        for row in range(int(slow.first[number]), int(slow.first[number + 1]))
    ]
    if carried and culprit >= 0:
        listed.insert(0, (slow.before, culprit, True))
    drawn: list[_Item] = []
    for items, row, blamed in listed:
        start = int(items.start_ns[row]) + shift_ns
        end = min(int(items.stop_ns[row]) + shift_ns, arrival_ns)
        start = max(start, drawn[-1].end_ns) if drawn else start
        if end <= start:
            continue
        name = item_text(found.tax, found.texts, items, row)
        args: dict[str, Any] = {
            "name": name,
            "thread": thread_text(found.lanes[rank], items, row),
        }
        if blamed:
            args["longer_by_us"] = int(results.culprit_ns[number]) / NS_PER_US
        drawn.append(_Item(start, end, short_name(name), args, blamed))
    return drawn


def _path(
    found: "Attribution", which: tuple[int, int], items: Sequence[_Item], sheet: Sheet
) -> Iterator[bytes]:
    begin, number = which
    slot, rank = int(found.results.slot[number]), int(found.slow.rank[number])
    _, arrival, end = sheet.ends[slot, rank]
    name = collective_text(found.tax, slot)
    starts = [*(item.start_ns for item in items), arrival]
    times = [
        apart((item.start_ns, item.end_ns - item.start_ns), after)
        for item, after in zip(items, starts[1:], strict=True)
    ]
    whole = around(begin, [*times, (arrival, end - arrival)])
    place = rank, sheet.threads.lane((rank, TRACK), whole)
    sheet.paths += 1
    args = {
        **collective_args(found.tax, slot),
        "culprit": culprit_text(found, number),
        "late_before_us": int(found.results.carried_ns[number]) / NS_PER_US,
    }
    yield slice_text(place, f"path to {name}", whole, args, PATH_COLOUR)
    # an arrow stands between the slices that it leads from and to: where viewers see
    # both at one time, the order of the file decides what it is bound to
    tail: Arrow | None = None
    for item, its_times in zip(items, times, strict=True):
        title = f"culprit: {item.name}" if item.blamed else item.name
        colour = CULPRIT_COLOUR if item.blamed else PATH_COLOUR
        sheet.culprits += item.blamed
        yield slice_text(place, title, its_times, item.args, colour)
        if tail is not None:
            yield _end(tail, place, item.start_ns)
        tail = _arrow(sheet)
        yield _begin(tail, place, item.end_ns - 1)
    yield slice_text(place, name, (arrival, end - arrival), {}, COLLECTIVE_COLOUR)
    if tail is not None:
        yield _end(tail, place, arrival)
    yield from _to_waits(found, slot, (place, arrival), sheet)


def _to_waits(
    found: "Attribution", slot: int, tail: tuple[Place, int], sheet: Sheet
) -> Iterator[bytes]:
    """Draw arrows from the last rank to arrive to all that waited for it."""
    matches, waits = found.tax.matches, found.tax.waits
    for entry in range(int(matches.first[slot]), int(matches.first[slot + 1])):
        rank = int(matches.table.rank[matches.row[entry]])
        if not waits.wait_ns[entry] or (slot, rank) not in sheet.ends:
            continue
        tid, start, end = sheet.ends[slot, rank]
        if tail[1] + 1 >= end:  # clocks are not known that well
            sheet.arrows_left_out += 1
            continue
        arrow = _arrow(sheet)
        yield _begin(arrow, *tail)
        yield _end(arrow, (rank, tid), max(tail[1], start))


def _arrow(sheet: Sheet) -> Arrow:
    sheet.arrows += 1
    return Arrow(sheet.arrows)


def _begin(arrow: Arrow, place: Place, at_ns: int) -> bytes:
    return _arrow_text(b"s", arrow, place, at_ns) + b"}"


def _end(arrow: Arrow, place: Place, at_ns: int) -> bytes:
    return _arrow_text(b"f", arrow, place, at_ns) + b',"bp":"e"}'


def _arrow_text(phase: bytes, arrow: Arrow, place: Place, at_ns: int) -> bytes:
    return b'{"ph":"%s","pid":%d,"tid":%d,"ts":%s,"cat":"%s","name":"%s","id":%d' % (
        phase, process_of(place[0]), place[1], time_text(at_ns), CATEGORY.encode(),
        TRACK.encode(), arrow,
    )  # fmt: skip
