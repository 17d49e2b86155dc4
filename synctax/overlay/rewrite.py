"""Events of one rank rewritten for a trace of all ranks: own ids, one clock."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import orjson

from synctax.arrays import I64, NS_PER_US, Bool
from synctax.errors import BadInputError, SynctaxError
from synctax.notes import Note
from synctax.overlay.choice import Keep
from synctax.overlay.events import Event, Reading, Span, key_text, name_of
from synctax.overlay.links import GPU_CATEGORIES, PLAIN_ID, Links, Selected
from synctax.overlay.pieces import Deflated, Piece, Plain
from synctax.trace.kineto_keys import CATEGORIES
from synctax.trace.times import parse_us

PIDS_A_RANK = 1_000
"""Process ids of a rank: the first is for what is drawn, others for its own processes."""

TIDS_A_RANK = 100_000
"""Thread ids of a rank: unique in the trace, since viewers name threads by them."""

OWN_TIDS = 1_000
"""The first of these are for what is drawn."""

ID_BITS = 32
"""Ids of flows: position of the rank above, own id below."""

CULPRIT_COLOUR = "terrible"
"""Of chrome://tracing: red."""

ID_LIMIT = 2 ** (ID_BITS - 1)
"""Own ids below it are those of the trace, others count what is no such number."""

CHANGED = ("ph", "pid", "tid", "ts", "dur", "id", "bind_id", "synctax")
"""Keys of events that are not copied as they are."""

_MAX_PIDS = 2**32 - 1
_PHASE = re.compile(rb'"[A-Za-z]"')
_SCALAR = re.compile(rb'["\-0-9tfn]')
_NONE = msgspec.Raw(b"")
_NO_TEXT = msgspec.Raw(b'""')
_MARK = b',"cname":"' + CULPRIT_COLOUR.encode() + b'","synctax":'


@dataclass(frozen=True, slots=True)
class Task:
    """What to make of one rank's file.

    Parameters
    ----------
    path, position : str, int
        The file, and its place among the ranks.
    shift_ns : int
        What to add to times as written: the base time of the file, less how far the
        rank's clock is ahead, less the base of the overlay.
    least_ns, most_ns : int
        Times as written, between which an event may lie.
    selected : Selected or None
        The steps that are kept; None for all.
    keep : Keep
    collectives : frozenset of Span
        What `keep` calls so; times as written.
    culprits : mapping of (Span, EventKind) to int
        How many events of each name, time and kind are coloured.
    """

    path: str
    position: int
    shift_ns: int
    least_ns: int
    most_ns: int
    selected: Selected | None
    keep: Keep
    collectives: frozenset[Span]
    culprits: Mapping[tuple[Span, int], int]


@dataclass(frozen=True, slots=True)
class RankPiece:
    """A rank's events in the overlay, and what it takes to give them back.

    Parameters
    ----------
    piece : Piece
    events : int
        Events in it.
    left_out : int
        Events that were not asked for, by `--steps` or `--keep`.
    coloured : int
        Culprits found among the events.
    pids : tuple of (int, str)
        Process ids in the overlay and, as JSON text, in the trace.
    tids : tuple of (int, int, str)
        Thread ids, process ids, and thread ids in the trace.
    ids : tuple of str
        Ids of flows that are no small integers.
    labels : tuple of (str, int, int, str)
        Metadata events that name processes and threads: name, process, thread, arguments.
    shown : frozenset of int
        Process and thread ids that have events.
    head, tail : str
        Text around the events.
    notes : tuple of Note
        What was repaired, or cannot be shown.
    """

    piece: Piece
    events: int
    left_out: int
    coloured: int
    pids: tuple[tuple[int, str], ...]
    tids: tuple[tuple[int, int, str], ...]
    ids: tuple[str, ...]
    labels: tuple[tuple[str, int, int, str], ...]
    shown: frozenset[int]
    head: str
    tail: str
    notes: tuple[Note, ...]


def rewrite(
    task: Task, path: Path, on_bytes: Callable[[int], None], *, compressed: bool
) -> RankPiece:
    """Rewrite the events of one rank into a file of their own.

    Raises
    ------
    BadInputError
        If the file cannot be read, or has more processes or threads than any trace.
    """
    links = None
    if task.selected is not None:
        links = Links(task.selected)
        on_bytes = _Half(on_bytes)
        for events in Reading(task.path, on_bytes):
            links.add(events)
    reading = Reading(task.path, on_bytes)
    rewriter = _Rewriter(task, links)
    with path.open("wb") as file:
        part = Deflated(file) if compressed else Plain(file)
        for events in reading:
            part.write(b"".join(rewriter.texts(events)))
        part.flush()
    head, tail = reading.around
    return RankPiece(
        piece=Piece(path, part.crc, part.plain_bytes),
        events=rewriter.events,
        left_out=rewriter.left_out,
        coloured=rewriter.coloured,
        pids=tuple((number, text.decode()) for text, number in rewriter.pids.items()),
        tids=tuple(
            (number, rewriter.pids[pid], text.decode())
            for (pid, text), number in rewriter.tids.items()
        ),
        ids=tuple(text.decode() for text in rewriter.ids),
        labels=rewriter.labels(),
        shown=frozenset(rewriter.shown),
        head=head,
        tail=tail,
        notes=(*reading.tally.notes(), *rewriter.notes()),
    )


def time_text(time_ns: int) -> bytes:
    """Write ns as µs, with the digits that are needed and no more.

    Examples
    --------
    >>> time_text(1_234_500), time_text(-1), time_text(7_000)
    (b'1234.5', b'-0.001', b'7')
    """
    sign = b"-" if time_ns < 0 else b""
    us, rest = divmod(abs(time_ns), NS_PER_US)
    if not rest:
        return b"%s%d" % (sign, us)
    return b"%s%d.%s" % (sign, us, (b"%03d" % rest).rstrip(b"0"))


class _Half:
    """Passes on half of what is counted: a file that is read twice is read once."""

    def __init__(self, on_bytes: Callable[[int], None]) -> None:
        self._on_bytes = on_bytes
        self._rest = 0

    def __call__(self, count: int) -> None:
        half, self._rest = divmod(count + self._rest, 2)
        self._on_bytes(half)


class _Rewriter:
    def __init__(self, task: Task, links: "Links | None") -> None:
        self._task = task
        self._links = links
        self._collectives = {span[:2] for span in task.collectives}
        self._culprits = Counter(task.culprits)
        self._culprit_times = {span[:2] for span, _ in task.culprits}
        self._first_pid = (task.position + 1) * PIDS_A_RANK
        self._first_tid = (task.position + 1) * TIDS_A_RANK
        if self._first_tid + TIDS_A_RANK > _MAX_PIDS:
            raise SynctaxError(
                f"{task.position + 1:,} ranks are more than viewers can tell apart; give "
                "some of them with --ranks"
            )
        self.pids: dict[bytes, int] = {}
        self.tids: dict[tuple[bytes, bytes], int] = {}
        self.ids: dict[bytes, int] = {}
        self._labels: dict[tuple[str, int, int], str] = {}
        self.shown: set[int] = set()
        self.events = self.left_out = self.coloured = 0
        self._odd: Counter[str] = Counter()

    def texts(self, events: list[Event]) -> Iterable[bytes]:
        """Rewrite decoded events; those that are left out are counted."""
        plain = [event for event in events if self._is_plain(event)]
        start_ns, odd = parse_us([bytes(event.get("ts", _NONE)) for event in plain])
        duration_ns, bad = parse_us([bytes(event.get("dur", _NONE)) for event in plain])
        spans = np.array([bytes(event["ph"]) == b'"X"' for event in plain], np.bool_)
        good = self._timed(start_ns, odd == 0)
        good &= ~spans | ((bad == 0) & (duration_ns >= 0))
        self._odd["no_time"] += int((~good).sum())
        for at in np.flatnonzero(good).tolist():
            start, duration = int(start_ns[at]), int(duration_ns[at])
            if self._wanted(plain[at], start, duration if spans[at] else 0):
                yield self._text(plain[at], start, duration if spans[at] else None)
            else:
                self.left_out += 1

    def _timed(self, start_ns: I64, known: Bool) -> Bool:
        inside: Bool = (start_ns >= self._task.least_ns) & (start_ns <= self._task.most_ns)
        return known & inside

    def _is_plain(self, event: Event) -> bool:
        """Whether an event is one that viewers understand; labels are kept apart."""
        phase = bytes(event.get("ph", _NONE))
        if not _PHASE.fullmatch(phase):
            self._odd["no_event"] += 1
            return False
        for key in ("name", "cat"):
            text = bytes(event.get(key, b'""'))
            if text == b"null":
                del event[key]
            elif text[:1] != b'"':
                self._odd["no_event"] += 1
                return False
        if not all(
            _SCALAR.match(bytes(event.get(key, b"0"))) for key in ("pid", "tid", "id")
        ):
            self._odd["no_event"] += 1
            return False
        if phase == b'"M"':
            self._label(event)
            return False
        return True

    def _label(self, event: Event) -> None:
        name = orjson.loads(bytes(event.get("name", b'""')))
        pid, tid = self._place(event)
        self._labels[name, pid, tid] = bytes(event.get("args", b"{}")).decode()

    def labels(self) -> tuple[tuple[str, int, int, str], ...]:
        """Names of processes and threads that have events."""
        return tuple(
            (name, pid, tid, args)
            for (name, pid, tid), args in self._labels.items()
            if tid in self.shown or (pid in self.shown and name.startswith("process_"))
        )

    def _wanted(self, event: Event, start: int, duration: int) -> bool:
        if not self._kept(event, start, duration):
            return False
        return self._links is None or self._links.wanted(event, start, duration)

    def _kept(self, event: Event, start: int, duration: int) -> bool:
        if self._task.keep == "all":
            return True
        if bytes(event["ph"]) != b'"X"':
            return False
        if self._task.keep == "gpu":
            return bytes(event.get("cat", _NONE)) in GPU_CATEGORIES
        return (start, duration) in self._collectives and (
            (start, duration, name_of(event)) in self._task.collectives
        )

    def _place(self, event: Event) -> tuple[int, int]:
        own_pid, own_tid = bytes(event.get("pid", _NONE)), bytes(event.get("tid", _NONE))
        pid = self.pids.get(own_pid)
        if pid is None:
            pid = self.pids[own_pid] = self._first_pid + 1 + len(self.pids)
        tid = self.tids.get((own_pid, own_tid))
        if tid is None:
            tid = self._first_tid + OWN_TIDS + len(self.tids)
            self.tids[own_pid, own_tid] = tid
            if tid >= self._first_tid + TIDS_A_RANK or len(self.pids) >= PIDS_A_RANK:
                raise BadInputError(
                    f"{self._task.path}: {len(self.pids):,} processes and "
                    f"{len(self.tids):,} threads are more than a trace of one rank has"
                )
        return pid, tid

    def _text(self, event: Event, start: int, duration: int | None) -> bytes:
        pid, tid = self._place(event)
        self.shown.update((pid, tid))
        self.events += 1
        parts = [
            b'{"ph":%s,"pid":%d,"tid":%d,"ts":%s'
            % (bytes(event["ph"]), pid, tid, time_text(start + self._task.shift_ns))
        ]
        if duration is not None:
            parts.append(b',"dur":' + time_text(duration))
        parts += [
            b',"%s":%d' % (key.encode(), self._id(bytes(event[key])))
            for key in ("id", "bind_id")
            if key in event
        ]
        marked = duration is not None and self._blamed(event, start, duration)
        for key, value in event.items():
            if key not in CHANGED and not (marked and key == "cname"):
                parts.append(b"," + key_text(key) + bytes(value))
        if marked:
            parts.append(_MARK + (bytes(event.get("cname", _NONE)) or b"null"))
        parts.append(b"},\n")
        return b"".join(parts)

    def _blamed(self, event: Event, start: int, duration: int) -> bool:
        """Whether an event is a culprit; of twins, as many are as there are culprits."""
        if (start, duration) not in self._culprit_times:
            return False
        kind = CATEGORIES.get(orjson.loads(bytes(event.get("cat", _NO_TEXT))))
        known = (start, duration, name_of(event)), -1 if kind is None else int(kind)
        if self._culprits[known] <= 0:
            return False
        self._culprits[known] -= 1
        self.coloured += 1
        return True

    def _id(self, text: bytes) -> int:
        if PLAIN_ID.fullmatch(text) and int(text) < ID_LIMIT:
            own = int(text)
        else:
            own = ID_LIMIT + self.ids.setdefault(text, len(self.ids))
        return ((self._task.position + 1) << ID_BITS) + own

    def notes(self) -> Iterable[Note]:
        """Say what cannot be shown."""
        details = {
            "no_time": "events without a time within the window were left out",
            "no_event": "entries that viewers would not read as events were left out",
        }
        for reason, count in sorted(self._odd.items()):
            if count:
                yield Note(reason, count, details[reason], self._task.path)
