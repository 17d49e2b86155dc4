"""What an iteration takes: of workloads of a pool, on a cluster, for numbers of GPUs."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import nan

import numpy as np

from synctax.arrays import F64, I64
from synctax.cluster.characterize.gpus import DEFAULT_GPU, gpu_type, near_gpu
from synctax.cluster.characterize.profile import Profile, profile
from synctax.cluster.characterize.workloads import Workload
from synctax.cluster.inputs.job_rows import JobRows
from synctax.cluster.inputs.limits import (
    LEAST_ITERATION_S,
    LEAST_NETWORK_S,
    MOST_BYTES,
)
from synctax.cluster.inputs.pool import Pool
from synctax.cluster.inputs.speeds import known_gpus
from synctax.cluster.jobs import LARGEST_S
from synctax.cluster.machines import Cluster
from synctax.errors import BadInputError, SynctaxError
from synctax.notes import Note
from synctax.texts import BYTES_PER_GB, rate_gb_per_s


@dataclass(frozen=True, slots=True, eq=False)
class Profiled:
    """What an iteration of n jobs takes.

    Parameters
    ----------
    compute_s, network_s, local_network_s : (n,) float64
        The last is NaN where not known.
    sent_bytes : (n,) float64
        What a worker sends; 0 for rows that tell their own profile.
    barriers : (n,) float64
    workload : tuple of str
    profiles : tuple of Profile
        Those of the pool that were taken, one for each workload and number of GPUs.
    notes : tuple of Note
    """

    compute_s: F64
    network_s: F64
    local_network_s: F64
    sent_bytes: F64
    barriers: F64
    workload: tuple[str, ...]
    profiles: tuple[Profile, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """What profiles are computed for.

    Parameters
    ----------
    gpu : str
        Kind of GPU; empty where the cluster does not tell.
    nic_bytes_per_s : float
        The slowest NIC's: a ring goes as fast as its slowest link, and a profile must not
        depend on where a job will run.
    nvlink_bytes_per_s : float or None
        The slowest server's; None where the cluster does not tell.
    cluster, place : str
        For messages: its name, and where the kind of GPU is written.
    """

    gpu: str
    nic_bytes_per_s: float
    nvlink_bytes_per_s: float | None
    cluster: str
    place: str = ""


def reference_of(cluster: Cluster) -> Reference:
    """Tell what profiles are computed for on a cluster."""
    known = cluster.nvlink_bytes_per_s[~np.isnan(cluster.nvlink_bytes_per_s)]
    return Reference(
        cluster.reference_gpu,
        float(cluster.nic_bytes_per_s.min()),
        float(known.min()) if known.size else None,
        cluster.name or "the cluster",
        cluster.reference_place,
    )


def profiles_of(
    rows: JobRows, places: I64, pool: Pool | None, cluster: Cluster
) -> Profiled:
    """Tell what an iteration of each job takes, once for a workload and number of GPUs.

    Parameters
    ----------
    rows : JobRows
        What they tell themselves comes first.
    places : (n,) int64
        Workload in the pool; -1 for rows that tell their own profile.
    pool : Pool or None
        None where all do.
    cluster : Cluster

    Returns
    -------
    Profiled

    Raises
    ------
    SynctaxError
        As `profile_of`.
    """
    numbers = np.stack([rows.compute_s, rows.network_s, np.zeros(places.size)])
    local, barriers = np.full((2, places.size), nan)
    barriers[:] = 1.0
    own_local = rows.local_network_s
    workload = list(rows.workload)
    ours = np.flatnonzero(places >= 0)
    found: tuple[Profile, ...] = ()
    notes: list[Note] = []
    if pool is not None and ours.size:
        on = reference_of(cluster)
        # one number for a pair: sorting these takes a tenth of sorting pairs
        most = cluster.total_gpus + 1
        unique, of = np.unique(places[ours] * most + rows.gpus[ours], return_inverse=True)
        found = tuple(
            profile_of(pool.workloads[at], gpus, on)
            for at, gpus in (divmod(one, most) for one in unique.tolist())
        )
        told = np.array([_numbers(one) for one in found]).T[:, of]
        numbers[:, ours], local[ours], barriers[ours] = told[:3], told[3], told[4]
        for at, place in zip(ours.tolist(), places[ours].tolist(), strict=True):
            workload[at] = pool.workloads[place].name
        notes += _notes(ours.size, cluster)
    return Profiled(
        compute_s=numbers[0],
        network_s=numbers[1],
        local_network_s=np.where(np.isnan(own_local), local, own_local),
        sent_bytes=numbers[2],
        barriers=np.where(np.isnan(rows.barriers), barriers, rows.barriers),
        workload=tuple(workload),
        profiles=found,
        notes=tuple(notes),
    )


def _numbers(one: Profile) -> tuple[float, ...]:
    sent = one.sent_bytes_per_worker
    return one.compute_s, one.network_s, sent, one.local_network_s, one.barriers


def _notes(jobs: int, cluster: Cluster) -> Iterator[Note]:
    rates = cluster.nic_bytes_per_s
    if rates.min() < rates.max():
        yield Note(
            "profiles_on_slowest_nic",
            jobs,
            "jobs whose network time is that of the slowest NIC, "
            f"{rate_gb_per_s(rates.min() / BYTES_PER_GB)}, though there are faster ones",
        )


def profile_of(workload: Workload, gpus: int, on: Reference) -> Profile:
    """Tell what an iteration of a workload takes.

    Parameters
    ----------
    workload : Workload
    gpus : int
    on : Reference

    Returns
    -------
    Profile

    Raises
    ------
    SynctaxError
        If computation has to be computed for a kind of GPU that the cluster does not tell
        or nothing is known of, or nothing tells what so many workers send.
    """
    known = on.gpu in known_gpus()
    if workload.compute_s is None and not known:
        raise _unknown(workload, on)
    nvlink = on.nvlink_bytes_per_s
    found = profile(
        workload,
        gpus,
        gpu=gpu_type(on.gpu if known else DEFAULT_GPU),
        nic_bytes_per_s=on.nic_bytes_per_s,
        nvlink_bytes_per_s=nan if nvlink is None and not known else nvlink,
    )
    if problem := _problem(found):
        raise SynctaxError(
            f"workload {workload.name} on {gpus:,} GPUs: {problem}; change it in the pool"
        )
    return found


def _unknown(workload: Workload, on: Reference) -> SynctaxError:
    has = f"gpu_type {on.gpu!r}, of which no peak is known" if on.gpu else "no gpu_type"
    near = near_gpu(on.gpu)
    meant = f" (did you mean {near}?)" if near else ""
    said = (
        f"{on.cluster} has {has}{meant}, which the compute time of {workload.name} follows "
        f"from; give its servers one of {', '.join(known_gpus())}, set reference_gpu, "
        "or give compute_s in a pool of your own"
    )
    return BadInputError(f"{on.place}: {said}") if on.place else SynctaxError(said)


def _problem(found: Profile) -> str:
    """Say why a profile is none; "" where it is one."""
    if not 0 <= found.network_s <= LARGEST_S:
        return (
            f"no network time follows ({found.network_s:g} s); expected gradient_bytes or "
            "parameters, or network_s and sent_bytes_per_worker of so many GPUs"
        )
    iteration_s = found.compute_s + found.network_s
    if not LEAST_ITERATION_S <= iteration_s <= LARGEST_S:
        return f"an iteration takes {iteration_s:g} s"
    sent = found.sent_bytes_per_worker
    if not 0 <= sent * found.gpus <= MOST_BYTES:
        return f"each worker sends {sent:g} bytes"
    if sent and found.network_s < LEAST_NETWORK_S:
        return f"it sends {sent:g} bytes in {found.network_s:g} s"
    return ""
