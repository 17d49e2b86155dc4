"""How long a collective takes, what of it is transfer, latency and wait."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import BYTES_PER_US, F64


@dataclass(frozen=True, slots=True)
class Parts:
    """What the time of a collective is made of, for k sizes.

    Parameters
    ----------
    transfer_us : (k,) float64
        q·S/B: the part that bandwidth shortens, in µs.
    latency_us : (k,) float64
        p·α.
    nic_us : (k,) float64
        The links between domains, whole; 0 in one domain.
    tau_us : (k,) float64
        The synchronization tax: mean wait of a rank.
    compute_us : float
        Computation before it, where time is taken end to end; else 0.
    """

    transfer_us: F64
    latency_us: F64
    nic_us: F64
    tau_us: F64
    compute_us: float = 0.0

    @property
    def floor_us(self) -> F64:
        """What no bandwidth takes away, in µs."""
        return self.latency_us + self.nic_us + self.tau_us + self.compute_us

    @property
    def time_us(self) -> F64:
        """All of it, in µs.

        References
        ----------
        Synchronization-tax paper, sections 2.3 (Hockney) and 6.1.
        """
        return self.transfer_us + self.floor_us

    @property
    def elasticity(self) -> F64:
        """Relative change of the time per relative change of B: -transfer / time."""
        return -self.transfer_us / self.time_us


def transfer_us(q: F64, payload_bytes: float, gb_per_s: F64 | float) -> F64:
    """Take the time that q buffers need on the wire.

    Parameters
    ----------
    q : (k,) float64
        Buffers.
    payload_bytes : float
        Size of one.
    gb_per_s : (k,) float64 or float
        Bandwidth in 10^9 bytes a second per direction.

    Returns
    -------
    (k,) float64
        In µs.

    Examples
    --------
    >>> transfer_us(np.array([2.0]), 450_000_000, 450.0)
    array([2000.])
    """
    return q * payload_bytes / (np.asarray(gb_per_s, np.float64) * BYTES_PER_US)
