"""Where a trace is written before it has its name, and what killed writers left there."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from synctax.record.names import part_path
from synctax.record.proc import is_running

PREFIX = "synctax-"
ROOM_BYTES = 8 << 30
"""Free space at which the temporary folder, which is often faster, is preferred: eight
ranks of a host write there at once, and 1 GB holds some 3,000,000 events."""

_LOCK = "lock"


@contextmanager
def workplace(target: Path) -> Iterator[Path]:
    """Make a folder for a trace that is not compressed, which is removed afterwards.

    Parameters
    ----------
    target : Path
        Folder that the trace is to be in at last. It is the place, too, where the folder
        for temporary files has little room, and less than this one.

    Raises
    ------
    OSError
        If neither can be written to.
    """
    home = roomiest(Path(tempfile.gettempdir()), target)
    remove_abandoned(home)
    prefix = PREFIX if home != target else f".{PREFIX}"
    with (
        tempfile.TemporaryDirectory(prefix=prefix, dir=home) as folder,
        (Path(folder) / _LOCK).open("w") as lock,
    ):
        _is_free(lock.fileno())  # held until it is closed, or this process is killed
        yield Path(folder)


def roomiest(temporary: Path, target: Path) -> Path:
    """Choose where to write: the first, unless it has little room, less than the other."""
    here = shutil.disk_usage(temporary).free
    return temporary if here >= min(ROOM_BYTES, shutil.disk_usage(target).free) else target


def remove_abandoned(home: Path) -> None:
    """Remove folders that nobody holds any more, as their process was killed."""
    for pattern in (f"{PREFIX}*", f".{PREFIX}*"):
        for lock in home.glob(f"{pattern}/{_LOCK}"):
            # of other users, or removed by another rank meanwhile
            with suppress(OSError), lock.open("r+") as file:
                if _is_free(file.fileno()):
                    shutil.rmtree(lock.parent)


def remove_dead(path: Path) -> None:
    """Remove parts of a file whose writers are gone."""
    for part in path.parent.glob(part_path(path, 0).name.removesuffix("0") + "*"):
        pid = part.name.rpartition(".")[2]
        if pid.isdecimal() and (int(pid) == os.getpid() or not is_running(int(pid))):
            part.unlink(missing_ok=True)


def _is_free(descriptor: int) -> bool:
    """Lock a file, if no other process has; the kernel unlocks those of a killed one."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
