"""What block times vary with: the instance, the rank, or neither."""

import math
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64
from synctax.evt.moments import of_sorted
from synctax.evt.rank_memory import RankMemory, rank_memory
from synctax.evt.standard import Standard
from synctax.evt.streams import stream

ENOUGH_EXPECTED = 5.0
"""Below this expected count the χ² distribution is replaced by drawing."""

DRAWS = 499
"""How often stragglers are drawn, where they are."""

NORMAL_KURTOSIS = 0.1226017195
"""L-kurtosis of a normal law, 30/π · arctan √2 - 9."""

SHAPE_VARIANCES = np.array([0.1866, 0.0883])
"""Variance of L-skewness and L-kurtosis of a normal sample, times its size."""

_NOTHING = 1e-20  # variance that arithmetic leaves, as a share of b²


@dataclass(frozen=True, slots=True)
class Common:
    """Variation that all ranks of an instance share: nobody waits for it.

    Parameters
    ----------
    share : float
        Of the variance b²; what independent ranks give by chance is taken off.
    p : float
        Of the F test that there is none.
    """

    share: float
    p: float


def common_variation(standard: Standard) -> Common:
    """Compare the variance of instance means with what independent ranks would give.

    What ranks differ by persistently is no part of either. Where ranks remember, both
    variances have the degrees of freedom of as many independent times.

    Parameters
    ----------
    standard : Standard
        Over m > 1 ranks.

    Returns
    -------
    Common

    References
    ----------
    Scheffé, The Analysis of Variance, 1959: the one-way layout with random effects.
    """
    from scipy.special import fdtrc

    times, m = standard.times, standard.times.m
    effects = rank_effects(standard)
    off = times.us.mean(axis=1) - standard.a_us[times.block]
    off = off / standard.b_us[times.block]
    df = len(times) - len(times.blocks)
    between = m * float((off * off).sum()) / df
    free, left = df / effects.memory.of_variance, effects.df_left_of_variance
    p = float(fdtrc(free, left, between / effects.left)) if effects.left else 0.0
    return Common((between - effects.left) / m, p)


@dataclass(frozen=True, slots=True)
class RankEffects:
    """What ranks take longer than the others of their instances, on average.

    Parameters
    ----------
    series, rank : (k,) int64
        Each rank of each series.
    count : (k,) int64
        Instances that it was in.
    effect : (k,) float64
        Mean of (X - mean of the instance) / b.
    effect_us : (k,) float64
        The same in µs.
    cell : (i, m) int64
        Which of them each time belongs to.
    left, df_left : float, int
        Variance within instances that they do not explain, as a share of b², and its
        degrees of freedom.
    share : float
        Their variance as a share of b²; what chance gives is taken off.
    p : float
        Of the F test that all are 0.
    memory : RankMemory
        Of what they do not explain; share and p allow for it.
    """

    series: I64
    rank: I64
    count: I64
    effect: F64
    effect_us: F64
    cell: I64
    left: float
    df_left: int
    share: float
    p: float
    memory: RankMemory

    @property
    def df_left_of_variance(self) -> float:
        """Degrees of freedom of the variance that is left, were times independent."""
        return self.df_left / self.memory.of_variance

    @property
    def slowest(self) -> int:
        """Which of them is largest."""
        return int(self.effect.argmax())


def rank_effects(standard: Standard) -> RankEffects:
    """Test whether the same ranks are slow again and again.

    The two-way layout: the mean of the instance, and with it block and moment, is taken
    off first; the ranks of a series are then compared over its instances. A rank that is
    slow for a while by chance takes part as often as it would if it forgot.

    Parameters
    ----------
    standard : Standard
        Over m > 1 ranks. Exact for instances over all ranks of a series; in groups that
        were cut from them effects come out up to a quarter too small.

    Returns
    -------
    RankEffects

    References
    ----------
    Scheffé, The Analysis of Variance, 1959: the two-way layout.
    """
    from scipy.special import fdtrc

    times = standard.times
    off_us = times.us - times.us.mean(axis=1, keepdims=True)
    y = off_us / standard.b_us[times.block, None]
    series, rank, cell, count = _cells(standard)
    effect = np.bincount(cell.ravel(), y.ravel()) / count
    effect_us = np.bincount(cell.ravel(), off_us.ravel()) / count
    explained = float(count @ (effect * effect))
    df = rank.size - np.unique(series).size
    df_left = max(len(times) * (times.m - 1) - df, 1)
    left = max(float((y * y).sum()) - explained, 0.0) / df_left
    past = rank_memory(y - effect[cell], cell)
    chance = left * past.of_mean
    share = (explained - df * chance) / y.size
    freedom = past.freedom(df_left)
    p = float(fdtrc(df, freedom, explained / df / chance)) if left else 0.0
    return RankEffects(
        series, rank, count, effect, effect_us, cell, left, df_left, share, p, past
    )


def _cells(standard: Standard) -> tuple[I64, I64, I64, I64]:
    times = standard.times
    span = int(times.rank.max()) + 1
    key = times.series[:, None] * span + times.rank
    found, cell, count = np.unique(key, return_inverse=True, return_counts=True)
    return found // span, found % span, cell.reshape(key.shape), count


@dataclass(frozen=True, slots=True)
class Stragglers:
    """Who was slowest how often.

    Parameters
    ----------
    association : float
        How far from chance: Cramér's V, 0 for chance, 1 if it is always the same rank.
    p : float
        Of the χ² test that each rank of an instance is equally likely; NaN if no
        instance has a single slowest rank.
    series, rank : int
        The rank that was slowest most often beyond its turn.
    share, expected_share : float
        Of its instances, in which it was slowest; and by chance.
    """

    association: float
    p: float
    series: int
    rank: int
    share: float
    expected_share: float


def stragglers(standard: Standard, *, seed: int = 0) -> Stragglers:
    """Test whether the slowest rank is a matter of chance; ties are left out.

    A rank that is slow for a while has its turn again and again: where ranks remember,
    turns count for as many as would be independent.

    Parameters
    ----------
    standard : Standard
        Over m > 1 ranks.
    seed : int
        Of the draws that replace the χ² distribution where counts are small.

    Returns
    -------
    Stragglers

    References
    ----------
    Synchronization-tax paper, section 3.3 (the straggler shifts); Bergsma, A bias
    correction for Cramér's V, 2013.
    """
    times, m = standard.times, standard.times.m
    effects = rank_effects(standard)
    series, rank, cell = effects.series, effects.rank, effects.cell
    alone = (times.us == times.us.max(axis=1, keepdims=True)).sum(axis=1) == 1
    cell, slowest = cell[alone], times.us[alone].argmax(axis=1)
    expected = np.bincount(cell.ravel(), minlength=rank.size) / m
    if not alone.any():
        return Stragglers(0.0, float("nan"), -1, -1, float("nan"), 1 / m)
    count = _slowest_counts(cell, slowest, rank.size)
    often = count / np.where(expected > 0, expected, 1)
    past = _memory_of_turns(cell, slowest, often, effects.memory.lags)
    chi2 = _chi2(count, expected) / past.of_mean
    df = int((expected > 0).sum()) - np.unique(series[expected > 0]).size
    beyond = max(chi2 - df, 0.0) * past.of_mean / (len(cell) * (m - 1))
    most = int((count - expected).argmax())
    return Stragglers(
        association=min(beyond**0.5, 1.0),
        p=_straggler_p(chi2, df, (cell, expected, past), seed),
        series=int(series[most]),
        rank=int(rank[most]),
        share=float(count[most] / (expected[most] * m)),
        expected_share=1 / m,
    )


@dataclass(frozen=True, slots=True)
class DeviationShape:
    """What deviations from a mean show of the shape of single ranks, and what not.

    Parameters
    ----------
    lost_skewness : float
        L-skewness of single ranks beyond that of their deviations; NaN for two ranks,
        whose deviations have none.
    skewness_p : float
        Of the test that deviations have none.
    kurtosis_beyond_normal : float
        L-kurtosis of the deviations less that of a normal law.
    kurtosis_p : float
        Of the test that it is that of a normal law.
    """

    lost_skewness: float
    skewness_p: float
    kurtosis_beyond_normal: float
    kurtosis_p: float


def deviation_shape(standard: Standard, *, m: int | None = None) -> DeviationShape:
    """Measure skewness and kurtosis of deviations, and how much of it a mean takes away.

    In X - mean of m ranks, the rank itself and the mean are skewed against each other:
    the skewness is that of X times (m - 2)/√(m(m - 1)). What ranks take longer or shorter
    on average is taken off first: a mixture of means has a shape of its own.

    Parameters
    ----------
    standard : Standard
        Over two or more ranks.
    m : int, optional
        Ranks of the groups whose deviations are fitted, if not those of the block times.

    Returns
    -------
    DeviationShape

    References
    ----------
    Hosking, J. R. Stat. Soc. B 52 (1990), sections 2.4 and 3.4: L-moments of a normal
    law, and their variance in samples of it.
    """
    from scipy.special import erfc

    times, effects = standard.times, rank_effects(standard)
    off = times.us - times.us.mean(axis=1, keepdims=True)
    off /= standard.b_us[times.block, None]
    off -= effects.effect[effects.cell]
    if effects.left < _NOTHING:
        return DeviationShape(math.nan, math.nan, math.nan, math.nan)
    moments = of_sorted(np.sort(off, axis=None))
    seen = _kept_skewness(times.m)
    whole = moments.t3 / seen if seen else math.nan
    # deviations of an instance add up to 0: one of them is no news
    values = effects.df_left_of_variance
    beyond = moments.t4 - NORMAL_KURTOSIS
    at = np.abs([moments.t3, beyond]) / np.sqrt(SHAPE_VARIANCES / values)
    p = erfc(at / math.sqrt(2))
    return DeviationShape(
        lost_skewness=whole * (1 - _kept_skewness(m or times.m)),
        skewness_p=float(p[0]),
        kurtosis_beyond_normal=beyond,
        kurtosis_p=float(p[1]),
    )


def _kept_skewness(m: int) -> float:
    return (m - 2) / math.sqrt(m * (m - 1))


def _slowest_counts(cell: I64, slowest: I64, cells: int) -> I64:
    return np.bincount(cell[np.arange(len(cell)), slowest], minlength=cells)


def _chi2(count: I64, expected: F64) -> float:
    seen = expected > 0
    return float(((count - expected)[seen] ** 2 / expected[seen]).sum())


def _memory_of_turns(cell: I64, slowest: I64, often: F64, lags: int) -> RankMemory:
    """Measure how often a rank that was slowest is so again; `often` is 1 by chance."""
    off = -often[cell] / cell.shape[1]
    off[np.arange(len(cell)), slowest] += 1
    # ranks of which all instances are ties have no place among the numbers
    _, dense = np.unique(cell, return_inverse=True)
    return rank_memory(off, dense.reshape(cell.shape), lags=lags)


def _straggler_p(
    chi2: float, df: int, turns: tuple[I64, F64, RankMemory], seed: int
) -> float:
    cell, expected, past = turns
    if expected[expected > 0].min() >= ENOUGH_EXPECTED:
        # scipy.special: the whole of scipy.stats would take longer to import than to use.
        from scipy.special import chdtrc, fdtrc

        if not past.lags:
            return float(chdtrc(df, chi2))
        rows, m = cell.shape
        return float(fdtrc(df, past.freedom(rows * (m - 1)), chi2 / df))
    random = stream(seed, "stragglers")
    rows, m = cell.shape
    drawn = np.empty(DRAWS)
    for at in range(DRAWS):
        slowest = random.integers(m, size=(rows,), dtype=np.int64)
        drawn[at] = _chi2(_slowest_counts(cell, slowest, expected.size), expected)
    # Equal statistics differ in their last bits by the order of summation.
    return float((1 + (drawn >= chi2 - 1e-9).sum()) / (1 + DRAWS))
