"""Jobs as a simulation takes them: when they come, what they ask for, what they send."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import F64, I64, NS_PER_S
from synctax.cluster.choices import Counting

Placement = tuple[tuple[int, int], ...]
"""Servers and the workers on each, by server: ((0, 4), (1, 4))."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Jobs:
    """n jobs in order of submission; of equal times the earlier row is first.

    Times of iterations are of a job alone, on GPUs of speed 1, on the network that its
    profile is of.

    Parameters
    ----------
    job_id : tuple of str
    submit_ns : (n,) int64
    gpus : (n,) int64
        Workers, 1 or more.
    duration_ns : (n,) int64
        d, the standalone run time, 0 or more: iterations are d over the time of one.
    compute_s, network_s : (n,) float64
        Of an iteration; together above 0.
    tax_s : (n,) float64
        Waiting of an iteration that is no transfer: part of the time of an iteration, not
        stretched by contention.
    nic_bytes : (n,) float64
        D of equation 7 for an iteration, before it is made a rate: what goes through the
        NIC of every server of a job that has several. 0 for one worker.
    network_bytes : (n,) float64
        V of equation 6, as `counting` counts it; for people.
    local_network_s : (n,) float64
        In place of `network_s` where all workers are on one server, for placement-aware
        runs; NaN where not known.
    barriers : (n,) float64
        Of an iteration.
    workload : tuple of str
    source : tuple of str
        Where the profile of each is from: `given`, `drawn from the pool, seed 0`, ...
    pinned : tuple of Placement or None
        Where a job has to run; None lets the policy choose.
    counting : tuple of Counting
        What `network_bytes` counts, for people; none where nothing is known of it.
    """

    job_id: tuple[str, ...]
    submit_ns: I64
    gpus: I64
    duration_ns: I64
    compute_s: F64
    network_s: F64
    tax_s: F64
    nic_bytes: F64
    network_bytes: F64
    local_network_s: F64
    barriers: F64
    workload: tuple[str, ...]
    source: tuple[str, ...]
    pinned: tuple[Placement | None, ...]
    counting: tuple[Counting, ...] = ()

    def __len__(self) -> int:
        """Count jobs."""
        return self.submit_ns.size

    def __repr__(self) -> str:
        """Write a line; the arrays may be long."""
        if not len(self):
            return "Jobs(0 jobs)"
        first, last = self.submit_ns[[0, -1]] / NS_PER_S
        return f"Jobs({len(self):,} jobs from {first:g} s to {last:g} s)"

    @property
    def iteration_s(self) -> F64:
        """Time of an iteration alone, (n,) float64: computation, tax and network."""
        return self.compute_s + self.tax_s + self.network_s


LARGEST_S: Final = 9.2e9
"""The longest time, 291 years: more does not fit into an int64 of nanoseconds."""


def to_ns(seconds: F64) -> I64:
    """Round times to nanoseconds: equal times stay equal, and whole seconds are exact.

    Parameters
    ----------
    seconds : (n,) float64
        No more than `LARGEST_S`.

    Returns
    -------
    (n,) int64

    Examples
    --------
    Whole seconds and the fraction apart, as their product would need 62 bits:

    >>> to_ns(np.array([0.1, 1700000000.5]))
    array([          100000000, 1700000000500000000])
    """
    whole = np.floor(seconds)
    fraction = np.rint((seconds - whole) * NS_PER_S)
    return whole.astype(np.int64) * NS_PER_S + fraction.astype(np.int64)


NIC_SHARE: Final[dict[Counting, float]] = {"sent": 1.0, "sent+received": 0.5}
"""What a NIC carries in one direction over c = V/N, where V is what was counted."""


def nic_bytes(network_bytes: F64, gpus: I64, counting: Counting) -> F64:
    """Tell what an iteration puts on the NIC of each server of a job that has several.

    `paper` is equation 7 as it stands: c = V/N for each of the two links at which a ring
    leaves a server, 2c, and c for a ring of two workers. It is held against the NIC rate
    as that stands in the cluster file.

    A ring in one direction takes in over one of these links and sends out over the other.
    So where V counts what all workers sent, each NIC sends c an iteration, and takes in as
    much at the same time, and a ring of two workers is no exception: `sent` is c, held
    against the rate of one direction. Where V counts what was received too, it is c/2.

    Parameters
    ----------
    network_bytes : (n,) float64
        V, of all workers in an iteration.
    gpus : (n,) int64
        N.
    counting : Counting

    Returns
    -------
    (n,) float64

    References
    ----------
    MoSim paper (arXiv 2609.23278), section IV-C1, equations 6 and 7.
    """
    each = network_bytes / gpus
    if counting == "paper":
        links = np.where(gpus > 2, 2.0, 1.0)
    else:
        links = np.full(gpus.size, NIC_SHARE[counting])
    return np.where(gpus > 1, links * each, 0.0)


def placement_text(placement: Placement | None) -> str:
    """Write a placement: `0:4;1:4`.

    Examples
    --------
    >>> placement_text(((0, 4), (1, 4)))
    '0:4;1:4'
    """
    return "" if placement is None else ";".join(f"{at}:{n}" for at, n in placement)


def simple_jobs(
    rows: Sequence[tuple[float, int, float]],
    *,
    compute_s: Sequence[float] | float = 1.0,
    network_s: Sequence[float] | float = 0.0,
    network_bytes: Sequence[float] | float = 0.0,
    counting: Counting = "paper",
    pinned: Sequence[Placement | None] | None = None,
) -> Jobs:
    """Build jobs from (submit_s, gpus, duration_s) in order, and one profile or several.

    Jobs are called 0, 1, 2, ... in the order given; they are sorted by submission.

    Examples
    --------
    >>> len(simple_jobs([(0, 8, 100), (5, 2, 30)]))
    2
    """
    n = len(rows)
    submit = to_ns(np.array([row[0] for row in rows], np.float64))
    order = np.argsort(submit, kind="stable")
    gpus = np.array([row[1] for row in rows], np.int64)[order]
    sent = np.broadcast_to(np.asarray(network_bytes, np.float64), n)[order]
    where = (None,) * n if pinned is None else tuple(pinned[at] for at in order)
    return Jobs(
        job_id=tuple(str(at) for at in order),
        submit_ns=submit[order],
        gpus=gpus,
        duration_ns=to_ns(np.array([row[2] for row in rows], np.float64))[order],
        compute_s=np.broadcast_to(np.asarray(compute_s, np.float64), n)[order],
        network_s=np.broadcast_to(np.asarray(network_s, np.float64), n)[order],
        tax_s=np.zeros(n),
        nic_bytes=nic_bytes(sent, gpus, counting),
        network_bytes=sent,
        local_network_s=np.full(n, np.nan),
        barriers=np.ones(n),
        workload=("",) * n,
        source=("given",) * n,
        pinned=where,
        counting=(counting,) * n,
    )
