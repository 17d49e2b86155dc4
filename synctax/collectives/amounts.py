"""What participations carried: element type, bytes, uneven splits, peer."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from synctax.arrays import ABSENT, I64, Bool
from synctax.collectives import payload
from synctax.collectives.distinct import distinct_rows
from synctax.collectives.membership import Membership
from synctax.collectives.model import Op
from synctax.collectives.sources import Described, Sources
from synctax.trace import names
from synctax.trace.model import RankTrace
from synctax.trace.names import by_name
from synctax.trace.numbers import MAX_RANK, bounded


@dataclass(frozen=True, slots=True)
class Amounts:
    """`dtype` (n,) names, empty, and `payload_bytes` (n,) int64, -1, where unknown."""

    dtype: "np.ndarray[tuple[int], np.dtype[np.object_]]"
    payload_bytes: I64


def amounts(
    trace: RankTrace, sources: Sources, described: Described, op: I64, member: Membership
) -> Amounts:
    """Find element type and bytes: from element counts, else from shapes, else the name."""
    comms, strings, name = trace.comms, trace.strings, trace.events.name
    code = described.first(comms.dtype).astype(np.int32)
    width = by_name(strings, code, _bytes, np.int64)
    elements = np.maximum(
        described.first(comms.in_elements), described.first(comms.out_elements)
    )
    counted = (width > 0) & (elements >= 0)
    size = np.where(counted, elements * width, ABSENT)
    dtype = _text(strings, code, lambda text: _dtype_name(names.dtype(text)))

    ranks = member.sizes()
    own, record, annotation, operator = described.rows
    for rows, both_sides in ((own, 0), (annotation, 0), (record, 0), (operator, 1)):
        open_ = np.flatnonzero((rows >= 0) & ((size < 0) | (dtype == "")))
        dims, types = comms.input_dims[rows[open_]], comms.input_type[rows[open_]]
        facts = np.stack([dims, types, op[open_], ranks[open_]])
        first, number = distinct_rows(*facts)
        told = [_from_shapes(row, strings, both_sides) for row in facts.T[first].tolist()]
        told_size = np.array([bytes_ for bytes_, _ in told], np.int64)[number]
        told_dtype = np.array([kind for _, kind in told], np.object_)[number]
        size[open_] = np.where(size[open_] < 0, told_size, size[open_])
        dtype[open_] = np.where(dtype[open_] == "", told_dtype, dtype[open_])
    named = _text(strings, name[sources.event], lambda text: names.kernel(text).dtype or "")
    size[sources.many] = ABSENT  # the kernel serves more calls
    size[(size < 0) & (op == Op.BARRIER)] = 0
    return Amounts(np.where(dtype == "", named, dtype), size)


def _bytes(text: str) -> int:
    known = names.dtype(text)
    return known.bytes if known else 0


def _dtype_name(known: names.DType | None) -> str:
    return known.name if known else ""


def _text(
    strings: tuple[str, ...],
    codes: "np.ndarray[tuple[int], np.dtype[np.int32]]",
    ask: Callable[[str], str],
) -> "np.ndarray[tuple[int], np.dtype[np.object_]]":
    answer = by_name(strings, codes, ask, np.object_)
    return np.where(answer == 0, "", answer)


def _from_shapes(
    row: list[int], strings: tuple[str, ...], both_sides: int
) -> tuple[int, str]:
    dims, types, op, ranks = row
    if dims < 0:
        return ABSENT, ""
    size = payload.sizes(strings[dims], strings[types] if types >= 0 else "")
    known_ranks = ranks if ranks > 0 else None
    return (
        payload.from_sizes(size, Op(op), known_ranks, both_sides=bool(both_sides)),
        size.dtype,
    )


def uneven(trace: RankTrace, described: Described, op: I64) -> Bool:
    """Tell which all-to-alls are known to have unequal splits."""
    comms = trace.comms
    result = np.zeros(op.size, np.bool_)
    for column in (comms.in_split, comms.out_split):
        codes = described.first(column).astype(np.int32)
        result |= by_name(trace.strings, codes, payload.uneven, np.bool_)
    in_, out = (described.first(c) for c in (comms.in_elements, comms.out_elements))
    result |= (in_ >= 0) & (out >= 0) & (in_ != out)
    result &= op == Op.ALL_TO_ALL
    return result


_ARROW = re.compile(r":(?:send|recv)\s+\d+\s*(?:->|<-)\s*([0-9]+)")


def peers(
    trace: RankTrace, sources: Sources, described: Described, op: I64, member: Membership
) -> I64:
    """Find the other side of sends and receives, as a global rank; -1 where unknown.

    `Dst Rank` and `Src Rank` are global; `nccl:send 0->1` counts within the group.
    """
    comms, strings = trace.comms, trace.strings
    collective = described.first(comms.collective).astype(np.int32)
    sends = by_name(strings, collective, lambda text: text.endswith("send"), np.bool_)
    dst, src = described.first(comms.dst), described.first(comms.src)
    peer = np.where(sends, dst, src)
    peer = np.where(
        peer < 0, np.where((dst < 0) | (src < 0), np.maximum(dst, src), peer), peer
    )
    annotation = np.where(sources.annotation >= 0, sources.annotation, sources.event)
    place = by_name(strings, trace.events.name[annotation], _arrow, np.int64) - 1
    for i in np.flatnonzero((peer < 0) & (place >= 0)).tolist():
        ranks = member.groups[member.group[i]].ranks
        if ranks is not None and place[i] < len(ranks):
            peer[i] = ranks[place[i]]
    return np.where((op == Op.SEND_RECV) & ~sources.many, peer, ABSENT)


@lru_cache(maxsize=1 << 12)
def _arrow(name: str) -> int:
    """Peer in `nccl:send 0->1`, plus 1; 0 where the name tells none."""
    found = _ARROW.search(name)
    place = bounded(found[1], MAX_RANK) if found else None
    return 0 if place is None else place + 1
