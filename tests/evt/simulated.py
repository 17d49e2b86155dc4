"""Block times with a known law, for tests of the whole fit."""

import numpy as np

from synctax.evt.model import Block, BlockTimes

SCALE_US = 20.0
"""Scale s of the Gumbel law of a rank's time: the mean wait of n ranks is s·ln n."""


def block_times(us, *, blocks=1, tax_mean=True, resolution_us=0.0, **of_block):
    """Block times of one series; `us` is (instances, ranks), blocks take turns."""
    us = np.asarray(us, np.float64)
    count, m = us.shape
    number = np.arange(count)
    wait_us = us.max(axis=1) - us.mean(axis=1)
    return BlockTimes(
        blocks=tuple(
            Block(f"all_reduce {i + 1}", "sim", **{"group": "tp", **of_block})
            for i in range(blocks)
        ),
        block=number % blocks,
        instance=number // blocks,
        series=np.zeros(count, np.int64),
        rank=np.tile(np.arange(m), (count, 1)),
        us=us,
        measured_us=wait_us if tax_mean else np.full(count, np.nan),
        resolution_us=resolution_us,
    )


def gumbel_ranks(instances=200, ranks=8, *, seed=1, **more):
    """Ranks that vary on their own, by a Gumbel law."""
    draw = np.random.default_rng(seed).gumbel(1000.0, SCALE_US, (instances, ranks))
    return block_times(draw, **more)
