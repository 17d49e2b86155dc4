"""Random kernel times: standard draws of the laws a job can ask for."""

import math

import numpy as np

from synctax.arrays import F64
from synctax.synth.job import JitterLaw

_SMALLEST = 1e-300
"""Keeps the logarithm of a draw finite."""


def standard_draws(
    rng: np.random.Generator, law: JitterLaw, shape: tuple[int, ...], *, xi: float
) -> F64:
    """Draw from a law, shifted and scaled to mean 0 and standard deviation 1.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the draws.
    law : {"normal", "gumbel", "frechet", "none"}
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
    exponential = -np.log(np.maximum(rng.random(shape), _SMALLEST))
    if law == "gumbel":
        gumbel = -np.log(exponential)
        return (gumbel - np.euler_gamma) * (math.sqrt(6) / math.pi)
    mean = math.gamma(1 - xi)
    deviation = math.sqrt(math.gamma(1 - 2 * xi) - mean**2)
    frechet: F64 = (exponential**-xi - mean) / deviation
    return frechet
