"""Where jobs have to run, as the CSV of jobs says it: `0:4;1:4`."""

import re
from typing import Final

import numpy as np

from synctax.arrays import I64
from synctax.cluster.fitting import misplaced
from synctax.cluster.inputs.faults import Faults
from synctax.cluster.inputs.job_table import JobTable
from synctax.cluster.jobs import Placement
from synctax.cluster.machines import Cluster

_PART: Final = re.compile(r"\s*([0-9]{1,9})\s*:\s*([0-9]{1,9})\s*")
_EXAMPLE: Final = "server:GPUs for each server, such as 0:4;1:4"


def pins(
    table: JobTable, gpus: I64, cluster: Cluster, faults: Faults
) -> tuple[Placement | None, ...]:
    """Read where jobs have to run.

    Parameters
    ----------
    table : JobTable
    gpus : (n,) int64
        What the jobs ask for.
    cluster : Cluster
    faults : Faults
        Gets what is no placement, or none of this cluster or job.

    Returns
    -------
    n Placement or None
        None where the policy chooses.
    """
    texts = table.texts("servers")
    there = [at for at, text in enumerate(texts) if text]
    found: list[Placement | None] = [None] * len(texts)
    said: dict[int, str] = {}
    sizes = cluster.gpus.tolist()
    for at in there:
        parts = [_PART.fullmatch(one) for one in texts[at].rstrip(";").split(";")]
        placement = tuple(sorted((int(one[1]), int(one[2])) for one in parts if one))
        if len(placement) < len(parts):
            said[at] = f"expected {_EXAMPLE}"
        elif problem := misplaced(placement, int(gpus[at]), sizes):
            said[at] = problem
        else:
            found[at] = placement
    wrong = np.zeros(len(texts), np.bool_)
    wrong[list(said)] = True
    faults.add(wrong, lambda at: f"servers is {texts[at]!r:.60}; {said[at]}")
    return tuple(found)
