"""Which events of a trace communicate, decided once a name instead of once an event."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from synctax.arrays import I8, I64, Bool, parts
from synctax.trace import names
from synctax.trace.model import EventKind, RankTrace
from synctax.trace.names import by_name


@dataclass(frozen=True, slots=True)
class Catalog:
    """Events by what they are to communication; (n,) int64 indices into `Events`.

    Parameters
    ----------
    kernels : (k,) int64
        Communication kernels.
    by_metadata : (k,) bool
        Only its metadata says that the kernel communicates: its name is not known.
    compute : (c,) int64
        All other kernels.
    copies : (p,) int64
        Copies from GPU to GPU.
    annotations, records, operators : (r,) int64
        Ranges on the CPU: `nccl:all_reduce`, `record_param_comms`, `c10d::allreduce_`.
    spans : (s,) int64
        Ranges that are collectives themselves: `gloo:all_reduce`.
    """

    kernels: I64
    by_metadata: Bool
    compute: I64
    copies: I64
    annotations: I64
    records: I64
    operators: I64
    spans: I64


def catalog(trace: RankTrace) -> Catalog:
    """Sort the events of a rank by what they are to communication."""
    events, strings = trace.events, trace.strings
    kernels = np.flatnonzero(events.kind == EventKind.KERNEL)
    kind = by_name(strings, events.name[kernels], _kernel_code, np.int8)
    described = np.zeros(len(events), np.bool_)
    described[trace.comms.event[trace.comms.collective >= 0]] = True
    by_metadata = (kind == _UNNAMED) & described[kernels]
    communicates = (kind == _COMMUNICATION) | by_metadata

    copies = np.flatnonzero(events.kind == EventKind.MEMCPY)
    is_peer = by_name(strings, events.name[copies], names.copy_engine, np.bool_)
    cpu, place = _ranges(trace)
    return Catalog(
        kernels=kernels[communicates],
        by_metadata=by_metadata[communicates],
        compute=kernels[~communicates],
        copies=copies[is_peer],
        annotations=cpu[place == _RANGE["annotation"]],
        records=cpu[place == _RANGE["record"]],
        operators=cpu[place == _RANGE["operator"]],
        spans=cpu[place == _SPAN],
    )


def _ranges(trace: RankTrace) -> tuple[I64, I8]:
    """Find the ranges on the CPU that are something to communication, and what.

    There are as many as half of the events, of which few are: so part by part.
    """
    kind, name = trace.events.kind, trace.events.name
    ask = cache(_range_code)
    rows, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int8)]
    for part in parts(kind.size):
        on_cpu = (kind[part] == EventKind.CPU_OP) | (kind[part] == EventKind.ANNOTATION)
        cpu = part.start + np.flatnonzero(on_cpu)
        place = by_name(trace.strings, name[cpu], ask, np.int8)
        rows.append(cpu[place > 0])
        places.append(place[place > 0])
    return np.concatenate(rows), np.concatenate(places)


_COMMUNICATION, _UNNAMED = 1, 2
_RANGE = {"annotation": 1, "record": 2, "operator": 3}
_SPAN = 4


def _kernel_code(name: str) -> int:
    known = names.kernel(name)
    if known.communicates:
        return _COMMUNICATION
    return _UNNAMED if known.kind == "other" else 0


def _range_code(name: str) -> int:
    kind = names.range_kind(name)
    if kind == "annotation":
        if names.operation(name) is None:  # `nccl:coalesced` describes no operation
            return 0
        if names.is_span(name):
            return _SPAN
    return _RANGE[kind] if kind is not None else 0
