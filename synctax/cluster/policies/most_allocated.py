"""Worker by worker to the fullest server: MostAllocated, as Kubernetes places pods."""

from synctax.cluster.policies.free import FreeGpus, lowest


def most_allocated(free: FreeGpus, gpus: int) -> dict[int, int] | None:
    """Place each worker on the server with the fewest free GPUs that has one.

    A server that got one has fewer then, so servers are filled one after the other,
    whatever that does to the number of servers. Of equal servers the first.

    Parameters
    ----------
    free : FreeGpus
    gpus : int
        1 or more.

    Returns
    -------
    dict or None
        Workers by server; None where too few GPUs are free.

    Notes
    -----
    Kubernetes' NodeResourcesFit scores by the share of a server that is taken; here it is
    the number of GPUs that counts, as in the MoSim paper. On servers of one size they
    agree.

    Examples
    --------
    >>> import numpy as np
    >>> most_allocated(FreeGpus(np.array([3, 8, 5])), 8)
    {0: 3, 2: 5}
    """
    if gpus > free.total:
        return None
    placed: dict[int, int] = {}
    left = gpus
    for level in free.levels:
        whole, rest = divmod(left, level)
        first = lowest(free.servers(level), whole + (rest > 0))
        placed.update(dict.fromkeys(first[:whole], level))
        left -= level * min(whole, len(first))
        if len(first) > whole:
            placed[first[whole]] = left
            left = 0
        if not left:
            break
    return placed
