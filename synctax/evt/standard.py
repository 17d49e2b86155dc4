"""Bring blocks of different length to one scale: z-scores of their maxima."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.errors import FitError
from synctax.evt.cut import keep_blocks, units
from synctax.evt.model import BlockTimes
from synctax.notes import Note
from synctax.texts import counted

MIN_INSTANCES = 10
"""Blocks with fewer instances tell too little of their mean and spread."""


@dataclass(frozen=True, slots=True)
class Standard:
    """Blocks of a set with their mean and spread, and the z-scores of their maxima.

    Parameters
    ----------
    a_us, b_us : (c,) float64
        Mean and standard deviation of each block over ranks and instances, in µs.
    instances : (c,) int64
        Instances of each block; groups that were cut from one instance count once.
    z : (i,) float64
        (maximum over the ranks of a row - a) / b of its block.
    times : BlockTimes
        The rows that entered, with their c blocks.
    kept : (c,) int64
        Which blocks of the times that were given these are.
    notes : tuple of Note
        Blocks that were left out.
    """

    a_us: F64
    b_us: F64
    instances: I64
    z: F64
    times: BlockTimes
    kept: I64
    notes: tuple[Note, ...] = ()

    @property
    def mean_a_us(self) -> float:
        """Mean of a over instances, in µs."""
        return float(np.average(self.a_us, weights=self.instances))

    @property
    def mean_b_us(self) -> float:
        """Mean of b over instances, in µs: what turns z-scores into waits."""
        return float(np.average(self.b_us, weights=self.instances))


def standardise(times: BlockTimes, *, min_instances: int = MIN_INSTANCES) -> Standard:
    """Take the mean and spread of each block, and the z-score of each maximum.

    The spread is taken over ranks and instances together, never within an instance: z
    would then be bounded by (m - 1)/√m. Blocks of too few instances or without any spread
    are left out.

    Parameters
    ----------
    times : BlockTimes
        i rows over m ranks.
    min_instances : int
        Instances that a block needs.

    Returns
    -------
    Standard
        Of the blocks that stay, numbered anew.

    Raises
    ------
    FitError
        If no block stays.

    References
    ----------
    Synchronization-tax paper, section 5.2.
    """
    count = len(times.blocks)
    unit = units(times)
    first = np.ones(len(times), np.bool_)
    first[1:] = unit[1:] != unit[:-1]
    instances = np.bincount(times.block[first], minlength=count)
    a_us, b_us = _mean_and_spread(times, count)
    few = instances < min_instances
    flat = ~few & ~(b_us > 0)
    stay = ~few & ~flat
    if not stay.any():
        raise FitError(_nothing(instances, flat, min_instances))
    kept = keep_blocks(times, stay)
    a_us, b_us = a_us[stay], b_us[stay]
    return Standard(
        a_us=a_us,
        b_us=b_us,
        instances=instances[stay],
        z=(kept.us.max(axis=1) - a_us[kept.block]) / b_us[kept.block],
        times=kept,
        kept=np.flatnonzero(stay),
        notes=_left_out(instances, few, flat, min_instances),
    )


def _mean_and_spread(times: BlockTimes, count: int) -> tuple[F64, F64]:
    rows = np.bincount(times.block, minlength=count)
    values = np.maximum(rows * times.m, 1)
    a_us = np.bincount(times.block, times.us.sum(axis=1), count) / values
    off = ((times.us - a_us[times.block, None]) ** 2).sum(axis=1)
    b_us = np.sqrt(np.bincount(times.block, off, count) / np.maximum(values - 1, 1))
    # a mean in floating point may miss the value that all times share
    return a_us, np.where(b_us > 1e-12 * np.abs(a_us), b_us, 0.0)


def _left_out(instances: I64, few: Bool, flat: Bool, needed: int) -> tuple[Note, ...]:
    notes = []
    few = few & (instances > 0)  # a block that was never seen loses nothing
    if few.any():
        lost = int(instances[few].sum())
        rare = counted(int(few.sum()), "block")
        detail = f"instances of {rare} with fewer than {needed}"
        notes.append(Note("too_few_instances", lost, detail))
    if flat.any():
        lost = int(instances[flat].sum())
        detail = f"instances of {counted(int(flat.sum()), 'block')} whose times are equal"
        notes.append(Note("no_spread", lost, detail))
    return tuple(notes)


def _nothing(instances: I64, flat: Bool, needed: int) -> str:
    if not instances.sum():
        return "no instance of any compute block to fit; profile more steps"
    if flat.any():
        return (
            "all times of a block are equal, in "
            f"{counted(int(flat.sum()), 'block')} with enough instances: there is no "
            "spread to extrapolate; check the resolution of the times"
        )
    blocks = counted(int((instances > 0).sum()), "block")
    return (
        f"a fit needs {needed} instances of a compute block, the most frequent of {blocks} "
        f"has {int(instances.max())}; profile more steps or pool several sets"
    )
