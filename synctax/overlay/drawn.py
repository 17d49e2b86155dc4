"""What is drawn over the events of every rank: collectives, and the waits in them.

Viewers show slices of one thread that nest or follow each other, and drop what overlaps
otherwise; so what may overlap lies on threads of its own.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from synctax.arrays import I64, NS_PER_US
from synctax.attribution.labels import collective_text, culprit_text
from synctax.collectives.tax import Tax
from synctax.overlay.rewrite import PIDS_A_RANK, TIDS_A_RANK, time_text
from synctax.overlay.viewers import Times, end_seen, seen

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution

CATEGORY = "synctax"
"""Category of all that is drawn."""

WAIT_COLOUR, COLLECTIVE_COLOUR = "bad", "grey"
"""Colours that chrome://tracing knows by name."""

Place = tuple[int, int]
"""Position of a rank, and a thread of what is drawn for it."""


@dataclass(slots=True)
class Threads:
    """Threads that are drawn on, numbered as they are first used.

    A track of a rank (`waits tp`) has as many as slices of it overlap at once, for what
    viewers read; `numbers` tells them by position, track and place among those of the
    track.
    """

    numbers: dict[tuple[int, str, int], int] = field(default_factory=dict)
    _count: dict[int, int] = field(default_factory=dict)
    _lanes: dict[tuple[int, str], list[tuple[int, int]]] = field(default_factory=dict)

    def lane(self, track: tuple[int, str], times: Times) -> int:
        """Number a thread that is free from a time on; starts must not decrease."""
        lanes, end_ns = self._lanes.setdefault(track, []), max(sum(times), end_seen(times))
        if lanes and lanes[0][0] <= seen(times[0]):
            _, at = heapq.heappop(lanes)
        else:
            at = len(lanes)
        heapq.heappush(lanes, (end_ns, at))
        key = (*track, at)
        if key not in self.numbers:
            own = self._count.get(track[0], 0)
            self._count[track[0]] = own + 1
            self.numbers[key] = (track[0] + 1) * TIDS_A_RANK + own
        return self.numbers[key]


@dataclass(slots=True)
class Sheet:
    """What is drawn on: threads, times of each rank, and where collectives are.

    Parameters
    ----------
    shift_ns : tuple of int
        What is added to the times of each rank.
    wanted : set of int
        Collectives that arrows lead to.
    ends : dict
        Thread, start and end of these, by collective and position of the rank.
    waits, paths, culprits, arrows, arrows_left_out : int
        How many were drawn, and how many arrows could not be.
    """

    shift_ns: tuple[int, ...]
    wanted: set[int] = field(default_factory=set)
    threads: Threads = field(default_factory=Threads)
    ends: dict[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)
    waits: int = 0
    paths: int = 0
    culprits: int = 0
    arrows: int = 0
    arrows_left_out: int = 0


def draw_waits(tax: Tax, found: "Attribution | None", sheet: Sheet) -> Iterator[bytes]:
    """Draw the collectives that count on every rank, and within each the wait.

    Parameters
    ----------
    tax : Tax
    found : Attribution, optional
        Whose culprits are named.
    sheet : Sheet

    Yields
    ------
    bytes
        Events as JSON.
    """
    matches, of_slot = tax.matches, _results(found)
    slot = np.repeat(np.arange(len(matches)), np.diff(matches.first))
    at = np.flatnonzero(tax.used[slot] & (matches.table.duration_ns[matches.row] > 0))
    slot, rows = slot[at], matches.row[at]
    position = matches.table.rank[rows].astype(np.int64)
    duration = matches.table.duration_ns[rows]
    begin = matches.table.start_ns[rows] + np.array(sheet.shift_ns, np.int64)[position]
    tid = _threads(tax, slot, position, (begin, duration), sheet)
    columns = (position, tid, begin, duration, tax.waits.wait_ns[at])
    every = zip(slot.tolist(), *(column.tolist() for column in columns), strict=True)
    # by collective and not by rank: what is told of it is put into words once
    for number, entries in groupby(every, key=itemgetter(0)):
        blamed = of_slot.get(number)
        name, args = collective_text(tax, number), collective_args(tax, number)
        about = _about(name, args, COLLECTIVE_COLOUR)
        if found is not None and blamed is not None:
            args["culprit"] = culprit_text(found, blamed)
        about_wait = _about(f"wait {name}", args, WAIT_COLOUR)
        for _, mine, thread, start, lasts, wait in entries:
            if number in sheet.wanted:
                sheet.ends[number, mine] = thread, start, start + lasts
            since = _since((mine, thread), start)
            yield b'%s"dur":%s%s}}' % (since, time_text(lasts), about)
            if wait > 0:
                sheet.waits += 1
                text = time_text(wait)
                yield b'%s"dur":%s%s,"wait_us":%s,"share":%s}}' % (
                    since, text, about_wait, text, repr(round(wait / lasts, 6)).encode(),
                )  # fmt: skip


def _threads(
    tax: Tax, slot: I64, position: I64, times: tuple[I64, I64], sheet: Sheet
) -> I64:
    """Find a thread for every participation: (k,) numbers of threads."""
    roles = [clean(group.role) for group in tax.matches.groups]
    tid = np.empty(slot.size, np.int64)
    order = np.lexsort((times[0], position))
    columns = (order, position[order], tax.matches.group[slot[order]])
    spans = (times[0][order], times[1][order])
    for i, mine, group, start, lasts in zip(
        *(column.tolist() for column in (*columns, *spans)), strict=True
    ):
        track = mine, f"waits {roles[group]}"
        tid[i] = sheet.threads.lane(track, (start, lasts))
    return tid


def collective_args(tax: Tax, slot: int) -> dict[str, Any]:
    """Tell what is known of a collective: None for what is not."""
    matches, waits = tax.matches, tax.waits
    straggler = int(waits.straggler[slot])
    step, payload = int(matches.step[slot]), int(matches.payload_bytes[slot])
    return {
        "tax_us": int(waits.longest_ns[slot] - waits.shortest_ns[slot]) / NS_PER_US,
        "transfer_us": int(waits.shortest_ns[slot]) / NS_PER_US,
        "straggler": rank_text(tax, straggler) if straggler >= 0 else "several ranks",
        "step": step if step >= 0 else None,
        "payload_bytes": payload if payload >= 0 else None,
    }


def rank_text(tax: Tax, position: int) -> str:
    """Name a rank with its host."""
    one = tax.matches.ranks[position]
    return f"rank {one.rank}" + (f" on {one.host}" if one.host else "")


def process_of(position: int) -> int:
    """Process of what is drawn for a rank."""
    return (position + 1) * PIDS_A_RANK


def label_text(name: str, pid: int, tid: int, args: dict[str, Any]) -> bytes:
    """Name or order a process or thread."""
    return orjson.dumps(
        {"ph": "M", "pid": pid, "tid": tid, "cat": CATEGORY, "name": name, "args": args}
    )


def slice_text(
    place: Place, name: str, times: Times, args: dict[str, Any], colour: str
) -> bytes:
    """Draw a slice."""
    since, about = _since(place, times[0]), _about(name, args, colour)
    return b'%s"dur":%s%s}}' % (since, time_text(times[1]), about)


def _since(place: Place, start_ns: int) -> bytes:
    """Begin the text of a slice, up to its duration."""
    begun = process_of(place[0]), place[1], time_text(start_ns)
    return b'{"ph":"X","pid":%d,"tid":%d,"ts":%s,' % begun


def _about(name: str, args: dict[str, Any], colour: str) -> bytes:
    """Continue the text of a slice, up to the end of its arguments."""
    known = {
        key: clean(value) if isinstance(value, str) else value
        for key, value in args.items()
        if value is not None
    }
    return b',"cat":"%s","name":%s,"cname":"%s","args":%s' % (
        CATEGORY.encode(), orjson.dumps(clean(name)), colour.encode(),
        orjson.dumps(known)[:-1],
    )  # fmt: skip


def clean(text: str) -> str:
    r"""Escape what does not print, such as line breaks and half surrogate pairs.

    Examples
    --------
    >>> print(clean("a\x1b[31m\nb"))
    a\x1b[31m\nb
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _results(found: "Attribution | None") -> dict[int, int]:
    """Results that count, by collective."""
    if found is None:
        return {}
    told = np.flatnonzero(found.used).tolist()
    return {int(found.results.slot[number]): number for number in told}
