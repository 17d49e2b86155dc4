"""Block times of made-up jobs: as simulated, and as their traces tell them."""

from pathlib import Path

import numpy as np

import synctax
from synctax.attribution.blocks import FoundBlocks, block_times
from synctax.evt.model import Block, BlockTimes
from synctax.synth import SynthJob, block_laws, write
from synctax.synth.blocks import ended_blocks
from synctax.synth.kernel_times import kernel_times_ns
from synctax.synth.program import build


def simulated(job: SynthJob) -> BlockTimes:
    """Add up the kernels of each block: ranks wait for the largest, and nothing else.

    The first and the last block of the window are there in part, and left out.
    """
    program = build(job)
    laws = block_laws(job, program)
    block = ended_blocks(program)
    parts = []
    for step in range(job.steps):
        took_ns = kernel_times_ns(job, program, step)
        sums = np.zeros((job.world, len(laws) + 1), np.int64)
        np.add.at(sums, (slice(None), block), took_ns)
        parts.append(sums)
    ns = np.zeros((job.world, job.steps * len(laws) + 1), np.int64)
    for step, sums in enumerate(parts):
        first = step * len(laws)
        ns[:, first : first + len(laws) + 1] += sums
    us = ns[:, 1:-1].T / 1000
    kinds = [(law.op, law.kernels, law.a_us) for law in laws]
    known = list(dict.fromkeys(kinds))
    number = np.array([known.index(kind) for kind in kinds])
    of_row = np.tile(number, job.steps)[1:]
    instance = np.empty(of_row.size, np.int64)
    for one in range(len(known)):
        rows = np.flatnonzero(of_row == one)
        instance[rows] = np.arange(rows.size)
    return BlockTimes(
        blocks=tuple(
            Block(f"block {i}", group="tp", op=op, kernels=kernels)
            for i, (op, kernels, _) in enumerate(known)
        ),
        block=of_row,
        instance=instance,
        series=np.zeros(of_row.size, np.int64),
        rank=np.tile(np.arange(job.world), (of_row.size, 1)),
        us=us,
        measured_us=us.max(axis=1) - us.mean(axis=1),
    )


def from_traces(job: SynthJob, directory: Path) -> FoundBlocks:
    """Write the traces of a job, and read the block times back."""
    write(job, directory)
    tax = synctax.measure(synctax.load([directory]), group="tp")
    return block_times(tax, workers=1)
