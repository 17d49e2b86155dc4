"""Names for nodes that are equal on all ranks: to find a node's counterpart elsewhere.

A node is named by the collective it was launched after, its name, which of that name it is
since that collective, and which slice of its event. Thread and stream numbers differ
between ranks and are no part of it; of a thread the profiler's label is.
"""

import hashlib
import re

import numpy as np

from synctax.arrays import ABSENT, I64, U64
from synctax.collectives.link import launching
from synctax.graph.model import Graph, NodeKind
from synctax.trace.model import RankTrace

NO_KEY = np.uint64(0)
"""Key of nodes that have no counterpart: the root, and waits."""


def node_keys(trace: RankTrace, graph: Graph, collective: I64, number: I64) -> U64:
    """Name every node by what it is and which collective it was launched after.

    Parameters
    ----------
    trace : RankTrace
    graph : Graph
        Of the trace.
    collective : (c,) int64
        Collectives that divide the trace, as indices into events.
    number : (c,) int64
        Their numbers, equal on all ranks.

    Returns
    -------
    (n,) uint64
        Equal for counterparts on different ranks; `NO_KEY` for nodes without.

    Notes
    -----
    Keys are 64-bit hashes: two of 10⁶ nodes agree by chance with probability 3·10⁻⁸.
    """
    nodes, events = graph.nodes, trace.events
    own = np.unique(nodes.label[nodes.label >= 0])
    time_ns = host_time_ns(trace, graph, own)
    bounds = host_time_ns(trace, graph, collective)
    order = np.argsort(bounds, kind="stable")
    at = np.searchsorted(bounds[order], time_ns, side="right") - 1
    segment = np.append(number[order], ABSENT)[at]
    name = name_hashes(trace)[events.name[own]] ^ _lane_hashes(trace)[events.lane[own]]
    base = combine(name, segment.astype(np.uint64))
    position = np.lexsort((own, time_ns, base))
    ranked = base[position]
    run = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))[: ranked.size]
    occurrence = np.empty(own.size, np.uint64)
    lengths = np.diff(np.append(run, ranked.size))
    occurrence[position] = (np.arange(ranked.size) - np.repeat(run, lengths)).astype(
        np.uint64
    )
    of_event = combine(base, occurrence)

    slot = np.searchsorted(own, nodes.label)
    known = (nodes.label >= 0) & (nodes.kind != NodeKind.WAIT)
    ordinal = nodes.ordinal.astype(np.uint64) + np.uint64(1)
    ordinal[nodes.kind == NodeKind.GAP] = _GAP
    key = combine(of_event[np.where(known, slot, 0)], ordinal)
    return np.where(known, np.maximum(key, np.uint64(1)), NO_KEY)


_GAP = np.uint64(1 << 40)
_ODD = np.uint64(0x9E3779B97F4A7C15)


def _mix(value: U64) -> U64:
    """Scramble 64 bits (the finalizer of SplitMix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: U64 = value ^ (value >> np.uint64(31))
    return mixed


def text_hash(text: str) -> int:
    """Hash a text to 64 bits, the same in every process.

    >>> text_hash("aten::mm") == text_hash("aten::mm"), text_hash("a") == text_hash("b")
    (True, False)
    """
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def combine(one: U64, other: U64) -> U64:
    """Hash pairs of 64-bit values; not symmetric."""
    return _mix(one + other * _ODD)


def name_hashes(trace: RankTrace) -> U64:
    """Hash the names of events, (strings + 1,) uint64; 0 for strings that are none."""
    used = np.unique(trace.events.name)
    hashes = np.zeros(len(trace.strings) + 1, np.uint64)
    for code in used[used >= 0].tolist():
        hashes[code] = text_hash(trace.strings[code])
    return hashes


def _lane_hashes(trace: RankTrace) -> U64:
    """Hash of each thread's label without its numbers; one value for all streams."""
    bare = [
        "" if label.startswith("stream") else re.sub(r"[0-9]+", "", label)
        for label in trace.lanes.label
    ]
    return np.array([text_hash(label) for label in bare] + [0], np.uint64)


def host_time_ns(trace: RankTrace, graph: Graph, event: I64) -> I64:
    """Tell when the host began or launched each event, on the host's clock.

    Parameters
    ----------
    trace : RankTrace
    graph : Graph
        Of the trace.
    event : (m,) int64
        Indices into events.

    Returns
    -------
    (m,) int64
        Of events on the GPU without a known launch, their own start.
    """
    events = trace.events
    on_gpu = events.device[event] >= 0
    launched = np.full(event.size, ABSENT, np.int64)
    launched[on_gpu] = launching(events, event[on_gpu])
    return np.where(
        launched >= 0,
        events.start_ns[launched],
        events.start_ns[event] - np.where(on_gpu, graph.skew_ns, 0),
    )
