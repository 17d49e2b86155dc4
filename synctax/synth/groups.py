"""The process groups of a job: who is in them, and what the trace calls them."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import I64
from synctax.synth.job import ROLES, SynthJob

COMPUTE_STREAM = 7
SIDE_STREAM = 13
"""Where parameters are prefetched from: a stream without kernels."""
_FIRST_COMM_STREAM = 20
_STREAM_SPACING = 4

_TORCHTITAN = {
    "tp": ("mesh_tp", "tp"),
    "fsdp": ("mesh_fsdp", "fsdp"),
    "ep": ("mesh_ep", "ep"),
    "dp": ("mesh_dp", "dp"),
    "cp": ("mesh_cp", "cp"),
}
# Megatron shards over its data-parallel group, which has CP in it where there is some, and
# replicates over partial ones, which have the role dp as well.
_MEGATRON = {
    "tp": ("TENSOR_MODEL_PARALLEL_GROUP", "tp"),
    "fsdp": ("DATA_PARALLEL_GROUP", "dp"),
    "ep": ("EXPERT_MODEL_PARALLEL_GROUP", "ep"),
    "dp": ("INTER_PARTIAL_DATA_PARALLEL_GROUP", "dp"),
    "cp": ("CONTEXT_PARALLEL_GROUP", "cp"),
}
_MEGATRON_CP = {"fsdp": ("DATA_PARALLEL_GROUP_WITH_CP", "dp_cp")}


@dataclass(frozen=True, slots=True)
class Dimension:
    """All groups of one dimension.

    Parameters
    ----------
    key : str
        Name of the dimension in `SynthJob`.
    role : str
        Role that the description stands for.
    description : str
        What the trace calls the groups.
    members : (g, s) int64
        Global ranks of each group, ascending.
    group_of : (world,) int64
        Number of each rank's group.
    names : g strings
        Names of the groups in the trace.
    stream : int
        Stream of rank 0; see `SynthJob.stream_step`.
    """

    key: str
    role: str
    description: str
    members: I64
    group_of: I64
    names: tuple[str, ...]
    stream: int

    @property
    def size(self) -> int:
        """Ranks per group."""
        return int(self.members.shape[1])


def dimensions(job: SynthJob) -> tuple[Dimension, ...]:
    """Lay out the groups of every dimension with more than one rank."""
    table = _TORCHTITAN if job.descriptions == "torchtitan" else _MEGATRON
    if table is _MEGATRON and job.cp > 1:
        table = _MEGATRON | _MEGATRON_CP
    found: list[Dimension] = []
    n_names = 0
    for position, key in enumerate(ROLES):
        members = _members(job, key)
        if members.shape[1] == 1:
            continue
        group_of = np.empty(job.world, np.int64)
        group_of[members] = np.arange(len(members))[:, None]
        distinct = len(members) if job.sibling_names == "distinct" else 1
        names = tuple(str(n_names + 1 + group % distinct) for group in range(len(members)))
        n_names += distinct
        description, role = table[key]
        stream = _FIRST_COMM_STREAM + _STREAM_SPACING * position
        found.append(Dimension(key, role, description, members, group_of, names, stream))
    return tuple(found)


def _members(job: SynthJob, key: str) -> I64:
    grid = np.arange(job.world, dtype=np.int64).reshape(job.dp, job.fsdp, job.tp)
    if key == "tp":
        return grid.reshape(-1, job.tp)
    if key == "fsdp":
        return grid.transpose(0, 2, 1).reshape(-1, job.fsdp)
    if key in ("ep", "cp"):
        return grid.transpose(0, 2, 1).reshape(-1, getattr(job, key))
    return grid.transpose(1, 2, 0).reshape(-1, job.dp)
