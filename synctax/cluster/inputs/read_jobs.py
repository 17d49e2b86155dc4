"""Jobs of a trace, ready to be simulated: read, profiled, taxed, sorted."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.cluster.characterize.profile import Profile
from synctax.cluster.choices import COUNTINGS, Counting
from synctax.cluster.fitting import shortest_s
from synctax.cluster.inputs.faults import Faults
from synctax.cluster.inputs.job_profiles import Profiled, profiles_of
from synctax.cluster.inputs.job_rows import JobRows, in_order, job_rows
from synctax.cluster.inputs.job_table import JobTable, read_job_table
from synctax.cluster.inputs.job_tax import job_tax
from synctax.cluster.inputs.limits import LEAST_ITERATION_S
from synctax.cluster.inputs.pool import Pool, read_pool
from synctax.cluster.jobs import Jobs, nic_bytes
from synctax.cluster.machines import Cluster
from synctax.errors import BadInputError
from synctax.notes import Note
from synctax.planning.tax import PlanTax

GIVEN: Final = "given"
NAMED: Final = "from the pool"
"""Where the profile of a job is from, but for those that are drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class JobsRead:
    """Jobs of a trace, and what is known of them beside.

    Parameters
    ----------
    jobs : Jobs
        In order of submission.
    start_s, end_s : (n,) float64
        When they really ran, from the zero of the file; NaN where it does not tell.
    counting : tuple of (Counting, int)
        How bytes were counted, and of how many jobs; profiles of the pool are `sent`.
    profiles : tuple of Profile
        Those of the pool that were taken, one for each workload and number of GPUs.
    pool : str
        Name of the pool; empty where no job needed it.
    notes : tuple of Note
    """

    jobs: Jobs
    start_s: F64
    end_s: F64
    counting: tuple[tuple[Counting, int], ...]
    profiles: tuple[Profile, ...]
    pool: str
    notes: tuple[Note, ...]


def read_jobs(
    path: str | Path,
    cluster: Cluster,
    *,
    counting: Counting = "paper",
    pool: Pool | None = None,
    seed: int = 0,
    tax: PlanTax | None = None,
) -> JobsRead:
    """Read jobs from a CSV file.

    Parameters
    ----------
    path : str or Path
        Columns as in `JOB_COLUMNS`, in any order; perhaps compressed by gzip or zstd.
    cluster : Cluster
        What they run on: each has to find room, and profiles are computed for it.
    counting : Counting
        What `network_bytes` counts in rows that do not say it.
    pool : Pool, optional
        Workloads that rows name, and that jobs without a profile are drawn from; None is
        the built-in one.
    seed : int
        Of these draws, 0 or more.
    tax : PlanTax, optional
        What workers wait for each other; None for not at all.

    Returns
    -------
    JobsRead

    Raises
    ------
    BadInputError
        If the file cannot be read, is no CSV of jobs, or has rows that no job can have or
        that the cluster has no room for; counts all and names the first few.
    SynctaxError
        If a profile cannot be computed for the cluster, or a tax cannot be predicted.
    """
    table = read_job_table(path)
    return jobs_of(table, cluster, counting=counting, pool=pool, seed=seed, tax=tax)


def jobs_of(
    table: JobTable,
    cluster: Cluster,
    *,
    counting: Counting = "paper",
    pool: Pool | None = None,
    seed: int = 0,
    tax: PlanTax | None = None,
) -> JobsRead:
    """Make jobs of a table, as `read_jobs` does.

    Parameters
    ----------
    table : JobTable
        `job_table` makes one of columns that are in no file.
    cluster, counting, pool, seed, tax
        As of `read_jobs`.

    Raises
    ------
    BadInputError, SynctaxError
        As `read_jobs`.
    """
    if not len(table):
        raise BadInputError(f"{table.name}: no job below the header; expected one or more")
    faults = Faults(table)
    rows = job_rows(table, cluster, faults)
    if not rows.given.all():
        pool = read_pool() if pool is None else pool
    places = _places(rows, pool, faults)
    faults.check()
    order = np.argsort(rows.submit_ns, kind="stable")
    later = Note(
        "jobs_sorted",
        int((np.diff(rows.submit_ns) < 0).sum()),
        "rows submitted before the one above: sorted by submission",
    )
    rows, places = in_order(rows, order), places[order]
    drawn = ~rows.given & (places < 0)
    if pool is not None:
        places[drawn] = pool.draw(drawn.size, seed)[drawn]
    profiled = profiles_of(rows, places, pool, cluster)
    _check_local(rows, profiled, table.name)
    source = np.where(drawn, f"drawn from the pool, seed {seed}", NAMED)
    source[rows.given] = GIVEN
    tax_s, of_tax = _taxes(rows, profiled, tax)
    bytes_of = _counted(rows, profiled, counting)
    notes = (later, *_notes(rows, drawn, pool, seed), *profiled.notes)
    return JobsRead(
        jobs=Jobs(
            job_id=tuple(rows.job_id),
            submit_ns=rows.submit_ns,
            gpus=rows.gpus,
            duration_ns=rows.duration_ns,
            compute_s=profiled.compute_s,
            network_s=profiled.network_s,
            tax_s=tax_s,
            nic_bytes=bytes_of.nic,
            network_bytes=bytes_of.network,
            local_network_s=profiled.local_network_s,
            barriers=profiled.barriers,
            workload=profiled.workload,
            source=tuple(source.tolist()),
            pinned=rows.pinned,
            counting=bytes_of.of,
        ),
        start_s=rows.start_s,
        end_s=rows.end_s,
        counting=bytes_of.counting,
        profiles=profiled.profiles,
        pool="" if pool is None or rows.given.all() else pool.name,
        notes=(*table.notes, *(one for one in notes if one.count), *of_tax),
    )


def _taxes(
    rows: JobRows, profiled: Profiled, tax: PlanTax | None
) -> tuple[F64, tuple[Note, ...]]:
    """Tell the tax of an iteration: of the row, else of the model."""
    tax_s = rows.tax_s.copy()
    left = np.isnan(tax_s)
    tax_s[left], notes = job_tax(
        tax, rows.gpus[left], profiled.compute_s[left], profiled.barriers[left]
    )
    own = int((~left).sum())
    if tax is None or not own:
        return tax_s, notes
    detail = "jobs whose rows tell their own tax_s: it is taken in place of the tax model's"
    return tax_s, (Note("tax_of_rows", own, detail), *notes)


def _check_local(rows: JobRows, profiled: Profiled, name: str) -> None:
    """Refuse rows that leave nothing of the iteration of a workload on one server."""
    local_s = profiled.local_network_s
    short_s = shortest_s(profiled.compute_s, profiled.network_s, local_s)
    wrong = np.flatnonzero(short_s < LEAST_ITERATION_S)
    if wrong.size:
        at = int(wrong[0])
        raise BadInputError(
            f"{name}: local_network_s of job {rows.job_id[at]!r:.60} is {local_s[at]:g}; "
            f"expected at least {LEAST_ITERATION_S:g} s together with the compute time of "
            f"{profiled.workload[at]}, {profiled.compute_s[at]:g} s"
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    network: F64
    nic: F64
    of: tuple[Counting, ...]
    counting: tuple[tuple[Counting, int], ...]


def _counted(rows: JobRows, profiled: Profiled, usual: Counting) -> _Counted:
    """Tell the bytes of all workers, and those on a NIC, each row as it counts them."""
    network = np.where(rows.given, rows.network_bytes, profiled.sent_bytes * rows.gpus)
    own = np.array([one or usual for one in rows.counting])
    own[~rows.given] = "sent"
    nic = np.zeros(network.size)
    many = []
    for counting in COUNTINGS:
        of = own == counting
        if of.any():
            nic[of] = nic_bytes(network[of], rows.gpus[of], counting)
            many.append((counting, int(of.sum())))
    return _Counted(network, nic, tuple(own.tolist()), tuple(many))


def _places(rows: JobRows, pool: Pool | None, faults: Faults) -> I64:
    """Find the workloads that rows name; -1 where they do not, or tell their profile."""
    names = rows.workload
    if pool is None:
        return np.full(len(names), -1)
    found = {one: -1 if (at := pool.find(one)) is None else at for one in set(names)}
    places = np.array([found[one] for one in names], np.int64)
    places[rows.given] = -1
    named = np.array([bool(one) for one in names], np.bool_)

    def say(at: int) -> str:
        return (
            f"workload {names[at]!r:.60} is not in the pool {pool.name}; expected "
            f"{pool.hint(names[at])}, or compute_s, network_s and network_bytes beside it"
        )

    faults.add(named & ~rows.given & (places < 0), say)
    return places


def _notes(rows: JobRows, drawn: Bool, pool: Pool | None, seed: int) -> Iterator[Note]:
    if pool is not None:
        yield Note(
            "jobs_drawn",
            int(drawn.sum()),
            "jobs without workload and profile: their workloads are drawn from the pool "
            f"{pool.name}, seed {seed}",
        )
    half = np.isnan(rows.start_s) != np.isnan(rows.end_s)
    yield Note(
        "measured_in_part",
        int(half.sum()),
        "jobs with a measured start or end alone: taken as not measured",
        f"job {rows.job_id[int(np.argmax(half))]}",
    )
