"""Random times: standard draws of the laws a job can ask for, and their largest of n."""

import math

import numpy as np

from synctax.arrays import F64
from synctax.synth.job import JitterLaw

_SMALLEST = 1e-300
"""Keeps the logarithm of a draw finite."""

STUDENT_DEGREES = 5
"""Degrees of freedom of the Student law: heavier tails than normal, with a variance."""
_STUDENT_DEVIATION = math.sqrt(STUDENT_DEGREES / (STUDENT_DEGREES - 2))


def standard_draws(
    rng: np.random.Generator, law: JitterLaw, shape: tuple[int, ...], *, xi: float
) -> F64:
    """Draw from a law, shifted and scaled to mean 0 and standard deviation 1.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the draws.
    law : {"normal", "student", "gumbel", "frechet", "none"}
        `none` gives zeros.
    shape : tuple of int
        Shape of the result.
    xi : float
        Shape of the Fréchet law, between 0 and 0.5.

    Returns
    -------
    float64 of that shape
        Draws without unit.

    References
    ----------
    Synchronization-tax paper, section 5: extreme-value laws of block times.
    """
    if law == "none":
        return np.zeros(shape)
    if law == "normal":
        return rng.standard_normal(shape)
    if law == "student":
        student: F64 = rng.standard_t(STUDENT_DEGREES, shape) / _STUDENT_DEVIATION
        return student
    exponential = -np.log(np.maximum(rng.random(shape), _SMALLEST))
    if law == "gumbel":
        gumbel = -np.log(exponential)
        return (gumbel - np.euler_gamma) * (math.sqrt(6) / math.pi)
    mean, deviation = _frechet_moments(xi)
    frechet: F64 = (exponential**-xi - mean) / deviation
    return frechet


def expected_maximum(law: JitterLaw, n: int, *, xi: float) -> float:
    """Expect the largest of n independent standard draws of a law.

    Parameters
    ----------
    law : {"normal", "student", "gumbel", "frechet", "none"}
        As `standard_draws` takes it.
    n : int
        How many, at least 1.
    xi : float
        Shape of the Fréchet law, between 0 and 0.5.

    Returns
    -------
    float
        In closed form for Gumbel, (√6/π)·ln n, and Fréchet, Γ(1 − ξ)·(n^ξ − 1) over its
        standard deviation: their maxima are of the same law. Else by quadrature of
        ∫₀^∞ (1 − F(x)ⁿ − F(−x)ⁿ) dx.

    Raises
    ------
    ValueError
        If n is below 1.

    References
    ----------
    Coles, An Introduction to Statistical Modeling of Extreme Values, section 3.1.
    """
    if n < 1:
        raise ValueError(f"the largest of n draws needs n of at least 1, got {n}")
    if law == "none":
        return 0.0
    if law == "gumbel":
        return math.sqrt(6) / math.pi * math.log(n)
    if law == "frechet":
        mean, deviation = _frechet_moments(xi)
        growth: float = n**xi - 1
        return mean * growth / deviation
    return _expected_maximum_of_symmetric(law, n)


def _frechet_moments(xi: float) -> tuple[float, float]:
    mean = math.gamma(1 - xi)
    return mean, math.sqrt(math.gamma(1 - 2 * xi) - mean**2)


def _expected_maximum_of_symmetric(law: JitterLaw, n: int) -> float:
    from scipy import integrate, special

    def above(x: float) -> float:
        if law == "normal":
            return float(special.ndtr(-x))
        return float(special.stdtr(STUDENT_DEGREES, -x * _STUDENT_DEVIATION))

    def density(x: float) -> float:
        tail = above(x)
        return float(-np.expm1(n * np.log1p(-tail)) - tail**n)

    return float(integrate.quad(density, 0, np.inf)[0])
