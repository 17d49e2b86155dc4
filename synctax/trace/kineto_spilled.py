"""Close a file's columns that lie in files: as `kineto_finish`, a block at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from synctax.arrays import I32
from synctax.trace.kineto_columns import Collector
from synctax.trace.kineto_finish import ARGUMENTS, Judge, Taken, recoded
from synctax.trace.model import GPU_KINDS, CommArgs, Events, KernelArgs, SyncArgs
from synctax.trace.spill import Block, Numbers, Spill, SpilledColumns
from synctax.trace.spill_sort import in_order
from synctax.trace.tally import Tally
from synctax.trace.times import Part


def take_spilled(
    spill: Spill,
    collector: Collector,
    base_ns: int,
    merged: dict[str, I32],
    tally: Tally,
) -> Taken:
    """Build all columns, of blocks that lie in files, in files.

    Parameters
    ----------
    spill : Spill
        Where they go.
    collector, base_ns, merged, tally
        As for `kineto_finish.take_all`.

    Raises
    ------
    SpillError
        If there is no room.
    """
    row = Numbers(spill, collector.events.size)
    events = _events(spill, collector, base_ns, row, tally)

    def arguments(table: str) -> dict[str, Any]:
        columns: SpilledColumns = getattr(collector, table)
        found = in_order(_arguments(columns, ARGUMENTS[table], row, merged), "event", spill)
        columns.close()
        return found.arrays()

    return (
        events,
        KernelArgs(**arguments("kernels")),
        SyncArgs(**arguments("syncs")),
        CommArgs(**arguments("comms")),
    )


def _events(
    spill: Spill, collector: Collector, base_ns: int, row: Numbers, tally: Tally
) -> Events:
    """Build the events; `row` gets for each collected one its row, -1 if it is left out."""
    columns: SpilledColumns = collector.events

    def parts() -> Iterator[Part]:
        for block in columns.blocks("kind", "start_ns", "duration_ns"):
            on_gpu = np.isin(block["kind"], GPU_KINDS)
            yield block["start_ns"], block["duration_ns"], on_gpu

    judge = Judge(collector, parts, base_ns, tally)
    found = in_order(_kept(columns, judge, base_ns), "start_ns", spill)
    columns.close()
    first = 0
    for block in found.blocks("place"):
        place = block["place"]
        row.put(place, np.arange(first, first + place.size, dtype=np.int32))
        first += place.size
    arrays = found.arrays()
    del arrays["place"]
    return Events(**arrays)


def _kept(columns: SpilledColumns, judge: Judge, base_ns: int) -> Iterator[Block]:
    """The events that are left, with their places among all."""
    first = 0
    for block in columns.blocks():
        kind, start_ns, duration_ns = block["kind"], block["start_ns"], block["duration_ns"]
        on_gpu = np.isin(kind, GPU_KINDS)
        keep = judge.kept(kind, block["name"], start_ns, duration_ns, on_gpu)
        block["place"] = np.arange(first, first + kind.size)
        first += kind.size
        left = {name: column[keep] for name, column in block.items()}
        left["start_ns"] += base_ns
        yield left


def _arguments(
    columns: SpilledColumns, keys: tuple[str, ...], row: Numbers, merged: dict[str, I32]
) -> Iterator[Block]:
    for block in columns.blocks():
        event = row.at(block["event"]).astype(np.int64)
        keep = event >= 0
        left = {"event": event[keep]}
        for key in keys:
            left[key] = recoded(block[key][keep], merged.get(key))
        yield left
