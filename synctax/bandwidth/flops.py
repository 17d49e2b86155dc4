"""How bandwidth should grow with FLOPS, where time is taken end to end.

Computation of `a` before each collective becomes a/f with f times the FLOPS. The
elasticity is not chosen: it is what today's link has. What is open is how the wait moves
with the computation (`tau_with_flops`), and whether the model without a wait has an
elasticity of its own (`grounding`); the paper holds the wait fixed, each model its own.
"""

from dataclasses import dataclass

from synctax.arrays import F64
from synctax.bandwidth.choices import GROUNDINGS, TAU_WITH_FLOPS, Grounding, TauWithFlops
from synctax.bandwidth.hockney import Parts


@dataclass(frozen=True, slots=True)
class Reading:
    """How the paper's end-to-end model is read.

    Parameters
    ----------
    tau_with_flops : "stays" or "shrinks"
        Whether τ is what it is today, or falls with a as b = r·a does.
    grounding : "own" or "common"
        Whether the model without τ takes its own elasticity at today's link, so that both
        start there, or that of the model with τ.
    """

    tau_with_flops: TauWithFlops = "stays"
    grounding: Grounding = "own"


READINGS = tuple(Reading(t, g) for t in TAU_WITH_FLOPS for g in GROUNDINGS)


@dataclass(frozen=True, slots=True)
class Grown:
    """Best bandwidth with f times the FLOPS, for k sizes.

    Parameters
    ----------
    elasticity, hockney_elasticity : (k,) float64
        What both models are solved for.
    tau_us : (k,) float64
        The wait that goes with the grown FLOPS.
    gb_per_s, hockney_gb_per_s : (k,) float64
        Best bandwidth with and without τ, in GB/s per direction.
    """

    elasticity: F64
    hockney_elasticity: F64
    tau_us: F64
    gb_per_s: F64
    hockney_gb_per_s: F64

    @property
    def reduction(self) -> F64:
        """By what share τ lowers the best bandwidth."""
        return 1 - self.gb_per_s / self.hockney_gb_per_s


def grow(
    today: Parts,
    link_gb_per_s: float,
    flops_growth: float,
    *,
    reading: Reading = READINGS[0],
) -> Grown:
    """Solve for the bandwidth that keeps the elasticity of today's link.

    With each model's own elasticity the ratio to today's link is
    (p·α + τ + a) / (p·α + τ + a/f), and τ = 0 in the baseline.

    Parameters
    ----------
    today : Parts
        With today's link and computation; `compute_us` above 0.
    link_gb_per_s : float
        Today's link, in GB/s (10^9 bytes a second) per direction.
    flops_growth : float
        f, above 0.
    reading : Reading

    Returns
    -------
    Grown

    Raises
    ------
    ValueError
        If `flops_growth` is not above 0.

    References
    ----------
    Synchronization-tax paper, section 6.2, "End-to-end scaling laws".

    Examples
    --------
    >>> import numpy as np
    >>> parts = Parts(*(np.array([x]) for x in (1193.0, 10.0, 0.0, 1207.0)), 10_400.0)
    >>> grow(parts, 450.0, 2250 / 989).reduction.round(3)
    array([0.117])
    """
    if not flops_growth > 0:
        raise ValueError(f"FLOPS grow by a factor above 0, not {flops_growth}")
    sent = today.transfer_us
    hockney = today.floor_us - today.tau_us
    own = today.elasticity
    baseline = -sent / (sent + hockney) if reading.grounding == "own" else own
    shrunk = today.compute_us / flops_growth
    tau = today.tau_us / (flops_growth if reading.tau_with_flops == "shrinks" else 1.0)
    rest = hockney - today.compute_us + shrunk
    # the transfer in µs at today's link stands for q·S
    with_tau = link_gb_per_s * sent * (1 + own) / (-own * (rest + tau))
    without = link_gb_per_s * sent * (1 + baseline) / (-baseline * rest)
    return Grown(own, baseline, tau, with_tau, without)
