"""The public table of a simulation, built from its arrays."""

from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import F64, NS_PER_S
from synctax.cluster.jobs import placement_text
from synctax.cluster.metrics import times
from synctax.cluster.simulation import Simulation
from synctax.schema.simulate import SIMULATE

if TYPE_CHECKING:
    import pandas as pd


def simulate_columns(
    simulation: Simulation,
    *,
    measured_training_s: F64 | None = None,
    measured_jct_s: F64 | None = None,
) -> dict[str, Any]:
    """Build the columns of `synctax.simulate/1`.

    Parameters
    ----------
    simulation : Simulation
        Of n jobs.
    measured_training_s, measured_jct_s : (n,) float64, optional
        NaN where not known.

    Returns
    -------
    dict of str to sequence of n values
    """
    jobs, found = simulation.jobs, times(simulation)
    unknown = np.full(len(jobs), np.nan)
    spread = np.array([len(one) for one in simulation.placements], np.int64)
    return {
        "job_id": list(jobs.job_id),
        "gpus": jobs.gpus,
        "servers": [placement_text(one) for one in simulation.placements],
        "submit_s": jobs.submit_ns / NS_PER_S,
        "start_s": simulation.start_ns / NS_PER_S,
        "end_s": simulation.end_ns / NS_PER_S,
        "wait_s": found.wait_s,
        "training_s": found.training_s,
        "jct_s": found.jct_s,
        "solo_s": found.solo_s,
        "slowdown": found.slowdown,
        "contention": simulation.factor,
        "workload": [one or None for one in jobs.workload],
        "source": list(jobs.source),
        "iterations": jobs.duration_ns / NS_PER_S / jobs.iteration_s,
        "duration_s": jobs.duration_ns / NS_PER_S,
        "compute_s": jobs.compute_s,
        "network_s": jobs.network_s,
        "tax_s": jobs.tax_s,
        "network_bytes": jobs.network_bytes,
        "counting": list(jobs.counting) or [None] * len(jobs),
        "nic_bytes": jobs.nic_bytes,
        "local_network_s": jobs.local_network_s,
        "barriers": jobs.barriers,
        "servers_used": spread,
        "lost_s": found.lost_s,
        "network_share": network_share(simulation),
        "measured_training_s": unknown
        if measured_training_s is None
        else measured_training_s,
        "measured_jct_s": unknown if measured_jct_s is None else measured_jct_s,
    }


def network_share(simulation: Simulation) -> F64:
    """Tell which share of each job's training was network time, at its mean S.

    Parameters
    ----------
    simulation : Simulation

    Returns
    -------
    (n,) float64
        Where the Pollux model stretches whole iterations, the share of one alone.
    """
    jobs, how = simulation.jobs, simulation.contention
    network_s = jobs.network_s
    if how.placement_aware:
        alone = np.array([len(one) == 1 for one in simulation.placements], bool)
        local = alone & ~np.isnan(jobs.local_network_s)
        network_s = np.where(local, jobs.local_network_s, network_s)
    if how.model != "pollux" or how.static_scope == "network":
        network_s = network_s * simulation.factor
    speed = simulation.cluster.speed.tolist()
    slowest = [min(speed[at] for at, _ in one) for one in simulation.placements]
    # the wait at barriers is in proportion to computation, on slower GPUs too
    whole_s = (jobs.compute_s + jobs.tax_s) / np.array(slowest) + network_s
    return np.asarray(network_s / whole_s)


def to_frame(simulation: Simulation) -> "pd.DataFrame":
    """Build the table of `synctax.simulate/1`.

    Parameters
    ----------
    simulation : Simulation

    Returns
    -------
    DataFrame
    """
    return SIMULATE.to_frame(simulate_columns(simulation))
