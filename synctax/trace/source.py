"""Plain bytes of a file, whatever it is compressed with, read ahead in a thread.

A compressed stream that ends early or breaks gives everything that was decompressed
before: what a killed job left behind is still worth reading.
"""

import queue
import threading
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Protocol, cast

from synctax.errors import BadInputError
from synctax.trace.errand import located

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
READ_BYTES = 256 * 1024
REMOTE_BYTES = 16 * 1024 * 1024
"""Asked of a store at a time: a request takes as long as some megabytes do."""
_SMALLEST_FEED_BYTES = 32
_LARGE_BYTES = 1024 * 1024
"""Plain bytes that a step should not exceed: where it does, the next ones are smaller."""
_QUEUE_BLOCKS = 2


class _Decompressor(Protocol):
    eof: bool
    unused_data: bytes

    def decompress(self, data: bytes, /) -> bytes: ...


class Damage:
    """What was wrong with the compressed stream, empty where nothing was."""

    def __init__(self) -> None:
        self.reason = ""
        self.detail = ""

    def set(self, reason: str, detail: str) -> None:
        """Keep the first fault; later ones follow from it."""
        if not self.reason:
            self.reason, self.detail = reason, detail


@contextmanager
def open_file(path: str, block_bytes: int = REMOTE_BYTES) -> Iterator[IO[bytes]]:
    """Open a local path or an fsspec URL for reading bytes.

    Of a URL, `block_bytes` are asked for at a time.

    Raises
    ------
    BadInputError
        If the file cannot be opened or read.
    SynctaxError
        If the path is a URL and fsspec (extra `cloud`) is not installed.
    """
    try:
        with _open(path, block_bytes) as file:
            yield file
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read: {error.strerror or error}") from error


def _open(path: str, block_bytes: int) -> IO[bytes]:
    if "://" not in path:
        return open(located(path), "rb", buffering=0)  # noqa: PTH123
    from synctax.trace.remote import opened

    return cast("IO[bytes]", opened(path, block_bytes))


def plain_blocks(
    file: IO[bytes], damage: Damage, on_bytes: Callable[[int], None] | None = None
) -> Generator[bytes, None, None]:
    """Yield the plain content of an open file in blocks of no particular size.

    Parameters
    ----------
    file : binary file
        Plain, gzip (any number of members) or zstd (any number of frames), by magic.
    damage : Damage
        Told of a stream that ends early, breaks or is followed by other bytes.
    on_bytes : callable
        Called with counts of bytes of the file itself, as they are consumed.
    """
    blocks = _raw_blocks(file, on_bytes)
    first = next(blocks, b"")
    while first and len(first) < len(ZSTD_MAGIC) and (more := next(blocks, b"")):
        first += more
    if first.startswith(GZIP_MAGIC):
        yield from _decompressed(first, blocks, _GZIP, damage)
    elif first.startswith(ZSTD_MAGIC):
        yield from _decompressed(first, blocks, _ZSTD, damage)
    elif first:
        yield first
        yield from blocks


def _raw_blocks(file: IO[bytes], on_bytes: Callable[[int], None] | None) -> Iterator[bytes]:
    while block := file.read(READ_BYTES):
        if on_bytes:
            on_bytes(len(block))
        yield block


def _gzip_member() -> _Decompressor:
    from isal import isal_zlib

    return cast("_Decompressor", isal_zlib.decompressobj(wbits=16 + zlib.MAX_WBITS))


def _zstd_frame() -> _Decompressor:
    import zstandard

    return cast("_Decompressor", zstandard.ZstdDecompressor().decompressobj())


@dataclass(frozen=True, slots=True)
class _Codec:
    """How to decompress, and how many bytes at a time.

    A corrupt stream loses at most what one step held. A step gives 32 MiB at most: gzip
    holds up to 1,032 bytes in one, zstd up to 32,768.
    """

    name: str
    magic: bytes
    step_bytes: int
    start: Callable[[], _Decompressor]


_GZIP = _Codec("gzip", GZIP_MAGIC, 16 * 1024, _gzip_member)
_ZSTD = _Codec("zstd", ZSTD_MAGIC, 1024, _zstd_frame)


def _errors() -> tuple[type[Exception], ...]:
    import zstandard
    from isal import isal_zlib

    known = zlib.error, isal_zlib.error, zstandard.ZstdError
    return cast("tuple[type[Exception], ...]", known)


def _decompressed(
    first: bytes,
    blocks: Iterator[bytes],
    codec: _Codec,
    damage: Damage,
) -> Iterator[bytes]:
    member, members, fresh, errors = codec.start(), 0, True, _errors()
    feed = _Feed(first, blocks, codec.step_bytes)
    for data in feed:
        rest, size = data, 0
        while rest:
            if fresh and members:
                rest = rest.lstrip(b"\0")  # tapes and some writers pad with zeros
                if not rest:
                    break
                if not codec.magic.startswith(rest[: len(codec.magic)]):
                    damage.set(
                        f"{codec.name}_trailing_bytes",
                        f"bytes after the end of the {codec.name} stream",
                    )
                    return
            try:
                plain = member.decompress(rest)
            except errors as error:
                damage.set(
                    f"{codec.name}_damaged", f"the {codec.name} stream is damaged: {error}"
                )
                return
            fresh = False
            size += len(plain)
            if plain:
                yield plain
            rest = b""
            if member.eof:
                rest = bytes(member.unused_data)
                member, members, fresh = codec.start(), members + 1, True
        feed.adapt(size)
    if not fresh or not members:
        damage.set(f"{codec.name}_truncated", f"the {codec.name} stream ends early")


class _Feed:
    """Blocks in steps whose size follows from how much the steps before gave."""

    def __init__(self, first: bytes, blocks: Iterator[bytes], step_bytes: int) -> None:
        self._first, self._blocks = first, blocks
        self._largest = self._step = step_bytes

    def adapt(self, plain_bytes: int) -> None:
        """Take smaller steps where one gave too much, else larger ones again."""
        if plain_bytes > _LARGE_BYTES:
            self._step = max(self._step // 4, _SMALLEST_FEED_BYTES)
        else:
            self._step = min(self._step * 2, self._largest)

    def __iter__(self) -> Iterator[bytes]:
        block: bytes | None = self._first
        while block is not None:
            at = 0
            while at < len(block):
                step = block[at : at + self._step]
                at += len(step)
                yield step
            block = next(self._blocks, None)


def read_ahead(blocks: Iterator[bytes], block_bytes: int) -> Generator[bytes, None, None]:
    """Run `blocks` in a thread, a bounded number of blocks ahead of the consumer.

    Blocks are gathered to at least `block_bytes`, so that a hand-over is rare. An
    exception of `blocks` is raised in the consumer; a consumer that stops early stops
    the thread.
    """
    handed: queue.Queue[bytes | BaseException | None] = queue.Queue(_QUEUE_BLOCKS)
    stop = threading.Event()
    thread = threading.Thread(
        target=_produce, args=(blocks, block_bytes, handed, stop), daemon=True
    )
    thread.start()
    try:
        while (item := handed.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        while not handed.empty():
            handed.get()
        thread.join()


def _produce(
    blocks: Iterator[bytes],
    block_bytes: int,
    handed: "queue.Queue[bytes | BaseException | None]",
    stop: threading.Event,
) -> None:
    end: BaseException | None = None
    try:
        for block in _gathered(blocks, block_bytes):
            if not _put(handed, block, stop):
                return
    except BaseException as error:  # noqa: BLE001 (raised again by the consumer)
        end = error
    _put(handed, end, stop)


def _put(
    handed: "queue.Queue[bytes | BaseException | None]",
    item: bytes | BaseException | None,
    stop: threading.Event,
) -> bool:
    while not stop.is_set():
        try:
            handed.put(item, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False


def _gathered(blocks: Iterator[bytes], block_bytes: int) -> Iterator[bytes]:
    held: list[bytes] = []
    size = 0
    for block in blocks:
        held.append(block)
        size += len(block)
        if size >= block_bytes:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)
