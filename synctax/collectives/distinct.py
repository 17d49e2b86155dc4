"""Distinct rows of integer columns, by one sort of one key."""

import numpy as np
import numpy.typing as npt

from synctax.arrays import I64

_LARGEST_KEY = 1 << 62


def distinct_rows(*columns: npt.NDArray[np.integer]) -> tuple[I64, I64]:
    """Number the distinct rows of columns.

    Parameters
    ----------
    *columns : (n,) integer arrays

    Returns
    -------
    (k,) int64, (n,) int64
        Where each distinct row first stands, in ascending order of its values (the first
        column weighs most), and the number of each row among the distinct ones.

    Examples
    --------
    >>> distinct_rows(np.array([2, 1, 2, 1]), np.array([7, 9, 7, 8]))
    (array([3, 1, 0]), array([2, 1, 2, 0]))
    """
    key = np.zeros(columns[0].size, np.int64)
    span = 1
    for column in columns if key.size else ():
        digit, width = _digits(column)
        if span * width > _LARGEST_KEY:
            key, span = _ranks(key)
        if span * width > _LARGEST_KEY:
            digit, width = _ranks(column)
        key = key * width + digit
        span *= width
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return first.astype(np.int64), number.ravel().astype(np.int64)


def _digits(column: npt.NDArray[np.integer]) -> tuple[I64, int]:
    """Shift a column to start at 0; with how many values it may take."""
    low = int(column.min())
    return column.astype(np.int64) - low, int(column.max()) - low + 1


def _ranks(column: npt.NDArray[np.integer]) -> tuple[I64, int]:
    """Number the values that a column takes; with how many there are."""
    values, number = np.unique(column, return_inverse=True)
    return number.ravel().astype(np.int64), int(values.size)
