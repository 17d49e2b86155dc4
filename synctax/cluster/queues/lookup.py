"""From a name to a queue."""

from synctax.cluster.machines import QUEUES
from synctax.cluster.queues.backfill import Backfill
from synctax.cluster.queues.fifo import Fifo
from synctax.cluster.queues.queue import Queue
from synctax.planning.possible import ImpossibleError


def queue(name: str) -> Queue:
    """Make an empty queue.

    Parameters
    ----------
    name : QueueName

    Raises
    ------
    ImpossibleError
        If there is no such queue.
    """
    if name == "backfill":
        return Backfill()
    if name == "fifo":
        return Fifo()
    raise ImpossibleError("queue", name, " or ".join(QUEUES))
