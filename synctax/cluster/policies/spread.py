"""As many servers for each job as there are."""

from synctax.cluster.policies.free import FreeGpus, lowest


def spread(free: FreeGpus, gpus: int) -> dict[int, int] | None:
    """Place a job on as many servers as possible, as evenly as their free GPUs allow.

    In rounds: one worker on each server that has a free GPU left, those with the most free
    GPUs first. Of equal servers the first.

    Parameters
    ----------
    free : FreeGpus
    gpus : int
        1 or more.

    Returns
    -------
    dict or None
        Workers by server; None where too few GPUs are free.

    Examples
    --------
    >>> import numpy as np
    >>> spread(FreeGpus(np.array([3, 8, 5])), 4)
    {1: 2, 2: 1, 0: 1}
    """
    if gpus > free.total:
        return None
    rounds, last = _rounds(free, gpus)
    placed: dict[int, int] = {}
    for level in reversed(free.levels):
        servers = free.servers(level)
        if not rounds and not last:
            break
        many = servers.bit_count() if rounds else last
        found = lowest(servers, many)
        # more servers have a GPU left after these rounds than the last one needs
        more = min(last, len(found))
        placed.update(dict.fromkeys(found[:more], rounds + 1))
        placed.update(dict.fromkeys(found[more:], min(rounds, level)))
        last -= more
    return placed


def _rounds(free: FreeGpus, gpus: int) -> tuple[int, int]:
    """Count rounds that are whole, and the workers of the last one, which is not."""
    taking = sum(free.servers(level).bit_count() for level in free.levels)
    done = 0
    for level in free.levels:
        rounds = min(level - done, gpus // taking)
        done += rounds
        gpus -= rounds * taking
        if done < level or not gpus:
            break
        taking -= free.servers(level).bit_count()
    return done, gpus
