"""Simulations that are written down, not run."""

from collections.abc import Sequence

import numpy as np

from synctax.cluster.jobs import Placement, simple_jobs
from synctax.cluster.machines import Cluster, uniform
from synctax.cluster.settings import Contention
from synctax.cluster.simulation import Interference, Simulation, Use

Ran = tuple[float, float, float, Placement]
"""Submission, start, end, and where."""


def ran(
    rows: Sequence[Ran],
    *,
    cluster: Cluster | None = None,
    solo_s: Sequence[float] | None = None,
    factor: Sequence[float] | None = None,
    interference: Interference | None = None,
    contention: Contention | None = None,
    **profile: object,
) -> Simulation:
    """Write a simulation down: jobs are called 0, 1, 2, ... in order of submission."""
    cluster = cluster or uniform(2, 8, 5.0)
    training_s = [end - start for _, start, end, _ in rows]
    solo_s = training_s if solo_s is None else solo_s
    asked = [
        (row[0], sum(n for _, n in row[3]), alone)
        for row, alone in zip(rows, solo_s, strict=True)
    ]
    jobs = simple_jobs(asked, **profile)
    gpus = sum(gpu * time for (_, gpu, _), time in zip(asked, training_s, strict=True))
    links = cluster.links.bytes_per_s.size
    return Simulation(
        jobs=jobs,
        cluster=cluster,
        contention=contention or Contention(),
        policy="bin-packing",
        queue="backfill",
        start_ns=np.array([round(row[1] * 1e9) for row in rows], np.int64),
        end_ns=np.array([round(row[2] * 1e9) for row in rows], np.int64),
        placements=tuple(row[3] for row in rows),
        solo_ns=np.array([alone * 1e9 for alone in solo_s]),
        factor=np.ones(len(rows)) if factor is None else np.array(factor, np.float64),
        use=Use(gpus, 0.0, 0, float("nan"), np.zeros(links), np.zeros(links)),
        interference=interference,
    )
