"""Whether a process that recorded is still there."""

import os
import socket
from pathlib import Path

from synctax.record.state import RankState


def is_alive(state: RankState) -> bool:
    """Whether the process of a rank is there, on this host; of others nothing is known."""
    if state.host != socket.gethostname():
        return False
    try:
        os.kill(state.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    return not _is_zombie(state.pid)


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended and waits to be noticed by its parent.

    Linux tells. Elsewhere such a process is taken to run.
    """
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[:1] == ["Z"]
