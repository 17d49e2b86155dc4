"""What the tail model works on: times of compute blocks, arrays that know no trace."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import F64, I64
from synctax.notes import Note
from synctax.schema import FIT_EVT_INSTANCES
from synctax.schema.html import Shown

if TYPE_CHECKING:
    import pandas as pd

LEAST_RANKS = 2
"""Nobody waits alone."""


@dataclass(frozen=True, slots=True)
class Block:
    """A distinct sequence of kernels between two collectives of a group.

    Parameters
    ----------
    name : str
        Identifies it within its source; what the user reads.
    source : str
        The set of traces, or the file, that it comes from.
    group, op : str
        Role of the group and operation of the collective that ends it; "" unknown.
    kernels : int or None
        How many kernels it has.
    gemm : str
        Name of the GEMM that takes most of its time; "" unknown.
    gpu, dtype, phase : str
        GPU model, type of the GEMMs' operands (`bf16`), and "forward" or "backward";
        "" where the trace does not say.
    """

    name: str
    source: str = ""
    group: str = ""
    op: str = ""
    kernels: int | None = None
    gemm: str = ""
    gpu: str = ""
    dtype: str = ""
    phase: str = ""


@dataclass(frozen=True, slots=True)
class BlockTimes(Shown):
    """Times of compute blocks: i instances over m ranks each.

    Parameters
    ----------
    blocks : tuple of Block
    block : (i,) int64
        Block of each instance, index into `blocks`.
    instance : (i,) int64
        Number of the instance within its block and series, in order of time.
    series : (i,) int64
        Rows of one series are one group of ranks in order of time; rows are sorted by it.
    rank : (i, m) int64
        Which ranks.
    us : (i, m) float64
        Block time of each: critical-path compute time, in µs.
    measured_us : (i,) float64
        Mean wait in the collective that ends the instance (`tax_mean_us`); NaN unknown.
    resolution_us : float
        Step in which times are told; 0 where that is far below their variation.
    """

    blocks: tuple[Block, ...]
    block: I64
    instance: I64
    series: I64
    rank: I64
    us: F64
    measured_us: F64
    resolution_us: float = 0.0

    def __len__(self) -> int:
        return int(self.block.size)

    def __repr__(self) -> str:
        blocks = f"{len(self):,} instances of {len(self.blocks)} blocks"
        return f"<BlockTimes: {blocks}, {self.m} ranks>"

    def to_frame(self) -> "pd.DataFrame":
        """One row per instance and rank (`schema.FIT_EVT_INSTANCES`)."""
        from synctax.evt.read_csv import rows

        columns = {
            name: [None if value == "" else value for value in values]
            for name, values in rows(self).items()
        }
        return FIT_EVT_INSTANCES.to_frame(columns)

    @property
    def m(self) -> int:
        """Ranks of each instance."""
        return int(self.us.shape[1])

    @property
    def wait_us(self) -> F64:
        """Mean wait of each instance by its block times, (i,) in µs: largest less mean."""
        return np.asarray(self.us.max(axis=1) - self.us.mean(axis=1))


@dataclass(frozen=True, slots=True)
class Coverage:
    """What part of a group's collectives and of its tax the block times stand for.

    Parameters
    ----------
    collectives, entered : int
        Collectives whose tax counts, and those among them with a block time.
    tax_us, entered_tax_us : float
        Sum of their taxes (max - min), in µs.
    left_out : tuple of Note
        Why the others did not enter, and how many.
    """

    collectives: int
    entered: int
    tax_us: float
    entered_tax_us: float
    left_out: tuple[Note, ...] = ()

    @property
    def share(self) -> float:
        """Share of the collectives that entered; NaN of none."""
        return self.entered / self.collectives if self.collectives else float("nan")

    @property
    def tax_share(self) -> float:
        """Share of the tax that entered; NaN without any tax."""
        return self.entered_tax_us / self.tax_us if self.tax_us else float("nan")
