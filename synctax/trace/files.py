"""Files as they are now: what identifies one, and small things done to them."""

import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synctax.arrays import NS_PER_S
from synctax.trace.errand import located

_NAME_DIGITS: Final = 32


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A trace file as it was: absolute path, size, and time of the last change."""

    path: str
    size_bytes: int
    mtime_ns: int

    @classmethod
    def of(cls, path: str) -> "SourceFile":
        """Look at a file.

        Raises
        ------
        OSError
            If there is no such file (what a URL names is none).
        """
        place = located(path)
        status = Path(place).stat()
        return cls(os.path.abspath(place), status.st_size, status.st_mtime_ns)  # noqa: PTH100 - links stay as named

    @property
    def unchanged(self) -> bool:
        """Whether the file is there and still has this size and time."""
        try:
            return SourceFile.of(self.path) == self
        except OSError:
            return False


def look(path: str) -> SourceFile | None:
    """Look at a file; None where there is none."""
    try:
        return SourceFile.of(path)
    except OSError:
        return None


def starts_with(path: Path, start: bytes) -> bool:
    """Whether a file is there and begins with these bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(start)) == start
    except OSError:
        return False


def size_of(path: Path) -> int:
    """Return the bytes of a file; 0 where there is none."""
    source = look(str(path))
    return 0 if source is None else source.size_bytes


def age_s(path: Path) -> float:
    """Return the seconds since a file changed; 0 where there is none."""
    source = look(str(path))
    return 0.0 if source is None else time.time() - source.mtime_ns / NS_PER_S


def absolute(target: str) -> str:
    """Write a path or glob from the root, links as named; a URL stays."""
    return target if "://" in target else os.path.abspath(target)  # noqa: PTH100


def digest(text: str) -> str:
    """Make a name for a file of a text."""
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:_NAME_DIGITS]


def remove(path: Path) -> bool:
    """Remove a file that another process may be removing too; say whether it went."""
    try:
        path.unlink()
    except OSError:
        return False
    return True
