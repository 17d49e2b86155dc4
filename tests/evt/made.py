"""Block times made up for tests."""

import numpy as np

from synctax.arrays import F64, I64
from synctax.evt.model import Block, BlockTimes
from synctax.evt.predict import Predictors, fit_standard
from synctax.evt.standard import standardise


def block_times(
    us: F64,
    *,
    block: I64 | None = None,
    series: I64 | None = None,
    resolution_us: float = 0.0,
) -> BlockTimes:
    """Instances in rows, ranks in columns; one block in one series unless told apart."""
    count = len(us)
    block = np.zeros(count, np.int64) if block is None else np.asarray(block)
    series = np.zeros(count, np.int64) if series is None else np.asarray(series)
    return BlockTimes(
        blocks=tuple(Block(f"block {c}") for c in range(int(block.max(initial=0)) + 1)),
        block=block,
        instance=np.arange(count),
        series=series,
        rank=np.tile(np.arange(us.shape[1]), (count, 1)),
        us=np.asarray(us, np.float64),
        measured_us=np.ones(count),
        resolution_us=resolution_us,
    )


def normal_times(
    instances: int, m: int, *, seed: int = 0, common: float = 0.0, slow: float = 0.0
) -> BlockTimes:
    """Normal ranks around 1,000 µs, 20 µs apart; all of them shared, the last one slow.

    `common` and `slow` are in units of the spread.
    """
    random = np.random.default_rng([seed, 101])
    x = random.normal(size=(instances, m))
    x += common * random.normal(size=(instances, 1))
    x[:, -1] += slow
    return block_times(1_000 + 20 * x)


def fit_all(times: BlockTimes) -> Predictors:
    """Standardise block times and fit every predictor."""
    return fit_standard(standardise(times))
