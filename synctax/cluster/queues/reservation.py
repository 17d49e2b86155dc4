"""What is promised to the job that waits first, by when jobs that run will have ended."""

from dataclasses import dataclass

from synctax.cluster.queues.lane import ANY
from synctax.cluster.queues.queue import Desk


@dataclass(slots=True)
class Reservation:
    """What is promised to the job that waits first, and what that leaves to others.

    Parameters
    ----------
    window_ns : int
        From now until the job is expected to start. Others that run no longer may use any
        GPU.
    extra_gpus : int
        That the job will not need then. Others may use so many for as long as they like.
    """

    window_ns: int
    extra_gpus: int

    def within_ns(self, gpus: int) -> int:
        """Longest run time of a job with so many GPUs."""
        return ANY if gpus <= self.extra_gpus else self.window_ns

    def started(self, gpus: int, duration_ns: int) -> None:
        """Take notice of a job that was started."""
        if duration_ns > self.window_ns:
            self.extra_gpus -= gpus


def reserve(desk: Desk, gpus: int) -> Reservation:
    """Find when a job can start that has to wait now, and what it leaves to others.

    Jobs that run are taken to end when they would if all went on as it does now. Where
    enough GPUs are free and the job waits nevertheless, since it is pinned to servers or
    its policy has it wait, the next end is the first time at which that can change, and
    nothing that runs longer is let past: whatever the job waits for, it finds the servers
    as if nobody had passed.

    Parameters
    ----------
    desk : Desk
    gpus : int
        That the job asks for.

    Returns
    -------
    Reservation
        Without bounds where nothing runs whose end could be waited for.

    References
    ----------
    D. Lifka, The ANL/IBM SP scheduling system, JSSPP 1995. A. Mu'alem and D. Feitelson,
    IEEE Transactions on Parallel and Distributed Systems 12(6), 2001, section 2: shadow
    time and extra nodes.
    """
    refused = gpus <= desk.free_gpus
    free = desk.free_gpus
    shadow_ns: int | None = None
    for end_ns, more, _ in desk.running():
        if free >= gpus and shadow_ns is not None and end_ns > shadow_ns:
            break
        free += more
        shadow_ns = end_ns
    if shadow_ns is None:
        return Reservation(ANY, 0)
    return Reservation(shadow_ns - desk.now_ns, 0 if refused else free - gpus)
