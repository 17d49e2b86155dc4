"""From a name to a queue."""

from collections.abc import Callable
from typing import Final

from synctax.cluster.choices import QUEUES
from synctax.cluster.queues.backfill import Backfill
from synctax.cluster.queues.easy import Easy
from synctax.cluster.queues.fifo import Fifo
from synctax.cluster.queues.queue import Queue
from synctax.planning.possible import ImpossibleError

_QUEUES: Final[dict[str, Callable[[], Queue]]] = {
    "backfill": Backfill,
    "fifo": Fifo,
    "easy": Easy,
}


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
    if name not in _QUEUES:
        raise ImpossibleError("queue", name, " or ".join(QUEUES))
    return _QUEUES[name]()
