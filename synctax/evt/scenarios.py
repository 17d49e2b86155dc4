"""What persistently slow ranks mean for more ranks: that depends on how many there are."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64
from synctax.evt.deviations import TailLaw, deviations_us, fit_deviations, spreads_us
from synctax.evt.standard import Standard
from synctax.evt.variation import RankEffects, rank_effects

POINTS = 1_000
"""Points of the integral over the distribution of the maximum."""

BINS = 256
"""Different means of ranks that are told apart."""

KINDS = 16
"""Kinds of blocks that are told apart, by what the slowest rank takes longer in them."""

LEAST_LEFT = 1e-9
"""Spread within a block that its ranks do not explain, at least, as a share of all."""

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

    Each rank keeps its own mean, in each block; what varies around it follows the law of
    the deviations. A maximum over ranks of different means has the product of their
    distributions. Of one series over all its ranks, one such rank among as many as were
    measured gives back what was measured.

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
    shift, expected_us, freedom = _shifts(standard, effects)
    factor = np.sqrt(times.m / (times.m - 1))
    d_us = (deviations_us(times) - factor * expected_us) * freedom
    weight = standard.instances.astype(np.float64)
    law = fit_deviations(d_us, times.block, weight).law
    left_us = spreads_us(d_us, times.block, weight.size)
    # ranks of a block may differ by nothing but their means
    left_us = np.maximum(left_us, LEAST_LEFT * standard.b_us)
    worst = effects.slowest
    one_us, share_us = np.zeros(n.size), np.zeros(n.size)
    shift *= (standard.b_us / left_us)[:, None]
    for own, part in _kinds(shift, weight * left_us, worst):
        one, share = _mean_waits(law, effects, own, n)
        one_us += part * one
        share_us += part * share
    return SlowRanks(
        series=int(effects.series[worst]),
        rank=int(effects.rank[worst]),
        effect_us=float(effects.effect_us[worst]),
        n=n,
        one_us=one_us / weight.sum(),
        share_us=share_us / weight.sum(),
    )


def _shifts(standard: Standard, effects: RankEffects) -> tuple[F64, F64, F64]:
    """Tell what each rank takes longer in each block.

    As many of its own spreads in every block, or as many µs, or neither: between one
    number of spreads for all and the mean of each block alone, as far as these differ by
    more than chance (the positive-part rule of James and Stein).

    Returns
    -------
    shift : (c, k) float64
        Of each block and rank, in spreads of the block.
    expected_us : (i, m) float64
        The same for each time, in µs.
    freedom : (i, m) float64
        What residuals are to be multiplied by, to vary as much as if means were known.
    """
    times, ranks = standard.times, effects.rank.size
    b_us = standard.b_us[times.block, None]
    y = (times.us - times.us.mean(axis=1, keepdims=True)) / b_us
    blocks = standard.b_us.size
    key = times.block[:, None] * ranks + effects.cell
    size = blocks * ranks
    count = np.bincount(key.ravel(), minlength=size)
    off = y - effects.effect[effects.cell]
    own = np.bincount(key.ravel(), off.ravel(), size) / np.maximum(count, 1)
    beyond = float(count @ (own * own))
    df = max((blocks - 1) * (times.m - 1), 1)
    kept = max(1 - df * effects.left / beyond, 0.0) if beyond and blocks > 1 else 0.0
    shift = effects.effect + kept * own.reshape(blocks, ranks)
    lost = (1 - kept) / effects.count[effects.cell] + kept / count[key]
    freedom = 1 / np.sqrt(1 - np.minimum(lost, 0.5))
    return shift, shift.ravel()[key] * b_us, freedom


def _kinds(shift: F64, weight_us: F64, worst: int) -> Iterator[tuple[F64, float]]:
    """Put blocks together in which the slowest rank stands out by about as much.

    Shifts are in spreads of what is left of the deviations. Yields means and weights.
    """
    order = np.argsort(shift[:, worst], kind="stable")
    for part in np.array_split(order, min(KINDS, order.size)):
        yield (
            np.average(shift[part], axis=0, weights=weight_us[part]),
            weight_us[part].sum(),
        )


def _mean_waits(law: TailLaw, effects: RankEffects, shift: F64, n: F64) -> tuple[F64, F64]:
    """Expect the mean wait with one rank like the slowest, and with the same share."""
    one, share = _mean_maxima(law, effects, shift, n)
    worst = effects.slowest
    others = float(np.average(np.delete(shift, worst), weights=_without(effects)))
    one -= others + (shift[worst] - others) / n
    return one, share - np.average(shift, weights=effects.count)


def _without(effects: RankEffects) -> I64:
    return np.delete(effects.count, effects.slowest)


def _mean_maxima(law: TailLaw, effects: RankEffects, shift: F64, n: F64) -> tuple[F64, F64]:
    """Expect the maximum of n ranks with one like the slowest, and with the same share."""
    x = _points(law, shift, float(n.max()))
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


def _points(law: TailLaw, shift: F64, n: float) -> F64:
    half = POINTS // 2
    rare = np.geomspace(0.5, _LEAST_EXCEEDANCE / n, half)
    usual = np.linspace(1.0, 0.5, half, endpoint=False)
    found = law.quantile(np.concatenate([usual, rare]))
    return np.unique(np.concatenate([found, found + float(shift.max())]))


def _mean(x: F64, cdf: F64) -> F64:
    """∫ x dF by the trapezoid of 1 - F, below and beyond the points nothing."""
    result: F64 = x[-1] - np.trapezoid(cdf, x, axis=1)
    return result
