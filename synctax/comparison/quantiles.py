"""Quantiles of what was drawn anew, also of millions of values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64
from synctax.comparison.resample import Drawn

BINS = 1_024
"""Values are counted in so many bins of equally many. Within the bin that a quantile of a
resample lies in, all are taken to be drawn equally often: what that leaves out is a share
of at most 1 / BINS / (1 - q) of the variance of independent values, however many."""


def resampled_quantiles(drawn: Drawn, unit: I64, values: F64, q: Sequence[float]) -> F64:
    """Find quantiles of each resample, interpolated as numpy does.

    Parameters
    ----------
    drawn : Drawn
    unit : (n,) int64
        Of each value.
    values : (n,) float64
        At least one; none is NaN.
    q : sequence of float

    Returns
    -------
    (q, r) float64
        NaN where a resample has no value. Exact for `BINS` values or fewer.
    """
    order = np.argsort(values, kind="stable")
    bins = min(values.size, BINS)
    begins = (np.arange(bins + 1) * values.size) // bins
    cell = np.repeat(np.arange(bins), np.diff(begins))
    lots = drawn.scale.size
    place = drawn.lot[unit[order]] * bins + cell
    counts = np.bincount(place, minlength=lots * bins).reshape(lots, bins)
    ascending = values[order]
    found = np.empty((len(q), len(drawn.counts)))
    for rows, each in drawn.parts(counts.astype(np.float64)):
        sample = Sample(np.cumsum(each, axis=1), ascending, begins)
        for at, one in enumerate(q):
            found[at, rows] = sample.quantile(one)
    return found


@dataclass(frozen=True, slots=True)
class Sample:
    """Values, and how often those of each bin were drawn.

    Parameters
    ----------
    cumulated : (r, b) float64
        Of each resample, draws of values of a bin and of those before it.
    ascending : (n,) float64
        The values.
    begins : (b + 1,) int64
        Number of the first value of each bin, and n.
    """

    cumulated: F64
    ascending: F64
    begins: I64

    def quantile(self, q: float) -> F64:
        """Interpolate between order statistics, (r,) float64.

        Parameters
        ----------
        q : float
        """
        total = self.cumulated[:, -1]
        place = (total - 1) * q
        low = np.floor(place)
        share = place - low
        below, above = self._at(low), self._at(np.minimum(low + 1, total - 1))
        return np.where(total > 0, (1 - share) * below + share * above, np.nan)

    def _at(self, place: F64) -> F64:
        """Find the value at a place among those that were drawn, from 0."""
        row = np.arange(len(self.cumulated))
        # half a count apart: sums of weights are whole but for rounding
        middle = place + 0.5
        cell = (self.cumulated > middle[:, None]).argmax(axis=1)
        before = np.where(cell > 0, self.cumulated[row, cell - 1], 0.0)
        drawn = self.cumulated[row, cell] - before
        size = np.diff(self.begins)[cell]
        part = np.divide(middle - before, drawn, out=np.zeros(row.size), where=drawn > 0)
        inside = np.clip((part * size).astype(np.int64), 0, size - 1)
        return np.asarray(self.ascending[self.begins[cell] + inside])
