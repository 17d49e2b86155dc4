"""What the numbers of a tax model cannot be: out of range, or against each other."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from itertools import pairwise
from math import isclose, log
from typing import Any

import numpy as np

from synctax.arrays import F64
from synctax.evt.tax import Curve, Gumbel, TaxModel

MAX_RANKS = 2**31 - 1
"""No group has more ranks."""

MAX_BYTES = 2**60
"""No payload is larger."""

LARGEST_US = 1e15
"""No time is longer: 30 years."""

LARGEST = 1e9
"""No standardised number is larger."""

MAX_SHAPE = 10.0
"""No tail has a shape beyond; from 1 on it has no mean."""

NEAR = 1e-6
"""Relative difference that is rounding of a computation."""

ROUNDED = 0.01
"""Relative difference that is rounding by hand."""


def problems(model: TaxModel) -> Iterator[str]:
    """Say what is wrong with a model, by key: what was expected, what found.

    Parameters
    ----------
    model : TaxModel

    Yields
    ------
    str
        Nothing for a model that can be.
    """
    yield from _signs(model, "")
    if not model.methods:
        yield "expected at least one of gumbel, gev, lmoments and deviations, found none"
    for name in model.methods:
        part = getattr(model, name)
        yield from _signs(part, f"{name}.")
        if part.curve is not None:
            yield from _curve(part.curve, f"{name}.curve")
    if model.trusted is not None and model.trusted not in model.methods:
        yield f"trusted: expected one of the predictors in it, found {model.trusted}"
    if len(model.concerns) not in (0, len(model.warnings)):
        yield (
            f"concerns: expected one entry for each of {len(model.warnings)} warnings, "
            f"found {len(model.concerns)}"
        )
    yield from _covariance(model, "gumbel", 2)
    yield from _covariance(model, "gev", 3)
    if model.gumbel is not None:
        yield from _enough(model.gumbel)
        yield from _two_ways(model, model.gumbel)
    if model.coverage is not None:
        yield from _signs(model.coverage, "coverage.")


_Rule = tuple[str, Callable[[float], bool]]


def _from(least: float, most: float, unit: str = "") -> _Rule:
    return f"{least:g} to {most:g}{unit}", lambda value: least <= value <= most


_TIME = _from(1e-9, LARGEST_US, " µs")
_SCALE = _from(1e-9, LARGEST)
_ANY = _from(-LARGEST, LARGEST)
_RANKS: _Rule = (
    f"2 ranks or more, up to {MAX_RANKS:,}",
    lambda value: 2 <= value <= MAX_RANKS,
)
_NOT_NEGATIVE: _Rule = ("0 or more", lambda value: value >= 0)
_ERROR: _Rule = (f"0 to {LARGEST:g}", lambda value: 0 <= value <= LARGEST)
_SHARE: _Rule = ("a share from 0 to 1", lambda value: 0 <= value <= 1)

_RULES: Mapping[str, _Rule] = {
    "n_fit": _RANKS,
    "a_us": _TIME,
    "b_us": _TIME,
    "r": _SCALE,
    "payload_bytes": ("1 byte to 2^60", lambda value: 1 <= value <= MAX_BYTES),
    "alpha_us": (
        "0, or 1e-06 to 1e+09 µs",
        lambda value: not value or 1e-6 <= value <= 1e9,
    ),
    "blocks": _NOT_NEGATIVE,
    "maxima": _NOT_NEGATIVE,
    "loc": _ANY,
    "threshold": _ANY,
    "scale": _SCALE,
    "shape": _from(-MAX_SHAPE, MAX_SHAPE),
    "b_scale_us": _TIME,
    "tau_us": _from(-LARGEST_US, LARGEST_US, " µs"),
    "n": _RANKS,
    "loc_se": _ERROR,
    "scale_se": _ERROR,
    "shape_se": _ERROR,
    "lr_p": _SHARE,
    "unit_us": _TIME,
    "tail_share": _SHARE,
    "instances": _NOT_NEGATIVE,
    "share_of_collectives": _SHARE,
    "share_of_tax": _SHARE,
    "collectives": _NOT_NEGATIVE,
    "entered": _NOT_NEGATIVE,
}


def _signs(owner: Any, prefix: str) -> Iterator[str]:
    for one in fields(owner):
        value = getattr(owner, one.name)
        if one.name in _RULES and value is not None:
            expected, holds = _RULES[one.name]
            if not holds(value):
                yield f"{prefix}{one.name}: expected {expected}, found {value:g}"


def _curve(curve: Curve, where: str) -> Iterator[str]:
    lengths = {
        name: len(getattr(curve, name))
        for name in ("n", "tau_us", "tau_lo_us", "tau_hi_us")
    }
    if len(set(lengths.values())) > 1 or not curve.n:
        found = ", ".join(f"{count} {name}" for name, count in lengths.items())
        yield f"{where}: expected lists of one length, found {found}"
        return
    if curve.n[0] <= 0 or any(low >= high for low, high in pairwise(curve.n)):
        yield f"{where}.n: expected ascending numbers of ranks"
    if not 0 < curve.level < 1:
        yield f"{where}.level: expected a level between 0 and 1, found {curve.level:g}"
    columns = (curve.tau_lo_us, curve.tau_us, curve.tau_hi_us)
    for n, *values in zip(curve.n, *columns, strict=True):
        known = [value for value in values if value is not None]
        if any(abs(value) > LARGEST_US for value in known):
            yield f"{where}: expected up to {LARGEST_US:g} µs, found more at n = {n:g}"
        elif any(low > high * (1 + NEAR) for low, high in pairwise(known) if high > 0):
            found = ", ".join(f"{value:g}" for value in known)
            yield f"{where}: expected lo, tau, hi to ascend, found {found} at n = {n:g}"


def _covariance(model: TaxModel, name: str, size: int) -> Iterator[str]:
    part = getattr(model, name)
    cov = None if part is None else part.cov
    if cov is None:
        return
    if [len(row) for row in cov] != [size] * size:
        rows = " + ".join(str(len(row)) for row in cov) or "0"
        yield f"{name}.cov: expected {size} rows of {size} numbers, found {rows}"
    elif any(cov[i][i] < 0 for i in range(size)):
        yield f"{name}.cov: expected variances of 0 or more on its diagonal"
    elif not _is_covariance(np.array(cov, np.float64)):
        yield (
            f"{name}.cov: expected a covariance, symmetric and without negative eigenvalues"
        )


def _is_covariance(cov: F64) -> bool:
    """Whether it is symmetric and no combination has a negative variance, nearly."""
    if np.abs(cov).max() > LARGEST**2:
        return False
    errors = np.sqrt(np.diag(cov))
    scaled = (
        cov / np.where(errors > 0, errors, 1.0) / np.where(errors > 0, errors, 1.0)[:, None]
    )
    even = np.abs(scaled - scaled.T).max() <= NEAR
    return bool(even and np.linalg.eigvalsh((scaled + scaled.T) / 2).min() >= -NEAR)


def _enough(part: Gumbel) -> Iterator[str]:
    """A law by two parameters, or a slope through one point."""
    ways = (("loc", "scale"), ("b_scale_us", "tau_us", "n"))
    missing = [[name for name in way if getattr(part, name) is None] for way in ways]
    least: list[str] = min(missing, key=len)
    if least:
        yield (
            "gumbel: expected loc and scale, or b_scale_us, tau_us and n; "
            f"{' and '.join(least)} missing"
        )


def _two_ways(model: TaxModel, part: Gumbel) -> Iterator[str]:
    """A law, a slope through a point, and a curve say the same where all are given."""
    tells = model.b_us is not None and part.loc is not None and part.scale is not None
    by_slope = None not in (part.b_scale_us, part.tau_us, part.n)

    def law(n: float) -> float:
        b_us, loc, scale = model.b_us or 0, part.loc or 0, part.scale or 0
        return b_us * (loc + scale * (np.euler_gamma + log(n / model.n_fit)))

    def slope(n: float) -> float:
        step = part.b_scale_us or 0
        return (part.tau_us or 0) + step * log(n / (part.n or 1))

    if tells and by_slope:
        for n in (part.n or 1, 2 * (part.n or 1)):
            if not isclose(law(n), slope(n), rel_tol=ROUNDED):
                yield (
                    f"gumbel: loc and scale give {law(n):g} µs at n = {n:g}, but "
                    f"b_scale_us and tau_us {slope(n):g} µs; leave out one of the two"
                )
                return
    if part.curve is None or not (tells or by_slope):
        return
    at = law if tells else slope
    for n, lo, hi in zip(
        part.curve.n, part.curve.tau_lo_us, part.curve.tau_hi_us, strict=True
    ):
        below = lo is not None and at(n) < lo - ROUNDED * abs(lo)
        above = hi is not None and at(n) > hi + ROUNDED * abs(hi)
        if n >= model.n_fit and (below or above):
            yield (
                f"gumbel.curve: its interval at n = {n:g} does not hold the {at(n):g} µs "
                "that the law gives"
            )
            return
