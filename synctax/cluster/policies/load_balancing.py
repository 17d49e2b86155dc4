"""Worker by worker to the emptiest server: LeastAllocated, as Kubernetes places pods."""

from itertools import pairwise

from synctax.cluster.policies.free import FreeGpus, lowest


def load_balancing(free: FreeGpus, gpus: int) -> dict[int, int] | None:
    """Place each worker on the server with the most free GPUs. Of equal servers the first.

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
    The MoSim paper (section II-B) asks for the servers with most free GPUs, and for as
    many servers as possible; where that is a contradiction, this is the first and `spread`
    the second.

    Examples
    --------
    >>> import numpy as np
    >>> free = FreeGpus(np.array([3, 8, 5]))
    >>> load_balancing(free, 4), load_balancing(free, 8)
    ({1: 4}, {1: 5, 2: 2, 0: 1})
    """
    if gpus > free.total:
        return None
    levels = [*free.levels[::-1], 0]
    left, drained, low = gpus, 0, 0
    for level, below in pairwise(levels):
        # servers with more are level with these by now: a worker each, round by round
        drained |= free.servers(level)
        many = drained.bit_count()
        low = max(below, level - left // many)
        left -= (level - low) * many
        if low > below or not left:
            break
    placed = {}
    for level in levels[:-1]:
        if level <= low:
            break
        servers = free.servers(level)
        placed.update(dict.fromkeys(lowest(servers, servers.bit_count()), level - low))
    for server in lowest(drained, left):
        placed[server] = placed.get(server, 0) + 1
    return placed
