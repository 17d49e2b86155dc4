"""What the events of some steps lead to."""

import re

import msgspec
import numpy as np

from synctax.overlay.events import Event
from synctax.trace.kineto_keys import CATEGORIES
from synctax.trace.model import EventKind
from synctax.trace.times import parse_us

PLAIN_ID = re.compile(rb"0|[1-9][0-9]{0,9}")
"""An id that is a number, as correlation ids are."""

_FLOWS = (b'"s"', b'"t"', b'"f"')
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

_CALL_CATEGORIES = _categories(EventKind.RUNTIME)


class _Correlated(msgspec.Struct, gc=False):
    correlation: int | None = None


class Links:
    """What the events of some steps lead to: kernels by correlation, flows by id.

    Parameters
    ----------
    steps_ns : (int, int)
        When the steps run, in times as written.
    """

    def __init__(self, steps_ns: tuple[int, int]) -> None:
        self._first, self._last = steps_ns
        self._launched: set[int] = set()
        self._begun: set[bytes] = set()
        self._ended: set[bytes] = set()
        self._args = msgspec.json.Decoder(_Correlated)

    def add(self, events: list[Event]) -> None:
        """Look at decoded events."""
        start_ns, odd = parse_us([bytes(event.get("ts", _NONE)) for event in events])
        inside = (odd == 0) & (start_ns >= self._first) & (start_ns < self._last)
        for at in np.flatnonzero(inside).tolist():
            event = events[at]
            phase = bytes(event.get("ph", _NONE))
            if phase == b'"s"':
                self._begun.add(_flow(event))
            elif phase == b'"f"':
                self._ended.add(_flow(event))
            elif bytes(event.get("cat", _NONE)) in _CALL_CATEGORIES:
                number = self._correlation(event)
                if number is not None:
                    self._launched.add(number)

    def _correlation(self, event: Event) -> int | None:
        try:
            return self._args.decode(event.get("args", b"{}")).correlation
        except msgspec.MsgspecError:
            return None

    def wanted(self, event: Event, start: int, duration: int) -> bool:
        """Whether an event overlaps the steps, or is what they lead to."""
        phase = bytes(event["ph"])
        if phase in _FLOWS:
            flow = _flow(event)
            if flow not in self._begun:
                return False
            own = bytes(event.get("id", _NONE))
            return flow in self._ended or (
                PLAIN_ID.fullmatch(own) is not None and int(own) in self._launched
            )
        if start < self._last and start + max(duration, 1) > self._first:
            return True
        return (
            bytes(event.get("cat", _NONE)) in GPU_CATEGORIES
            and self._correlation(event) in self._launched
        )


def _flow(event: Event) -> bytes:
    return bytes(event.get("cat", _NONE)) + b" " + bytes(event.get("id", _NONE))
