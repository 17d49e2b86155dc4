"""Which events belong to some steps, as the analysis tells it.

A call belongs to the step that it begins in, and what runs on a GPU to the step of the
call that launched it: GPUs run behind their host, so that at any time a GPU may be busy
with the step before. What no call of the trace launched belongs where the GPU ran it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from synctax.overlay.events import Event, Span, name_of
from synctax.trace.kineto_keys import CATEGORIES
from synctax.trace.model import EventKind
from synctax.trace.steps import step_number
from synctax.trace.times import parse_us

PLAIN_ID = re.compile(rb"0|[1-9][0-9]{0,9}")
"""An id that is a number, as correlation ids are."""

_FLOWS = (b'"s"', b'"t"', b'"f"')
_HOST_FLOWS = (b'"fwdbwd"', b'"forward_backward"')
"""Categories of arrows between operators: their ids are those of no call."""

_NONE = msgspec.Raw(b"")
_ON_GPU = (
    EventKind.KERNEL, EventKind.MEMCPY, EventKind.MEMSET, EventKind.GPU_ANNOTATION,
    EventKind.SYNC, EventKind.CUDA_EVENT,
)  # fmt: skip


def _categories(*kinds: EventKind) -> frozenset[bytes]:
    return frozenset(
        b'"' + name.encode() + b'"' for name, kind in CATEGORIES.items() if kind in kinds
    )


GPU_CATEGORIES = _categories(*_ON_GPU)
"""Categories of what runs on a GPU, as JSON text."""

_CALLS = _categories(EventKind.RUNTIME)
_GPU_ANNOTATIONS = _categories(EventKind.GPU_ANNOTATION)


class _Correlated(msgspec.Struct, gc=False):
    correlation: int | None = None


@dataclass(frozen=True, slots=True)
class Selected:
    """What is known of the steps of a rank that are kept; times as written.

    Parameters
    ----------
    steps : range
    host_ns : (int, int)
        When its host ran them.
    ran_ns : (int, int)
        When its GPU did, as far as collectives tell.
    collectives : mapping of Span to bool
        Whether each collective whose step is known belongs to them.
    """

    steps: range
    host_ns: tuple[int, int]
    ran_ns: tuple[int, int]
    collectives: Mapping[Span, bool]


class Links:
    """Which events belong to the steps of a rank: all are shown to `add` before.

    Parameters
    ----------
    selected : Selected
    """

    def __init__(self, selected: Selected) -> None:
        self._selected = selected
        self._first, self._last = selected.host_ns
        self._times = {span[:2] for span in selected.collectives}
        self._calls: set[int] = set()
        self._launched: set[int] = set()
        self._begun: set[bytes] = set()
        self._ended: set[bytes] = set()
        self._ran: tuple[int, int] | None = None
        self._args = msgspec.json.Decoder(_Correlated)

    def add(self, events: list[Event]) -> None:
        """Look at decoded events."""
        start_ns, odd = parse_us([bytes(event.get("ts", _NONE)) for event in events])
        inside = (odd == 0) & (start_ns >= self._first) & (start_ns < self._last)
        for at, event in enumerate(events):
            category = bytes(event.get("cat", _NONE))
            if category in _CALLS:
                self._call(event, bool(inside[at]))
            elif category in _GPU_ANNOTATIONS:
                self._mark(event)
        for at in np.flatnonzero(inside).tolist():
            event = events[at]
            phase = bytes(event.get("ph", _NONE))
            if phase == b'"s"':
                self._begun.add(_flow(event))
            elif phase == b'"f"':
                self._ended.add(_flow(event))

    def _call(self, event: Event, inside: bool) -> None:
        number = self._correlation(event)
        if number is not None:
            self._calls.add(number)
            if inside:
                self._launched.add(number)

    def _mark(self, event: Event) -> None:
        """Widen the time in which the GPU ran the steps by a mark of one of them."""
        if bytes(event.get("name", _NONE))[:1] != b'"':
            return
        if step_number(name_of(event)) not in self._selected.steps:
            return
        times = [bytes(event.get(key, _NONE)) for key in ("ts", "dur")]
        (start, duration), odd = parse_us(times)
        if not odd.any():
            first, last = self._ran or (int(start), int(start))
            self._ran = min(first, int(start)), max(last, int(start + duration))

    def _correlation(self, event: Event) -> int | None:
        try:
            return self._args.decode(event.get("args", b"{}")).correlation
        except msgspec.MsgspecError:
            return None

    def wanted(self, event: Event, start: int, duration: int) -> bool:
        """Whether an event belongs to the steps; an arrow does if both its ends do."""
        if bytes(event["ph"]) in _FLOWS:
            return self._leads(event)
        if (start, duration) in self._times:
            known = self._selected.collectives.get((start, duration, name_of(event)))
            if known is not None:
                return known
        if bytes(event.get("cat", _NONE)) in GPU_CATEGORIES:
            return self._ran_for(event, start, duration)
        return start < self._last and start + max(duration, 1) > self._first

    def _leads(self, event: Event) -> bool:
        flow = _flow(event)
        if flow not in self._begun:
            return False
        if flow in self._ended:
            return True
        own = bytes(event.get("id", _NONE))
        return (
            bytes(event.get("cat", _NONE)) not in _HOST_FLOWS
            and PLAIN_ID.fullmatch(own) is not None
            and int(own) in self._launched
        )

    def _ran_for(self, event: Event, start: int, duration: int) -> bool:
        """Whether a GPU ran something for the steps."""
        number = self._correlation(event)
        if number in self._calls:
            return number in self._launched
        if bytes(event.get("cat", _NONE)) in _GPU_ANNOTATIONS:
            step = step_number(name_of(event))
            if step is not None:
                return step in self._selected.steps
        first, last = self._ran or self._selected.ran_ns
        return start < last and start + max(duration, 1) > first


def _flow(event: Event) -> bytes:
    return bytes(event.get("cat", _NONE)) + b" " + bytes(event.get("id", _NONE))
