"""Turn decoded Kineto events into columns, chunk by chunk."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import orjson

from synctax.arrays import ABSENT, I8, I32, I64, Bool
from synctax.trace.columns import Codes, Columns, integers, whole
from synctax.trace.kineto_codes import (
    MARK,
    SKIP,
    Classes,
    Communicates,
    Geometry,
    Handles,
    Lanes,
    skip_reason,
)
from synctax.trace.kineto_keys import END_MARK, NO_ARGS, START_MARK, Args, Event
from synctax.trace.model import EventKind
from synctax.trace.numbers import MAX_COUNT, MAX_RANK
from synctax.trace.tally import Tally
from synctax.trace.times import TimeStatus, parse_us

COMM_TEXTS = (
    "collective", "dtype", "group_name", "group_description", "group_ranks", "in_split",
    "out_split",
)  # fmt: skip
COMM_JSON = ("input_dims", "input_type")
COMM_NUMBERS = {
    "in_elements": MAX_COUNT, "out_elements": MAX_COUNT, "group_size": MAX_RANK,
    "seq": MAX_COUNT, "src": MAX_RANK, "dst": MAX_RANK, "rank_start": MAX_RANK,
    "rank_stride": MAX_RANK,
}  # fmt: skip
"""The largest value of each that can be true."""
WAITS = ("wait_stream", "wait_correlation", "wait_event_id")

_PHASE_CATEGORY = attrgetter("ph", "cat")
_PROCESS_THREAD = attrgetter("pid", "tid")
_ON_DEVICE = (
    EventKind.GPU_ANNOTATION, EventKind.KERNEL, EventKind.MEMCPY, EventKind.MEMSET,
    EventKind.SYNC, EventKind.CUDA_EVENT,
)  # fmt: skip
_MAX_CATEGORIES = 100
_LABEL = re.compile(r"thread -?\d+ \((.*)\)", re.DOTALL)


class Collector:
    """The columns of one file, in order of the file, and what was left out.

    Events whose times cannot be read are dropped and counted here; what looks wrong only
    beside the rest of the window is left for the end.

    Parameters
    ----------
    tally : Tally
    placed : bool
        Whether a column `place` of the events keeps what `add` is told.
    columns : callable
        Makes what the columns are in, as `Columns`, which are in memory.
    """

    def __init__(
        self, tally: Tally, *, placed: bool = False, columns: Callable[..., Any] = Columns
    ) -> None:
        self.events = columns(
            kind=np.int8, name=np.int32, start_ns=np.int64, duration_ns=np.int64,
            lane=np.int32, device=np.int32, stream=np.int32, correlation=np.int64,
            external_id=np.int64, **({"place": np.int64} if placed else {}),
        )  # fmt: skip
        self.kernels = columns(event=np.int64, geometry=np.int32, graph_node=np.int64)
        self.syncs = columns(event=np.int64, **dict.fromkeys(WAITS, np.int64))
        self.comms = columns(
            event=np.int64,
            **dict.fromkeys(COMM_TEXTS + COMM_JSON, np.int32),
            **dict.fromkeys(COMM_NUMBERS, np.int64),
            comms_id=np.uint64,
        )
        self.names = Codes()
        # one dictionary a column: what is numbered when must not depend on the chunks
        self.texts = {key: Codes() for key in ("geometry", *COMM_TEXTS, *COMM_JSON)}
        self.lanes = Lanes()
        self.labels: dict[str, tuple[tuple[Any, Any], str]] = {}
        self.start_marks_ns: list[int] = []
        self.end_marks_ns: list[int] = []
        self._tally = tally
        self.classes = Classes()
        self._geometry = Geometry(self.texts["geometry"])
        self._communicates = Communicates()
        self.devices, self.streams = Handles(), Handles()

    def add(self, events: Sequence[Event], places: Sequence[int] = ()) -> None:
        """Append decoded events; `places` are numbers to be kept with them."""
        classes = self.classes
        which = list(map(classes.__getitem__, map(_PHASE_CATEGORY, events)))
        for number, count in Counter(which).items():
            classes.count[number] += count
        kinds = classes.kind
        kept = [event for event, c in zip(events, which, strict=True) if kinds[c] >= 0]
        if classes.special.intersection(which):
            self._add_special(
                e for e, c in zip(events, which, strict=True) if c in classes.special
            )
        if kept:
            kind = np.array([kinds[c] for c in which if kinds[c] >= 0], np.int8)
            at = [i for i, c in enumerate(which) if kinds[c] >= 0] if len(places) else []
            self._add_kept(kept, kind, np.array([places[i] for i in at], np.int64))

    def settle(self) -> None:
        """Write to columns what waits for that, if it is much: nothing does here."""

    def close(self) -> "Collector":
        """Take the end of the events."""
        return self

    def skipped(self) -> Iterable[tuple[str, str, int]]:
        """What was skipped: reason, category, count."""
        found: Counter[tuple[str, str]] = Counter()
        for (phase, category), number in self.classes.items():
            if self.classes.kind[number] in (SKIP, MARK):
                found[skip_reason(phase, category)] += self.classes.count[number]
        rows = [(*key, count) for key, count in sorted(found.items()) if count]
        rest = sum(count for *_, count in rows[_MAX_CATEGORIES:])
        others = [("unknown_category", "other categories", rest)] if rest else []
        return rows[:_MAX_CATEGORIES] + others

    def _add_kept(self, events: list[Event], kind: I8, places: I64) -> None:
        start_ns, start_status = parse_us([event.ts for event in events])
        duration_ns, duration_status = parse_us([event.dur for event in events])
        bad = (start_status != 0) | (duration_status != 0) | (duration_ns < 0)
        if bad.any():
            for at in np.flatnonzero(bad).tolist():
                reason = _time_reason(
                    TimeStatus(start_status[at]),
                    TimeStatus(duration_status[at]),
                    int(duration_ns[at]),
                )
                self._tally.add(reason, where=_named(events[at], start_ns[at]))
            keep = np.flatnonzero(~bad)
            events = [events[at] for at in keep.tolist()]
            kind, start_ns, duration_ns = kind[keep], start_ns[keep], duration_ns[keep]
            places = places[keep] if places.size else places
        if not events:
            return
        args = [event.args or NO_ARGS for event in events]
        name = np.array(self.names.code([event.name or "" for event in events]), np.int32)
        first = self.events.size
        device, stream = self._places(events, args, kind)
        self.events.append(
            kind=kind,
            name=name,
            start_ns=start_ns,
            duration_ns=duration_ns,
            lane=list(map(self.lanes.__getitem__, map(_PROCESS_THREAD, events))),
            device=device,
            stream=stream,
            correlation=self._integers([a.correlation for a in args]),
            external_id=self._external_ids(args),
            place=places,
        )
        self._add_kernels(args, kind, first)
        self._add_syncs(args, kind, first)
        self._add_comms(args, self._comm_rows(args, kind, name), first)

    def _external_ids(self, args: list[Args]) -> I64:
        ids = self._integers([a.external_id for a in args])
        absent = np.flatnonzero(ids == ABSENT)
        if absent.size:
            ids[absent] = self._integers([args[i].external_id_old for i in absent.tolist()])
        return ids

    def _places(self, events: list[Event], args: list[Args], kind: I8) -> tuple[I32, I32]:
        """Device and stream of what has them; older traces name them pid and tid only."""
        device = np.full(kind.size, ABSENT, np.int32)
        stream = np.full(kind.size, ABSENT, np.int32)
        at = np.flatnonzero(np.isin(kind, _ON_DEVICE))
        rows = at.tolist()
        device[at] = [
            self.devices.place(events[i].pid if (d := args[i].device) is None else d)
            for i in rows
        ]
        stream[at] = [
            self.streams.place(events[i].tid if (s := args[i].stream) is None else s)
            for i in rows
        ]
        return device, stream

    def _add_kernels(self, args: list[Args], kind: I8, first: int) -> None:
        rows = [
            i
            for i in np.flatnonzero(kind == EventKind.KERNEL).tolist()
            if memoryview(args[i].grid)
            or memoryview(args[i].block)
            or args[i].graph_node != ABSENT
        ]
        if rows:
            self.kernels.append(
                event=first + np.array(rows),
                geometry=[
                    self._geometry[bytes(args[i].grid), bytes(args[i].block)] for i in rows
                ],
                graph_node=self._integers([args[i].graph_node for i in rows]),
            )

    def _add_syncs(self, args: list[Args], kind: I8, first: int) -> None:
        at = np.flatnonzero(kind == EventKind.SYNC)
        if at.size:
            rows = [args[i] for i in at.tolist()]
            self.syncs.append(
                event=first + at,
                **{key: self._integers([getattr(a, key) for a in rows]) for key in WAITS},
            )

    def _comm_rows(self, args: list[Args], kind: I8, name: I32) -> list[int]:
        ranges = (kind == EventKind.CPU_OP) | (kind == EventKind.ANNOTATION)
        told: Bool = self._communicates.of(name, self.names) & ranges
        for i in np.flatnonzero(kind == EventKind.KERNEL).tolist():
            told[i] = _has_metadata(args[i])
        return np.flatnonzero(told).tolist()

    def _add_comms(self, args: list[Args], rows: list[int], first: int) -> None:
        if not rows:
            return
        told = [args[i] for i in rows]
        columns: dict[str, Any] = {"event": first + np.array(rows)}
        for key in COMM_TEXTS:
            columns[key] = self._texts(key, (getattr(a, key) for a in told))
        for key in COMM_JSON:
            raw = (bytes(getattr(a, key)).decode("utf-8", "replace") for a in told)
            columns[key] = self._texts(key, (text or None for text in raw))
        for key, limit in COMM_NUMBERS.items():
            column = self._integers([getattr(a, key) for a in told])
            self._oversized(take_out_of_range(column, limit))
            columns[key] = column
        columns["comms_id"] = np.array(
            [self._comms_id(a.comms_id) for a in told], np.uint64
        )
        self.comms.append(**columns)

    def _comms_id(self, value: Any) -> int:
        number = whole(value)
        if number is None:
            return 0
        if not -(2**63) <= number < 2**64:
            self._oversized(1)
            return 0
        return number % 2**64  # written by a signed printer it may be negative

    def _texts(self, key: str, values: Iterable[Any]) -> list[int]:
        codes = self.texts[key]
        return [ABSENT if v is None else self._code(codes, v) for v in values]

    def _code(self, codes: Codes, value: Any) -> int:
        text = text_of(value)
        if text is None:
            self._oversized(1)
            return ABSENT
        return codes[text]

    def _integers(self, values: Sequence[Any]) -> I64:
        return integers(values, self._oversized)

    def _oversized(self, count: int) -> None:
        if count:
            self._tally.add("integer_out_of_range", count=count)

    def _add_special(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.ph == "M":
                if event.name == "thread_name" and event.args:
                    key = _PROCESS_THREAD(event)
                    self.labels[repr(key)] = key, _label(event.args.name)
            elif event.name:
                self._add_mark(event)

    def _add_mark(self, event: Event) -> None:
        marks = {START_MARK: self.start_marks_ns, END_MARK: self.end_marks_ns}
        for name, known in marks.items():
            if event.name and event.name.startswith(name):
                self.classes.count[self.classes[event.ph, event.cat]] -= 1  # used
                ns, status = parse_us([event.ts])
                if status[0] == TimeStatus.OK and ns[0] > 0:
                    known.append(int(ns[0]))


def take_out_of_range(column: I64, limit: int) -> int:
    """Make numbers absent that are beyond what can be true; return how many."""
    beyond = (column < ABSENT) | (column > limit)
    count = int(np.count_nonzero(beyond))
    if count:
        column[beyond] = ABSENT
    return count


def _has_metadata(args: Args) -> bool:
    return not (
        args.collective is None
        and args.group_name is None
        and args.group_ranks is None
        and args.group_size is None
        and args.seq is None
        and args.comms_id is None
        and args.in_elements is None
    )


def text_of(value: Any) -> str | None:
    """Return a text, or what else stands in place of one as text; None if it is too big."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode().replace(",", ", ")
    except orjson.JSONEncodeError:  # an integer beyond 64 bits
        return None


def _label(value: Any) -> str:
    text = value.strip() if isinstance(value, str) else ""
    thread = _LABEL.fullmatch(text)
    return thread[1] if thread else text


def _named(event: Event, start_ns: int) -> Callable[[], str]:
    return lambda: f"{event.cat} {event.name or ''!r:.80} at {int(start_ns) / 1000:,.3f} µs"


def _time_reason(start: TimeStatus, duration: TimeStatus, duration_ns: int) -> str:
    if start is TimeStatus.OUT_OF_RANGE:
        return "start_outside_window"
    if start is not TimeStatus.OK:
        return f"start_{_WORDS[start]}"
    if duration is TimeStatus.OUT_OF_RANGE:
        return "duration_beyond_window"
    if duration is not TimeStatus.OK:
        return f"duration_{_WORDS[duration]}"
    return "duration_unfinished" if duration_ns == -1000 else "duration_negative"


_WORDS = {
    TimeStatus.MISSING: "missing",
    TimeStatus.NOT_FINITE: "nonfinite",
    TimeStatus.UNREADABLE: "unreadable",
}
