"""What tests have workers of a Dask cluster do: they import it by name."""

import os
import signal
from pathlib import Path

from synctax.errors import BadInputError
from synctax.trace.pool_worker import PROGRESS_BYTES


def size(path, on_bytes):
    n = Path(path).stat().st_size
    on_bytes(n)
    return n


def absolute(path, on_bytes):
    from synctax.trace.errand import located

    return located(path), Path(located(path)).read_bytes().decode()


def spares_memory(path, on_bytes):
    from synctax.trace.spill import asked_for

    return asked_for() is not None


def refuse_rank3(path, on_bytes):
    if path.endswith("rank3.json"):
        raise BadInputError(f"{path}: not a trace")
    return path


def divide(path, on_bytes):
    return 1 // 0


def exhaust(path, on_bytes):
    raise MemoryError


def write_elsewhere(path, on_bytes):
    Path(path, "part").write_text("")


def die_on_rank3(path, on_bytes):
    if path.endswith("rank3.json"):
        os.kill(os.getpid(), signal.SIGKILL)
    return path


def die_once(path, on_bytes):
    """End the worker at rank 3, if it is the first to try."""
    mark = Path(f"{path}.tried")
    if path.endswith("rank3.json") and not mark.exists():
        mark.touch()
        on_bytes(PROGRESS_BYTES)
        os.kill(os.getpid(), signal.SIGKILL)
    on_bytes(2 * PROGRESS_BYTES)
    return path


def own_words(path, on_bytes, *, words):
    return words[path], len(words)


def reader(path, on_bytes):
    from synctax.trace.readers import chosen

    return chosen()
