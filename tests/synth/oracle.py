"""Reads made-up traces back with the standard library, and works out the truth again.

Collectives are recognised by the marker that `SynthJob(marker=True)` leaves on kernels.
"""

import gzip
import json
import statistics
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import zstandard

ITEM_BYTES = {"BFloat16": 2, "Float": 4}


def text_of(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    if path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data.decode()


def read(path: Path) -> dict[str, Any]:
    """Parse a trace; times stay exact."""
    return json.loads(text_of(path), parse_float=Decimal)


def ns(us: "Decimal | int") -> int:
    value = us * 1000
    assert value == int(value)
    return int(value)


def kernels(trace: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]


def of_kind(trace: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event.get("cat") == kind]


def traces(directory: Path, truth: dict[str, Any]) -> dict[int, dict[str, Any]]:
    return {rank["rank"]: read(directory / rank["file"]) for rank in truth["ranks"]}


def collectives(by_rank: dict[int, dict[str, Any]]) -> dict[tuple[str, int], list[Any]]:
    """Durations of each (dimension, first rank of the group), in order of time.

    Each entry is the (marker index, {rank: kernel event}) of one collective.
    """
    found: dict[Any, dict[int, Any]] = defaultdict(lambda: defaultdict(dict))
    for rank, trace in by_rank.items():
        latest: dict[Any, tuple[int, int]] = {}
        for event in sorted(kernels(trace), key=lambda event: event["ts"]):
            marker = event["args"].get("synctax marker")
            if marker is None:
                continue
            dimension, first, index = marker.split()
            key, number = (dimension, int(first)), int(index)
            if key in latest:
                assert number == latest[key][0] + 1
                assert ns(event["ts"]) >= latest[key][1]
            latest[key] = (number, ns(event["ts"]) + ns(event["dur"]))
            found[key][number][rank] = event
    return {key: sorted(rows.items()) for key, rows in found.items()}


def expected(by_rank: dict[int, dict[str, Any]], group_size: dict[str, int]) -> list[Any]:
    """What `truth.json` must say of durations, tax, straggler and index."""
    rows = []
    for (dimension, first), found in collectives(by_rank).items():
        for index, (_, events) in enumerate(found):
            durations = {rank: ns(event["dur"]) for rank, event in events.items()}
            shortest, longest = min(durations.values()), max(durations.values())
            last = [rank for rank, value in durations.items() if value == shortest]
            early = [rank for rank, value in durations.items() if value == longest]
            alone = len(durations) == 1
            rows.append(
                {
                    "dimension": dimension,
                    "first": first,
                    "index": index,
                    "durations": durations,
                    "max": (longest - shortest) / 1000,
                    "median": (statistics.median(durations.values()) - shortest) / 1000,
                    "mean": statistics.fmean(
                        value - shortest for value in durations.values()
                    )
                    / 1000,
                    "straggler": last[0] if len(last) == 1 and not alone else None,
                    "fastest": early[0] if len(early) == 1 and not alone else None,
                    "partial": len(durations) < group_size[dimension],
                    "events": events,
                }
            )
    return rows
