"""Which ranks make a group, and how nccl-tests is told to run all groups at once.

nccl-tests parts its ranks by a colour, which it computes of each rank's number with one
operation (NCCL_TESTS_SPLIT): division for groups of neighbours, the remainder for groups
over the whole job, a mask for others. That works for any group whose ranks differ along
axes of their grid that the colour leaves out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from synctax.planning.grid import Axis, members
from synctax.planning.platform import Platform


@dataclass(frozen=True, slots=True)
class Selection:
    """Groups that one run of nccl-tests covers.

    Parameters
    ----------
    ranks : int
        Of one group.
    members : tuple of int
        Of the first group, from rank 0 on.
    block : int
        Contiguous ranks that hold whole groups.
    np : int
        Ranks of the run: those of the whole job, or of one block of it.
    split : str
        For NCCL_TESTS_SPLIT; empty where all ranks are one group.
    blocks : int
        How many such blocks the job has; 1 where the run covers it all.
    """

    ranks: int
    members: tuple[int, ...]
    block: int
    np: int
    split: str
    blocks: int

    @property
    def groups(self) -> int:
        """Groups that run at once."""
        return self.np // self.ranks


def select(grid: Sequence[Axis], names: Sequence[str]) -> Selection | None:
    """Find how to run the groups whose ranks differ in some digits.

    Parameters
    ----------
    grid : sequence of Axis
        All axes, the innermost first.
    names : sequence of str
        Those along which the ranks of a group differ.

    Returns
    -------
    Selection or None
        None where no operation of nccl-tests parts the ranks so.

    Examples
    --------
    >>> from synctax.planning.grid import axes
    >>> grid = axes(("tp", "dp", "pp"), (8, 8, 16))
    >>> [select(grid, [name]).split for name in ("tp", "dp", "pp")]
    ['DIV 8', 'AND 0x3c7', 'MOD 64']
    """
    total = prod(axis.size for axis in grid)
    runs = _runs(grid, names)
    found = tuple(members(grid, names)[0].tolist())
    stride, size = runs[-1] if runs else (1, 1)
    block = stride * size
    if len(runs) == 1 and block == total:
        split = f"MOD {stride}" if stride > 1 else ""
        return Selection(size, found, block, total, split, 1)
    if len(runs) == 1 and stride == 1:
        return Selection(size, found, block, total, f"DIV {size}", 1)
    if all(_is_power(number) for run in runs for number in run):
        mask = (1 << (total - 1).bit_length()) - 1
        for stride, size in runs:
            mask &= ~((size - 1) * stride)
        return Selection(len(found), found, block, total, f"AND {mask:#x}", 1)
    if len(runs) == 1:
        return Selection(size, found, block, block, f"MOD {stride}", total // block)
    return None


def _runs(grid: Sequence[Axis], names: Sequence[str]) -> list[tuple[int, int]]:
    """List strides and sizes of axes, those that follow each other as one."""
    runs: list[tuple[int, int]] = []
    for axis in grid:
        if axis.name not in names or axis.size == 1:
            continue
        if runs and runs[-1][0] * runs[-1][1] == axis.stride:
            runs[-1] = runs[-1][0], runs[-1][1] * axis.size
        else:
            runs.append((axis.stride, axis.size))
    return runs


def _is_power(number: int) -> bool:
    return number.bit_count() == 1


def busbw_gb_per_s(
    platform: Platform, op: str, selection: Selection, rates: tuple[float, float]
) -> float:
    """Tell what bus bandwidth the links allow a collective of all groups at once.

    In a ring over several domains every rank of the group in a domain has a NIC, and the
    ring's channels share them: k ranks send at the rate of k NICs. An all-to-all sends to
    the n - k ranks elsewhere over a rank's own NIC.

    Parameters
    ----------
    platform : Platform
    op : str
        As nccl-tests calls it.
    selection : Selection
    rates : (float, float)
        What collectives get of a GPU's NVLinks and of its NIC, in GB/s.
    """
    nvlink, nic = rates
    if not crosses(platform, selection):
        return nvlink
    here = _least_in_a_domain(platform, selection)
    if op == "sendrecv":
        return min(nvlink, nic)
    if op == "alltoall":
        n = selection.ranks
        return min(nvlink, nic * (n - 1) / max(n - here, 1))
    return min(nvlink, nic * here)


def crosses(platform: Platform, selection: Selection) -> bool:
    """Whether any group leaves a domain: its block does not divide it.

    Parameters
    ----------
    platform : Platform
    selection : Selection
    """
    job = selection.np * selection.blocks
    return platform.domain % selection.block != 0 and job > platform.domain


def _least_in_a_domain(platform: Platform, selection: Selection) -> int:
    """Count the ranks that a group has in the domain where it has the fewest."""
    first = np.arange(0, selection.np * selection.blocks, selection.block)
    domain = (first[:, None] + np.array(selection.members)) // platform.domain
    # of a group across two domains or more; blocks that are inside one do not count
    apart = domain[domain[:, 0] != domain[:, -1]]
    if not apart.size:
        return selection.ranks
    begins = np.ones(apart.shape, bool)
    begins[:, 1:] = apart[:, 1:] != apart[:, :-1]
    return int(np.diff(np.append(np.flatnonzero(begins), apart.size)).min())
