"""How long an all-reduce takes and what it sends, by the alpha-beta model."""

from typing import Final

DEFAULT_LATENCY_S: Final = 5e-6
"""Of a step of a ring, α."""


def ring_s(gpus: int, payload_bytes: float, bytes_per_s: float, latency_s: float) -> float:
    """Time a ring all-reduce: 2·(N-1)/N·G/C + 2·(N-1)·α.

    Parameters
    ----------
    gpus : int
        N.
    payload_bytes : float
        G, of one worker.
    bytes_per_s : float
        C, of the slowest link in one direction.
    latency_s : float
        α.

    Returns
    -------
    float
        In s; 0 for one worker.

    References
    ----------
    Patarasuk and Yuan 2009, Bandwidth optimal all-reduce algorithms; Thakur et al. 2005,
    section 4.

    Examples
    --------
    100 MB over 5 Gb/s:

    >>> [round(ring_s(n, 100e6, 625e6, 5e-6), 5) for n in (1, 2, 4, 8, 16)]
    [0.0, 0.16001, 0.24003, 0.28007, 0.30015]
    """
    steps = 2 * (gpus - 1)
    return steps / gpus * payload_bytes / bytes_per_s + steps * latency_s


def ring_bytes(gpus: int, payload_bytes: float) -> float:
    """Tell what each worker of a ring all-reduce sends: 2·(N-1)/N·G.

    Examples
    --------
    >>> ring_bytes(8, 100e6), 8 * ring_bytes(8, 100e6)
    (175000000.0, 1400000000.0)
    """
    return 2 * (gpus - 1) / gpus * payload_bytes


def two_level_s(
    gpus: int,
    per_server: int,
    payload_bytes: float,
    rates: tuple[float, float],
    latency_s: float,
) -> float:
    """Time an all-reduce in two levels, over servers of as many workers each.

    A reduce-scatter in each server, a ring over the servers for each of its parts, all of
    which share the NIC, and an all-gather in each server:
    2·(k-1)/k·G/B + 2·(m-1)/m·G/C + 2·(k-1 + m-1)·α for k workers on each of m = N/k.

    Parameters
    ----------
    gpus, per_server : int
        N and k, which divides it.
    payload_bytes : float
        G, of one worker.
    rates : tuple of float
        B of a GPU inside its server, C of a server's NIC, in one direction.
    latency_s : float
        α.

    Returns
    -------
    float
        In s.

    References
    ----------
    Jia et al. 2018 (arXiv 1807.11205), section 3.3: hierarchical all-reduce.
    """
    inside, outside = rates
    local_s = ring_s(per_server, payload_bytes, inside, latency_s)
    return local_s + ring_s(gpus // per_server, payload_bytes, outside, latency_s)
