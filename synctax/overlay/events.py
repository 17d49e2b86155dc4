"""Events of a trace as text: what is not changed stays as it was written."""

from collections.abc import Callable, Iterator
from contextlib import closing

import msgspec
import orjson

from synctax.trace.chunks import EventList, UndecodableError
from synctax.trace.kineto import DEFAULT_CHUNK_BYTES
from synctax.trace.kineto_keys import GRAMMAR
from synctax.trace.source import Damage, open_file, plain_blocks, read_ahead
from synctax.trace.tally import Tally

Event = dict[str, msgspec.Raw]
"""Values by key, as text."""

Span = tuple[int, int, str]
"""What tells an event of a rank from others: start and duration in ns, and name."""

_NO_NAME = msgspec.Raw(b'""')

_DECODER = msgspec.json.Decoder(list[Event])
_KEYS = {
    key: b'"' + key.encode() + b'":'
    for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "id", "bp", "s")
}


def decode(text: bytes | memoryview) -> list[Event]:
    """Decode a JSON list of events.

    Raises
    ------
    UndecodableError
        If it is not valid JSON throughout: viewers read all of it.
    """
    try:
        orjson.loads(text)
        return _DECODER.decode(text)
    except (msgspec.MsgspecError, orjson.JSONDecodeError, RecursionError) as error:
        raise UndecodableError(str(error)) from error


def name_of(event: Event) -> str:
    """Name of an event as the analysis reads it; empty for none."""
    name: str = orjson.loads(bytes(event.get("name", _NO_NAME)))
    return name


def key_text(key: str) -> bytes:
    """Write a key with its colon."""
    return _KEYS.get(key) or orjson.dumps(key) + b":"


class Reading:
    """Events of one file, and what is around them once all were read.

    Parameters
    ----------
    path : str
    on_bytes : callable, optional
        Called with counts of bytes of the file, as they are consumed.
    """

    def __init__(self, path: str, on_bytes: Callable[[int], None] | None = None) -> None:
        self._path = path
        self._on_bytes = on_bytes
        self.tally = Tally()
        self._events = EventList(decode, self.tally, GRAMMAR, DEFAULT_CHUNK_BYTES)

    def __iter__(self) -> Iterator[list[Event]]:
        with open_file(self._path) as file:
            plain = plain_blocks(file, Damage(), self._on_bytes)
            with closing(read_ahead(plain, DEFAULT_CHUNK_BYTES)) as blocks:
                for block in blocks:
                    yield from self._events.feed(block)
        yield from self._events.finish()

    @property
    def around(self) -> tuple[str, str]:
        """Text before the list of events, and after it where the list was complete."""
        listed = self._events
        tail = listed.tail if listed.closed else b"}" if listed.head.strip() else b""
        return listed.head.decode("utf-8", "replace"), tail.decode("utf-8", "replace")
