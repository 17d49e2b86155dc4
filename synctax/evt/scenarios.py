"""What persistently slow ranks mean for more ranks: that depends on how many there are."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64
from synctax.evt.deviations import TailLaw, deviations_us, fit_deviations
from synctax.evt.standard import Standard
from synctax.evt.variation import RankEffects, rank_effects

POINTS = 1_000
"""Points of the integral over the distribution of the maximum."""

BINS = 256
"""Different means of ranks that are told apart."""

_LEAST_EXCEEDANCE = 1e-5  # of the maximum, beyond which the integral leaves it out


@dataclass(frozen=True, slots=True)
class SlowRanks:
    """The mean wait of n ranks for two guesses that data cannot decide between.

    Parameters
    ----------
    series, rank : int
        The slowest rank.
    effect_us : float
        What it takes longer than the mean of its group.
    n : (k,) float64
        Ranks.
    one_us : (k,) float64
        Prediction if among n ranks there is just one like it.
    share_us : (k,) float64
        Prediction if there is the same share of such ranks as in the data.
    """

    series: int
    rank: int
    effect_us: float
    n: F64
    one_us: F64
    share_us: F64


def slow_ranks(standard: Standard, n: F64) -> SlowRanks:
    """Predict for one rank like the slowest, and for the same share of such ranks.

    Each rank keeps its own mean; what varies around it follows the law of the
    deviations. A maximum over ranks of different means has the product of their
    distributions.

    Parameters
    ----------
    standard : Standard
        Over m > 1 ranks.
    n : (k,) float64
        Ranks, at least m.

    Returns
    -------
    SlowRanks

    Raises
    ------
    FitError
        If ranks do not vary within instances, or their tail has no mean.
    """
    times, effects = standard.times, rank_effects(standard)
    expected_us = effects.effect[effects.cell] * standard.b_us[times.block, None]
    # what is left after a mean per rank varies less by one degree of freedom in count
    freedom = np.sqrt(effects.count / np.maximum(effects.count - 1, 1))
    factor = np.sqrt(times.m / (times.m - 1))
    d_us = (deviations_us(times) - factor * expected_us) * freedom[effects.cell]
    weight = standard.instances.astype(np.float64)
    fit = fit_deviations(d_us, times.block, weight)
    shift = effects.effect * standard.mean_b_us / fit.scale_us
    one, share = _mean_maxima(fit.law, effects, shift, n)
    worst = effects.slowest
    others = np.delete(shift, worst)
    weights = np.delete(effects.count, worst)
    mean_others = float(np.average(others, weights=weights))
    one -= mean_others + (shift[worst] - mean_others) / n
    share -= np.average(shift, weights=effects.count)
    return SlowRanks(
        series=int(effects.series[worst]),
        rank=int(effects.rank[worst]),
        effect_us=float(effects.effect_us[worst]),
        n=n,
        one_us=fit.scale_us * one,
        share_us=fit.scale_us * share,
    )


def _mean_maxima(law: TailLaw, effects: RankEffects, shift: F64, n: F64) -> tuple[F64, F64]:
    """Expect the maximum of n ranks with one like the slowest, and with the same share."""
    x = _points(law, float(shift.max()), float(n.max()))
    worst, share = effects.slowest, effects.count / effects.count.sum()
    by, parts = _binned(np.delete(shift, worst), np.delete(share, worst))
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(law.cdf(x - np.append(by, shift[worst])[:, None]))
        slowest, others = log[-1], parts @ log[:-1]
        every = others + share[worst] * slowest
        others /= 1 - share[worst]
    one = _mean(x, np.exp(np.multiply.outer(n - 1, others) + slowest))
    return one, _mean(x, np.exp(np.multiply.outer(n, every)))


def _binned(shift: F64, share: F64) -> tuple[F64, F64]:
    """Put ranks of nearly the same mean together, where there are many: means, shares."""
    width = np.ptp(shift) / BINS or 1.0
    _, found = np.unique(np.round(shift / width), return_inverse=True)
    parts: F64 = np.bincount(found, share).astype(np.float64)
    return np.bincount(found, share * shift) / parts, parts


def _points(law: TailLaw, furthest: float, n: float) -> F64:
    half = POINTS // 2
    rare = np.geomspace(0.5, _LEAST_EXCEEDANCE / n, half)
    usual = np.linspace(1.0, 0.5, half, endpoint=False)
    found = law.quantile(np.concatenate([usual, rare]))
    return np.unique(np.concatenate([found, found + furthest]))


def _mean(x: F64, cdf: F64) -> F64:
    """∫ x dF by the trapezoid of 1 - F, below and beyond the points nothing."""
    result: F64 = x[-1] - np.trapezoid(cdf, x, axis=1)
    return result
