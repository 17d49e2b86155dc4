"""Prediction beside measurement on the paths that were fitted, by kind of block.

The paper's figure 11: of each kind of block, the mean wait that the pooled law predicts
against the mean wait that was measured.
"""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.errors import FitError
from synctax.evt.bootstrap import MIN_DISTINCT_VALUES
from synctax.evt.gumbel import fit_gumbel
from synctax.evt.intervals import interval
from synctax.evt.measured import mean_known
from synctax.evt.model import Block, BlockTimes
from synctax.evt.options import DEFAULT_RESAMPLES
from synctax.evt.resample import Resampler, draw, drawn_share, memory, resampler
from synctax.evt.standard import Standard
from synctax.evt.streams import stream

LEAST_RESAMPLES = 50
"""Enough for the spread of a ratio: it is then known to a tenth."""

OVERALL = "all"
"""Name of the segment of everything."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Blocks that share group, GPU model, type and phase, over as many ranks.

    Parameters
    ----------
    group, gpu, dtype, phase : str
        "" where the trace does not say; `group` is "all" for everything together.
    n : int or None
        Ranks of its groups; None where they differ.
    blocks, instances : int
    a_us, b_us : float
        Means over its instances.
    tau_us : float
        Mean wait that the Gumbel law, pooled over all segments, predicts for n ranks.
    tax_mean_us : float
        Mean wait measured at its collectives, where it is known; NaN if nowhere.
    measured_us : float
        Mean wait by its block times alone: mean of max - mean.
    ratio, ratio_lo, ratio_hi : float
        Prediction over measurement at the collectives whose wait is known, and its
        interval by resampling instances.
    blocks_ratio, blocks_ratio_lo, blocks_ratio_hi : float
        `tau_us` over `measured_us`.
    max_us_median, max_us_p99 : float
        Of its block maxima, over the ranks of the fit.
    z_p99 : float
        Of the same, standardised: how heavy the tail is.
    """

    group: str
    gpu: str
    dtype: str
    phase: str
    n: int | None
    blocks: int
    instances: int
    a_us: float
    b_us: float
    tau_us: float
    tax_mean_us: float
    measured_us: float
    ratio: float
    ratio_lo: float
    ratio_hi: float
    blocks_ratio: float
    blocks_ratio_lo: float
    blocks_ratio_hi: float
    max_us_median: float
    max_us_p99: float
    z_p99: float


@dataclass(frozen=True, slots=True)
class Instances:
    """What was measured of each instance, in the order of the fit.

    Parameters
    ----------
    n : (u,) int64
        Ranks of its group, before it was cut.
    wait_us : (u,) float64
        Mean wait by block times: largest less mean.
    tax_mean_us : (u,) float64
        Mean wait measured at its collective; NaN unknown.
    """

    n: I64
    wait_us: F64
    tax_mean_us: F64

    @classmethod
    def of(cls, sets: "tuple[BlockTimes, ...]") -> "Instances":
        """Measure the instances of some sets, one after the other."""
        return cls(
            np.concatenate([np.full(len(one), one.m, np.int64) for one in sets]),
            np.concatenate([one.wait_us for one in sets]),
            np.concatenate([one.measured_us for one in sets]),
        )


def segments(
    standard: Standard,
    seen: Instances,
    *,
    level: float,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> tuple[Segment, ...]:
    """Compare prediction and measurement, overall and for each kind of block.

    One law of z is fitted to all; a segment's prediction is that law on its own spread b.
    Each resample draws whole instances, fits the law anew, and measures on what was drawn.

    Parameters
    ----------
    standard : Standard
        Standardised block times.
    seen : Instances
        The u instances of these, before they were cut.
    level : float
        Of the intervals.
    resamples : int
        Fewer are drawn of very many instances.
    seed : int

    Returns
    -------
    tuple of Segment
        First that of everything.

    Raises
    ------
    FitError
        If the maxima carry no Gumbel fit.

    References
    ----------
    Synchronization-tax paper, section 5.3 and figures 10 and 11.
    """
    prepared = resampler(standard)
    keys = [_key(block) for block in standard.times.blocks]
    members = _members(keys, prepared, seen)
    everyone = np.arange(len(prepared.units))
    point = _compare(prepared, seen, members, everyone)
    past = memory(standard)
    random = stream(seed, "segments")
    drawn = []
    share = drawn_share(len(standard.times), prepared.m)
    # each draws all, for segments of few instances; fewer of them where instances are many
    for _ in range(max(round(resamples * share), min(resamples, LEAST_RESAMPLES))):
        try:
            which = draw(prepared.units, past.block_length, random)
            drawn.append(_compare(prepared, seen, members, which))
        except FitError:  # few values over and over: as unknown as in `bootstrap`
            drawn.append(np.full(point.shape, np.nan))
    made = np.array(drawn)
    numbers = [*point[:-1]]
    for predicted, measured in ((3, 1), (0, 2)):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = point[predicted] / point[measured]
            again = made[:, predicted] / made[:, measured]
        bounds = interval(ratio, again, level=level, blocks=past.blocks)
        numbers += [ratio, *bounds]
    told = np.array(numbers)
    return tuple(
        _segment(key, inside, (standard, prepared, seen), told[:, at].tolist())
        for at, (key, inside) in enumerate(members)
    )


def _segment(
    key: "_Key",
    inside: Bool,
    of: tuple[Standard, Resampler, Instances],
    numbers: list[float],
) -> Segment:
    """Put together what is known of the instances of one segment."""
    standard, prepared, seen = of
    block = prepared.units.block[inside]
    rows = prepared.units.rows_of(np.flatnonzero(inside))
    median_us, p99_us = np.quantile(standard.times.us[rows].max(axis=1), [0.5, 0.99])
    ranks = np.unique(seen.n[inside])
    tau, tax_mean, measured, ratio, lo, hi, blocks_ratio, blocks_lo, blocks_hi = numbers
    return Segment(
        *key,
        n=int(ranks[0]) if ranks.size == 1 else None,
        blocks=int(np.unique(block).size),
        instances=int(inside.sum()),
        a_us=float(standard.a_us[block].mean()),
        b_us=float(standard.b_us[block].mean()),
        tau_us=tau,
        tax_mean_us=tax_mean,
        measured_us=measured,
        ratio=ratio,
        ratio_lo=lo,
        ratio_hi=hi,
        blocks_ratio=blocks_ratio,
        blocks_ratio_lo=blocks_lo,
        blocks_ratio_hi=blocks_hi,
        max_us_median=float(median_us),
        max_us_p99=float(p99_us),
        z_p99=float(np.quantile(standard.z[rows], 0.99)),
    )


_Key = tuple[str, str, str, str]


def _key(block: Block) -> _Key:
    return block.group, block.gpu, block.dtype, block.phase


def _members(
    keys: list[_Key], prepared: Resampler, seen: Instances
) -> list[tuple[_Key, Bool]]:
    """Which instances each segment holds; everything first, the others in order met."""
    code: dict[tuple[_Key, int], int] = {}
    pairs = zip(prepared.units.block.tolist(), seen.n.tolist(), strict=True)
    of = np.array([code.setdefault((keys[b], n), len(code)) for b, n in pairs])
    everything = ((OVERALL, "", "", ""), np.ones(of.size, np.bool_))
    return [everything, *((key, of == at) for at, (key, _) in enumerate(code))]


def _compare(
    prepared: Resampler, seen: Instances, members: list[tuple[_Key, Bool]], drawn: I64
) -> F64:
    """Compare mean waits of each segment, (4, s).

    Predicted, measured, by blocks, and predicted where a measurement is known.
    """
    sample = prepared.sample(drawn)
    fit = fit_gumbel(sample.z, min_distinct=MIN_DISTINCT_VALUES)
    b_us = sample.block_b_us[prepared.units.block[drawn]]
    predicted_us = b_us * fit.mean_z(seen.n[drawn] / prepared.m)
    tax_mean_us = seen.tax_mean_us[drawn]
    comparable_us = np.where(np.isnan(tax_mean_us), np.nan, predicted_us)
    columns = (predicted_us, tax_mean_us, seen.wait_us[drawn], comparable_us)
    return np.array(
        [[mean_known(column[inside[drawn]]) for _, inside in members] for column in columns]
    )
