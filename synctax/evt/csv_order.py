"""Order of time, and number of ranks, of instances whose lines stand in a file."""

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.evt.standard import MIN_INSTANCES


def in_order(series: I64, block: I64, instance: I64, first: I64) -> tuple[I64, Bool]:
    """List instances by series, then in order of time.

    As they stand, where numbers ascend in each block of a series and blocks take turns;
    else by number. Where each block is numbered on its own, without gaps, a block that
    runs less often is spread over the same time.

    Parameters
    ----------
    series, block, instance : (i,) int64
        Of each; instance is its number.
    first : (i,) int64
        Its first line.

    Returns
    -------
    (i,) int64
        Their order.
    (i,) bool
        Which stood block after block, and were put in another order.
    """
    by_line = np.lexsort((first, block, series))
    same = (np.diff(series[by_line]) == 0) & (np.diff(block[by_line]) == 0)
    mixed = bool((same & (np.diff(instance[by_line]) < 0)).any())
    piled = _piled(series, block, first) & (not mixed)
    # where only some series are piled up, the others stand as they should
    place = np.where(piled | mixed, _moment(_cells(series, block), instance), 0)
    block = np.where(piled | mixed, block, 0)
    return np.lexsort((first, block, place, series)), piled


def _moment(cell: I64, instance: I64) -> F64:
    """Place instances on a common axis of time by their numbers."""
    order = np.lexsort((instance, cell))
    count = np.bincount(cell)
    end = np.cumsum(count)
    last, least = instance[order][end - 1], instance[order][end - count]
    own = (last - least + 1 == count).all() and np.ptp(least) == 0
    if not own:
        return instance.astype(np.float64)
    return np.asarray((instance - least[0] + 0.5) / count[cell])


def _piled(series: I64, block: I64, first: I64) -> Bool:
    """Mark instances of series whose blocks stand one after the other, none in turns."""
    order = np.lexsort((first, series))
    _, number = np.unique(series, return_inverse=True)
    cell = _cells(series, block)
    of_cell = np.zeros(int(cell.max()) + 1, np.int64)
    of_cell[cell] = number
    begins = np.append(True, np.diff(cell[order]) != 0)
    # as many runs as blocks, and more than one block that is frequent
    runs = np.bincount(number[order][begins])
    frequent = np.bincount(of_cell, np.bincount(cell) >= MIN_INSTANCES)
    piled = (runs == np.bincount(of_cell)) & (frequent > 1)
    return np.asarray(piled[number])


def usual_size(series: I64, block: I64, size: I64) -> I64:
    """Tell for each instance how many ranks most of its block and series have.

    Of sizes that are equally frequent it is the larger. A size that a block has too
    rarely for a fit is no size of its own: the most frequent of all stands for it.

    Parameters
    ----------
    series, block, size : (i,) int64
        Of each instance; size is its number of ranks.

    Returns
    -------
    (i,) int64
    """
    own = _most_frequent(_cells(series, block), size)
    span = int(size.max()) + 1
    found, count = np.unique(block * span + size, return_counts=True)
    often = count[np.searchsorted(found, block * span + own)] >= MIN_INSTANCES
    return np.where(often, own, _most_frequent(np.zeros_like(size), size))


def _most_frequent(group: I64, size: I64) -> I64:
    """Tell for each instance the most frequent size of its group, numbered from 0."""
    span = int(size.max()) + 1
    found, count = np.unique(group * span + size, return_counts=True)
    of, which = np.divmod(found, span)
    order = np.lexsort((which, count, of))
    last = np.append(np.diff(of[order]) != 0, True)
    return np.asarray(which[order][last][group])


def _cells(series: I64, block: I64) -> I64:
    """Number the blocks of each series from 0."""
    _, number = np.unique(series, return_inverse=True)
    key = number * (int(block.max()) + 1) + block
    return np.asarray(np.unique(key, return_inverse=True)[1])
