"""Whether blocks and kernels that are given are those of the runs that are compared."""

from collections.abc import Sequence

import numpy as np

from synctax.arrays import NS_PER_US
from synctax.attribution.blocks import FoundBlocks
from synctax.collectives.tax import Tax
from synctax.comparison.kernels import RankKernels
from synctax.comparison.units import Run, Side


def check_blocks(sides: Sequence[Side], blocks: Sequence[Sequence[FoundBlocks]]) -> None:
    """Refuse blocks of other runs.

    Parameters
    ----------
    sides : (Side, Side)
    blocks : two sequences of FoundBlocks
        One a run, in the order of the runs.

    Raises
    ------
    ValueError
        If there are more or fewer than runs, or the collectives that they end in waited
        otherwise than those of the run.
    """
    for side, given, name in zip(sides, blocks, "AB", strict=True):
        _as_many(side, given, f"blocks of {name}")
        for at, (run, one) in enumerate(zip(side.runs, given, strict=True)):
            if not _ends_in(run.tax, one):
                raise ValueError(
                    f"blocks {at + 1} of {name} are of another run: give what block_times "
                    "returns of each run, in the order of the runs"
                )


def check_kernels(
    sides: Sequence[Side], kernels: Sequence[Sequence[Sequence[RankKernels]]]
) -> None:
    """Refuse kernels of other runs.

    Parameters
    ----------
    sides : (Side, Side)
    kernels : two sequences of what `kernels_of` returns
        One a run, in the order of the runs.

    Raises
    ------
    ValueError
        If there are more or fewer than runs, or they are of other files or units.
    """
    for side, given, name in zip(sides, kernels, "AB", strict=True):
        _as_many(side, given, f"kernels of {name}")
        for at, (run, one) in enumerate(zip(side.runs, given, strict=True)):
            if not _timed_in(run, one):
                raise ValueError(
                    f"kernels {at + 1} of {name} are of another run: give what kernels_of "
                    "returns of each run, in the order of the runs"
                )


def _as_many(side: Side, given: Sequence[object], what: str) -> None:
    if len(given) != len(side.runs):
        raise ValueError(
            f"{what} are of {len(given)} runs, and compared are {len(side.runs)}: give as "
            "many, in the order of the runs"
        )


def _ends_in(tax: Tax, found: FoundBlocks) -> bool:
    """Whether blocks end in collectives of a tax: as many of these, that waited as long."""
    if found.why.size != len(tax.matches):
        return False
    if found.times is None:
        return True
    waits = tax.waits
    own_us = (waits.mean_ns - waits.shortest_ns)[found.slot] / NS_PER_US
    return np.array_equal(own_us, found.times.measured_us, equal_nan=True)


def _timed_in(run: Run, found: Sequence[RankKernels]) -> bool:
    paths = dict.fromkeys(one.path for one in run.tax.matches.ranks)
    units = {one.count.shape[1] for one in found}
    return [one.path for one in found] == list(paths) and units <= {len(run)}
