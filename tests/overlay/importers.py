"""What viewers make of a trace: rules of their importers, as far as an overlay needs them.

Perfetto (`src/trace_processor/importers`: JSON parser, slice and flow trackers): events in
order of time, those of one time in order of the file; times are floats of µs, multiplied by
1000 and cut off; a slice that overlaps the one around it is dropped; an arrow binds to the
slice that began last on its thread. chrome://tracing (catapult): an arrow binds to the
shortest slice around its time.
"""

import gzip
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson

Event = dict[str, Any]
Open = tuple[int, int, Event]
"""Start and end of a slice, and the slice."""


@dataclass
class Imported:
    """Slices that are shown, by thread; arrows as pairs of slices; what went wrong."""

    slices: dict[tuple[int, int], list[Event]] = field(default_factory=dict)
    arrows: list[tuple[Event, Event, Event]] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)


def read(path: Path) -> dict[str, Any]:
    """Read a whole overlay, strictly, with times in ns."""
    text = path.read_bytes()
    document: dict[str, Any] = orjson.loads(
        gzip.decompress(text) if path.suffix == ".gz" else text
    )
    for event in document["traceEvents"]:
        times_in_ns(event)
    return document


def times_in_ns(event: Event) -> Event:
    """Replace the times of an event, as they are written, by ns."""
    for key in ("ts", "dur"):
        if key in event:
            event[key] = int((Decimal(repr(event[key])) * 1000).to_integral_exact())
    return event


def seen(time_ns: int) -> int:
    """Read a time that is written in µs as Perfetto does."""
    written = float(Decimal(time_ns) / 1000)
    return int(written * 1000.0)


def perfetto(events: list[Event], read: Callable[[int], int] = seen) -> Imported:
    """Import as Perfetto does; or with times that are read otherwise."""
    found = Imported()
    stacks: dict[tuple[int, int], list[Open]] = defaultdict(list)
    begun: dict[tuple[Any, str, str], Event] = {}
    timed = [event for event in events if event["ph"] in "Xsf"]
    for event in sorted(timed, key=lambda one: read(one["ts"])):
        thread = event["pid"], event["tid"]
        stack = stacks[thread]
        if event["ph"] == "X":
            start = read(event["ts"])
            if _fits(stack, start, start + read(event["dur"])):
                stack.append((start, start + read(event["dur"]), event))
                found.slices.setdefault(thread, []).append(event)
            else:
                found.faults["slice_drop_overlapping"] += 1
            continue
        key = event["id"], event.get("cat", ""), event.get("name", "")
        if not stack:
            found.faults["flow_no_enclosing_slice"] += 1
        elif event["ph"] == "s":
            found.faults["flow_duplicate_id"] += key in begun
            begun[key] = stack[-1][2]
        elif key not in begun:
            found.faults["flow_end_without_start"] += 1
        else:
            found.arrows.append((event, begun[key], stack[-1][2]))
    return found


def _fits(stack: list[Open], start: int, end: int) -> bool:
    for at in range(len(stack) - 1, -1, -1):
        open_start, open_end, _ = stack[at]
        instants = open_start == open_end and start == end
        if open_end < start or (open_end == start and not instants):
            stack.pop()
        elif start < open_end < end:
            return False
    return True


def around(slices: list[Event], at: int) -> Event | None:
    """Return the shortest slice around a time, as catapult binds arrows."""
    those = [one for one in slices if one["ts"] <= at <= one["ts"] + one["dur"]]
    return min(those, key=lambda one: one["dur"], default=None)


def faults(document: dict[str, Any]) -> list[str]:
    """Say what is against the format, of any event."""
    bad = []
    for event in document["traceEvents"]:
        good = (
            isinstance(event["ph"], str)
            and len(event["ph"]) == 1
            and isinstance(event["pid"], int)
            and isinstance(event["tid"], int)
            and 0 < event["pid"] < 2**32
            and 0 < event["tid"] < 2**32
        ) or event["ph"] == "M"
        if event["ph"] == "M":
            good = isinstance(event["pid"], int) and isinstance(event["args"], dict)
        else:
            good = good and 0 <= event["ts"] < 2**62
        if event["ph"] == "X":
            good = good and event["dur"] >= 0
        if event["ph"] in "sf":
            good = good and 0 <= event["id"] < 2**53
        if not good:
            bad.append(repr(event)[:200])
    return bad
