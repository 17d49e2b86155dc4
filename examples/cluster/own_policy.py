"""Placement policies of one's own, for `synctax simulate --policy`.

A policy is a function of three values:

- `free`: how many GPUs are free on each server, a numpy array that cannot be changed;
- `job`: what asks to be placed: `job.gpus`, `job.duration_s`, `job.bytes_per_s`, ...;
- `state`: the cluster at this instant: `state.running`, `state.crossing`, ...

It returns the number of workers by server, together `job.gpus`, or None to have the job
wait: it is asked again whenever a job has come or ended. It is not asked for jobs that
want more GPUs than are free in all.

Example:
    synctax simulate trace.csv --cluster mosim-4x8 \
        --policy examples/cluster/own_policy.py:one_server
"""

import numpy as np

from synctax.cluster.policies.lookup import policy

bin_packing = policy("bin-packing")


def one_server(free, job, state):
    """Keep jobs together that fit on one server, and let them wait for that.

    Such jobs send nothing over NICs, and nobody slows them down; they wait longer instead.
    """
    placed = bin_packing(free, job, state)
    fits = job.gpus <= state.cluster.gpus.max()
    return None if fits and len(placed) > 1 else placed


def quiet_nics(free, job, state):
    """Stay away from NICs that other jobs use, as far as there are other servers.

    One server if one has enough free GPUs. Else servers whose NICs the fewest jobs use;
    among these, those with the most free GPUs.
    """
    if free.max() >= job.gpus:
        return bin_packing(free, job, state)
    placed, left = {}, job.gpus
    for server in np.lexsort((-free, state.crossing)).tolist():
        workers = min(left, int(free[server]))
        if workers:
            placed[server] = workers
            left -= workers
    return placed
