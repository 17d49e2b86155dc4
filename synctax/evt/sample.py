"""What every fit asks of its sample: finite, sorted, with enough distinct values."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64
from synctax.errors import FitError

MIN_DISTINCT_VALUES = 20
"""Fewer distinct values than this carry no shape and hardly a scale."""

_UNTHREADED = 8192  # elements
_LARGEST = 1e100


def checked(values: F64, *, what: str, min_distinct: int = MIN_DISTINCT_VALUES) -> F64:
    """Sort a sample, and refuse one that carries no fit.

    Parameters
    ----------
    values : (n,) float64
        The sample, in any order and unit.
    what : str
        What a value is, in the plural, for the message: "block maxima".
    min_distinct : int, optional
        How many distinct values are enough; at least 2.

    Returns
    -------
    (n,) float64
        The values in ascending order, so that no fit depends on the order of its input.

    Raises
    ------
    FitError
        If a value is not finite, all are equal, or too few are distinct.
    ValueError
        If the array has not one dimension.
    """
    found = np.asarray(values, np.float64)
    if found.ndim != 1:
        raise ValueError(f"a sample has one dimension, got {found.ndim}")
    found = np.sort(found)  # NaN comes last
    if found.size and not (np.isfinite(found[0]) and np.isfinite(found[-1])):
        unfit = int(np.count_nonzero(~np.isfinite(found)))
        raise FitError(
            f"{unfit} of {found.size} {what} are not finite; leave these instances out"
        )
    distinct = int(np.count_nonzero(found[1:] != found[:-1])) + min(found.size, 1)
    if distinct == 1 and found.size > 1:
        raise FitError(
            f"all {found.size} {what} are equal to {found[0]:g}, there is no spread; "
            "times told in finer steps would help"
        )
    if found.size and not _can_be_squared(float(found[0]), float(found[-1])):
        raise FitError(
            f"{what} between {found[0]:g} and {found[-1]:g} are too large or too close to "
            "compute with; give them in another unit"
        )
    needed = max(min_distinct, 2)
    if distinct < needed:
        help_ = (
            "profile more steps"
            if found.size < needed
            else "times told in finer steps would help"
        )
        raise FitError(
            f"a fit needs {needed} distinct {what}, got {distinct} among {found.size}; "
            f"{help_}"
        )
    return found


def _can_be_squared(lowest: float, highest: float) -> bool:
    largest = max(abs(lowest), abs(highest))
    return largest < _LARGEST and (lowest == highest or highest - lowest > 1 / _LARGEST)


@dataclass(frozen=True, slots=True)
class Standard:
    """A sorted sample brought to location 0 and scale 1, and the way back.

    Parameters
    ----------
    x : (n,) float64
        (z - centre) / unit, ascending.
    centre, unit : float
        Median and second L-moment of z.
    """

    x: F64
    centre: float
    unit: float


def dot(a: F64, b: F64) -> float:
    """Sum products."""
    # the library below @ starts threads for long vectors, which takes longer than the sum
    return float(a @ b if a.size <= _UNTHREADED else np.einsum("i,i->", a, b))
