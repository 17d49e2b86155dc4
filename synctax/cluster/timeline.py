"""What ran on which GPU when, as a trace for Perfetto: one row a GPU, jobs as slices.

Servers are processes, GPUs are threads. Counters tell how many jobs wait, how many GPUs are
free, and what is demanded of each link over its rate, which is what S comes from.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Final

import numpy as np

from synctax.arrays import F64, I64, NS_PER_US
from synctax.cluster.engine.demands import demands
from synctax.cluster.engine.placing import Placer
from synctax.cluster.jobs import placement_text
from synctax.cluster.metrics import times
from synctax.cluster.settings import Rates
from synctax.cluster.simulation import Simulation

MANY_SLICES: Final = 1_000_000
"""Viewers in a browser become slow with more."""

CLUSTER_PID: Final = 1
"""Process of what is not of one server; servers follow. Viewers keep 0 for idleness."""

SLICES_AT_A_TIME: Final = 10_000

_HEAD: Final = b'{"displayTimeUnit":"ms","traceEvents":[\n'


@dataclass(frozen=True, slots=True, eq=False)
class Workers:
    """On which GPU each worker ran: w workers in order of jobs, servers, GPUs.

    Parameters
    ----------
    job, server, gpu : (w,) int64
        GPUs are numbered from 0 on each server.
    """

    job: I64
    server: I64
    gpu: I64


def workers(simulation: Simulation, servers: frozenset[int] | None = None) -> Workers:
    """Number the GPUs of jobs: of each server the lowest that are free.

    A simulation knows how many GPUs of a server a job has, not which; all are alike.

    Parameters
    ----------
    simulation : Simulation
    servers : frozenset of int, optional
        Only workers on these.

    Returns
    -------
    Workers
    """
    gpus = simulation.cluster.gpus.tolist()
    free = [list(range(many)) for many in gpus]
    held: dict[int, list[tuple[int, list[int]]]] = {}
    rows: list[tuple[int, int, int]] = []
    for job, starts in _turns(simulation):
        if not starts:
            for server, some in held.pop(job, ()):
                for gpu in some:
                    heappush(free[server], gpu)
            continue
        taken = [
            (server, [heappop(free[server]) for _ in range(many)])
            for server, many in simulation.placements[job]
            if servers is None or server in servers
        ]
        held[job] = taken
        rows += [(job, server, gpu) for server, some in taken for gpu in some]
    found = np.array(sorted(rows), np.int64).reshape(-1, 3)
    return Workers(found[:, 0], found[:, 1], found[:, 2])


_END, _INSTANT, _START = range(3)


def _turns(simulation: Simulation) -> Iterator[tuple[int, bool]]:
    """List which job gives back (False) or takes (True) its GPUs, in order.

    At one instant: ends, then jobs of no length, then starts. So there is a free GPU for
    each, for those of no length ran before or among the starts.
    """
    start_ns, end_ns = simulation.start_ns, simulation.end_ns
    n = start_ns.size
    none = start_ns == end_ns
    kind = np.concatenate(
        [np.where(none, _INSTANT, _END), np.where(none, _INSTANT, _START)]
    )
    at_ns = np.concatenate([end_ns, start_ns])
    job = np.tile(np.arange(n), 2)
    is_start = np.repeat([0, 1], n)
    # of a job of no length the start is first
    order = np.lexsort((1 - is_start, job, kind, at_ns))
    for at in order.tolist():
        yield int(job[at]), bool(is_start[at])


def chrome_trace(
    simulation: Simulation,
    *,
    servers: frozenset[int] | None = None,
    rates: Rates | None = None,
) -> Iterator[bytes]:
    """Write a simulation in the trace event format of Chrome, which Perfetto opens.

    Time is counted from the first submission, in whole µs.

    Parameters
    ----------
    simulation : Simulation
    servers : frozenset of int, optional
        Only their GPUs and NICs; uplinks and counts of the cluster are always there.
    rates : Rates, optional
        What jobs demand, where it was given and not computed.

    Yields
    ------
    bytes
        Pieces of one JSON document.
    """
    origin_ns = int(simulation.jobs.submit_ns.min())
    yield _HEAD
    between = b""
    for piece in _names(simulation, servers):
        yield between + piece
        between = b",\n"
    for piece in _slices(simulation, servers, origin_ns):
        yield between + piece
    for name, pid, at_ns, values in _counters(simulation, servers, rates):
        yield from _counter(name, pid, at_ns - origin_ns, values)
    yield b"\n]}\n"


def slices(simulation: Simulation, servers: frozenset[int] | None = None) -> int:
    """Count the slices of a timeline: one for each worker.

    Parameters
    ----------
    simulation : Simulation
    servers : frozenset of int, optional
        Only workers on these.
    """
    return sum(
        many
        for placement in simulation.placements
        for server, many in placement
        if servers is None or server in servers
    )


def _pid(server: int) -> int:
    return CLUSTER_PID + 1 + server


def _first_tids(simulation: Simulation) -> list[int]:
    """Number the thread of the first GPU of each server, apart from processes."""
    gpus = simulation.cluster.gpus
    first = _pid(gpus.size) + np.cumsum(gpus) - gpus
    return list(first.tolist())


def _names(simulation: Simulation, servers: frozenset[int] | None) -> Iterator[bytes]:
    cluster = simulation.cluster
    yield _meta("process_name", CLUSTER_PID, name=cluster.name or "cluster")
    yield _meta("process_sort_index", CLUSTER_PID, sort_index=-1)
    for server, first in enumerate(_first_tids(simulation)):
        if servers is not None and server not in servers:
            continue
        kind = cluster.gpu_type[server]
        name = f"server {server}" + (f" ({kind})" if kind else "")
        yield _meta("process_name", _pid(server), name=name)
        yield _meta("process_sort_index", _pid(server), sort_index=server)
        for gpu in range(int(cluster.gpus[server])):
            pid, tid = _pid(server), first + gpu
            yield _meta("thread_name", pid, tid, name=f"GPU {gpu}")
            yield _meta("thread_sort_index", pid, tid, sort_index=gpu)


def _meta(what: str, pid: int, tid: int | None = None, **args: Any) -> bytes:
    thread = {} if tid is None else {"tid": tid}
    return _json({"name": what, "ph": "M", "pid": pid, **thread, "args": args})


def _json(value: Any) -> bytes:
    import orjson

    return orjson.dumps(value)


def _slices(
    simulation: Simulation, servers: frozenset[int] | None, origin_ns: int
) -> Iterator[bytes]:
    found = workers(simulation, servers)
    first = np.array(_first_tids(simulation), np.int64)
    tid = first[found.server] + found.gpu
    pid = _pid(0) + found.server
    heads = _heads(simulation, origin_ns)
    for start in range(0, tid.size, SLICES_AT_A_TIME):
        part = slice(start, start + SLICES_AT_A_TIME)
        yield b",\n".join(
            heads[job] + b',"pid":%d,"tid":%d}' % (process, thread)
            for job, process, thread in zip(
                found.job[part].tolist(),
                pid[part].tolist(),
                tid[part].tolist(),
                strict=True,
            )
        )


def _heads(simulation: Simulation, origin_ns: int) -> list[bytes]:
    """Write what all slices of a job share, without the closing brace."""
    jobs, found = simulation.jobs, times(simulation)
    start_us = _us(simulation.start_ns - origin_ns)
    starts_us = start_us.tolist()
    lasted_us = (_us(simulation.end_ns - origin_ns) - start_us).tolist()
    heads = []
    for at, job in enumerate(jobs.job_id):
        event = {
            # viewers colour by name and pass over digits: letters make jobs differ
            "name": f"{_visible(job)} {letters(at)}",
            "cat": "job",
            "ph": "X",
            "ts": starts_us[at],
            "dur": lasted_us[at],
            "args": {
                "job_id": _visible(job),
                "workload": _visible(jobs.workload[at]),
                "gpus": int(jobs.gpus[at]),
                "servers": placement_text(simulation.placements[at]),
                "contention": float(simulation.factor[at]),
                "slowdown": float(found.slowdown[at]),
                "wait_s": float(found.wait_s[at]),
                "training_s": float(found.training_s[at]),
                "solo_s": float(found.solo_s[at]),
            },
        }
        heads.append(_json(event)[:-1])
    return heads


def _us(at_ns: I64) -> I64:
    """Round instants to whole µs.

    Viewers cut fractions to ns one by one: a slice could begin before the end of the one
    before it, and would be dropped.
    """
    return (at_ns + NS_PER_US // 2) // NS_PER_US


def _visible(text: str) -> str:
    """Return a text that UTF-8 can hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def letters(number: int) -> str:
    """Write a number from 0 up in letters: a to z, then aa.

    Examples
    --------
    >>> letters(0), letters(25), letters(26), letters(701), letters(702)
    ('a', 'z', 'aa', 'zz', 'aaa')
    """
    text = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("a") + digit) + text
    return text


_Counter = tuple[tuple[str, str], int, I64, F64]
"""Name and unit, process, instants in ns, the value from each of them on."""


def _counters(
    simulation: Simulation, servers: frozenset[int] | None, rates: Rates | None
) -> Iterator[_Counter]:
    jobs = simulation.jobs
    start_ns, end_ns = simulation.start_ns, simulation.end_ns
    one = np.ones(len(jobs), np.int64)
    at_ns, value = _changes([jobs.submit_ns, start_ns], [one, -one])
    yield ("jobs", "waiting"), CLUSTER_PID, at_ns, value.astype(np.float64)
    at_ns, value = _changes([start_ns, end_ns], [jobs.gpus, -jobs.gpus])
    free = simulation.cluster.total_gpus - value
    yield ("GPUs", "free"), CLUSTER_PID, at_ns, free.astype(np.float64)
    if simulation.contention.model == "mosim":
        yield from _loads(simulation, servers, rates)


def _loads(
    simulation: Simulation, servers: frozenset[int] | None, rates: Rates | None
) -> Iterator[_Counter]:
    """Follow what is demanded of each link over its rate."""
    jobs, cluster, how = simulation.jobs, simulation.cluster, simulation.contention
    found = demands(jobs, cluster, how.basis, rates)
    placer = Placer(jobs, cluster, found, how, given=rates is not None)
    crossing: dict[int, list[tuple[int, float]]] = {}
    for at, placement in enumerate(simulation.placements):
        one = placer.place(at, placement, 0)
        for link in one.links:
            crossing.setdefault(link, []).append((at, one.among))
    rate, name = cluster.links.bytes_per_s, cluster.links.name
    for link in sorted(crossing):
        of_server = link < cluster.servers
        if np.isinf(rate[link]) or (
            of_server and servers is not None and link not in servers
        ):
            continue
        job = np.array([job for job, _ in crossing[link]])
        share = np.array([among for _, among in crossing[link]]) / rate[link]
        at_ns, value = _changes(
            [simulation.start_ns[job], simulation.end_ns[job]], [share, -share]
        )
        pid = _pid(link) if of_server else CLUSTER_PID
        yield ("NIC" if of_server else name[link], "demand over rate"), pid, at_ns, value


def _changes(at_ns: Sequence[I64], by: Sequence[Any]) -> tuple[I64, Any]:
    """Add changes up, and return the first instant and those at which the sum changes."""
    instants, place = np.unique(np.concatenate(at_ns), return_inverse=True)
    change = np.zeros(instants.size, np.result_type(*by))
    np.add.at(change, place, np.concatenate(by))
    total = np.cumsum(change)
    if total.dtype.kind == "f":
        # of sums that should end at 0, rounding leaves a little
        total = np.round(total, _DIGITS)
    differs = np.ones(instants.size, bool)
    differs[1:] = np.diff(total) != 0
    return instants[differs], total[differs]


_DIGITS: Final = 9


def _counter(name: tuple[str, str], pid: int, at_ns: I64, values: F64) -> Iterator[bytes]:
    head = _json({"name": name[0], "ph": "C", "pid": pid})[:-1]
    unit = _json(name[1])
    for start in range(0, at_ns.size, SLICES_AT_A_TIME):
        part = slice(start, start + SLICES_AT_A_TIME)
        yield b"".join(
            b',\n%b,"ts":%b,"args":{%b:%b}}' % (head, _json(us), unit, _json(value))
            for us, value in zip(
                _us(at_ns[part]).tolist(), values[part].tolist(), strict=True
            )
        )
