"""What on the GPU a blocking call waited for: the call is cut where that completed."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I8, I64, NS_PER_US, Bool
from synctax.collectives.link import by_id
from synctax.graph.launches import NEVER_NS, Launches
from synctax.graph.lines import Gpu, Lines
from synctax.graph.model import Provenance
from synctax.graph.records import StreamWaits
from synctax.trace import names
from synctax.trace.model import RankTrace
from synctax.trace.names import by_name

RETURN_TOLERANCE_NS = 2 * NS_PER_US
"""A GPU event may seem to end this much after the call that waited for it."""

UNRESOLVED_NS = 20 * NS_PER_US
"""A blocking call that lasts longer waited for something."""

_STREAM, _EVENT, _DEVICE, _COPY = 1, 2, 3, 4
_KINDS: dict[str | None, int] = {
    "stream_sync": _STREAM,
    "event_sync": _EVENT,
    "device_sync": _DEVICE,
    "copy": _COPY,
}


@dataclass(frozen=True, slots=True)
class Blocked:
    """Blocking calls that waited, and for what.

    Parameters
    ----------
    call : (b,) int64
        The call, index into events.
    gpu : (b,) int64
        The GPU event whose completion ended the wait, position in `Launches.event`.
    time_ns : (b,) int64
        When it completed, on the GPU's clock, at most the end of the call.
    provenance : (b,) int8
        `RECORDED` where a sync record or a correlation names it, `CALLS` where the call
        waits for everything, else `INFERRED`: the last to end before the call returned.
    unresolved : int
        Calls longer than `UNRESOLVED_NS` of which nothing is found that they waited for.
    passed : Passed
    """

    call: I64
    gpu: I64
    time_ns: I64
    provenance: I8
    unresolved: int
    passed: "Passed"


@dataclass(frozen=True, slots=True)
class Passed:
    """Blocking calls that need not wait: what they asked for had completed before.

    They decide nothing as it was, but would have waited had it completed later.

    Parameters
    ----------
    call, gpu, provenance : (d,) arrays
        As in `Blocked`; never `INFERRED`.
    """

    call: I64
    gpu: I64
    provenance: I8


def blocked(
    trace: RankTrace,
    launch: Launches,
    gpu: Gpu,
    streams: tuple[Lines, StreamWaits],
    threads: Bool,
) -> Blocked:
    """Find what each blocking call waited for.

    A call waits for work that was launched before it and ends while it runs; of several
    the last to end is what released it. A sync record limits that to a stream, to what was
    launched before an event, or to a device. A copy waits for itself; one that ends after
    its call returned was asynchronous and held nothing up.

    Parameters
    ----------
    trace : RankTrace
    launch : Launches
    gpu : Gpu
    streams : Lines, StreamWaits
    threads : (l,) bool
        Lanes whose calls count; what a watchdog waits for holds up nobody.

    References
    ----------
    Synchronization-tax paper, section 4.1, synchronization edges.
    """
    events, lines = trace.events, streams[0]
    calls = launch.calls.event
    code = by_name(trace.strings, events.name[calls], _code, np.int8)
    blocks = (code > 0) & threads[events.lane[calls]]
    if not blocks.any():
        none = calls[:0]
        kinds = none.astype(np.int8)
        return Blocked(none, none, none, kinds, 0, Passed(none, none, kinds))
    waits = _Waits.of(trace, launch, calls, np.flatnonzero(blocks))
    found = np.full(waits.call.size, ABSENT, np.int64)
    provenance = np.full(waits.call.size, Provenance.INFERRED, np.int8)
    open_ = np.ones(waits.call.size, np.bool_)
    code = code[blocks]
    for rows, what in (
        _own_copies(trace, launch, waits, code),
        _on_stream(waits, gpu, streams, code),
        _by_event(waits, gpu, streams, code),
    ):
        found[rows], provenance[rows], open_[rows] = what, Provenance.RECORDED, False
    rest = np.flatnonzero(open_)
    found[rest] = _anything(waits, gpu, lines, rest)
    one_device = np.unique(lines.device).size <= 1
    everything = open_ & (code == _DEVICE) & ((waits.device >= 0) | one_device)
    provenance[everything] = Provenance.CALLS
    before = np.flatnonzero(everything & (found < 0))
    found[before] = _anything(waits, gpu, lines, before, within=False)
    end = np.append(gpu.end_ns, 0)[found]
    hit = (found >= 0) & (end > waits.start_ns)
    hit &= end <= waits.stop_ns + RETURN_TOLERANCE_NS
    # what started after the call returned held nothing up
    hit &= np.append(gpu.start_ns, 0)[found] < waits.stop_ns
    long = waits.stop_ns - waits.start_ns > UNRESOLVED_NS
    return Blocked(
        call=waits.call[hit],
        gpu=found[hit],
        time_ns=np.minimum(end, waits.stop_ns)[hit],
        provenance=provenance[hit],
        unresolved=int((~hit & long & (code != _COPY)).sum()),
        passed=_passed(waits, gpu, found, provenance),
    )


def _passed(waits: "_Waits", gpu: Gpu, found: I64, provenance: I8) -> Passed:
    over = (found >= 0) & (provenance != Provenance.INFERRED)
    over &= np.append(gpu.end_ns, 0)[found] <= waits.start_ns
    # of equal start no order can be told
    over &= np.append(gpu.start_ns, 0)[found] < waits.start_ns
    return Passed(waits.call[over], found[over], provenance[over])


def _code(name: str) -> int:
    return _KINDS.get(names.call(name), 0)


@dataclass(frozen=True, slots=True)
class _Waits:
    """Blocking calls on the GPU's clock and their sync records; (b,) arrays.

    `turn` is their place in the order of calls. `device` and `stream` are those of the
    record, `event_stream` and `recorded` the stream of the event that the call waits for,
    and the place of the call that recorded it; -1 where the record does not say, or there
    is none.
    """

    call: I64
    turn: I64
    start_ns: I64
    stop_ns: I64
    device: I64
    stream: I64
    event_stream: I64
    recorded: I64

    @classmethod
    def of(cls, trace: RankTrace, launch: Launches, calls: I64, rows: I64) -> "_Waits":
        events, syncs = trace.events, trace.syncs
        call = calls[rows]
        start = events.start_ns[call] + launch.skew_ns
        record = by_id(events.correlation[syncs.event], events.correlation[call])
        device, stream, event_stream, recorded = (
            np.full(call.size, ABSENT, np.int64) for _ in range(4)
        )
        has = np.flatnonzero(record >= 0)
        if has.size:
            sync = syncs.event[record[has]]
            device[has] = events.device[sync]
            stream[has] = events.stream[sync]
            at = launch.calls.find(syncs.wait_correlation[record[has]])
            known = at >= 0
            told = has[known]
            event_stream[told] = syncs.wait_stream[record[told]]
            recorded[told] = launch.turn[at[known]]
        stop = start + events.duration_ns[call]
        turn = launch.turn[call]
        return cls(call, turn, start, stop, device, stream, event_stream, recorded)


def _own_copies(
    trace: RankTrace, launch: Launches, waits: _Waits, code: I8
) -> tuple[I64, I64]:
    """Copies, and the GPU event that each launched, unless it never blocks."""
    name, strings = trace.events.name, trace.strings
    rows = np.flatnonzero(code == _COPY)
    launched = np.full(len(trace.events) + 1, ABSENT, np.int64)
    launched[launch.call] = np.arange(launch.call.size)
    launched[ABSENT] = ABSENT
    own = launched[waits.call[rows]]
    may_return = by_name(strings, name[waits.call[rows]], _is_asynchronous, np.bool_)
    direct = by_name(strings, name[launch.event], _is_direct, np.bool_)
    returns = may_return & np.append(direct, False)[own]
    return rows, np.where(returns, ABSENT, own)


def _is_asynchronous(name: str) -> bool:
    return "Async" in name


def _is_direct(name: str) -> bool:
    """Whether a copy needs no staging by the host: `(Pinned -> Device)`, `DtoD`."""
    return any(word in name for word in ("Pinned", "DtoD", "DeviceToDevice", "PtoP"))


def _on_stream(
    waits: _Waits, gpu: Gpu, streams: tuple[Lines, StreamWaits], code: I8
) -> tuple[I64, I64]:
    """Stream syncs whose record names the stream, and what its last work was then."""
    rows = np.flatnonzero((code == _STREAM) & (waits.stream >= 0))
    line = streams[0].number(waits.device[rows], waits.stream[rows])
    return rows, _last_work(gpu, streams, line, waits.turn[rows])


def _by_event(
    waits: _Waits, gpu: Gpu, streams: tuple[Lines, StreamWaits], code: I8
) -> tuple[I64, I64]:
    """Event syncs whose record names the event, and the last work before its record."""
    rows = np.flatnonzero((code == _EVENT) & (waits.event_stream >= 0))
    line = streams[0].number(waits.device[rows], waits.event_stream[rows])
    return rows, _last_work(gpu, streams, line, waits.recorded[rows])


def _last_work(gpu: Gpu, streams: tuple[Lines, StreamWaits], line: I64, before: I64) -> I64:
    """Last event of a stream that was launched before a call, -1 if none.

    Or one that the stream was to wait for by then, if that ended later.
    """
    lines, told = streams
    found = lines.last_launched_before(line, before)
    newest = np.append(gpu.launched, ABSENT)[found]
    query, wait = told.behind(line, newest, before)
    end = np.append(gpu.end_ns, NEVER_NS)
    order = np.argsort(end[told.source[wait]], kind="stable")
    query, source = query[order], told.source[wait[order]]
    later = end[source] > end[found[query]]
    found[query[later]] = source[later]
    return found


def _anything(
    waits: _Waits, gpu: Gpu, lines: Lines, rows: I64, *, within: bool = True
) -> I64:
    """Last event of any stream that was launched before each call and ends within it.

    Or before it, if not `within`.
    """
    found = np.full(rows.size, ABSENT, np.int64)
    if within:
        latest = waits.start_ns[rows].copy()
        stop = waits.stop_ns[rows] + RETURN_TOLERANCE_NS
    else:
        latest = np.full(rows.size, NEVER_NS)
        stop = waits.start_ns[rows]
    for line in range(len(lines)):
        at = lines.last_done_by(line, waits.turn[rows], stop)
        device = waits.device[rows]
        better = (at >= 0) & ((device < 0) | (device == lines.device[line]))
        better &= gpu.end_ns[at] > latest
        found[better], latest[better] = at[better], gpu.end_ns[at[better]]
    return found
