"""Help for tests of the reader: read bytes, tell two results apart, list events."""

from pathlib import Path
from typing import Any

import numpy as np

from synctax.trace.kineto import read_rank
from synctax.trace.model import RankTrace

TABLES = ("events", "lanes", "kernels", "syncs", "comms")


def read(
    tmp_path: Path, data: bytes, name: str = "rank0.json", **options: Any
) -> RankTrace:
    path = tmp_path / name
    path.write_bytes(data)
    return read_rank(path, **options)


def difference(one: RankTrace, two: RankTrace) -> str:
    """Name the first field in which two results differ; empty where none does."""
    for table in TABLES:
        left, right = getattr(one, table), getattr(two, table)
        for column in left.__slots__:
            a, b = getattr(left, column), getattr(right, column)
            if not (
                np.array_equal(a, b) and getattr(a, "dtype", 0) == getattr(b, "dtype", 0)
            ):
                return f"{table}.{column}: {a} != {b}"
    for field in ("meta", "strings", "notes", "truncated", "bytes_read"):
        if getattr(one, field) != getattr(two, field):
            return f"{field}: {getattr(one, field)} != {getattr(two, field)}"
    return ""


def listed(trace: RankTrace) -> list[tuple[Any, ...]]:
    """Each event with its texts, in order."""
    events, strings = trace.events, trace.strings
    return [
        (
            int(events.kind[i]),
            strings[events.name[i]],
            int(events.start_ns[i]),
            int(events.duration_ns[i]),
            int(events.device[i]),
            int(events.stream[i]),
            int(events.correlation[i]),
            int(events.external_id[i]),
            int(trace.lanes.process[events.lane[i]]),
            int(trace.lanes.thread[events.lane[i]]),
        )
        for i in range(len(events))
    ]


def reasons(trace: RankTrace) -> dict[str, int]:
    """How often each reason was noted."""
    found: dict[str, int] = {}
    for note in trace.notes:
        found[note.reason] = found.get(note.reason, 0) + note.count
    return found
