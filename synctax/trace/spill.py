"""Columns in files instead of memory: what `--low-memory` reads into.

They are written and read a block at a time, so that a process holds some megabytes of them
however long the trace is; what the system keeps of the files it takes back when memory is
short. A file has no name: nothing is left of it when the process ends, however it ends.
"""

import errno
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from synctax.errors import SynctaxError
from synctax.trace.errand import errand

VARIABLE: Final = "SYNCTAX_LOW_MEMORY"
"""Asks for columns in files with 1, here and in processes that are started."""

BLOCK_BYTES: Final = 2 << 20
"""Of rows that are held at a time; a few times as much while they are sorted."""

Block = dict[str, Any]


class SpillError(SynctaxError):
    """There is no room for columns on the disk, or no folder to put them into."""


class Spill:
    """A folder for columns.

    Parameters
    ----------
    folder : str, optional
        On a disk with room for a sixth of the plain JSON; default: where temporary files go
        (`TMPDIR`).
    block_bytes : int
        Of rows that are held at a time; the result does not depend on it.
    """

    def __init__(self, folder: str | None = None, block_bytes: int = BLOCK_BYTES) -> None:
        with _told(folder or "TMPDIR"):
            self.folder = folder or tempfile.gettempdir()
        self.block_bytes = block_bytes

    def columns(self, **dtypes: Any) -> "SpilledColumns":
        """Make columns of no rows."""
        return SpilledColumns(self, dtypes)

    def file(self) -> BinaryIO:
        """Open a file without a name.

        Raises
        ------
        SpillError
            If that is not possible.
        """
        with _told(self.folder):
            return tempfile.TemporaryFile(dir=self.folder, buffering=0)


@contextmanager
def _told(folder: str) -> Iterator[None]:
    """Say what to do where a file cannot be made or written."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise SpillError(
            f"{folder}: columns cannot be kept here for --low-memory: "
            f"{error.strerror or error}; "
            + ("make room, or " if full else "")
            + "set TMPDIR to another folder, or read without --low-memory"
        ) from error


def low_memory() -> bool:
    """Whether little memory is to be taken, by the environment or by who sent this call."""
    sent = errand()
    return sent.low_memory if sent else os.environ.get(VARIABLE, "0") not in ("", "0")


def asked_for() -> Spill | None:
    """Where columns go by the environment; None for memory."""
    return Spill() if low_memory() else None


def is_in_memory(folder: str) -> bool:
    """Whether what a folder holds is in memory (tmpfs), as far as the system tells."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    rows = [line.split()[1:3] for line in mounts.splitlines()]
    where = Path(folder).resolve()
    above = [(len(at), kind) for at, kind in rows if where.is_relative_to(at)]
    return max(above, default=(0, ""))[1] in ("tmpfs", "ramfs")


class SpilledColumns:
    """Columns of equal length in files, appended to; as `columns.Columns`.

    Attributes
    ----------
    size : int
        How many rows there are.
    block_rows : int
        How many are in a block.
    """

    def __init__(self, spill: Spill, dtypes: dict[str, Any]) -> None:
        self._spill = spill
        self.dtypes = {name: np.dtype(dtype) for name, dtype in dtypes.items()}
        width = sum(dtype.itemsize for dtype in self.dtypes.values())
        self.block_rows = max(1, spill.block_bytes // width)
        self._files: dict[str, BinaryIO] = {}
        self.size = 0

    def append(self, **columns: Any) -> None:
        """Append one piece to every column; narrower types are converted.

        Raises
        ------
        SpillError
            If there is no room.
        """
        count = len(next(iter(columns.values())))
        for name, dtype in self.dtypes.items():
            piece: Any = np.ascontiguousarray(columns[name], dtype)
            self._write(name, piece)
        self.size += count

    def head(self, name: str, count: int) -> Any:
        """Read the first entries of a column."""
        return self.part(name, 0, min(count, self.size))

    def part(self, name: str, first: int, last: int) -> Any:
        """Read entries of a column, from `first` up to `last`."""
        dtype = self.dtypes[name]
        out: Any = np.empty(max(0, last - first), dtype)
        if out.size:
            file = self._files[name]
            file.seek(first * dtype.itemsize)
            view = memoryview(out).cast("B")
            while view.nbytes:
                got = file.readinto(view)  # type: ignore[attr-defined]
                if not got:
                    raise SpillError(f"{self._spill.folder}: columns there were cut off")
                view = view[got:]
        return out

    def block(self, first: int, last: int) -> Block:
        """Read rows of all columns."""
        return {name: self.part(name, first, last) for name in self.dtypes}

    def blocks(self, *names: str) -> Iterator[Block]:
        """Read all rows, or some columns of them, a block at a time.

        Where there is no row one block tells which columns there are.
        """
        step = self.block_rows
        for first in range(0, max(self.size, 1), step):
            last = min(first + step, self.size)
            yield {name: self.part(name, first, last) for name in names or self.dtypes}

    def arrays(self) -> dict[str, Any]:
        """Give all columns away, as arrays that lie in the files and are not writable."""
        found = {
            name: np.frombuffer(self.mapped(name, mmap.ACCESS_READ), dtype)
            for name, dtype in self.dtypes.items()
        }
        self.close()
        return found

    def mapped(self, name: str, access: int) -> "mmap.mmap | bytes":
        """Map the file of one column; no file is mapped where there is no row."""
        if not self.size:
            return b""
        return mmap.mmap(self._files[name].fileno(), 0, access=access)

    def close(self) -> None:
        """Give the files up; arrays that were given stay."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def __del__(self) -> None:
        self.close()  # where an error came in between

    def _write(self, name: str, piece: Any) -> None:
        with _told(self._spill.folder):
            if name not in self._files:
                self._files[name] = self._spill.file()
            file = self._files[name]
            file.seek(0, os.SEEK_END)
            view = memoryview(piece).cast("B")
            while view.nbytes:
                view = view[file.write(view) :]


class Numbers:
    """One column of int32 in a file, written to anywhere; -1 where nothing was written."""

    def __init__(self, spill: Spill, size: int) -> None:
        columns = spill.columns(number=np.int32)
        for first in range(0, size, columns.block_rows):
            count = min(columns.block_rows, size - first)
            columns.append(number=np.full(count, -1, np.int32))
        self._map = columns.mapped("number", mmap.ACCESS_WRITE)
        self._array = np.frombuffer(self._map, np.int32)
        columns.close()

    def put(self, at: Any, numbers: Any) -> None:
        """Write numbers at some places."""
        if at.size:
            self._array[at] = numbers
            self._cool()

    def at(self, places: Any) -> Any:
        """Read the numbers at some places."""
        found = self._array[places]
        self._cool()
        return found

    def _cool(self) -> None:
        """Hand the pages that were touched to the system, which keeps what they hold."""
        with suppress(AttributeError, OSError):  # not on every system, and not of no row
            self._map.madvise(mmap.MADV_DONTNEED)  # type: ignore[union-attr]
