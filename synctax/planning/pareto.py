"""Which layouts no other one beats in everything."""

from bisect import bisect_left, bisect_right

import numpy as np

from synctax.arrays import F64, Bool


def pareto(columns: F64) -> Bool:
    """Find the rows of three costs that no other row beats.

    A row beats another if it is no worse in all of them and better in one; equal rows do
    not beat each other.

    Parameters
    ----------
    columns : (k, 3) float64
        Finite; less is better.

    Returns
    -------
    (k,) bool

    Examples
    --------
    >>> pareto(np.array([[1.0, 3.0, 0.0], [2.0, 2.0, 0.0], [2.0, 3.0, 0.0]]))
    array([ True,  True, False])
    """
    # ascending in the first cost, ties by the others: whoever beats a row comes before it
    order = np.lexsort(columns.T[::-1])
    rows = columns[order]
    new = np.ones(len(rows), np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    kept = _staircase(rows[new, 1:])
    found = np.empty(len(rows), np.bool_)
    found[order] = kept[np.cumsum(new) - 1]
    return found


def _staircase(costs: F64) -> Bool:
    """Keep what is not beaten in two costs by anything before it.

    Of what came before only the steps of a staircase count: ascending in the first cost,
    descending in the second. One bisection a row (Kung, Luccio and Preparata 1975).
    """
    kept = np.zeros(len(costs), np.bool_)
    first: list[float] = []
    second: list[float] = []
    for at, (one, other) in enumerate(costs.tolist()):
        before = bisect_right(first, one)
        if before and second[before - 1] <= other:
            continue
        kept[at] = True
        begin = end = bisect_left(first, one)
        while end < len(second) and second[end] >= other:
            end += 1
        first[begin:end] = [one]
        second[begin:end] = [other]
    return kept
