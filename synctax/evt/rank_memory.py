"""How long a rank that is slow stays so by chance: what repeated times of it are worth."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64

LONGEST_LAG = 0.25
"""Memory is followed over this share of the instances of a rank."""

_NOTHING = 1e-20  # variance that arithmetic leaves, in units of what is compared


@dataclass(frozen=True, slots=True)
class RankMemory:
    """What autocorrelation within ranks takes from their times.

    Parameters
    ----------
    lags : int
        Instances after which a rank has forgotten; 0 without memory.
    of_mean : float
        J times of a rank tell its mean as well as J / `of_mean` independent ones.
    of_variance : float
        The same of a variance.
    effective : float
        Independent times of a rank that would tell as much of its mean.
    """

    lags: int
    of_mean: float
    of_variance: float
    effective: float

    def freedom(self, df: float) -> float:
        """Tell the degrees of freedom that are left of `df` in a variance of means."""
        return df / (2 * self.lags + 1)


def rank_memory(off: F64, cell: I64, *, lags: int | None = None) -> RankMemory:
    """Measure how long ranks remember, pooled over all of them.

    Autocorrelations are summed up to the first that chance would give; that each rank's
    own mean was taken off, which makes them too small, is allowed for.

    Parameters
    ----------
    off : (i, m) float64
        What is compared, less the mean of each rank; rows in order of time, m > 1.
    cell : (i, m) int64
        Rank of each, numbered from 0 without gaps.
    lags : int, optional
        How many autocorrelations to sum, where that is known.

    Returns
    -------
    RankMemory

    References
    ----------
    Priestley, Spectral Analysis and Time Series, 1981, section 6.2: variance and degrees
    of freedom of the truncated estimate of the spectrum at 0.
    """
    count = np.bincount(cell.ravel())
    own = off.size / max(count.size, 1)  # instances of a rank
    r = _autocorrelations(off, cell, count)
    if r is None:
        return RankMemory(0, 1.0, 1.0, own)
    free = off.size * (off.shape[1] - 1) / off.shape[1]  # deviations add up to 0
    k = np.arange(1, len(r) + 1)
    of_mean = (1 + 2 * np.cumsum(r)) / (1 - (2 * k + 1) / own)
    if lags is None:
        forgot = r + of_mean / own < 2 / np.sqrt(free)
        lags = int(forgot.argmax()) if forgot.any() else len(r)
    lags = min(lags, len(r))
    if not lags:
        return RankMemory(0, 1.0, 1.0, own)
    mean = max(float(of_mean[lags - 1]), 1.0)
    unbiased = r[:lags] + mean / own
    variance = 1 + 2 * float(unbiased @ unbiased)
    return RankMemory(lags, mean, variance, own / mean)


def _autocorrelations(off: F64, cell: I64, count: I64) -> F64 | None:
    """Correlate each rank with itself, lag after lag; None where nothing varies."""
    longest = int(LONGEST_LAG * off.size / max(count.size, 1))
    if not longest or float(np.square(off).sum()) <= _NOTHING * off.size:
        return None
    values = off.ravel()[np.argsort(cell, axis=None, kind="stable")]
    size = 1 << int(count.max() + longest).bit_length()
    power = np.zeros(size // 2 + 1)
    for end, instances in zip(np.cumsum(count), count, strict=True):
        power += np.abs(np.fft.rfft(values[end - instances : end], size)) ** 2
    product = np.fft.irfft(power, size)
    lag = np.arange(1, longest + 1)
    pairs = np.maximum(count[:, None] - lag, 0).sum(axis=0)
    return np.asarray(product[1 : longest + 1] / product[0] * off.size / pairs)
