"""Names for nodes that are equal on all ranks: to find a node's counterpart elsewhere.

A node is named by the collective it was launched after, its name, which of that name it is
since that collective, and which slice of its event. Thread and stream numbers differ
between ranks and are no part of it; of a thread the profiler's label is.
"""

import hashlib
import re
from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I64, U64, Bool, numbered, ordered
from synctax.collectives.link import launching
from synctax.graph.model import Graph, NodeKind
from synctax.trace.model import RankTrace

NO_KEY = np.uint64(0)
"""Key of nodes that have no counterpart: the root, and waits."""


@dataclass(frozen=True, slots=True)
class NodeNames:
    """What names nodes, but for the collectives of a group that divide the trace.

    Parameters
    ----------
    time_ns : (k,) int64
        When the host began or launched the events that name nodes, ascending.
    name : (k,) uint64
        Hash of each event's name and of its thread's label.
    code : (k,) int64
        A small number in its place: equal where the hash is.
    event_of : (n,) int64
        Position of each node's event among these; of any value where there is none.
    known : (n,) bool
        The node has a key.
    ordinal : (n,) uint64
        Which slice of its event it is.
    """

    trace: RankTrace
    graph: Graph
    time_ns: I64
    name: U64
    code: I64
    event_of: I64
    known: Bool
    ordinal: U64

    @classmethod
    def of(cls, trace: RankTrace, graph: Graph) -> "NodeNames":
        """Collect the names of a graph's nodes."""
        nodes, events = graph.nodes, trace.events
        names = np.zeros(len(events) + 1, np.bool_)
        names[nodes.label] = True
        own = np.flatnonzero(names[:-1])
        time_ns = host_time_ns(trace, graph, own)
        order = np.argsort(time_ns, kind="stable")
        own = own[order]
        position = np.zeros(len(events) + 1, np.int64)
        position[own] = np.arange(own.size)
        ordinal = nodes.ordinal.astype(np.uint64) + np.uint64(1)
        ordinal[nodes.kind == NodeKind.GAP] += _GAP
        hashes, lane = name_hashes(trace), _lane_hashes(trace)
        label, _ = numbered(lane)
        name, at = events.name.take(own), events.lane.take(own)
        code, _ = numbered(name * np.int64(lane.size) + label.take(at))
        return cls(
            trace,
            graph,
            time_ns[order],
            hashes.take(name) ^ lane.take(at),
            code,
            position[nodes.label],
            (nodes.label >= 0) & (nodes.kind != NodeKind.WAIT),
            ordinal,
        )

    def keys(self, collective: I64, number: I64) -> U64:
        """Name every node; see `named`."""
        return self.named(collective, number).key

    def named(self, collective: I64, number: I64) -> "Named":
        """Name every node by what it is and which collective it was launched after.

        Parameters
        ----------
        collective : (c,) int64
            Collectives that divide the trace, as indices into events.
        number : (c,) int64
            Their numbers, equal on all ranks.

        Returns
        -------
        Named
            Keys are equal for counterparts on different ranks.

        Notes
        -----
        Keys are 64-bit hashes: two of 10⁶ nodes agree by chance with probability 3·10⁻⁸.
        """
        bounds = host_time_ns(self.trace, self.graph, collective)
        order = np.argsort(bounds, kind="stable")
        at = np.searchsorted(bounds[order], self.time_ns, side="right") - 1
        segment = np.append(number[order], ABSENT)[at]
        base = combine(self.name, segment.astype(np.uint64))
        of_event = combine(base, _occurrence(self.code, at))
        key = combine(np.append(of_event, NO_KEY).take(self.event_of), self.ordinal)
        kin = combine(np.append(base, NO_KEY).take(self.event_of), self.ordinal)
        one = np.uint64(1)
        return Named(
            np.where(self.known, np.maximum(key, one), NO_KEY),
            np.where(self.known, np.maximum(kin, one), NO_KEY),
        )


@dataclass(frozen=True, slots=True)
class Named:
    """Names of nodes, (n,) uint64; `NO_KEY` for nodes without.

    `key` tells a node from all others of its rank; `kin` is what it has in common with
    the other occurrences of its name since the same collective.
    """

    key: U64
    kin: U64


def wanted_rows(values: U64, wanted: U64) -> I64:
    """Find the rows of all hashes that are wanted, and of a few that are not.

    A mark for the last bits of each that is wanted tells nearly all others apart, without
    a search for each: what is then sorted is about as much as is wanted.

    Examples
    --------
    >>> wanted_rows(np.array([7, 5, 7], np.uint64), np.array([7], np.uint64))
    array([0, 2])
    """
    size = 1 << max(MARKS_EACH * wanted.size, 1 << 10).bit_length()
    last = np.uint64(size - 1)
    marked = np.zeros(size, np.bool_)
    marked[(wanted & last).view(np.int64)] = True
    return np.flatnonzero(marked.take((values & last).view(np.int64)))


MARKS_EACH = 8
"""At most one in so many hashes that nobody wants is taken for one that is wanted."""


def of_kin(graph: Graph, kin: U64, wanted: U64) -> tuple[I64, I64]:
    """Count the nodes of each wanted kin of a rank, and add up their durations.

    Parameters
    ----------
    graph : Graph
    kin : (n,) uint64
        Of its nodes.
    wanted : (q,) uint64

    Returns
    -------
    count, total_ns : (q,) int64
        0 where there is none.
    """
    nodes = graph.nodes
    order = wanted_rows(kin, wanted)
    order = order[kin[order] != NO_KEY]
    order = order[np.argsort(kin[order], kind="stable")]
    if not order.size:
        none = np.zeros(wanted.size, np.int64)
        return none, none
    ranked = kin[order]
    begins = np.ones(ranked.size, np.bool_)
    begins[1:] = ranked[1:] != ranked[:-1]
    first = np.flatnonzero(begins)
    total_ns = np.add.reduceat((nodes.end_ns - nodes.start_ns)[order], first)
    count, known = np.diff(np.append(first, ranked.size)), ranked[first]
    at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    hit = known[at] == wanted
    return np.where(hit, count[at], 0), np.where(hit, total_ns[at], 0)


def _occurrence(code: I64, segment: I64) -> U64:
    """Which of its equals each pair is, in order, from 0; of one code segments ascend."""
    order = ordered(code)
    ranked, within = code.take(order), segment.take(order)
    begins = np.ones(ranked.size, np.bool_)
    begins[1:] = (ranked[1:] != ranked[:-1]) | (within[1:] != within[:-1])
    first = np.flatnonzero(begins)
    place = np.arange(ranked.size) - np.repeat(first, np.diff(np.append(first, code.size)))
    occurrence = np.empty(code.size, np.uint64)
    occurrence[order] = place.astype(np.uint64)
    return occurrence


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
