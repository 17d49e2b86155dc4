"""How long the compute kernels of a step take: the same means, random shares of them."""

import numpy as np

from synctax.arrays import F64, I64
from synctax.synth.blocks import ended_blocks, mean_times_ns
from synctax.synth.jitter import standard_draws
from synctax.synth.job import SynthJob
from synctax.synth.program import Program

_LEAST_SHARE = 0.1
"""A kernel takes at least this share of its mean, whatever the jitter."""
_COMMON_STREAM = 2
"""Seed of a step's draws that all ranks share, beside those of single ranks."""
_RANK_STREAM = 2**32 - 2
"""Seed of the draws that ranks keep for all steps; steps use 0, 1, ..."""


def kernel_times_ns(job: SynthJob, program: Program, step: int) -> I64:
    """Draw the times of a step's compute kernels.

    Parameters
    ----------
    job, program
        The job and its step.
    step : int
        Number of the step, from 0; chooses the draws.

    Returns
    -------
    (world, compute kernels) int64
        Times in ns. Under `jitter_scope` "block" the kernels of a block take, together, one
        share of their mean, to 1 ns.
    """
    mean_ns = mean_times_ns(program)
    if job.jitter_scope == "kernel":
        share = _shares(job, step, mean_ns.size)
        return np.rint(mean_ns * share).astype(np.int64)
    block = ended_blocks(program)
    count = int(block.max())
    # What follows the last collective of a step belongs to the first block of the next.
    share = np.hstack([_shares(job, step, count), _shares(job, step + 1, count)[:, :1]])
    share = share[:, block]
    end_ns = np.cumsum(mean_ns)
    begin_ns = end_ns - mean_ns
    first_ns = begin_ns[np.searchsorted(block, block)]
    # Instants are rounded, not times: their errors do not add up.
    return _rounded(share * (end_ns - first_ns)) - _rounded(share * (begin_ns - first_ns))


def _rounded(times_ns: F64) -> I64:
    return np.rint(times_ns).astype(np.int64)


def _shares(job: SynthJob, step: int, count: int) -> F64:
    """Draw what part of its mean each of `count` things takes on each rank."""
    rng = np.random.default_rng((job.seed, step))
    z = standard_draws(rng, job.jitter_law, (job.world, count), xi=job.xi)
    share: F64 = 1 + job.jitter * z
    if job.common_jitter and job.jitter_law != "none":
        rng = np.random.default_rng((job.seed, step, _COMMON_STREAM))
        share += job.common_jitter * rng.standard_normal(count)
    if job.rank_jitter and job.jitter_law != "none":
        rng = np.random.default_rng((job.seed, _RANK_STREAM))
        share += job.rank_jitter * rng.standard_normal((job.world, 1))
    return np.maximum(share, _LEAST_SHARE)
