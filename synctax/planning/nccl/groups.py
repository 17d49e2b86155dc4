"""Which ranks make a group, and how nccl-tests is told to run all groups at once.

nccl-tests parts its ranks by a colour, which it computes of each rank's number with one
operation (NCCL_TESTS_SPLIT): division for groups of neighbours, the remainder for groups
over the whole job, a mask for others. That works for any group whose ranks differ along
axes of their grid that the colour leaves out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from synctax.planning.grid import Axis, members, runs


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
    """Find how to run the groups whose ranks differ along some axes.

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
    along = runs(grid, names)
    found = tuple(members(grid, names)[0].tolist())
    stride, size = along[-1] if along else (1, 1)
    block = stride * size
    if len(along) == 1 and block == total:
        split = f"MOD {stride}" if stride > 1 else ""
        return Selection(size, found, block, total, split, 1)
    if len(along) == 1 and stride == 1:
        return Selection(size, found, block, total, f"DIV {size}", 1)
    if all(_is_power(number) for run in along for number in run):
        mask = (1 << (total - 1).bit_length()) - 1
        for stride, size in along:
            mask &= ~((size - 1) * stride)
        return Selection(len(found), found, block, total, f"AND {mask:#x}", 1)
    if len(along) == 1:
        return Selection(size, found, block, block, f"MOD {stride}", total // block)
    return None


def _is_power(number: int) -> bool:
    return number.bit_count() == 1
