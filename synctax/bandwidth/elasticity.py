"""The bandwidth at which more of it stops to be worth while, with the tax and without."""

import numpy as np

from synctax.arrays import BYTES_PER_US, F64
from synctax.errors import SynctaxError


def check_elasticity(elasticity: float) -> float:
    """Return an elasticity that some bandwidth has: between -1 and 0, without the ends.

    Raises
    ------
    SynctaxError
        At 0 no bandwidth is enough, at -1 none is too little.
    """
    if not -1 < elasticity < 0:
        raise SynctaxError(
            f"an elasticity of {elasticity:g} has no bandwidth: it must lie between -1 "
            "(time that is all transfer) and 0 (none of it), the ends left out, such as "
            "-0.5"
        )
    return elasticity


def optimum_gb_per_s(q: F64, payload_bytes: float, floor_us: F64, elasticity: float) -> F64:
    """Solve the elasticity of a collective's time for the bandwidth.

    B* = q·S·(1 + ε) / (-ε·(p·α + τ)): above it, 1 % more bandwidth saves less than -ε %
    of the time.

    Parameters
    ----------
    q : (k,) float64
        Buffers sent.
    payload_bytes : float
        S.
    floor_us : (k,) float64
        Everything but the transfer, in µs; NaN gives NaN.
    elasticity : float
        ε, between -1 and 0.

    Returns
    -------
    (k,) float64
        In GB/s (10^9 bytes a second) per direction.

    Raises
    ------
    SynctaxError
        If ε does not lie between -1 and 0, or there is no floor: then the time is all
        transfer, its elasticity is -1 at every bandwidth.

    References
    ----------
    Synchronization-tax paper, section 6.1, equations 8 and 9.

    Examples
    --------
    At -0.5 the transfer takes as long as the floor:

    >>> optimum_gb_per_s(np.array([2.0]), 450_000_000, np.array([2000.0]), -0.5)
    array([450.])
    """
    check_elasticity(elasticity)
    floor_us = np.asarray(floor_us, np.float64)
    if (floor_us <= 0).any():
        raise SynctaxError(
            "without latency and tax the time is all transfer, and every bandwidth has "
            "elasticity -1: there is no best one; give --alpha-us above 0 or a tax"
        )
    return q * payload_bytes * (1 + elasticity) / (-elasticity * floor_us * BYTES_PER_US)


def reduction(tau_us: F64, hockney_floor_us: F64) -> F64:
    """By what share the tax lowers the best bandwidth, whatever the elasticity.

    Parameters
    ----------
    tau_us : (k,) float64
    hockney_floor_us : (k,) float64
        p·α, and what else does not depend on bandwidth, without the tax.

    Returns
    -------
    (k,) float64
        τ / (p·α + τ), a fraction.

    Examples
    --------
    >>> reduction(np.array([754.27]), np.array([1270.0])).round(4)
    array([0.3726])
    """
    return tau_us / (hockney_floor_us + tau_us)
