"""Reads texts that are made to take long, of the kinds that are named; see the test.

python -m tests.trace.hostile [NAME...]

Without a name, tells what kinds of files and kernels there are.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

EVENT = b'{"ph":"X","cat":"cpu_op","name":"%s","pid":%d,"tid":%d,"ts":%d,"dur":1}'
HEAD, TAIL = b'{"traceEvents":[', b"]}"
MIB = 1 << 20


def event(name: bytes = b"a", process: int = 0, thread: int = 7, start: int = 1) -> bytes:
    return EVENT % (name, process, thread, start)


def listed(*events: bytes) -> bytes:
    return HEAD + b",".join(events) + TAIL


def with_tail(tail: bytes) -> bytes:
    return listed(event())[:-1] + tail


WORD = 1 << 64
PRIME = (1 << 61) - 1
FACTORS = 11400714785074694791, 14029467366897019727, 2870177450012600261
"""Of the hash of a tuple in CPython (`Objects/tupleobject.c`): nothing of it is drawn."""


def pairs_that_meet(count: int) -> list[tuple[int, int]]:
    """Make pairs of numbers whose tuples all have one hash."""
    one, two, start = FACTORS
    inverse = pow(two, -1, WORD)
    found: list[tuple[int, int]] = []
    first = 0
    while len(found) < count:
        first += 1
        word = (start + first * two) % WORD
        word = (word << 31 | word >> 33) * one % WORD
        second = (12345 - word) * inverse % WORD
        if second < PRIME:
            found.append((first, second))
    return found


TEXTS: dict[str, Callable[[], bytes]] = {
    "blanks behind what may end the list": lambda: listed(
        event(), b'{"ph":"X" junk', b"}]" + b" " * MIB + b"x", event()
    ),
    "metadata that opens and never closes": lambda: with_tail(
        b',"distributedInfo":{' * 50_000 + b"}"
    ),
    "metadata that is a text without an end": lambda: with_tail(
        b',"distributedInfo":"' + b'\\"' * MIB
    ),
    "steps that cannot be": lambda: listed(
        *(event(b"ProfilerStep#%d" % (10**30 + at)) for at in range(600_000))
    ),
    "threads that meet in one place of a dictionary": lambda: listed(
        *(event(process=one, thread=other) for one, other in pairs_that_meet(100_000))
    ),
}
"""Of some megabytes; work that grows with the square of that takes minutes to hours."""


BEGINNINGS = (
    b"a" + b";" * 32_700,
    b"a" + b";" * 16_000 + b" 1" * 8_000 + b"x",
    b"[" + b" " * 32_700,
)
"""Of files that are looked at, to say what kind they are."""

FILES = 300

NAMES = ("ncclDevKernel_AllReduce_Sum_", "ncclKernel", "Kernel", "a::", "1a", "_Sum_<")
"""Of kernels, many times one behind the other."""


def told() -> None:
    from synctax.trace.sniff import sniff

    with TemporaryDirectory() as folder:
        path = Path(folder) / "file.json"
        for text in BEGINNINGS:
            path.write_bytes(text)
            for _ in range(FILES):
                sniff(path)


def named() -> None:
    from synctax.trace.names import kernel

    for part in NAMES:
        kernel("nccl" + part * (MIB // len(part)) + "!")


def main() -> None:
    from synctax.trace.kineto import MsgspecScanner, NativeScanner
    from synctax.trace.readers import variants
    from synctax.trace.source import Damage

    if not sys.argv[1:]:
        told()
        named()
    for name in sys.argv[1:]:
        text = TEXTS[name]()
        for kind in (NativeScanner, MsgspecScanner) if variants() else (MsgspecScanner,):
            scanner = kind(name)
            for at in range(0, len(text), MIB):
                scanner.feed(text[at : at + MIB])
            sys.stdout.write(f"{len(scanner.finish(Damage()).events)}\n")


if __name__ == "__main__":
    main()
