"""Fitted parameters of two sides: how long blocks take, their spread, how waits grow."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64
from synctax.attribution.blocks import FoundBlocks
from synctax.comparison.stats import Difference, Estimate, difference, estimate
from synctax.errors import FitError
from synctax.evt.inputs import gather
from synctax.evt.predict import Predictors, fit_maxima, fit_standard
from synctax.evt.resample import Resampler, draw, memory, resampler
from synctax.evt.standard import Standard

SIZES = (72, 512)
"""Ranks of the groups whose mean wait is predicted: an NVL72 domain, and many more."""

FIT_RESAMPLES = 200
"""A fit costs far more than a mean: so few suffice for standard errors."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What was fitted to one side.

    Parameters
    ----------
    group : str
        Role of whose blocks.
    instances : int
    ranks : int
        Of the groups that were fitted.
    estimates : mapping of str to Estimate
        `a_us`, `b_us`, `r`, `xi`, `tau_us@72`, `tau_us@512`.
    """

    group: str
    instances: int
    ranks: int
    estimates: dict[str, Estimate]


@dataclass(frozen=True, slots=True)
class FitChange:
    """Fits of both sides, or why a side has none."""

    a: Parameters | None
    b: Parameters | None
    refused: tuple[str, str]
    changes: tuple[tuple[str, Difference], ...]

    @property
    def why_not(self) -> tuple[str, ...]:
        """Say of which side what is in the way of a fit."""
        one, two = self.refused
        if self.a is not None and self.b is not None:
            return (one,) if one else ()
        if one and one == two:
            return (f"A and B: {one}",)
        return tuple(
            f"{n}: {text}" for n, text in zip("AB", self.refused, strict=True) if text
        )


def compare_fits(
    a: Sequence[FoundBlocks], b: Sequence[FoundBlocks], *, level: float, seed: int
) -> FitChange:
    """Fit both sides as `fit_evt` does, and compare.

    Parameters
    ----------
    a, b : sequence of FoundBlocks
        Of the runs of each side.
    level : float
        Of intervals.
    seed : int
        Of the draws.

    Returns
    -------
    FitChange
        Of a side whose data do not carry a fit, the reason.
    """
    one, why_a = _attempt(a, (seed, 0))
    two, why_b = _attempt(b, (seed, 1))
    changes: list[tuple[str, Difference]] = []
    if one is not None and two is not None and one.group != two.group:
        why_a = why_b = f"blocks of {one.group} were fitted in A, and of {two.group} in B"
    elif one is not None and two is not None:
        changes = [
            (name, difference(before, two.estimates[name], level))
            for name, before in one.estimates.items()
        ]
    return FitChange(one, two, (why_a, why_b), tuple(changes))


def _attempt(
    found: Sequence[FoundBlocks], seed: tuple[int, int]
) -> tuple[Parameters | None, str]:
    try:
        return fit_side(found, seed), ""
    except FitError as error:
        return None, str(error)


def fit_side(found: Sequence[FoundBlocks], seed: tuple[int, int]) -> Parameters:
    """Fit the blocks of some runs, and draw their instances anew for standard errors.

    Parameters
    ----------
    found : sequence of FoundBlocks
    seed : (int, int)
        Of the draws.

    Raises
    ------
    FitError
        If the data do not carry the fit.
    """
    inputs, standard = gather(found, seed=seed[0])
    fitted = fit_standard(standard)
    remembered = memory(standard)
    values = _values(fitted, standard.mean_a_us, standard.mean_b_us)
    random = np.random.default_rng(seed)
    prepared = resampler(standard)
    drawn = [
        _again(prepared, standard, fitted, (remembered.block_length, random))
        for _ in range(FIT_RESAMPLES)
    ]
    estimates = {
        name: estimate(value, np.array([one[name] for one in drawn]), remembered.blocks)
        for name, value in values.items()
    }
    group = found[0].group
    return Parameters(group, int(standard.instances.sum()), inputs.m, estimates)


def _again(
    prepared: Resampler,
    standard: Standard,
    fitted: Predictors,
    how: tuple[int, np.random.Generator],
) -> dict[str, float]:
    length, random = how
    sample = prepared.sample(draw(prepared.units, length, random))
    block = standard.times.block[sample.rows]
    count = sample.weight.size
    rows = np.maximum(np.bincount(block, minlength=count), 1)
    row_mean: F64 = standard.times.us[sample.rows].mean(axis=1)
    mean = np.bincount(block, row_mean, count) / rows
    again = fit_maxima(sample.z, m=fitted.m, b_us=sample.b_us, start=fitted.gev)
    return _values(again, float(np.average(mean, weights=sample.weight)), sample.b_us)


def _values(fitted: Predictors, a_us: float, b_us: float) -> dict[str, float]:
    shape = fitted.gev or fitted.no_mean
    method = "gev" if fitted.gev is not None else "gumbel"
    sizes = np.array(SIZES, np.float64)
    known = getattr(fitted, method) is not None
    tau = fitted.tau_us(method, sizes) if known else np.full(sizes.size, np.nan)  # type: ignore[arg-type]
    return {
        "a_us": a_us,
        "b_us": b_us,
        "r": b_us / a_us if a_us else float("nan"),
        "xi": float("nan") if shape is None else shape.shape,
    } | {f"tau_us@{n}": float(one) for n, one in zip(SIZES, tau, strict=True)}
