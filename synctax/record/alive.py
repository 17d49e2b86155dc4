"""Whether a process that recorded is still there."""

import socket

from synctax.record.proc import is_running, is_zombie
from synctax.record.state import RankState


def is_alive(state: RankState) -> bool:
    """Whether the process of a rank is there, on this host; of others nothing is known."""
    here = state.host == socket.gethostname()
    return here and is_running(state.pid) and not is_zombie(state.pid)
