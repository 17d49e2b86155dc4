"""What a sweep comes to: the means of each setting over seeds, and over the first one's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np

from synctax.arrays import F64
from synctax.cluster.sweep import Combination, Sweep
from synctax.errors import SynctaxError
from synctax.schema.sweep import SUMMARY_COLUMNS

SETTINGS: Final = ("policy", "queue", "nic_gb_per_s", "model", "demand_basis")
"""What lines differ in."""

TIMES: Final = tuple(one.name for one in SUMMARY_COLUMNS if one.unit == "s")
"""What is held against the first line."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over seeds and its interval.

    Parameters
    ----------
    mean : float
        NaN of nothing.
    half : float
        Half the width of the 95 % interval by Student's t; NaN of fewer than two values.
    """

    mean: float
    half: float

    def told(self) -> dict[str, float | None]:
        """Tell mean and ends by name; None for what is not known."""
        ends = {"mean": self.mean, "lo": self.mean - self.half, "hi": self.mean + self.half}
        return {name: None if np.isnan(value) else value for name, value in ends.items()}


def interval(values: F64, *, level: float = 0.95) -> Interval:
    """Estimate the mean of independent values, such as one for each seed.

    Parameters
    ----------
    values : (n,) float64
        NaN values do not count.
    level : float
        Of the interval.

    Returns
    -------
    Interval

    Examples
    --------
    >>> import numpy as np
    >>> found = interval(np.array([1.0, 2.0, 3.0]))
    >>> round(found.mean, 3), round(found.half, 3)
    (2.0, 2.484)
    """
    known = values[~np.isnan(values)]
    if known.size < 2:
        return Interval(float(known.mean()) if known.size else np.nan, np.nan)
    from scipy.special import stdtrit  # scipy.stats takes seconds to import

    error = known.std(ddof=1) / np.sqrt(known.size)
    width = stdtrit(known.size - 1, (1 + level) / 2)
    return Interval(float(known.mean()), float(width * error))


@dataclass(frozen=True, slots=True)
class Line:
    """A setting: all that combinations of s seeds have in common.

    Parameters
    ----------
    setting : mapping of str to value
        By the names of `SETTINGS`.
    seeds : tuple of s int
    failed : int
        How many of them have no numbers.
    means : mapping of str to Interval
        Of each of `SUMMARY_COLUMNS`, over seeds.
    over_first : mapping of str to Interval
        Of each of `TIMES`, over that of the first line with the same seed: jobs are the
        same, so this varies less than the times. Seeds where that is 0 do not count. A
        line of which every seed failed is not the first.
    """

    setting: Mapping[str, Any]
    seeds: tuple[int, ...]
    failed: int
    means: Mapping[str, Interval]
    over_first: Mapping[str, Interval]

    def told(self) -> dict[str, Any]:
        """Tell all of it by name, as in the envelope of `sweep`."""
        return {
            **self.setting,
            "seeds": len(self.seeds),
            "failed": self.failed,
            "means": {name: one.told() for name, one in self.means.items()},
            "over_first": {name: one.told() for name, one in self.over_first.items()},
        }


def lines(found: Sweep) -> tuple[Line, ...]:
    """Put the seeds of each setting together.

    Parameters
    ----------
    found : Sweep

    Returns
    -------
    tuple of Line
        In the order of combinations.
    """
    both = zip(found.combinations, found.found, strict=True)
    grouped = [list(some) for _key, some in groupby(both, lambda one: _setting(one[0]))]
    columns = [_columns([numbers for _one, numbers in some]) for some in grouped]
    ran = (mine for mine in columns if not np.isnan(mine[TIMES[0]]).all())
    first = next(ran, columns[0])
    return tuple(
        Line(
            dict(zip(SETTINGS, _setting(some[0][0]), strict=True)),
            tuple(one.seed for one, _numbers in some),
            sum(isinstance(numbers, SynctaxError) for _one, numbers in some),
            {name: interval(values) for name, values in mine.items()},
            {name: interval(_over(mine[name], first[name])) for name in TIMES},
        )
        for some, mine in zip(grouped, columns, strict=True)
    )


def _setting(one: Combination) -> tuple[Any, ...]:
    return one.policy, one.queue, one.nic_gb_per_s, one.model, one.basis


def _columns(found: Sequence[Mapping[str, Any] | SynctaxError]) -> dict[str, F64]:
    """Take the numbers by name, one value a seed; NaN where there is none."""
    known = [{} if isinstance(one, SynctaxError) else one for one in found]
    return {
        column.name: np.array([_known(one.get(column.name)) for one in known])
        for column in SUMMARY_COLUMNS
    }


def _known(value: Any) -> float:
    return np.nan if value is None else float(value)


def _over(values: F64, first: F64) -> F64:
    over = np.full(values.size, np.nan)
    np.divide(values, first, out=over, where=first > 0)
    return over
