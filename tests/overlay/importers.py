"""What viewers make of a trace: rules of their importers, as far as an overlay needs them.

Perfetto (`src/trace_processor/importers`: JSON parser, slice and flow trackers): events in
order of time, those of one time in order of the file; a slice that overlaps the one around
it is dropped; an arrow binds to the slice that began last on its thread. chrome://tracing
(catapult): an arrow binds to the shortest slice around its time.
"""

import gzip
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson

Event = dict[str, Any]


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
        for key in ("ts", "dur"):
            if key in event:
                event[key] = int((Decimal(repr(event[key])) * 1000).to_integral_exact())
    return document


def perfetto(events: list[Event]) -> Imported:
    """Import as Perfetto does."""
    found = Imported()
    stacks: dict[tuple[int, int], list[Event]] = defaultdict(list)
    begun: dict[tuple[Any, str, str], Event] = {}
    timed = [event for event in events if event["ph"] in "Xsf"]
    for event in sorted(timed, key=lambda one: one["ts"]):
        thread = event["pid"], event["tid"]
        stack = stacks[thread]
        if event["ph"] == "X":
            if _fits(stack, event):
                stack.append(event)
                found.slices.setdefault(thread, []).append(event)
            else:
                found.faults["slice_drop_overlapping"] += 1
            continue
        key = event["id"], event.get("cat", ""), event.get("name", "")
        if not stack:
            found.faults["flow_no_enclosing_slice"] += 1
        elif event["ph"] == "s":
            found.faults["flow_duplicate_id"] += key in begun
            begun[key] = stack[-1]
        elif key not in begun:
            found.faults["flow_end_without_start"] += 1
        else:
            found.arrows.append((event, begun[key], stack[-1]))
    return found


def _fits(stack: list[Event], event: Event) -> bool:
    start, end = event["ts"], event["ts"] + event["dur"]
    for at in range(len(stack) - 1, -1, -1):
        open_end = stack[at]["ts"] + stack[at]["dur"]
        instants = stack[at]["dur"] == 0 == event["dur"]
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
