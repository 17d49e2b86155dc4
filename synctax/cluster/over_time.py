"""What a simulation comes to over time: GPUs in use, jobs that run or wait, slowdown."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import F64, I64, NS_PER_S
from synctax.cluster.metrics import times
from synctax.cluster.simulation import Simulation
from synctax.cluster.timeline import workers


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Jobs on GPUs as b boxes: neighbouring GPUs of a job are one.

    Parameters
    ----------
    job : (b,) int64
    first, many : (b,) int64
        GPUs of the cluster from the first on, numbered server by server.
    """

    job: I64
    first: I64
    many: I64


def boxes(simulation: Simulation) -> Boxes:
    """Put the GPUs of each job that are neighbours together.

    Jobs of no length have none.

    Parameters
    ----------
    simulation : Simulation

    Returns
    -------
    Boxes
    """
    found = workers(simulation)
    before = np.cumsum(simulation.cluster.gpus) - simulation.cluster.gpus
    lasts = (simulation.end_ns > simulation.start_ns)[found.job]
    job, server = found.job[lasts], found.server[lasts]
    gpu = before[server] + found.gpu[lasts]
    new = np.ones(job.size, np.bool_)
    new[1:] = (np.diff(job) != 0) | (np.diff(server) != 0) | (np.diff(gpu) != 1)
    at = np.flatnonzero(new)
    return Boxes(job[at], gpu[at], np.diff(np.append(at, job.size)))


def since_s(simulation: Simulation, at_ns: I64) -> F64:
    """Count seconds from the first submission, (n,) float64."""
    since: F64 = (at_ns - simulation.jobs.submit_ns.min()) / NS_PER_S
    return since


def busy_share(simulation: Simulation, block: int, edges_s: F64) -> F64:
    """Average which share of the GPUs of servers is in use.

    Parameters
    ----------
    simulation : Simulation
    block : int
        Neighbouring servers that are counted together.
    edges_s : (t + 1,) float64
        Equally far apart, of intervals, since the first submission.

    Returns
    -------
    (r, t) float64
        From 0 to 1; a row for each block of servers.
    """
    where = [
        (server // block, many, job)
        for job, placement in enumerate(simulation.placements)
        for server, many in placement
    ]
    row, many, job = np.array(where, np.int64).reshape(-1, 3).T
    rows = -(-simulation.cluster.servers // block)
    of_row = np.bincount(
        np.arange(simulation.cluster.servers) // block, simulation.cluster.gpus, rows
    )
    begun = _held(row, since_s(simulation, simulation.start_ns[job]), many, rows, edges_s)
    ended = _held(row, since_s(simulation, simulation.end_ns[job]), many, rows, edges_s)
    return np.asarray(np.clip((begun - ended) / of_row[:, None], 0, 1))


def _held(row: I64, at_s: F64, by: "F64 | I64", rows: int, edges_s: F64) -> F64:
    """Average over intervals what grows by so much in some rows from some instants on."""
    many = edges_s.size - 1
    width = edges_s[1] - edges_s[0]
    column = np.clip((at_s / width).astype(np.int64), 0, many - 1)
    here = np.zeros((rows, many + 1))
    # what is left of the interval in which it begins; the whole of later ones
    np.add.at(here, (row, column), by * (edges_s[column + 1] - at_s) / width)
    later = np.zeros((rows, many + 1))
    np.add.at(later, (row, column + 1), by)
    return np.asarray((here + np.cumsum(later, axis=1))[:, :many])


def over_time(
    simulation: Simulation, ends: "tuple[I64, I64]", by: F64, edges_s: F64
) -> F64:
    """Average over intervals what jobs add up to between two instants of each.

    Parameters
    ----------
    simulation : Simulation
    ends : two (n,) int64
        From when and until when a job counts.
    by : (n,) float64
        As how much.
    edges_s : (t + 1,) float64

    Returns
    -------
    (t,) float64
    """
    row = np.zeros(by.size, np.int64)
    first, last = (since_s(simulation, at_ns) for at_ns in ends)
    return np.asarray(
        (_held(row, first, by, 1, edges_s) - _held(row, last, by, 1, edges_s))[0]
    )


def slowdown_over_time(simulation: Simulation, edges_s: F64) -> F64:
    """Average the slowdown of the jobs that run, by their GPUs.

    Parameters
    ----------
    simulation : Simulation
    edges_s : (t + 1,) float64

    Returns
    -------
    (t,) float64
        NaN while none runs.
    """
    ends = (simulation.start_ns, simulation.end_ns)
    gpus = simulation.jobs.gpus.astype(np.float64)
    held = over_time(simulation, ends, gpus, edges_s)
    slowed = over_time(simulation, ends, gpus * times(simulation).slowdown, edges_s)
    least = _IDLE * float(gpus.sum())
    return np.where(held > least, slowed / np.maximum(held, least), np.nan)


_IDLE: Final = 1e-9
"""What rounding leaves of GPUs where none is in use, of all that jobs ever had."""
