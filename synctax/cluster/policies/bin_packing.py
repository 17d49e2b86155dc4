"""Few servers for each job, and the fullest that hold it: what MostAllocated is after."""

from bisect import bisect_left

from synctax.cluster.policies.free import FreeGpus, lowest


def bin_packing(free: FreeGpus, gpus: int) -> dict[int, int] | None:
    """Place a job on as few servers as can hold it.

    One server where one can: that with the fewest free GPUs. Else servers with the most
    free GPUs, all of them, until one can hold the rest: that with the fewest. Of equal
    servers the first.

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
    The MoSim paper (section II-B) asks for the fewest servers, and for servers with few
    free GPUs; where that is a contradiction, this is the first and `most_allocated` the
    second.

    Examples
    --------
    >>> import numpy as np
    >>> free = FreeGpus(np.array([3, 8, 5]))
    >>> bin_packing(free, 4), bin_packing(free, 10)
    ({2: 4}, {1: 8, 0: 2})
    """
    if gpus > free.total:
        return None
    placed: dict[int, int] = {}
    left = gpus
    for level in reversed(free.levels):
        servers = free.servers(level)
        whole = -(-left // level) - 1
        first = lowest(servers, whole + 1)
        placed.update(dict.fromkeys(first[:whole], level))
        left -= level * min(whole, len(first))
        if len(first) > whole:
            # one server holds the rest: one of these, or one with less to spare
            best = free.levels[bisect_left(free.levels, left)]
            placed[first[whole] if best == level else lowest(free.servers(best), 1)[0]] = (
                left
            )
            break
    return placed
