"""Memory that a process has freed, and will soon ask for again."""

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""What `mallopt` of glibc calls these (malloc.h)."""

KEPT_BYTES = 128 << 20
"""Freed memory up to this stays with the process."""

SINGLE_BYTES = 32 << 20
"""What is larger is asked of the system by itself, and given back: more glibc refuses."""


def keep_freed() -> None:
    """Let this process keep the memory of arrays that it frees, where the system is glibc.

    Else each array of some 100,000 rows is given back when it is done with, and the pages
    of the next one are new: the system clears them one by one, which took 17 to 28 % of
    the time to build a graph. For workers, which are ours and end soon; a program that
    uses synctax decides for itself.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, SINGLE_BYTES)
        mallopt(_TRIM_THRESHOLD, KEPT_BYTES)
